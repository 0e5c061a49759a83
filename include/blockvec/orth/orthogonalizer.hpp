#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Orthogonalisation of block vectors: project a new block W (K x b) against an orthonormal basis V (K x m) and make it
/// orthonormal. Any method within a block combines with any method against the basis.
namespace blockvec::orth {

/// Within a block: X = Q R. Loss of orthogonality |I - Q^H Q| in terms of the condition number kappa of X with its
/// columns scaled to unit length, without escalation; reductions for a block of b columns.
enum class Intra {
  cgs,      ///< classical Gram-Schmidt by columns: eps kappa^2; b, and one for every column whose length cancels
  cgs2,     ///< each column projected twice: eps while eps kappa < 1; 2b - 1
  cholqr,   ///< Gram matrix and Cholesky: eps kappa^2, breaks near kappa = eps^-1/2; 1
  cholqr2,  ///< CholQR twice: eps, breaks there too; 2 (Yamamoto, Nakatsukasa, Yanagisawa, Fukaya 2015)
  svqb  ///< Gram matrix and eigendecomposition, small eigenvalues lifted, repeated until orthonormal: eps; 1 a sweep,
        ///< up to 6 sweeps (Stathopoulos, Wu 2002)
};

/// Against a basis: X = V S + Q R. i stands for the reductions of the method within the block.
enum class Inter {
  bcgs,      ///< one projection, then the method within the block: no useful bound; 1 + i
  bcgs2,     ///< projected and normalised twice: eps with a strong method within; 2 + 2i (Barlow, Smoktunowicz 2013)
  pip,       ///< projection and Gram matrix in one reduction, the factor by Pythagoras: eps kappa^2; 1
             ///< (Carson, Lund, Rozloznik 2021)
  pipi_plus  ///< PIP twice: eps while eps kappa^2 <= 1/2; 2 (Carson, Lund, Ma, Oktay 2025)
};
// PIP factorises a Gram matrix whatever the method within: by eigendecomposition for svqb, else by Cholesky.

/// What happens to columns that are numerically dependent on V and the columns before them.
enum class Deficiency {
  replace,  ///< random columns, orthogonal to everything, take their place: W keeps b orthonormal columns
  drop,     ///< the first `rank` columns of W are orthonormal, in their old order, the others zero
  report    ///< throws RankError
};

/// Why something else was done than what was asked.
enum class Reason {
  none,
  badly_scaled,     ///< columns were scaled by powers of two, since their squares would leave the range of the type
  ill_conditioned,  ///< the condition of the block asks for more than the chosen method can do
  breakdown,        ///< the Cholesky factorisation met a pivot that is zero to rounding
  rank_deficient,   ///< columns were dependent
  bad_basis,        ///< V is so far from orthonormal that projections on it do not settle
  no_room  ///< columns were dependent, and there are too few rows for as many orthonormal columns: some are zero
};

/// Thrown under Deficiency::report; names the rank and the columns. W then holds what Deficiency::drop would give.
class RankError : public Error {
 public:
  using Error::Error;
};

struct Options {
  Inter inter = Inter::pipi_plus;
  Intra intra = Intra::cholqr2;
  Deficiency deficiency = Deficiency::replace;
  /// Go on to a stronger method where quantities at hand show that the chosen one does not reach rounding level; false:
  /// do what was asked and say how it went.
  bool escalate = true;
  /// Leave out the second sweep of cholqr2, bcgs2 and pipi+ where quantities at hand show that the first was enough
  /// (see Orthogonalizer), or its projection where that was.
  bool adaptive = true;
  std::uint64_t seed = 1;  ///< of the random columns
};

/// "pipi+/cholqr2", "bcgs2/svqb", "pip", "/cgs2" ... A missing half keeps its default. Throws Error naming the known
/// words.
Options parse_options(std::string_view text);
std::string to_string(Inter inter);
std::string to_string(Intra intra);
std::string to_string(Reason reason);

/// What was done. Printed as "pipi+/cholqr2"; without a basis "cholqr2", for a projection alone "pipi+".
struct Method {
  Inter inter = Inter::pipi_plus;
  Intra intra = Intra::cholqr2;
  bool has_inter = false;
  bool has_intra = false;
};
std::string to_string(const Method& method);
std::ostream& operator<<(std::ostream& stream, const Method& method);
std::ostream& operator<<(std::ostream& stream, Reason reason);

/// What was done, and how well it went. The same on every rank.
struct Result {
  std::int64_t rank = 0;          ///< columns of W that were independent of V and of one another
  double condition_estimate = 1;  ///< of the projected block with unit columns, from its factor: a lower bound
  bool orthonormal =
      true;        ///< false where a method broke down and was not to escalate; X = V S + W R holds all the same
  int sweeps = 0;  ///< rounds of projection and normalisation
  std::int64_t reductions = 0;
  double passes = 0;             ///< words of tall data moved, in units of the block (K b words)
  Method method;                 ///< finally used
  Reason reason = Reason::none;  ///< why something else was done than asked
  std::vector<std::int64_t>
      lost;  ///< the columns of W found dependent (input numbering); empty, and no allocation, at full rank

