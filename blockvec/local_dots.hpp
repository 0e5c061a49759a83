#pragma once

#include <algorithm>
#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <cstdint>

#include "blockvec/device_dots.hpp"
#include "blockvec/dots.hpp"

namespace blockvec {

/// values[j] = v_j^H w_j for this rank's rows. On the host: a fixed number of pieces, whatever the threads, so that the
/// bits are the same for any number of them.
template <class Scalar, class Layout>
void local_dots(const BlockVector<Scalar, Layout>& v, const BlockVector<Scalar, Layout>& w, Scalar* values) {
  const std::int64_t rows = v.local_rows();
  const std::int64_t width = v.width();
  constexpr std::int64_t pieces = 64;
  const std::int64_t stride = width * (dots_levels(rows) + 1);
  const TallRows<Scalar, Layout> x{v.data(), v.ld()}, y{w.data(), w.ld()};
  WorkspaceScope scope(v.context());
  Scalar* const partial = scope.template take<Scalar>(static_cast<std::size_t>(pieces * stride));
  kernels::parallel_for(rows * width < 4096 ? 1 : v.context().threads(), pieces, [&](std::int64_t piece, int) {
    Scalar* const sums = partial + piece * stride;
    const std::int64_t begin = rows * piece / pieces;
    dots_of_rows(x.from(begin), y.from(begin), rows * (piece + 1) / pieces - begin, width, sums, sums + width);
  });
  for (std::int64_t half = pieces / 2; half > 0; half /= 2) {
    for (std::int64_t piece = 0; piece < half; ++piece) {
      for (std::int64_t j = 0; j < width; ++j) partial[piece * stride + j] += partial[(piece + half) * stride + j];
    }
  }
  std::copy_n(partial, width, values);
}

#if BLOCKVEC_HAVE_CUDA_SPACE
template <class Scalar, class Layout>
void local_dots(const BlockVector<Scalar, Layout, Kokkos::CudaSpace>& v,
                const BlockVector<Scalar, Layout, Kokkos::CudaSpace>& w, Scalar* values) {
  dots_on_device(v, w, values);
}
#endif

}  // namespace blockvec
