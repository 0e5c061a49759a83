#include <algorithm>
#include <blockvec/operations.hpp>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Between;
using orth::Options;
using orth::Reason;
using orth::Within;

template <class K>
class Methods : public ::testing::Test {
 public:
  using ScalarType = typename K::Scalar;
  using Columns = HostColumns<Wide<ScalarType>>;
  static constexpr double eps = static_cast<double>(epsilon<ScalarType>);

  /// Condition numbers as powers of 1 / eps, so that one table serves every precision: 0.5 is where Gram matrices give
  /// out.
  static double kappa(double power) { return std::pow(eps, -power); }
  RowDistribution rows(std::int64_t count) const { return RowDistribution::uniform(count, context.communicator()); }
  static Options options(const char* text, bool escalate, bool adaptive = true) {
    Options chosen = orth::parse_options(text);
    chosen.escalate = escalate;
    chosen.adaptive = adaptive;
    return chosen;
  }
  /// A basis of m columns and a block of condition kappa orthogonal to it, plus a part in its range.
  Trial<K> beside_basis(std::int64_t count, std::int64_t m, std::int64_t b, double condition, double part = 0.5) {
    const Columns directions = generator.orthonormal(count, m + b);
    const Columns v = rounded<ScalarType>(columns_of(directions, 0, m));
    Columns x = generator.with_condition(columns_of(directions, m, m + b), condition);
    const Columns inside = product(v, generator.random(m, b));
    for (std::size_t i = 0; i < x.entries.size(); ++i) {
      x.entries[i] += inside.entries[i] *
                      static_cast<long double>(part / std::sqrt(static_cast<double>(std::max<std::int64_t>(m, 1))));
    }
    return {context, rows(count), v, x};
  }

  Context context = Context::self(2);
  Generator<ScalarType> generator{20260101};
};
TYPED_TEST_SUITE(Methods, testing::AllCases, testing::CaseName);

/// What the estimate must reach: with unit columns, R's diagonal entries are at most 1, and their product is that of
/// the singular values. So the smallest is at most their geometric mean. Rounding may change a diagonal entry by the
/// rank tolerance; and the first column's entry is 1.
template <class K>
double least_condition(const Trial<K>& trial) {
  const auto v = trial.v_given;
  auto rest = trial.x;
  const auto inside = product(v, gram(v, rest));
  for (std::size_t i = 0; i < rest.entries.size(); ++i) rest.entries[i] -= inside.entries[i];
  double logarithm = 0;
  for (std::int64_t j = 0; j < rest.columns; ++j) {
    const auto column = columns_of(rest, j, j + 1);
    auto left = column;
    for (int pass = 0; pass < 3; ++pass) {
      for (std::int64_t i = 0; i < j; ++i) {
        const auto q = columns_of(rest, i, i + 1);
        const auto t = gram(q, left)(0, 0);
        for (std::int64_t k = 0; k < left.rows; ++k) left(k, 0) -= q(k, 0) * t;
      }
    }
    logarithm += std::log(norm(left) / norm(column)) / static_cast<double>(rest.columns);
    const auto length = static_cast<long double>(norm(left));
    for (std::int64_t k = 0; k < left.rows; ++k) rest(k, j) = left(k, 0) / length;
  }
  const double tolerance = static_cast<double>(orth::rank_tolerance<typename K::Scalar>(v.columns, rest.columns));
  return 1 / (std::exp(logarithm) + tolerance);
}

const char* const every_method[] = {
    "bcgs/cgs",     "bcgs/cgs2",     "bcgs/cholqr",  "bcgs/cholqr2", "bcgs/svqb",     "bcgs2/cgs",  "bcgs2/cgs2",
    "bcgs2/cholqr", "bcgs2/cholqr2", "bcgs2/svqb",   "pip/cgs",      "pip/cgs2",      "pip/cholqr", "pip/cholqr2",
    "pip/svqb",     "pipi+/cgs",     "pipi+/cgs2",   "pipi+/cholqr", "pipi+/cholqr2", "pipi+/svqb", "bmgs/cgs2",
    "bmgs/cholqr",  "bcgsi+a/cgs2",  "p-2s/cholqr2", "p-1s2s/svqb",  "pip-dd/cholqr2"};

