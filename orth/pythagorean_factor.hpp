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
  Real direct;        ///< the largest ||D R^-1||_2^2, D the lengths of R's columns, for a change by the inverse of R
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
          Trust<Real>::direct_limit,
          Trust<Real>::inner_limit,
          Trust<Real>::outer_limit,
          Trust<Real>::passed_on_limit};
}

/// What the kernel says.
template <class Real>
struct PythagoreanStatus {
  unsigned certified;       ///< 1: the sweep is enough, else 0
  unsigned changes;         ///< 1: R is to be trusted, so that W may change by it. This and the next five: 0 elsewhere,
                            ///< and where the kernel's condition is; conditions of products (kernels::CudaExecution)
  unsigned continues;       ///< 1: W changes, and another sweep is to follow
  unsigned projects_next;   ///< 1: that one has V and W to deal with
  unsigned tidies_next;     ///< 1: that one has W alone to deal with (Verdict::tidy)
  unsigned finishes;        ///< 1: W becomes [V W] C, and no other sweep is to follow
  unsigned tidies;          ///< 1: W becomes W R^-1, and no other sweep is to follow
  unsigned finite;          ///< S, G and G - S^H S hold neither NaN nor Inf; of a tidy sweep G alone is looked at
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
    return rounded(static_cast<std::size_t>((m + 2 * b) * b) * sizeof(Scalar), 16);
  }
  /// Bytes of all of it, a multiple of 128, and the matrices in so much memory, uninitialised.
  static std::size_t whole_bytes(std::int64_t m, std::int64_t b) {
    return rounded(bytes(m, b), 128) + rounded(static_cast<std::size_t>((m + b) * b) * sizeof(Scalar), 128);
  }
  static PythagoreanFactor in(std::byte* memory, const Context& context, std::int64_t m, std::int64_t b);

 private:
  static std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
};

/// Who hears of a factor on the host.
struct PythagoreanReport {
  std::byte* copy = nullptr;    ///< staging memory for bytes(m, b) bytes, which gets P, R and the status
  unsigned* word = nullptr;     ///< staging memory, or null: is set to 1 when the copy is there, but
  bool when_continuing = true;  ///< whether also where another sweep is to follow
};

/// The widest block that the kernel takes.
inline constexpr std::int64_t most_pythagorean_columns = 64;

/// Sets the status from P, and R and C where the status has full rank: the factor of G - S^H S as dense::cholesky finds
/// it against diag(G), its inverse, dense::amplification and dense::sum_of_shares. One kernel in the order of the
/// context's instance on a device, at once on the host; all sums in a fixed order, the same bits every time.
/// `another`: whether another sweep is to follow. `previous`, in the memory of Space: the status of the sweep before,
/// or null. Where that one does not continue, the status says that nothing changes, and that is all. Where it says that
/// the next one has W alone to deal with, R is the factor of G, and C's first m rows are not set. Cost: (m + b) b^2
/// products by one multiprocessor. Throws ShapeError for b = 0 and beyond most_pythagorean_columns.
template <class Scalar, class Space>
void factorize_pythagorean(const PythagoreanFactor<Scalar, Space>& factor,
                           const PythagoreanLimits<RealOf<Scalar>>& limits, Another another = Another::none,
                           const PythagoreanReport& report = {},
                           const PythagoreanStatus<RealOf<Scalar>>* previous = nullptr);

}  // namespace blockvec::orth
