// The sums of a Context over its ranks.
#include <blockvec/context.hpp>
#include <blockvec/double_double_matrix.hpp>
#include <blockvec/timer.hpp>
#include <blockvec/transfer.hpp>
#include <span>

#include "blockvec/add_ranks.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {

template <class Scalar>
void Context::sum(Scalar* values, std::int64_t count, std::uint64_t tag) const {
  count_reduction();
  if (communicator().size() == 1) return;
  const Profile::Timer timer(profile(), Operation::reduction, static_cast<double>(count) * sizeof(Scalar), 0);
  communicator().sum(std::span(values, static_cast<std::size_t>(count)), tag);
}

template void Context::sum(float*, std::int64_t, std::uint64_t) const;
template void Context::sum(double*, std::int64_t, std::uint64_t) const;
template void Context::sum(Complex<float>*, std::int64_t, std::uint64_t) const;
template void Context::sum(Complex<double>*, std::int64_t, std::uint64_t) const;
template void Context::sum(DoubleDouble*, std::int64_t, std::uint64_t) const;
template void Context::sum(std::int64_t*, std::int64_t, std::uint64_t) const;

void Context::max(std::int64_t* values, std::int64_t count, std::uint64_t tag) const {
  count_reduction();
  if (communicator().size() == 1) return;
  const Profile::Timer timer(profile(), Operation::reduction, static_cast<double>(count) * sizeof(std::int64_t), 0);
  communicator().max(std::span(values, static_cast<std::size_t>(count)), tag);
}

template <class Space>
bool Context::sums_on_device() const {
  if constexpr (!is_host_space<Space>) {
    if (communicator().size() == 1) return false;
    return communicator().connect_device(execution_space<Space>().cuda_device()) != DeviceTransport::staged;
  }
  return false;
}

template <class Space>
bool Context::sums_in_order() const {
  if (communicator().size() == 1) return true;
  if constexpr (!is_host_space<Space>) {
    return communicator().connect_device(execution_space<Space>().cuda_device()) == DeviceTransport::nccl;
  }
  return false;
}
#define BLOCKVEC_SUMS_ON_DEVICE(Space)                  \
  template bool Context::sums_on_device<Space>() const; \
  template bool Context::sums_in_order<Space>() const;
BLOCKVEC_FOR_SPACES(BLOCKVEC_SUMS_ON_DEVICE)

namespace {

template <class Scalar>
constexpr std::int64_t reals_in = static_cast<std::int64_t>(sizeof(Scalar) / sizeof(RealOf<Scalar>));

template <class Scalar>
void sum_pairs(const Context& context, Scalar* values, std::int64_t count, std::uint64_t tag) {
  using Real = RealOf<Scalar>;
  const std::int64_t reals = count * reals_in<Scalar>;
  WorkspaceScope<> scope(context);
  auto* const wide = scope.template take<Extended<Real>>(static_cast<std::size_t>(reals));
  Real* const high = reinterpret_cast<Real*>(values);
  Real* const low = high + reals;
  for (std::int64_t i = 0; i < reals; ++i) wide[i] = extend(high[i], low[i]);
  context.sum(wide, reals, tag);
  for (std::int64_t i = 0; i < reals; ++i) split(wide[i], high[i], low[i]);
}

#if BLOCKVEC_HAVE_CUDA_SPACE
template <class T>
constexpr WireType wire_type = std::is_same_v<T, float>          ? WireType::float32
                               : std::is_same_v<T, DoubleDouble> ? WireType::double_double
                                                                 : WireType::float64;

// Words of all ranks together beyond which it costs less to let the library add than to gather and add.
constexpr std::size_t most_gathered_bytes = std::size_t{1} << 20;

// By NCCL, or by MPI with device pointers. Ranks agree on the host while the device is still at work on the values;
// nothing that can fail on one rank alone comes between that and the messages.
template <class Space, class Scalar>
void sum_on_device(const Context& context, Scalar* values, std::int64_t count, bool double_double, std::uint64_t tag) {
  using Real = RealOf<Scalar>;
  const Communicator& ranks = context.communicator();
  const auto& instance = context.execution_space<Space>();
  constexpr WireType type = wire_type<Real>, wide_type = wire_type<Extended<Real>>;
  const std::int64_t reals = count * reals_in<Scalar>;
  const std::size_t bytes = static_cast<std::size_t>(double_double ? 2 * reals : reals) * sizeof(Real);
  const std::size_t gathered_bytes = static_cast<std::size_t>(ranks.size()) * bytes;
  const OperationTimer<Space> timer(context, Operation::reduction, static_cast<double>(bytes), 0);
  const bool gathers = double_double || gathered_bytes <= most_gathered_bytes;
  WorkspaceScope<Space> scope(context);
  auto* const gathered =
      gathers ? static_cast<Real*>(static_cast<void*>(scope.template take<std::byte>(gathered_bytes))) : nullptr;
  ranks.agree_on_device_sum(double_double ? wide_type : type, static_cast<std::size_t>(reals), tag);
  if (bytes == 0) return;
  if (ranks.connect_device(instance.cuda_device()) == DeviceTransport::mpi) context.fence<Space>();
  Real* const to = reinterpret_cast<Real*>(values);
  if (!gathers) {
    return ranks.all_reduce_on_device(to, static_cast<std::size_t>(reals), type, instance.cuda_stream());
  }
  ranks.all_gather_on_device(to, gathered, bytes, instance.cuda_stream());
  detail::add_ranks<Space>(context, gathered, ranks.size(), reals, double_double, to);
}
#endif

}  // namespace