TYPED_TEST(Methods, EveryMethodIsOrthonormalToRoundingWhereItMayEscalate) {
  using Scalar = typename TestFixture::ScalarType;
  for (const std::int64_t m : {0, 9}) {
    for (const double power : {0.0, 0.05, 0.25, 0.4, 0.47, 0.5, 0.64, 0.8, 0.96}) {
      auto trial = this->beside_basis(120, m, 6, this->kappa(power));
      for (const char* method : every_method) {
        SCOPED_TRACE(std::string(method) + ", m = " + std::to_string(m) + ", kappa = eps^-" + std::to_string(power));
        distribute<Scalar>(trial.x, trial.w);
        const auto result = trial.run(this->options(method, true));
        EXPECT_TRUE(result.orthonormal) << result.describe();
        // A singular value near the tolerance may count as lost; the others are columns of their own.
        std::int64_t clear = 0;
        while (clear < 6 && this->kappa(-power * static_cast<double>(clear) / 5) >
                                8 * static_cast<double>(orth::rank_tolerance<Scalar>(m, 6))) {
          ++clear;
        }
        EXPECT_EQ(result.rank + static_cast<std::int64_t>(result.lost.size()), 6);
        EXPECT_GE(result.rank, clear) << result.describe();
        EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + 6)) << result.describe();
        EXPECT_LE(trial.residual(), rounding_residual<Scalar>(m + 6)) << result.describe();
        EXPECT_LE(trial.cholesky_residual(), rounding_residual<Scalar>(m + 6)) << result.describe();
        EXPECT_LE(result.condition_estimate, 4 * this->kappa(power) * 6);
        if (result.rank == 6) {
          EXPECT_GE(result.condition_estimate, least_condition(trial)) << method;
        }
        EXPECT_TRUE(trial.guards_hold());
      }
    }
  }
}

TYPED_TEST(Methods, FactorIsUpperTriangularButForSvqb) {
  for (const char* method : every_method) {
    auto trial = this->beside_basis(80, 5, 6, 10);
    const auto result = trial.run(this->options(method, true));
    const auto r = collect(trial.r);
    bool upper = true;
    for (std::int64_t j = 0; j < 6; ++j) {
      for (std::int64_t i = j + 1; i < 6; ++i) upper = upper && r(i, j) == Wide<typename TestFixture::ScalarType>(0);
    }
    EXPECT_EQ(upper, std::string(method).find("svqb") == std::string::npos) << method << ": " << result.describe();
  }
}

/// How far a method goes when it may not escalate, without a basis: loss <= bound while kappa = eps^-power, and whether
/// it breaks beyond.
struct Reach {
  const char* method;
  double power;         ///< of the condition number
  double loss_power;    ///< loss <= c eps kappa^loss_power
  bool breaks = false;  ///< reports that it could not
};

TYPED_TEST(Methods, WithinABlockAloneEachGoesAsFarAsTheorySays) {
  using Scalar = typename TestFixture::ScalarType;
  const Reach table[] = {
      {"/cholqr", 0.1, 2},   {"/cholqr", 0.25, 2},  {"/cholqr", 0.4, 2},         {"/cholqr", 0.75, 0, true},
      {"/cholqr2", 0.25, 0}, {"/cholqr2", 0.42, 0}, {"/cholqr2", 0.75, 0, true}, {"/cgs", 0.1, 2},
      {"/cgs", 0.25, 2},     {"/cgs", 0.4, 2},      {"/cgs2", 0.25, 0},          {"/cgs2", 0.75, 0},
      {"/cgs2", 0.9, 0},     {"/svqb", 0.25, 0},    {"/svqb", 0.5, 0},           {"/svqb", 0.75, 0},
      {"/svqb", 0.9, 0}};
  for (const Reach& reach : table) {
    SCOPED_TRACE(std::string(reach.method) + ", kappa = eps^-" + std::to_string(reach.power));
    const double kappa = this->kappa(reach.power);
    auto trial = this->beside_basis(150, 0, 8, kappa);
    const auto result = trial.run(this->options(reach.method, false));
    EXPECT_LE(trial.residual(), rounding_residual<Scalar>(8)) << result.describe();
    if (reach.breaks) {
      EXPECT_FALSE(result.orthonormal);
      EXPECT_EQ(result.reason, Reason::breakdown);
      EXPECT_LT(result.rank, 8);
      EXPECT_TRUE(collect(trial.w).entries == trial.x.entries) << "a block that could not be factorised stays as it is";
    } else {
      EXPECT_LE(trial.loss(), std::pow(kappa, reach.loss_power) * rounding_loss<Scalar>(8)) << result.describe();
      if (reach.loss_power == 0) {
        EXPECT_TRUE(result.orthonormal) << result.describe();
      }
    }
  }
}

