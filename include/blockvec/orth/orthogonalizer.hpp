#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>

/// Orthogonalisation of block vectors: project a new block W (K x b) against an orthonormal basis V (K x m) and make it orthonormal.
namespace blockvec::orth {

/// Inside a block ("muscle"): X = Q R.
enum class Intra { cgs, cgs2, cholqr, cholqr2, svqb };
/// Against a basis ("skeleton"): X = V S + Q R.
enum class Inter { bcgs, bcgs2, pip, pipi_plus };
/// What happens to columns that are numerically dependent on V and the columns before them.
enum class Deficiency {
  replace,  ///< random columns, orthogonal to everything, take their place: W keeps b orthonormal columns
  drop,     ///< the first `rank` columns of W are orthonormal, the others zero
  report    ///< throws RankError
};

/// Thrown under Deficiency::report; names the rank and the columns.
class RankError : public Error {
 public:
  using Error::Error;
};

struct Options {
  Inter inter = Inter::pipi_plus;
  Intra intra = Intra::cholqr2;
  Deficiency deficiency = Deficiency::replace;
  bool escalate = true;    ///< go on to a stronger method where the chosen one fails; false: do what was asked, and say how it went
  std::uint64_t seed = 1;  ///< of the random columns
};

/// "pipi+/cholqr2", "bcgs2/svqb", "pip", "/cgs2" ... A missing half keeps its default. Throws Error naming the known words.
Options parse_options(std::string_view text);
std::string to_string(Inter inter);
std::string to_string(Intra intra);

/// What was done, and how well it went.
struct Result {
  std::int64_t rank = 0;            ///< columns of W that were independent of V and of one another
  double condition_estimate = 1;    ///< of the (projected) block, from its triangular factor: a lower bound
  int sweeps = 0;                   ///< rounds of projection or normalisation
  std::int64_t reductions = 0;
  double passes = 0;                ///< passes over tall data in units of the block: words of tall data moved / (K b)
  std::string method;               ///< finally used, e.g. "pipi+/cholqr2" or "bcgs2/svqb"
  std::string reason;               ///< why it escalated; empty if it did not
  std::vector<std::int64_t> lost;   ///< the columns of W found dependent (input numbering)
};

class Orthogonalizer {
 public:
  explicit Orthogonalizer(Context context, Options options = {}) : context_(std::move(context)), options_(options) {}
  const Options& options() const { return options_; }

  /// W <- (I - V V^H) W; S (m x b, optional) receives the coefficients: W_in = V S + W_out. V has orthonormal columns. W is not normalised.
  template <class Scalar, class Layout, class Space>
  Result project(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                 const SmallMatrix<Scalar, Space>* s = nullptr);

  /// W <- Q with orthonormal columns and W_in = Q R. R is b x b: upper triangular, but for SVQB, whose R is full.
  /// Columns that were replaced have zero rows in R.
  template <class Scalar, class Layout, class Space>
  Result normalize(const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar, Space>* r = nullptr);

  /// Both: W_in = V S + Q R, [V Q] orthonormal. V may have no columns. 
  template <class Scalar, class Layout, class Space>
  Result project_and_normalize(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               const SmallMatrix<Scalar, Space>* s = nullptr, const SmallMatrix<Scalar, Space>* r = nullptr);

 private:
  Context context_;
  Options options_;
};

/// ||I - V^H V||_F, measured: one pass, one reduction.
template <class Scalar, class Layout, class Space>
RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>& v);

}  // namespace blockvec::orth
