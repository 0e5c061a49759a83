#include <algorithm>
#include <blockvec/operations.hpp>
#include <tuple>

#include "tests/orth/factored.hpp"

namespace blockvec::test {
namespace {

using orth::Between;
using orth::Deficiency;
using orth::Options;
using orth::Reason;

template <class K>
class Factorize : public ::testing::Test {
 public:
  using ScalarType = typename K::Scalar;
  using Columns = HostColumns<Wide<ScalarType>>;
  static constexpr double eps = static_cast<double>(epsilon<ScalarType>);
  static double kappa(double power) { return std::pow(eps, -power); }
  static Options options(const std::string& text, bool escalate, bool adaptive = true) {
    Options chosen = orth::parse_options(text);
    chosen.escalate = escalate;
    chosen.adaptive = adaptive;
    return chosen;
  }
  Factored<K> run(const Columns& x, std::int64_t width, const Options& chosen) const {
    return Factored<K>(context, x, width, chosen);
  }
  typename K::Vector tall(const Columns& values, const RowDistribution& rows) const {
    const typename K::Vector a(context, rows, values.columns, "A");
    distribute<ScalarType>(values, a);
    return a;
  }
  Context context = Context::self(2);
  Generator<ScalarType> generator{20261121};
};
TYPED_TEST_SUITE(Factorize, testing::AllCases, testing::CaseName);

const char* const every_skeleton[] = {"bcgs",  "bmgs", "bcgs2", "bcgsi+a", "pip",       "pip+",
                                      "pipi+", "p-1s", "p-2s",  "p-1s2s",  "two-stage", "pip-dd"};

/// Methods within a block, one after the other, so that every skeleton meets most of them.
class Within {
 public:
  const char* next() {
    static constexpr const char* names[] = {"cholqr2",  "svqb",    "tsqr", "dd-cholqr2",
                                            "scholqr3", "pcholqr", "cgs2", "rand-cholqr"};
    return names[index_++ % std::size(names)];
  }