TYPED_TEST(Methods, WeakMethodsFailWhereTheorySaysSo) {
  using Scalar = typename TestFixture::ScalarType;
  // One sweep of CholQR or CGS loses kappa^2: at eps^-0.4 nearly all digits but a few.
  for (const char* method : {"/cholqr", "/cgs"}) {
    auto trial = this->beside_basis(150, 0, 8, this->kappa(0.4));
    const auto result = trial.run(this->options(method, false));
    EXPECT_FALSE(result.orthonormal) << method;
    EXPECT_GT(trial.loss(), 10 * rounding_loss<Scalar>(8)) << method;
  }
  auto trial = this->beside_basis(150, 0, 8, this->kappa(0.8));
  trial.run(this->options("/cgs", false));
  EXPECT_GT(trial.loss(), 0.1) << "CGS at eps^-0.8 is not orthogonal at all";
}

/// Orthogonalises a matrix block after block; returns the loss of the whole, the residual and whether each block was
/// said to be orthonormal.
struct Outcome {
  double loss = 0, residual = 0;
  double growth = 1;  ///< ||Q|| ||R||, columns of X scaled to unit length: what rounding errors of Q R are relative to
  bool orthonormal = true;
};

template <class K>
Outcome block_by_block(const Context& context, const RowDistribution& rows, HostColumns<Wide<typename K::Scalar>> x,
                       std::int64_t width, const Options& options) {
  using Scalar = typename K::Scalar;
  x = rounded<Scalar>(x);
  const std::int64_t n = x.columns;
  typename K::Vector basis(context, rows, n, "basis");
  distribute<Scalar>(x, basis);
  orth::Orthogonalizer orthogonalizer(context, options);
  Outcome outcome;
  HostColumns<Wide<Scalar>> factor(n, n);
  for (std::int64_t begin = 0; begin < n; begin += width) {
    const std::int64_t end = std::min(n, begin + width);
    typename K::Small s(context, begin, end - begin), r(context, end - begin, end - begin);
    const auto result =
        orthogonalizer.project_and_normalize(basis.columns(0, begin), basis.columns(begin, end), &s, &r);
    outcome.orthonormal = outcome.orthonormal && result.orthonormal;
    const auto s_ = collect(s), r_ = collect(r);
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t i = 0; i < begin; ++i) factor(i, j) = s_(i, j - begin);
      for (std::int64_t i = begin; i < end; ++i) factor(i, j) = r_(i - begin, j - begin);
    }
  }
  const auto q = collect(basis);
  outcome.loss = loss_of_orthogonality(q);
  outcome.residual = relative_residual(x, {x.rows, 0}, {0, n}, q, factor);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto length = static_cast<long double>(norm(columns_of(x, j, j + 1)));
    for (std::int64_t i = 0; i < n && length > 0; ++i) factor(i, j) /= length;
  }
  outcome.growth = std::max(1.0, norm(q) * norm(factor));
  return outcome;
}

