#pragma once

/// Which columns of a row a thread owns (figures 9 to 11 of the paper).
namespace blockvec::kernels::cuda::study {

/// `width` columns in `pieces` of `tile`: a piece holds neighbours, or, transposed, columns `pieces` apart, so that the
/// t-th columns of neighbouring threads are neighbours.
template <int width, int tile, int pieces, bool transposed>
struct Columns {
  static_assert(tile * pieces >= width);

  __device__ static int column(int piece, int t) { return transposed ? t * pieces + piece : piece * tile + t; }

  /// Whether the t-th column of some piece lies past the width.
  __host__ __device__ static constexpr bool may_pass(int t) {
    return transposed ? t * pieces + pieces - 1 >= width : (pieces - 1) * tile + t >= width;
  }
  __device__ static bool owns(int piece, int t) { return !may_pass(t) || column(piece, t) < width; }

  /// The column that is read in place of the t-th: itself, or past the width the last one, whose products are dropped.
  __device__ static int column_to_read(int piece, int t) {
    return may_pass(t) ? min(column(piece, t), width - 1) : column(piece, t);
  }
};

constexpr int pieces_of(int width, int tile) { return (width + tile - 1) / tile; }

}  // namespace blockvec::kernels::cuda::study