template <class Space>
const std::int64_t* Context::gathered_in([[maybe_unused]] WorkspaceScope<Space>& scope, const std::int64_t* mine,
                                         [[maybe_unused]] std::int64_t count,
                                         [[maybe_unused]] std::uint64_t tag) const {
  count_reduction();
  if constexpr (!is_host_space<Space>) {
    const Communicator& ranks = communicator();
    if (ranks.size() == 1) return mine;
    const auto& instance = execution_space<Space>();
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
    const OperationTimer<Space> timer(*this, Operation::reduction, static_cast<double>(bytes), 0);
    auto* const all =
        scope.template take<std::int64_t>(static_cast<std::size_t>(ranks.size()) * static_cast<std::size_t>(count));
    ranks.agree_on_device_sum(WireType::int64, static_cast<std::size_t>(count), tag);
    if (bytes == 0) return all;
    if (ranks.connect_device(instance.cuda_device()) == DeviceTransport::mpi) fence<Space>();
    ranks.all_gather_on_device(mine, all, bytes, instance.cuda_stream());
    return all;
  }
  return mine;
}
#define BLOCKVEC_GATHERED_IN(Space)                                                                                   \
  template const std::int64_t* Context::gathered_in<Space>(WorkspaceScope<Space>&, const std::int64_t*, std::int64_t, \
                                                           std::uint64_t) const;
BLOCKVEC_FOR_SPACES(BLOCKVEC_GATHERED_IN)

template <class Space, class Scalar>
void Context::sum_in(Scalar* values, std::int64_t count, std::uint64_t tag, bool double_double) const {
  if constexpr (is_host_space<Space>) {
    return double_double && communicator().size() > 1 ? sum_pairs(*this, values, count, tag) : sum(values, count, tag);
  } else {
    if (communicator().size() == 1) return count_reduction();
    if (sums_on_device<Space>()) {
      count_reduction();
      return sum_on_device<Space>(*this, values, count, double_double, tag);
    }
    const auto words = static_cast<std::size_t>(double_double ? 2 * count : count);
    const std::size_t bytes = words * sizeof(Scalar);
    WorkspaceScope<StagingSpaceOf<Space>> staging(*this);
    auto* const here = staging.template take<Scalar>(words);
    detail::copy_lines<Space>(*this, values, bytes, here, bytes, bytes, 1);
    fence<Space>();
    sum_in<Kokkos::HostSpace>(here, count, tag, double_double);
    detail::copy_lines<Space>(*this, here, bytes, values, bytes, bytes, 1);
  }
}
#define BLOCKVEC_SUM_IN(Scalar, Space) \
  template void Context::sum_in<Space>(Scalar*, std::int64_t, std::uint64_t, bool) const;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_SUM_IN)

}  // namespace blockvec