TYPED_TEST(Methods, BlockAfterBlockOnHardMatrices) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 120, width = 4, blocks = 6, n = width * blocks;
  struct Matrix {
    std::string name;
    HostColumns<Wide<Scalar>> x;
    double power;  // of its condition number, roughly
  };
  auto& draw = this->generator;
  std::vector<Matrix> matrices;
  for (const double power : {0.3, 0.6, 0.9}) {
    const double kappa = this->kappa(power);
    matrices.push_back({"default", draw.with_condition(count, n, kappa), power});
    matrices.push_back({"glued", draw.glued(count, blocks, width, kappa), power});
    matrices.push_back({"piled", draw.piled(count, blocks, width, kappa), power});
    matrices.push_back({"laeuchli", Generator<Scalar>::laeuchli(count, n, 1 / kappa), power});
  }
  matrices.push_back({"monomial", draw.monomial(count, n, 8), 0.9});
  const auto rows = this->rows(count);
  for (const auto& matrix : matrices) {
    SCOPED_TRACE(matrix.name + ", kappa = eps^-" + std::to_string(matrix.power));
    // With escalation, whatever the method: rounding level. Every block may add its own.
    for (const char* method : {"pipi+/cholqr2", "pip/cholqr", "bcgs/cgs", "bcgs2/svqb"}) {
      const auto outcome = block_by_block<TypeParam>(this->context, rows, matrix.x, width, this->options(method, true));
      EXPECT_TRUE(outcome.orthonormal) << method;
      EXPECT_LE(outcome.loss, rounding_loss<Scalar>(n)) << method;
      // SVQB's factors are inverse to one another only as far as the eigenvectors are orthonormal, in up to six sweeps
      // a block.
      const double factor = std::string(method).find("svqb") == std::string::npos ? 1 : 6;
      EXPECT_LE(outcome.residual, factor * rounding_residual<Scalar>(n)) << method;
    }
    // Without: X = Q R holds, and what is said to be orthonormal is.
    for (const char* method : every_method) {
      for (const bool adaptive : {false, true}) {
        const auto outcome =
            block_by_block<TypeParam>(this->context, rows, matrix.x, width, this->options(method, false, adaptive));
        const double factor = std::string(method).find("svqb") == std::string::npos ? 1 : 6;
        // Beside blocks that are far from orthonormal nothing is promised.
        if (outcome.orthonormal || matrix.power < 0.4) {
          EXPECT_LE(outcome.residual, outcome.growth * factor * rounding_residual<Scalar>(n)) << method;
        }
        if (outcome.orthonormal) {
          EXPECT_LE(outcome.loss, rounding_loss<Scalar>(n)) << method;
        }
      }
    }
    // PIP loses kappa^2, no more.
    if (matrix.power < 0.4) {
      const auto outcome =
          block_by_block<TypeParam>(this->context, rows, matrix.x, width, this->options("pip/cholqr", false));
      const double kappa = this->kappa(matrix.power);
      EXPECT_LE(outcome.loss, kappa * kappa * rounding_loss<Scalar>(n));
    }
    // Strong methods hold, whatever the matrix, as long as squares of the condition number fit.
    for (const char* method : {"pipi+/cholqr2", "bcgs2/cgs2"}) {
      if (matrix.power > 0.4) continue;
      const auto outcome =
          block_by_block<TypeParam>(this->context, rows, matrix.x, width, this->options(method, false, false));
      EXPECT_LE(outcome.loss, rounding_loss<Scalar>(n)) << method;
    }
    for (const char* method : {"pip/cholqr", "pipi+/cholqr2"}) {
      if (matrix.power < 0.8) continue;
      const auto outcome =
          block_by_block<TypeParam>(this->context, rows, matrix.x, width, this->options(method, false));
      EXPECT_FALSE(outcome.orthonormal) << method << ": beyond eps^-1/2 Pythagoras has nothing left, and says so";
      EXPECT_TRUE(std::isfinite(outcome.loss)) << method;
    }
  }
}

TYPED_TEST(Methods, BcgsAloneHasNoBoundOnPiledBlocks) {
  using Scalar = typename TestFixture::ScalarType;
  const auto rows = this->rows(120);
  const double kappa = this->kappa(0.3);
  const auto x = this->generator.piled(120, 8, 4, kappa);
  const auto run = [&](const char* method) {
    return block_by_block<TypeParam>(this->context, rows, x, 4, this->options(method, false, false)).loss;
  };
  EXPECT_GT(run("bcgs/cgs2"), 100 * this->eps * kappa * kappa) << "worse than PIP's bound, with a strong method within";
  EXPECT_LE(run("pip/cholqr"), kappa * kappa * rounding_loss<Scalar>(32));
  EXPECT_LE(run("bcgs2/cgs2"), rounding_loss<Scalar>(32));
}

struct Count {
  const char* method;
  std::int64_t m;
  std::int64_t reductions;
  int sweeps;
  double passes;   ///< words / b where a sweep is one pass
  double stepped;  ///< and where every step of it is one
};

