#pragma once

/// Which columns of a row a thread owns (figures 9 to 11 of the paper).
namespace blockvec::kernels::cuda::study {

/// `width` columns in `pieces` of `tile`: a piece holds neighbours, or, transposed, columns `pieces` apart, so that the
/// t-th columns of neighbouring threads are neighbours.
template <int width, int tile, int pieces, bool transposed>
struct Columns {
  static_assert(tile * pieces >= width);

  /// The t-th column of a piece is first(piece) + offset(t); only the latter is known when the kernel is compiled.
  __device__ static int first(int piece) { return transposed ? piece : piece * tile; }
  __host__ __device__ static constexpr int offset(int t) { return transposed ? t * pieces : t; }

  /// Whether the t-th column of some piece lies past the width.
  __host__ __device__ static constexpr bool may_pass(int t) {
    return offset(t) + (transposed ? pieces - 1 : (pieces - 1) * tile) >= width;
  }
  __device__ static bool owns(int piece, int t) { return !may_pass(t) || first(piece) + offset(t) < width; }

  /// The offset that is read in place of the t-th: past the width that of the last column, whose products are dropped.
  __device__ static int offset_to_read(int piece, int t) {
    return may_pass(t) ? min(offset(t), width - 1 - first(piece)) : offset(t);
  }
};

constexpr int pieces_of(int width, int tile) { return (width + tile - 1) / tile; }

}  // namespace blockvec::kernels::cuda::study
