#pragma once

#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/packed.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/dispatch/cuda/dense_units.hpp"
#include "src/dispatch/cuda/launch.hpp"

/// Large dense matrix times block vector: how a call is cut up. All sizes count real numbers.
namespace blockvec::kernels::dispatch {

/// The matrix in memory, as lines of real numbers.
struct DenseLines {
  std::int64_t count, length;
  int real_bytes;
};

/// gemm: Y = S X', or S^T X' if sums run over the lines (by columns).
struct GemmConfiguration {
  bool by_rows;         ///< a result for every line; else for every number of a line
  int column_tiles;     ///< of 8 columns
  std::int64_t tiles;   ///< of gemm_rows results
  std::int64_t steps;   ///< stages of a tile, each of 128 bytes deep or as many lines
  std::int64_t blocks;  ///< thread blocks: each takes as many of the tiles * steps units, one after the other
  int stages;
  int stage_bytes;  ///< of A, and of packed X behind it
  int packed_bytes;

  int columns() const { return 8 * column_tiles; }
  /// Numbers of packed X, and of partial sums: a set for each tile of a block.
  std::int64_t packed() const { return steps * packed_bytes / static_cast<int>(sizeof(double)); }
  std::int64_t partial() const { return (blocks + tiles) * gemm_rows * columns(); }
  std::size_t workspace_bytes() const { return 16 + static_cast<std::size_t>(packed() + partial()) * sizeof(double); }
  bool operator==(const GemmConfiguration&) const = default;
};

/// hemm: both products of a stage, S_pj X_j and S_pj^H X_p.
struct HemmConfiguration {
  HemmUnits units;
  int column_tiles;
  std::int64_t blocks;
  int stages, stage_bytes, packed_bytes;
  int exchanges, exchange_bytes;  ///< strips whose sums wait to be added, and their bytes in shared memory

  int columns() const { return 8 * column_tiles; }
  /// Numbers of X packed for S^H X; of S X, a set for each unit; of S^H X, a set for each panel of a block.
  std::int64_t packed() const { return units.strips * hemm_lines * columns(); }
  std::int64_t strip_sums() const { return units.count() * hemm_lines * columns(); }
  std::int64_t panel_sums() const { return (blocks + units.panels) * hemm_panel * columns(); }
  std::size_t workspace_bytes() const {
    return 16 + static_cast<std::size_t>(packed() + strip_sums() + panel_sums()) * sizeof(double);
  }
};

/// `columns`: real columns of X, at most gemm_columns or hemm_columns.
GemmConfiguration configure_gemm(const CudaDevice& device, const DenseLines& lines, bool by_rows, int columns);
/// `parts`: real numbers of a scalar. The matrix is square.
HemmConfiguration configure_hemm(const CudaDevice& device, const DenseLines& lines, int parts, bool lower, int columns);

}  // namespace blockvec::kernels::dispatch

namespace blockvec::kernels::cuda {

/// Y = alpha S X + beta Y, where S is A, its transpose (by its lines) or its conjugate.
template <class T>
struct GemmCall {
  T alpha, beta;
  Matrix<const T> a, x;
  Matrix<T> y;
  bool transposed, conjugate;

  /// Whether every line of A has a result of its own.
  bool by_rows() const { return (a.layout == Layout::row_major) != transposed; }
};
template <class T>
struct HemmCall {
  T alpha, beta;
  std::int64_t n;        ///< rows of the matrix
  Matrix<const T> a, x;  ///< `packed`: A is the panels of the lower triangle, one below the other
  Matrix<T> y;
  Triangle triangle;
  bool packed;

  /// Whether line i has the numbers up to i.
  bool lower() const { return (a.layout == Layout::row_major) == (triangle == Triangle::lower); }
};

/// Launches the products of checked arguments.
template <class T>
void launch_gemm(const GemmCall<T>& call, const dispatch::GemmConfiguration& configuration,
                 const CudaExecution& execution);
template <class T>
void launch_hemm(const HemmCall<T>& call, const dispatch::HemmConfiguration& configuration,
                 const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda
