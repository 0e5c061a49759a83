#include <algorithm>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/transfer.hpp>
#include <climits>
#include <cstring>
#include <string>

#include "blockvec/instantiate.hpp"

namespace blockvec::detail {
namespace {

void copy_piece(const Kokkos::DefaultHostExecutionSpace&, const void* from, std::size_t from_pitch, void* to,
                std::size_t to_pitch, std::size_t bytes, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    std::memcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, bytes);
  }
}

#if BLOCKVEC_HAVE_CUDA_SPACE
void copy_piece(const Kokkos::Cuda& instance, const void* from, std::size_t from_pitch, void* to, std::size_t to_pitch,
                std::size_t bytes, std::size_t lines) {
  const cudaError_t status =
      cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, lines, cudaMemcpyDefault, instance.cuda_stream());
  if (status == cudaSuccess) return;
  throw kernels::CudaError("copy of " + std::to_string(lines) + " pieces of " + std::to_string(bytes) +
                           " bytes: " + cudaGetErrorString(status));
}
#endif

}  // namespace

template <class Space>
void copy_lines(const Context& context, const void* from, std::size_t from_pitch, void* to, std::size_t to_pitch,
                std::size_t bytes, std::size_t lines) {
  if (bytes == 0 || lines == 0) return;
  const auto& instance = context.execution_space<Space>();
  // CUDA knows pitches of up to 2 GiB: longer pieces are copied one by one.
  constexpr std::size_t longest_pitch = INT_MAX;
  if (lines == 1 || (from_pitch == bytes && to_pitch == bytes)) {
    const std::size_t whole = bytes * lines;
    for (std::size_t done = 0; done < whole; done += longest_pitch) {
      const std::size_t part = std::min(longest_pitch, whole - done);
      copy_piece(instance, static_cast<const char*>(from) + done, part, static_cast<char*>(to) + done, part, part, 1);
    }
  } else if (std::max(from_pitch, to_pitch) <= longest_pitch) {
    copy_piece(instance, from, from_pitch, to, to_pitch, bytes, lines);
  } else {
    for (std::size_t i = 0; i < lines; ++i) {
      copy_lines<Space>(context, static_cast<const char*>(from) + i * from_pitch, bytes,
                        static_cast<char*>(to) + i * to_pitch, bytes, bytes, 1);
    }
  }
}

#define BLOCKVEC_TRANSFER(Space)                                                                             \
  template void copy_lines<Space>(const Context&, const void*, std::size_t, void*, std::size_t, std::size_t, \
                                  std::size_t);
BLOCKVEC_FOR_SPACES(BLOCKVEC_TRANSFER)

}  // namespace blockvec::detail