TYPED_TEST(Methods, ReductionsAndPassesAreThoseOfTheMethod) {
  constexpr std::int64_t m = 12, b = 6;
  constexpr double ratio = 2.0;  // m / b
  const Count table[] = {{"bcgs/cholqr", m, 2, 1, 2 * ratio + 5, 2 * ratio + 6},
                         {"bcgs/cholqr2", m, 3, 1, 2 * ratio + 7, 2 * ratio + 9},
                         {"bcgs2/cholqr", m, 4, 2, 4 * ratio + 10, 4 * ratio + 12},
                         {"bcgs2/cholqr2", m, 6, 2, 4 * ratio + 14, 4 * ratio + 18},
                         {"bcgs2/svqb", m, 4, 2, 4 * ratio + 10, 4 * ratio + 12},
                         {"pip/cholqr", m, 1, 1, 2 * ratio + 3, 2 * ratio + 3},
                         {"pip/svqb", m, 1, 1, 2 * ratio + 3, 2 * ratio + 3},
                         {"pipi+/cholqr2", m, 2, 2, 3 * ratio + 5, 4 * ratio + 6},
                         {"pipi+/svqb", m, 2, 2, 3 * ratio + 5, 4 * ratio + 6},
                         {"bmgs/cholqr", m, 3, 1, 14, 14},
                         {"bcgsi+a/cgs2", m, 4, 2, 4 * ratio + 10, 4 * ratio + 12},
                         {"p-2s/cholqr", m, 3, 2, 4 * ratio + 8, 4 * ratio + 9},
                         {"p-1s/cholqr2", m, 2, 2, 3 * ratio + 5, 4 * ratio + 6},
                         {"pip+/cholqr2", m, 2, 2, 3 * ratio + 5, 4 * ratio + 6},
                         {"two-stage/cholqr2", m, 2, 2, 3 * ratio + 5, 4 * ratio + 6},
                         {"pip-dd/cholqr2", m, 2, 2, 4 * ratio + 6, 5 * ratio + 7},
                         {"/cholqr", 0, 1, 1, 3, 3},
                         {"/cholqr2", 0, 2, 1, 5, 6},
                         {"/svqb", 0, 1, 1, 3, 3},
                         {"/cgs", 0, b, 1, 0, 0},
                         {"/cgs2", 0, 2 * b - 1, 1, 0, 0},
                         {"bcgs/cgs", m, 1 + b, 1, 0, 0},
                         {"bcgs2/cgs2", m, 2 * (2 * b), 2, 0, 0}};
  for (const Count& count : table) {
    SCOPED_TRACE(count.method);
    auto trial = this->beside_basis(100, count.m, b, 1.0, 1e-3);
    const std::int64_t before = this->context.reductions();
    const auto result = trial.run(this->options(count.method, false, false));
    EXPECT_EQ(result.reductions, count.reductions) << result.describe();
    EXPECT_EQ(this->context.reductions() - before, count.reductions);
    EXPECT_EQ(result.sweeps, count.sweeps);
    if (count.passes > 0) {
      if constexpr (is_host_space<typename TypeParam::Space>) {
        EXPECT_DOUBLE_EQ(result.passes, count.passes);
      } else {  // which steps are one pass depends on types and alignment
        EXPECT_GE(result.passes, count.passes);
        EXPECT_LE(result.passes, count.stepped);
      }
    }
    EXPECT_TRUE(result.orthonormal);
    EXPECT_EQ(result.reason, Reason::none);
  }
}

// BMGS takes V in blocks of basis_width columns, one reduction for each; one more is CholQR's.
TYPED_TEST(Methods, BmgsTakesTheBasisInBlocksOfBasisWidth) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t m = 12, b = 6;
  for (const std::int64_t width : {0, 1, 4, 5, 6, 12, 100}) {
    SCOPED_TRACE(width);
    auto trial = this->beside_basis(100, m, b, 1.0, 1e-3);
    Options options = this->options("bmgs/cholqr", false, false);
    options.basis_width = width;
    const auto result = trial.run(options);
    const std::int64_t columns = std::min(m, width > 0 ? width : b);
    const std::int64_t blocks = (m + columns - 1) / columns;
    EXPECT_EQ(result.reductions, blocks + 1) << result.describe();
    // A look at all of V, another one at each block but the first, and the change of W by each; CholQR's 3 b.
    const std::int64_t words = (m + b) + (m - columns + (blocks - 1) * b) + (m + 2 * blocks * b);
    EXPECT_NEAR(result.passes, static_cast<double>(words) / b + 3, 64 * epsilon<double>);
    EXPECT_LE(trial.residual(), rounding_residual<Scalar>(m + b));
    EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));

    // In factorize the basis of a block are those before it.
    const auto x = this->generator.random(100, 3 * b);
    const auto rows = this->rows(100);
    typename TypeParam::Vector q(this->context, rows, 3 * b);
    distribute<Scalar>(x, q);
    orth::Orthogonalizer orthogonalizer(this->context, options);
    const std::int64_t of_one = width > 0 ? (b + width - 1) / width : 1;
    const std::int64_t of_two = width > 0 ? (2 * b + width - 1) / width : 2;
    EXPECT_EQ(orthogonalizer.factorize(q, nullptr, b).reductions, 1 + (of_one + 1) + (of_two + 1));
  }
}

TYPED_TEST(Methods, SecondSweepIsLeftOutOnlyWhereTheFirstWasEnough) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t m = 10, b = 5;
  const Options options = this->options("pipi+/cholqr2", true);
  for (const double kappa : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0}) {
    for (const double part : {0.0, 1e-3, 1.0, 5.0}) {
      auto trial = this->beside_basis(90, m, b, kappa, part);
      const auto result = trial.run(options);
      EXPECT_EQ(result.reductions, result.sweeps);
      EXPECT_LE(result.sweeps, 2) << result.describe();
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b))
          << "kappa " << kappa << ", part " << part << ": " << result.describe();
      if (kappa <= 1.5 && part < 0.1) {
        EXPECT_EQ(result.sweeps, 1) << "kappa " << kappa << ", part " << part;
      }
      if (kappa >= 10 || part > 4) {
        EXPECT_EQ(result.sweeps, 2) << "kappa " << kappa << ", part " << part;
      }
    }
  }
}

TYPED_TEST(Methods, SecondSweepLeavesTheBasisOutWhereTheProjectionWasEnough) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t m = 10, b = 5;
  for (const char* method : {"pipi+/cholqr2", "pipi+/svqb", "bcgs2/cholqr"}) {
    int left_out = 0;
    for (const double kappa : {2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
      auto trial = this->beside_basis(90, m, b, kappa, 1e-3);
      const auto result = trial.run(this->options(method, true));
      const bool pythagorean = method[0] == 'p';
      // On a device the kernel for sweeps takes row-major blocks.
      constexpr bool fused =
          is_host_space<typename TypeParam::Space> || std::is_same_v<typename TypeParam::Layout, RowMajor>;
      const double ratio = static_cast<double>(m) / b;
      const double first = 2 * ratio + (pythagorean ? 3 : fused ? 5 : 6);
      const double tidied = first + (fused && pythagorean ? 2 : 3);
      const double full = fused && pythagorean ? 3 * ratio + 5 : 2 * first;
      EXPECT_TRUE(result.passes == (result.sweeps == 1 ? first : tidied) || result.passes == full) << result.describe();
      left_out += result.passes == tidied ? 1 : 0;
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b)) << result.describe();
      EXPECT_LE(trial.residual(), rounding_residual<Scalar>(m + b)) << result.describe();
    }
    EXPECT_GT(left_out, 0) << method;
  }
}