 private:
  std::size_t index_ = 0;
};

struct Count {
  const char* method;
  std::int64_t first;   ///< reductions of the first block
  std::int64_t others;  ///< of all others
};

TYPED_TEST(Factorize, ReductionsAreThoseOfTheMethod) {
  constexpr std::int64_t count = 90, width = 4, blocks = 6, n = width * blocks, rest = blocks - 1;
  const auto x = this->generator.with_condition(count, n, 10);
  const Count table[] = {{"bcgs/cholqr", 1, 2 * rest},
                         {"bcgs/cgs2", 2 * width - 1, 2 * width * rest},
                         {"bmgs/cholqr", 1, rest * (rest + 1) / 2 + rest},
                         {"bcgs2/cholqr", 1, 4 * rest},
                         {"bcgsi+a/cgs2", 2 * width - 1, 4 * rest},
                         {"pip/cholqr2", 2, rest},
                         {"pip+/cholqr2", 2, 2 * rest},
                         {"pipi+/cholqr2", 2, 2 * rest},
                         {"pip-dd/cholqr2", 2, 2 * rest},
                         {"p-1s/cholqr2", 2, rest + 1},
                         {"p-2s/cholqr", 1, 2 * rest + 1},
                         {"p-2s/cholqr2", 2, 3 * rest + 1},
                         {"p-1s2s/cholqr2", 2, rest + 1},
                         {"two-stage/cholqr2", 2, rest + 3}};
  for (const Count& expected : table) {
    SCOPED_TRACE(expected.method);
    auto options = this->options(expected.method, false, false);
    options.panel_width = 2 * width;
    const std::int64_t before = this->context.reductions();
    const auto run = this->run(x, width, options);
    EXPECT_EQ(run.result.reductions, expected.first + expected.others) << run.result.describe();
    EXPECT_EQ(this->context.reductions() - before, run.result.reductions);
    EXPECT_EQ(run.result.reason, Reason::none);
    EXPECT_EQ(run.result.rank, n);
    EXPECT_EQ(to_string(run.result.method), expected.method);
    EXPECT_LE(run.residual(), rounding_residual<typename TestFixture::ScalarType>(n));
  }
}

TYPED_TEST(Factorize, WordsAreThoseOfTheMethod) {
  using Scalar = typename TestFixture::ScalarType;
  if (!is_host_space<typename TypeParam::Space>) GTEST_SKIP() << "where steps of a sweep are passes of their own";
  constexpr std::int64_t count = 90, b = 4, blocks = 6, n = b * blocks;
  const auto x = this->generator.with_condition(count, n, 10);
  // Delayed: products of a finished block and the next with the q columns before both, then both change.
  const auto delayed = [](std::int64_t normalization) {
    std::int64_t words = (2 * b) + (3 * b) + normalization;  // the second block, beside a first that is final
    for (std::int64_t q = b; q + 2 * b <= n; q += b) words += (q + 2 * b) + (q + 4 * b) + normalization;
    return words + (n - b + b) + (n - b + 2 * b);  // the last block alone
  };
  std::int64_t one_by_one = 0;  // the default: products, change and products, change
  for (std::int64_t m = b; m < n; m += b) one_by_one += 3 * m + 5 * b;
  const struct {
    const char* method;
    std::int64_t words;
  } table[] = {{"p-1s/cholqr", 3 * b + delayed(0)},
               {"p-2s/cholqr", 3 * b + delayed(2 * b)},
               {"pipi+/cholqr", 3 * b + one_by_one}};
  const auto rows = RowDistribution::uniform(count, this->context.communicator());
  const auto v = this->tall(rounded<Scalar>(this->generator.orthonormal(count, 2)), rows);
  for (const auto& expected : table) {
    SCOPED_TRACE(expected.method);
    const auto options = this->options(expected.method, false, false);
    const auto run = this->run(x, b, options);
    EXPECT_EQ(run.result.passes * n, static_cast<double>(expected.words)) << run.result.describe();
    EXPECT_LE(run.loss(), rounding_loss<Scalar>(n));
    EXPECT_LE(run.residual(), rounding_residual<Scalar>(n));
    // A basis in pieces takes part in the same passes.
    const auto w = this->tall(x, rows);
    orth::Orthogonalizer orthogonalizer(this->context, options);
    const auto one = orthogonalizer.factorize(v, w, nullptr, nullptr, b);
    distribute<Scalar>(x, w);
    const auto two = orthogonalizer.factorize({v.column(0), v.column(1)}, w, nullptr, nullptr, b);
    EXPECT_EQ(one.passes, two.passes);
    EXPECT_EQ(one.reductions, two.reductions);
  }
}

TYPED_TEST(Factorize, EveryMethodIsOrthonormalToRoundingWhereItMayEscalate) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 100, width = 4, n = 18;  // the last block is narrower
  Within all;
  for (const double power : {0.05, 0.3, 0.6, 0.9}) {
    const double kappa = this->kappa(power);
    auto& draw = this->generator;
    const typename TestFixture::Columns matrices[] = {
        draw.with_condition(count, n, kappa), columns_of(draw.glued(count, 5, width, kappa), 0, n),
        columns_of(draw.piled(count, 5, width, kappa), 0, n), Generator<Scalar>::laeuchli(count, n, 1 / kappa)};
    for (std::size_t i = 0; i < std::size(matrices); ++i) {
      for (const char* skeleton : every_skeleton) {
        for (const char* within : {"cholqr2", all.next()}) {
          const std::string method = std::string(skeleton) + "/" + within;
          SCOPED_TRACE(method + ", kappa = eps^-" + std::to_string(power) + ", matrix " + std::to_string(i));
          const auto run = this->run(matrices[i], width, this->options(method, true));
          EXPECT_TRUE(run.result.orthonormal) << run.result.describe();
          EXPECT_LE(run.loss(), rounding_loss<Scalar>(n)) << run.result.describe();
          EXPECT_EQ(run.result.rank + static_cast<std::int64_t>(run.result.lost.size()), n);
          EXPECT_LE(run.residual(), (within[0] == 's' ? 6 : 1) * rounding_residual<Scalar>(n)) << run.result.describe();
          EXPECT_TRUE(run.is_block_upper(width));
          EXPECT_TRUE(run.guard_holds());
        }
      }
    }
  }
}

TYPED_TEST(Factorize, TheAdaptiveSwitchAsksForASecondReductionOnlyWhereOneDoesNotDo) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 120, width = 4, blocks = 8, n = width * blocks, rest = blocks - 1;
  for (const bool escalate : {false, true}) {
    const auto options = this->options("p-1s2s/cholqr2", escalate);
    const auto easy = this->run(this->generator.glued(count, blocks, width, this->kappa(0.25)), width, options);
    EXPECT_EQ(easy.result.reason, Reason::none) << easy.result.describe();
    EXPECT_EQ(easy.result.method.between, Between::p_adaptive);
    EXPECT_LE(easy.result.reductions, 2 + rest + 1) << easy.result.describe();
    const auto hard = this->run(this->generator.glued(count, blocks, width, this->kappa(0.6)), width, options);
    EXPECT_TRUE(hard.result.orthonormal) << hard.result.describe();
    EXPECT_EQ(hard.result.method.between, Between::p_2s) << hard.result.describe();
    EXPECT_GT(hard.result.reductions, 2 + rest + 1);
    EXPECT_LE(hard.result.reductions, 2 + 3 * rest + 2) << hard.result.describe();  // CholQR2 within
    EXPECT_LE(hard.loss(), rounding_loss<Scalar>(n));
    EXPECT_LE(hard.residual(), rounding_residual<Scalar>(n));
  }
}

TYPED_TEST(Factorize, TwoStagesTakePanelsOfAnyMultiple) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t width = 3, n = 20;
  const auto x = this->generator.with_condition(70, n, this->kappa(0.3));
  for (const std::int64_t panel : {3, 6, 15, 18, 21, 60}) {
    auto options = this->options("two-stage/cholqr2", true, false);
    options.panel_width = panel;
    const auto run = this->run(x, width, options);
    const std::int64_t panels = (n - width + panel - 1) / panel;
    EXPECT_EQ(run.result.reductions, 2 + 6 + panels) << "panel " << panel << ": " << run.result.describe();
    EXPECT_LE(run.loss(), rounding_loss<Scalar>(n));
    EXPECT_LE(run.residual(), rounding_residual<Scalar>(n));
  }
}

TYPED_TEST(Factorize, BesideLockedVectorsToo) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 90, m = 5, n = 11, width = 3;
  const auto rows = RowDistribution::uniform(count, this->context.communicator());
  const auto v = rounded<Scalar>(this->generator.orthonormal(count, m));
  const typename TypeParam::Vector basis(this->context, rows, m, "V");
  distribute<Scalar>(v, basis);
  for (const double power : {0.1, 0.6}) {
    auto x = this->generator.with_condition(count, n, this->kappa(power));
    const auto inside = product(v, this->generator.random(m, n));
    for (std::size_t i = 0; i < x.entries.size(); ++i) x.entries[i] += inside.entries[i];
    x = rounded<Scalar>(x);
    for (const char* skeleton : every_skeleton) {
      SCOPED_TRACE(std::string(skeleton) + ", kappa = eps^-" + std::to_string(power));
      const typename TypeParam::Vector q(this->context, rows, n, "X");
      distribute<Scalar>(x, q);
      const typename TypeParam::Small s(this->context, m, n), r(this->context, n, n);
      orth::Orthogonalizer orthogonalizer(this->context, this->options(skeleton, true));
      const auto result = orthogonalizer.factorize({basis.columns(0, 2), basis.columns(2, m)}, q, &s, &r, width);
      EXPECT_EQ(result.rank, n) << result.describe();
      EXPECT_LE(loss_of_orthogonality(join(v, collect(q))), rounding_loss<Scalar>(m + n)) << result.describe();
      EXPECT_LE(relative_residual(x, v, collect(s), collect(q), collect(r)), rounding_residual<Scalar>(m + n));
    }
  }
}

TYPED_TEST(Factorize, MoreColumnsThanRowsEndWithZeros) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 7, n = 10;
  const auto x = this->generator.random(count, n);
  for (const char* skeleton : every_skeleton) {
    SCOPED_TRACE(skeleton);
    const auto run = this->run(x, 3, this->options(skeleton, true));
    EXPECT_EQ(run.result.rank, count) << run.result.describe();
    EXPECT_LE(run.loss(), rounding_loss<Scalar>(n));
    EXPECT_EQ(run.zero_columns, n - count);
    EXPECT_EQ(run.result.reason, Reason::no_room);
    EXPECT_LE(run.residual(),
              rounding_residual<Scalar>(n) + n * static_cast<double>(orth::rank_tolerance<Scalar>(n, 3)));
  }
}

TYPED_TEST(Factorize, AnyWidthServes) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t n = 13;
  const auto x = this->generator.with_condition(60, n, 50);
  for (const std::int64_t width : {1, 2, 5, 12, 13, 40}) {
    for (const char* skeleton : every_skeleton) {
      SCOPED_TRACE(std::string(skeleton) + ", width " + std::to_string(width));
      const auto run = this->run(x, width, this->options(skeleton, true));
      EXPECT_EQ(run.result.rank, n) << run.result.describe();
      EXPECT_LE(run.loss(), rounding_loss<Scalar>(n));
      EXPECT_LE(run.residual(), rounding_residual<Scalar>(n));
    }
  }
}

TYPED_TEST(Factorize, LostColumnsAreNamedAndReplacedOrDropped) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t n = 12, width = 3;
  auto x = this->generator.random(50, n);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    x(i, 1) = Wide<Scalar>(0);
    x(i, 5) = x(i, 0);
    x(i, 9) = x(i, 4) * 2.0L - x(i, 7);
  }
  const std::vector<std::int64_t> lost{1, 5, 9};
  const double tolerance = 3 * static_cast<double>(orth::rank_tolerance<Scalar>(n, width));
  Within all;
  for (const char* skeleton : every_skeleton) {
    for (const auto deficiency : {Deficiency::replace, Deficiency::drop}) {
      const std::string method = std::string(skeleton) + "/" + all.next();
      SCOPED_TRACE(method);
      auto options = this->options(method, true);
      options.deficiency = deficiency;
      const auto run = this->run(x, width, options);
      EXPECT_EQ(run.result.lost, lost) << run.result.describe();
      EXPECT_EQ(run.result.rank, n - 3);
      EXPECT_LE(run.loss(), rounding_loss<Scalar>(n)) << run.result.describe();
      EXPECT_EQ(run.zero_columns, deficiency == Deficiency::drop ? 3 : 0);
      EXPECT_LE(run.residual(), rounding_residual<Scalar>(n) + tolerance);
      if (deficiency == Deficiency::drop) {
        EXPECT_EQ(norm(collect(run.q.columns(n - 3, n))), 0);
      }
    }
    auto options = this->options(skeleton, true);
    options.deficiency = Deficiency::report;
    EXPECT_THROW(this->run(x, width, options), orth::RankError);
  }
}

TYPED_TEST(Factorize, AnyScaleOfColumnsIsFine) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t n = 9;
  const long double small = std::is_same_v<RealOf<Scalar>, float> ? 1e-20L : 1e-150L;
  const long double scales[] = {1, small, 1 / small, 1 / small, 1, small, small, 1 / small, 1};
  auto x = this->generator.with_condition(50, n, 100);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) x(i, j) *= scales[j];
  }
  for (const char* skeleton : every_skeleton) {
    SCOPED_TRACE(skeleton);
    const auto run = this->run(x, 3, this->options(skeleton, true));
    EXPECT_EQ(run.result.rank, n) << run.result.describe();
    EXPECT_LE(run.loss(), rounding_loss<Scalar>(n));
    EXPECT_LE(run.residual(), rounding_residual<Scalar>(n));
  }
}

const char* const every_method_within[] = {
    "cgs",        "cgs2", "cholqr",      "cholqr2",           "svqb",   "scholqr3", "dd-cholqr",
    "dd-cholqr2", "tsqr", "rand-cholqr", "rand-cholqr-gauss", "pcholqr"};

/// Rounding of products of n terms, and none of the size of a column: no row is less accurate than others.
TYPED_TEST(Factorize, NoEntryOfTheResidualIsBeyondRounding) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 3001, n = 20, width = 5;
  const auto x = rounded<Scalar>(this->generator.random(count, n));
  double largest = 0;
  for (const auto& entry : x.entries) largest = std::max(largest, static_cast<double>(std::abs(entry)));
  const double bound = 2 * complex_factor<Scalar> * this->eps * std::sqrt(static_cast<double>(n)) * largest;
  for (const char* within : every_method_within) {
    const auto run = this->run(x, width, this->options(std::string("bcgs2/") + within, true));
    const auto qr = product(collect(run.q), collect(run.r));
    double worst = 0;
    for (std::size_t i = 0; i < x.entries.size(); ++i) {
      worst = std::max(worst, static_cast<double>(std::abs(x.entries[i] - qr.entries[i])));
    }
    EXPECT_LE(worst, bound) << within;
  }
}

TYPED_TEST(Factorize, ProductsOfIntegersHaveTheirRank) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 3001, n = 15, rank = 3;
  typename TestFixture::Columns left(count, rank), right(rank, n);
  for (auto* factor : {&left, &right}) {
    for (auto& entry : factor->entries) entry = Wide<Scalar>(static_cast<long double>(this->generator.integer(-3, 3)));
  }
  const auto x = product(left, right);
  for (const std::int64_t width : {std::int64_t{5}, n}) {
    for (const char* within : every_method_within) {
      for (const bool escalate : {true, false}) {
        const auto run = this->run(x, width, this->options(std::string("bcgs2/") + within, escalate));
        SCOPED_TRACE(std::string(within) + ", width " + std::to_string(width) + ": " + run.result.describe());
        EXPECT_TRUE(run.result.orthonormal || !escalate);
        if (run.result.orthonormal || std::string(within) == "tsqr") {
          EXPECT_EQ(run.result.rank, rank);
        }
      }
    }
  }
}

TYPED_TEST(Factorize, BadInputIsNamed) {
  using Scalar = typename TestFixture::ScalarType;
  const typename TypeParam::Vector x(this->context, RowDistribution::uniform(30, this->context.communicator()), 6, "X");
  orth::Orthogonalizer orthogonalizer(this->context);
  const typename TypeParam::Small wrong(this->context, 5, 6);
  EXPECT_THROW(std::ignore = orthogonalizer.factorize(x, &wrong, 2), ShapeError);
  EXPECT_THROW(std::ignore = orthogonalizer.factorize(x, nullptr, 0), ShapeError);
  Options options;
  options.panel_width = 3;
  EXPECT_THROW(std::ignore = orth::Orthogonalizer(this->context, options).factorize(x, nullptr, 2), ShapeError);
  for (const char* skeleton : every_skeleton) {
    fill_random(x, 5);
    testing::put(x, 17, 4, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
    try {
      const auto result = orth::Orthogonalizer(this->context, orth::parse_options(skeleton)).factorize(x, nullptr, 2);
      FAIL() << "expected a NotFiniteError: " << result.describe();
    } catch (const NotFiniteError& error) {
      EXPECT_EQ(std::string(error.what()), "orth: W = " + x.describe() + " holds NaN or Inf in column 4") << skeleton;
    }
  }
}

}  // namespace
}  // namespace blockvec::test