  /// One line: "rank 8, pipi+/cholqr2, 2 sweeps, 2 reductions, 31.0 passes, condition >= 1.2e+03".
  std::string describe() const;
};

/// A column of W counts as dependent if what is left of it beside V (m columns) and the columns before it is at most
/// this share of its norm: 8 sqrt(m + b) eps, a little above what rounding leaves of a column that is dependent
/// exactly.
template <class Scalar>
RealOf<Scalar> rank_tolerance(std::int64_t m, std::int64_t b);

/// Orthogonalises blocks. How it decides: every sweep yields S, a factor R of W and the lengths D of W's columns.
/// a = ||D R^-1||_2^2 bounds what rounding does in this sweep: ||V^H Q|| <= c eps sqrt(a), ||I - Q^H Q|| <= c eps a,
/// with a small c that grows slowly with m and b; ||S R^-1|| bounds what V hands on of its own defects. Where a <= 64
/// and
/// ||S R^-1|| <= 1/8, V has been dealt with, and the next sweep leaves it out; where a <= 8 besides, there is no next
/// sweep. Where a shows that the factor is noise, W is left as it is and the strong method takes over: a block
/// projection, Gram-Schmidt by columns repeated until nothing cancels, then PIP. All this comes from small matrices
/// that are at hand, so it costs neither a pass nor a reduction, and all ranks decide alike.
///
/// All verbs: V and W share context and rows and do not overlap; S (m x b) and R (b x b) are optional. Widths from 0
/// up. Columns whose squares would overflow or underflow are scaled first. Throws ShapeError naming operands;
/// NotFiniteError naming operand and column if W or V holds NaN or Inf, W being as it was; RankError as asked.
/// Collective.
class Orthogonalizer {
 public:
  explicit Orthogonalizer(Context context, Options options = {}) : context_(std::move(context)), options_(options) {}
  const Context& context() const { return context_; }
  const Options& options() const { return options_; }

  /// W <- (I - V V^H) W; W_in = V S + W_out. V has orthonormal columns. W is not normalised.
  /// One sweep, a second one for bcgs2 and pipi+ or where more than 1/64 of a column's square went. A sweep: one
  /// reduction, 2m + 4b words. result.rank counts the columns that are not in the range of V; result.lost names the
  /// others, whose rest is noise.
  template <class Scalar, class Layout, class Space>
  Result project(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* s = nullptr);

  /// W <- Q with orthonormal columns and W_in = Q R. R is upper triangular, but for SVQB, whose R is full.
  /// Columns that were replaced have zero rows in R.
  template <class Scalar, class Layout, class Space>
  Result normalize(const BlockVector<Scalar, Layout, Space>& w,
                   const std::type_identity_t<SmallMatrix<Scalar, Space>>* r = nullptr);

  /// Both: W_in = V S + Q R, [V Q] orthonormal. V may have no columns. Default method: one or two sweeps, each one
  /// reduction and 2m + 6b words a row.
  template <class Scalar, class Layout, class Space>
  Result project_and_normalize(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               const std::type_identity_t<SmallMatrix<Scalar, Space>>* s = nullptr,
                               const std::type_identity_t<SmallMatrix<Scalar, Space>>* r = nullptr);

 private:
  Context context_;
  Options options_;
  std::int64_t draws_ = 0;  // random columns drawn so far
};

/// ||I - V^H V||_F, measured: one pass, one reduction.
template <class Scalar, class Layout, class Space>
RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>& v);

}  // namespace blockvec::orth