TYPED_TEST(Methods, AGrowingKrylovBasisStaysOrthonormal) {
  using Scalar = typename TestFixture::ScalarType;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t count = 200, n = 96;
  for (const std::int64_t b : {1, 2, 4}) {
    for (const bool local_first : {false, true}) {  // three-term recurrence before, as block Lanczos has it
      const typename TypeParam::Vector basis(this->context, this->rows(count), n, "basis");
      orth::Orthogonalizer orthogonalizer(this->context);
      fill_random(basis.columns(0, b), 3);
      EXPECT_EQ(orthogonalizer.normalize(basis.columns(0, b)).rank, b);
      int sweeps = 0;
      for (std::int64_t j = b; j < n; j += b) {
        const auto last = basis.columns(j - b, j), next = basis.columns(j, j + b);
        const auto from = testing::on_host(last), to = testing::on_host(next);
        for (std::int64_t i = 0; i < count; ++i) {  // a diagonal operator with eigenvalues spread over [-1, 1]
          const auto value = Scalar(std::cos(static_cast<Real>(3 * i)));
          for (std::int64_t l = 0; l < b; ++l) to.view()(i, l) = value * from.view()(i, l);
        }
        copy(to, next);
        const std::int64_t begin = local_first ? std::max<std::int64_t>(j - 2 * b, 0) : j;
        const typename TypeParam::Small s(this->context, j - begin, b);
        inner_product(basis.columns(begin, j), next, s);
        update(Scalar(-1), basis.columns(begin, j), s, Scalar(1), next);
        sweeps += orthogonalizer.project_and_normalize(basis.columns(0, j), next).sweeps;
      }
      const double loss = loss_of_orthogonality(collect(basis));
      EXPECT_LE(loss, rounding_loss<Scalar>(n))
          << "b = " << b << ", local first " << local_first << ", sweeps " << sweeps;
    }
  }
}

TYPED_TEST(Methods, ProjectionLeavesTheRestAndItsCoefficients) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t m = 10, b = 5;
  for (const char* method : {"bcgs", "bcgs2", "pip", "pipi+"}) {
    for (const double part : {0.0, 1.0, 1e4}) {
      SCOPED_TRACE(std::string(method) + ", part " + std::to_string(part));
      auto trial = this->beside_basis(90, m, b, 10, part);
      orth::Orthogonalizer orthogonalizer(this->context, this->options(method, true));
      const auto result = orthogonalizer.project(trial.v, trial.w, &trial.s);
      EXPECT_EQ(result.rank, b);
      EXPECT_EQ(to_string(result.method), method);
      auto identity = HostColumns<Wide<Scalar>>(b, b);
      for (std::int64_t j = 0; j < b; ++j) identity(j, j) = Wide<Scalar>(1);
      const auto w = collect(trial.w);
      EXPECT_LE(relative_residual(trial.x, trial.v_given, collect(trial.s), w, identity), rounding_residual<Scalar>(m));
      auto unit = w;
      for (std::int64_t j = 0; j < b; ++j) {
        long double square = 0;
        for (std::int64_t i = 0; i < w.rows; ++i) square += std::norm(w(i, j));
        for (std::int64_t i = 0; i < w.rows; ++i) unit(i, j) /= std::sqrt(square);
      }
      EXPECT_LE(norm(gram(trial.v_given, unit)), rounding_loss<Scalar>(m + b)) << result.describe();
    }
  }
}

TYPED_TEST(Methods, CoefficientsAreOptionalAndChangeNothing) {
  auto with = this->beside_basis(70, 6, 4, 1e2);
  Trial<TypeParam> without(this->context, this->rows(70), with.v_given, with.x);
  with.run({});
  EXPECT_EQ(orth::Orthogonalizer(this->context).project_and_normalize(without.v, without.w).rank, 4);
  EXPECT_TRUE(collect(with.w).entries == collect(without.w).entries);
}

TYPED_TEST(Methods, ScratchMemoryIsWarmAfterOneRound) {
  for (const char* method : every_method) {
    std::int64_t after_first = 0;
    for (int round = 0; round < 3; ++round) {
      auto trial = this->beside_basis(70, 6, 4, this->kappa(round == 0 ? 0.6 : 0.2));
      trial.run(this->options(method, true));
      if (round == 0) after_first = this->context.workspace().allocations();
    }
    EXPECT_EQ(this->context.workspace().allocations(), after_first) << method;
  }
}

TYPED_TEST(Methods, LossOfOrthogonalityIsMeasured) {
  using Scalar = typename TestFixture::ScalarType;
  auto trial = this->beside_basis(60, 7, 3, 1);
  EXPECT_LE(std::abs(static_cast<double>(orth::orthogonality_loss(trial.v)) - trial.basis_loss()),
            rounding_loss<Scalar>(7));
  fill(trial.w, Scalar(0));
  EXPECT_EQ(orth::orthogonality_loss(trial.w), std::sqrt(RealOf<Scalar>(3)));
}

}  // namespace
}  // namespace blockvec::test
