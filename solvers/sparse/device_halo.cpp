#include "solvers/sparse/device_halo.hpp"

#include <blockvec/config.hpp>

#if BLOCKVEC_HAVE_CUDA_SPACE
#include <cuda_runtime.h>

#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/transfer.hpp>

#include "solvers/sparse/device_array.hpp"
#include "solvers/sparse/device_entries.hpp"

namespace blockvec::solvers {
namespace {

void check(cudaError_t status, const char* operation) {
  if (status == cudaSuccess) return;
  throw kernels::CudaError(std::string("rows of other ranks: ") + operation + ": " + cudaGetErrorString(status));
}

/// packed(i, j) = x(rows[i], j)
template <class Scalar>
struct Pack {
  const std::int32_t* rows;
  DeviceEntries<Scalar> x;
  Scalar* packed;
  std::int64_t width;

  KOKKOS_FUNCTION void operator()(std::int64_t at) const { packed[at] = x(rows[at / width], at % width); }
};

struct Signal {
  volatile unsigned* word;
  KOKKOS_FUNCTION void operator()(int) const { *word = 1; }
};

}  // namespace

template <class Scalar>
DeviceHalo<Scalar>::DeviceHalo(const Context& context, const RowDistribution& rows,
                               const std::vector<std::int64_t>& ghosts)
    : context_(context), halo_(rows, context.communicator(), ghosts) {
  if (context.communicator().size() == 1) return;
  const auto& sent = halo_.sent_rows();
  sent_rows_ = copy_array<std::int32_t, Space>("BlockVec::solvers::sent_rows", sent.data(), sent.size());
  word_ = allocate_array<unsigned, Staging>("BlockVec::solvers::halo_word", 1);
  // Messages travel as sums do.
  transport_ = context.sums_in_order<Space>()    ? DeviceTransport::nccl
               : context.sums_on_device<Space>() ? DeviceTransport::mpi
                                                 : DeviceTransport::staged;
  if (transport_ != DeviceTransport::nccl) return;
  check(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&is_packed_, cudaEventDisableTiming), "cudaEventCreate");
  check(cudaEventCreateWithFlags(&has_arrived_, cudaEventDisableTiming), "cudaEventCreate");
}

template <class Scalar>
DeviceHalo<Scalar>::~DeviceHalo() {
  if (is_packed_ != nullptr) cudaEventDestroy(is_packed_);
  if (has_arrived_ != nullptr) cudaEventDestroy(has_arrived_);
  if (beside_ != nullptr) cudaStreamDestroy(beside_);
}

template <class Scalar>
void DeviceHalo<Scalar>::reserve(std::int64_t width) {
  const auto grow = [&]<class Where>(Array<Where>& array, std::int64_t rows, const char* label) {
    const auto count = static_cast<std::size_t>(rows * width);
    if (count <= array.extent(0)) return;
    context_.fence<Space>();
    array = Array<Where>();
    array = allocate_array<Scalar, Where>(label, count);
  };
  grow(packed_, halo_.rows_sent(), "BlockVec::solvers::sent");
  grow(ghost_rows_, halo_.ghosts(), "BlockVec::solvers::ghosts");
  if (transport_ != DeviceTransport::staged) return;
  grow(staged_packed_, halo_.rows_sent(), "BlockVec::solvers::staged_sent");
  grow(staged_ghost_rows_, halo_.ghosts(), "BlockVec::solvers::staged_ghosts");
}

template <class Scalar>
template <class Layout>
void DeviceHalo<Scalar>::begin(const BlockVector<Scalar, Layout, Space>& x) {
  width_ = x.width();
  if (context_.communicator().size() == 1) return;
  reserve(width_);
  const auto& instance = context_.execution_space<Space>();
  const std::int64_t count = halo_.rows_sent() * width_;
  Kokkos::parallel_for("BlockVec::solvers::pack",
                       Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(instance, 0, count),
                       Pack<Scalar>{sent_rows_.data(), device_entries(x), packed_.data(), width_});
  if (transport_ == DeviceTransport::nccl) {
    context_.communicator().agree(true, "");  // a rank that has failed says so here: NCCL would wait for it
    check(cudaEventRecord(is_packed_, instance.cuda_stream()), "cudaEventRecord");
    check(cudaStreamWaitEvent(beside_, is_packed_, 0), "cudaStreamWaitEvent");
    const Halo::Messages messages = halo_.messages(width_, packed_.data(), ghost_rows_.data());
    context_.communicator().exchange_on_device(messages.sends, messages.receives, beside_);
    check(cudaEventRecord(has_arrived_, beside_), "cudaEventRecord");
    return;
  }
  if (transport_ == DeviceTransport::staged && count > 0) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(Scalar);
    blockvec::detail::copy_lines<Space>(context_, packed_.data(), bytes, staged_packed_.data(), bytes, bytes, 1);
  }
  word_(0) = 0;
  Kokkos::parallel_for("BlockVec::solvers::packed", Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, 1),
                       Signal{word_.data()});
}

template <class Scalar>
const Scalar* DeviceHalo<Scalar>::finish() {
  if (context_.communicator().size() == 1) return nullptr;
  if (transport_ == DeviceTransport::nccl) {
    const auto stream = context_.execution_space<Space>().cuda_stream();
    check(cudaStreamWaitEvent(stream, has_arrived_, 0), "cudaStreamWaitEvent");
    return ghost_rows_.data();
  }
  context_.await<Space>(word_.data());
  const bool is_staged = transport_ == DeviceTransport::staged;
  const Halo::Messages messages = is_staged ? halo_.messages(width_, staged_packed_.data(), staged_ghost_rows_.data())
                                            : halo_.messages(width_, packed_.data(), ghost_rows_.data());
  context_.communicator().exchange(messages.sends, messages.receives);
  if (is_staged && halo_.ghosts() * width_ > 0) {
    const auto bytes = static_cast<std::size_t>(halo_.ghosts() * width_) * sizeof(Scalar);
    blockvec::detail::copy_lines<Space>(context_, staged_ghost_rows_.data(), bytes, ghost_rows_.data(), bytes, bytes,
                                        1);
  }
  return ghost_rows_.data();
}

#define BLOCKVEC_DEVICE_HALO(Scalar)                                                                \
  template class DeviceHalo<Scalar>;                                                                \
  template void DeviceHalo<Scalar>::begin(const BlockVector<Scalar, RowMajor, Kokkos::CudaSpace>&); \
  template void DeviceHalo<Scalar>::begin(const BlockVector<Scalar, ColumnMajor, Kokkos::CudaSpace>&);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_DEVICE_HALO)

}  // namespace blockvec::solvers
#endif
