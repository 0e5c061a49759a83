#pragma once

#include <blockvec/small_matrix.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "orth/trust.hpp"

/// What stands between the two products of a Pythagorean sweep, as one kernel where the small matrices lie: the host
/// need not see them before W changes. Source: pip of Orthogonalizer.
namespace blockvec::orth {

/// By what a sweep is judged.
template <class Real>
struct PythagoreanLimits {
  Real tolerance;     ///< of a pivot, relative to the squared length of its column before the projection
  Real low, high;     ///< squared lengths outside are not to be trusted
  Real noise;         ///< noise * a > 1: the factor is rounding noise. 0 where that does not count
  Real inner, outer;  ///< the largest a that leaves W orthonormal, and orthogonal to V
  Real passed_on;     ///< the largest bound of ||S R^-1||_2^2
};

/// The limits of Trust, and the range in which squares keep their precision. `escalates`: a stronger method is at hand
/// for factors that are mostly rounding noise.
template <class Scalar>
PythagoreanLimits<RealOf<Scalar>> pythagorean_limits(std::int64_t m, std::int64_t b, bool escalates) {
  using Real = RealOf<Scalar>;
  constexpr Real precision = epsilon<Scalar> * epsilon<Scalar>;
  return {epsilon<Scalar>,
          std::numeric_limits<Real>::min() / precision,
          std::numeric_limits<Real>::max() * precision,
          escalates ? 16 * std::sqrt(static_cast<Real>(m + b)) * epsilon<Scalar> : Real(0),
          Trust<Real>::inner_limit,
          Trust<Real>::outer_limit,
          Trust<Real>::passed_on_limit};
}

/// What the kernel says.
template <class Real>
struct PythagoreanStatus {
  unsigned certified;       ///< 1: the sweep is enough, else 0. A product's condition (kernels::CudaExecution)
  unsigned finite;          ///< S, G and G - S^H S hold neither NaN nor Inf
  unsigned in_range;        ///< all squared lengths are within the limits
  int rank;                 ///< pivots above their thresholds before the first one that is not; b: R, X and C are there
  Real a;                   ///< bound of ||D R^-1||_2^2, D the lengths of W's columns; 0 without a factor
  Real passed_on;           ///< bound of ||S R^-1||_2^2
  Real condition_estimate;  ///< dense::CholeskyResult
};

/// The matrices of one sweep by a block of b columns behind a basis of m columns. P, R and the status lie in one piece
/// of memory, in this order, so that one copy brings them to the host.
template <class Scalar, class Space>
struct PythagoreanFactor {
  using Status = PythagoreanStatus<RealOf<Scalar>>;

  SmallMatrix<Scalar, Space> p;  ///< [S; G] = [V W]^H W, (m + b) x b: what the kernel reads
  SmallMatrix<Scalar, Space> r;  ///< b x b, upper triangular with R^H R = G - S^H S
  Status* status = nullptr;
  SmallMatrix<Scalar, Space> c;  ///< [-S R^-1; R^-1], (m + b) x b: [V W] C is W after the sweep

  std::int64_t m() const { return p.rows() - p.columns(); }
  /// Bytes from P's first entry to the end of the status.
  static std::size_t bytes(std::int64_t m, std::int64_t b) { return status_at(m, b) + sizeof(Status); }
  /// Where the status begins.
  static std::size_t status_at(std::int64_t m, std::int64_t b) {
    constexpr std::size_t unit = 16;
    return (static_cast<std::size_t>((m + 2 * b) * b) * sizeof(Scalar) + unit - 1) / unit * unit;
  }
  /// Uninitialised, from scratch memory: lives as long as the scope.
  static PythagoreanFactor scratch(WorkspaceScope<Space>& scope, std::int64_t m, std::int64_t b);
};

/// The widest block that the kernel takes.
inline constexpr std::int64_t most_pythagorean_columns = 64;

/// Sets the status from P, and R and C where the status has full rank: the factor of G - S^H S as dense::cholesky finds
/// it against diag(G), its inverse, dense::amplification and dense::sum_of_shares. One kernel in the order of the
/// context's instance on a device, at once on the host; all sums in a fixed order, the same bits every time. `copy`:
/// staging memory for bytes(m, b) bytes, which gets P, R and the status. Cost: (m + b) b^2 products by one
/// multiprocessor. Throws ShapeError for b = 0 and beyond most_pythagorean_columns.
template <class Scalar, class Space>
void factorize_pythagorean(const PythagoreanFactor<Scalar, Space>& factor,
                           const PythagoreanLimits<RealOf<Scalar>>& limits, std::byte* copy = nullptr);

}  // namespace blockvec::orth
