#include <unistd.h>

#include <algorithm>
#include <blockvec/context.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "blockvec/bandwidth.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {

struct Context::State {
  State(Communicator ranks, const ExecutionSpaces& instances, int count, Summation sums)
      : communicator(std::move(ranks)), spaces(instances), threads(count), summation(sums) {}
  Communicator communicator;
  ExecutionSpaces spaces;
  int threads;
  Summation summation;
#if BLOCKVEC_HAVE_CUDA_SPACE
  std::tuple<Workspace<Kokkos::HostSpace>, Workspace<Kokkos::CudaSpace>, Workspace<StagingSpaceOf<Kokkos::CudaSpace>>>
      workspaces;
#else
  std::tuple<Workspace<Kokkos::HostSpace>> workspaces;
#endif
  Profile profile;
  History history;
  std::int64_t reductions = 0;
  std::optional<MachineBandwidth> bandwidth[2];  // of the host, of the device
};

namespace {

int default_threads(const Communicator& communicator) {
  if (std::getenv("OMP_NUM_THREADS")) return kernels::resolve_threads(0);
  // The launcher may have bound this rank to some cores; if not, the ranks of a machine share it.
  const long machine = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  const long allowed = std::max(1L, static_cast<long>(std::thread::hardware_concurrency()));
  return static_cast<int>(std::min(allowed, std::max(1L, machine / communicator.local_size())));
}

// The share of a machine's bandwidth is judged against what the operation does: only read, or read and write.
bool only_reads(std::string_view operation) {
  return operation == operation_name(Operation::inner_product) || operation == operation_name(Operation::column_dots);
}

}  // namespace

Context::Context(Communicator communicator, int threads, const ExecutionSpaces& instances, Summation summation) {
  if (threads < 0)
    throw ShapeError("Context: threads = " + std::to_string(threads) + ", expected 0 (as many as suit) or more");
  const int count = threads > 0 ? threads : default_threads(communicator);
  state_ = std::make_shared<State>(std::move(communicator), instances, count, summation);
}

const Communicator& Context::communicator() const { return state_->communicator; }
const ExecutionSpaces& Context::execution_spaces() const { return state_->spaces; }
int Context::threads() const { return state_->threads; }
Summation Context::summation() const { return state_->summation; }
Profile& Context::profile() const { return state_->profile; }
History& Context::history() const { return state_->history; }
std::int64_t Context::reductions() const { return state_->reductions; }

template <class Space>
Workspace<Space>& Context::workspace() const {
  return std::get<Workspace<Space>>(state_->workspaces);
}
template Workspace<Kokkos::HostSpace>& Context::workspace() const;
#if BLOCKVEC_HAVE_CUDA_SPACE
template Workspace<Kokkos::CudaSpace>& Context::workspace() const;
template Workspace<StagingSpaceOf<Kokkos::CudaSpace>>& Context::workspace() const;
#endif

template <class Space>
void Context::fence() const {
  if constexpr (!is_host_space<Space>) {
    static const std::string label("BlockVec::Context::fence");  // kept: a call allocates nothing
    execution_space<Space>().fence(label);
  }
}
#define BLOCKVEC_CONTEXT(Space) template void Context::fence<Space>() const;
BLOCKVEC_FOR_SPACES(BLOCKVEC_CONTEXT)

namespace {

// What a sum over ranks is made of, and whole numbers as such.
template <class Scalar>
struct WireElement {
  using type = RealOf<Scalar>;
  static std::string_view name() { return std::is_integral_v<Scalar> ? "whole" : scalar_name<Scalar>(); }
  static constexpr int digits = std::numeric_limits<type>::digits;
};
template <>
struct WireElement<DoubleDouble> {
  using type = DoubleDouble;
  static std::string_view name() { return "double-double"; }
  static constexpr int digits = std::numeric_limits<double>::digits;
};
template <class Element>
Element element_of(std::uint64_t whole) {
  if constexpr (std::is_same_v<Element, DoubleDouble>) {
    return {static_cast<double>(whole), 0};
  } else {
    return static_cast<Element>(whole);
  }
}
bool equal(const DoubleDouble& x, std::uint64_t whole) { return x.high + x.low == static_cast<double>(whole); }
template <class Element>
bool equal(Element x, std::uint64_t whole) {
  return x == static_cast<Element>(whole);
}

// Two elements that tell whether the ranks mean the same reduction.
template <class Element>
struct Marks {
  Element first, second;
};

// Reduces values over the ranks, and marks along with them, which judge() then looks at: it throws where ranks
// disagree. The message that carries the marks has one length for every operation, so that ranks which disagree on the
// shape still meet in it, and learn so.
template <class Element, class Reduce, class Judge>
void reduce_marked(const Context& context, Element* values, std::size_t count, const Marks<Element>& marks,
                   const Reduce& reduce, const Judge& judge) {
  constexpr std::size_t head = 1024;
  const std::size_t in_head = std::min(count, head - 2);
  WorkspaceScope<> scope(context);
  Element* const buffer = scope.take<Element>(head + count - in_head);
  std::copy_n(values, in_head, buffer);
  std::fill(buffer + in_head, buffer + head - 2, Element{});
  buffer[head - 2] = marks.first;
  buffer[head - 1] = marks.second;
  std::copy_n(values + in_head, count - in_head, buffer + head);
  const Profile::Timer timer(context.profile(), Operation::reduction,
                             static_cast<double>((count + 2) * sizeof(Element)), 0);
  reduce(std::span(buffer, head));
  judge(Marks<Element>{buffer[head - 2], buffer[head - 1]});
  if (count > in_head) reduce(std::span(buffer + head, count - in_head));
  std::copy_n(buffer, in_head, values);
  std::copy_n(buffer + head, count - in_head, values + in_head);
}

[[noreturn]] void throw_disagreement(const char* what, std::int64_t count, std::string_view type) {
  throw ShapeError(std::string("a ") + what + " over ranks met different operations or shapes: this rank sent " +
                   std::to_string(count) + " " + std::string(type) +
                   " values; all ranks must call the same operations with operands of the same widths");
}

}  // namespace

template <class Scalar>
void Context::sum(Scalar* values, std::int64_t count, std::uint64_t tag) const {
  using Wire = WireElement<Scalar>;
  using Element = typename Wire::type;
  ++state_->reductions;
  if (communicator().size() == 1) return;

  // A fingerprint of the operation and its square: over P ranks their sums are P t and P t^2 exactly if all ranks sent
  // the same t (Cauchy-Schwarz; small whole numbers, so the sums are exact).
  tag ^= tag >> 32;
  tag ^= tag >> 16;
  const std::uint64_t small_tag = 1 + (tag ^ (tag >> 8)) % 127;
  const auto ranks = static_cast<std::uint64_t>(communicator().size());
  const bool exact = ranks * small_tag * small_tag < (std::uint64_t{1} << Wire::digits);
  reduce_marked<Element>(
      *this, reinterpret_cast<Element*>(values), static_cast<std::size_t>(count) * (sizeof(Scalar) / sizeof(Element)),
      {element_of<Element>(small_tag), element_of<Element>(small_tag * small_tag)},
      [&](std::span<Element> elements) { communicator().sum(elements); },
      [&](const Marks<Element>& sums) {
        if (!exact || (equal(sums.first, ranks * small_tag) && equal(sums.second, ranks * small_tag * small_tag)))
          return;
        throw_disagreement("sum", count, Wire::name());
      });
}

template void Context::sum(float*, std::int64_t, std::uint64_t) const;
template void Context::sum(double*, std::int64_t, std::uint64_t) const;
template void Context::sum(Complex<float>*, std::int64_t, std::uint64_t) const;
template void Context::sum(Complex<double>*, std::int64_t, std::uint64_t) const;
template void Context::sum(DoubleDouble*, std::int64_t, std::uint64_t) const;
template void Context::sum(std::int64_t*, std::int64_t, std::uint64_t) const;

void Context::max(std::int64_t* values, std::int64_t count, std::uint64_t tag) const {
  ++state_->reductions;
  if (communicator().size() == 1) return;
  const auto mark = static_cast<std::int64_t>(tag >> 2);
  reduce_marked<std::int64_t>(
      *this, values, static_cast<std::size_t>(count), {mark, -mark},
      [&](std::span<std::int64_t> words) { communicator().max(words); },
      [&](const Marks<std::int64_t>& largest) {
        if (largest.first != -largest.second) throw_disagreement("maximum", count, "whole");
      });
}

template <class Space>
const MachineBandwidth& Context::bandwidth() const {
  auto& measured = state_->bandwidth[is_host_space<Space> ? 0 : 1];
  if (!measured) measured = detail::measure_bandwidth<Space>(*this);
  return *measured;
}
#define BLOCKVEC_BANDWIDTH(Space) template const MachineBandwidth& Context::bandwidth<Space>() const;
BLOCKVEC_FOR_SPACES(BLOCKVEC_BANDWIDTH)

namespace {

std::string report_line(const OperationRecord& record, const MachineBandwidth& memory) {
  const double rate = record.seconds > 0 ? record.bytes / record.seconds : 0;
  const double flop_rate = record.seconds > 0 ? record.flops / record.seconds : 0;
  char share[16] = "-";
  if (record.name != operation_name(Operation::reduction)) {
    std::snprintf(share, sizeof share, "%.0f %%", 100 * rate / (only_reads(record.name) ? memory.read : memory.copy));
  }
  char line[160];
  std::snprintf(line, sizeof line, "%-18s %8lld %10.4f %8.2f %9.2f %7s\n", std::string(record.name).c_str(),
                static_cast<long long>(record.calls), record.seconds, rate * 1e-9, flop_rate * 1e-9, share);
  return line;
}

// The records of one memory and what they are compared with; nothing where there are none.
std::string report_of(const std::vector<OperationRecord>& records, bool on_device, const MachineBandwidth& memory,
                      const std::string& where) {
  std::string text;
  for (const OperationRecord& record : records) {
    if (record.on_device == on_device) text += report_line(record, memory);
  }
  char line[160];
  std::snprintf(line, sizeof line, "%s; share of %.1f GB/s read or %.1f GB/s copied, measured here\n", where.c_str(),
                memory.read * 1e-9, memory.copy * 1e-9);
  return text + line;
}

}  // namespace

std::string Context::report() const {
  const auto records = profile().records();
  if (records.empty()) return "no operations recorded\n";
  char heading[96];
  std::snprintf(heading, sizeof heading, "%-18s %8s %10s %8s %9s %7s\n", "operation", "calls", "seconds", "GB/s",
                "GFLOP/s", "share");
  const std::string rank =
      "rank " + std::to_string(communicator().rank()) + " of " + std::to_string(communicator().size());
  std::string text = heading;
  if (!records.front().on_device) {
    text += report_of(records, false, bandwidth(), rank + ", " + std::to_string(threads()) + " threads");
  }
#if BLOCKVEC_HAVE_CUDA_SPACE
  if (records.back().on_device) {
    const auto& device = execution_space<Kokkos::CudaSpace>().cuda_device_prop();
    text += report_of(records, true, bandwidth<Kokkos::CudaSpace>(), rank + ", " + device.name);
  }
#endif
  return text;
}

}  // namespace blockvec
