// What methods between blocks do without escalation on the matrices that tell them apart: where theory promises
// something it holds, and where it does not they fail, and say so.
#include <cmath>
#include <string>

#include "tests/orth/factored.hpp"

namespace blockvec::test {
namespace {

enum class Fate {
  rounding,     ///< orthonormal to rounding
  linear,       ///< loses eps kappa, no more, and clearly more than rounding
  quadratic,    ///< loses eps kappa^2, no more, and clearly more than rounding
  first_block,  ///< no better than what is within leaves of the first block: eps kappa(X_1)^2
  lost,         ///< not orthogonal at all
  breaks,       ///< says that it could not
  untold        ///< not looked at
};

struct Row {
  const char* method;
  Fate glued, glued_beyond, piled, piled_beyond, stiff_start;
};

template <class K>
class BlockTables : public ::testing::Test {
 public:
  using Scalar = typename K::Scalar;
  using Columns = HostColumns<Wide<Scalar>>;
  static constexpr double eps = static_cast<double>(epsilon<Scalar>);
  static double kappa(double power) { return std::pow(eps, -power); }

  Columns glued(std::int64_t rows, std::int64_t blocks, std::int64_t width, double condition, double of_first) {
    Columns x = generator.glued(rows, blocks, width, condition);
    const Columns first = product(columns_of(x, 0, width), generator.with_condition(width, width, of_first));
    std::copy(first.entries.begin(), first.entries.end(), x.entries.begin());
    return x;
  }

  void expect(const Row& row, Fate fate, const Columns& x, std::int64_t width, double condition, double of_first) {
    if (fate == Fate::untold) return;
    auto options = orth::parse_options(row.method);
    options.escalate = false;
    options.adaptive = false;
    const Factored<K> run(context, x, width, options);
    const double loss = run.loss(), rounding = rounding_loss<Scalar>(x.columns);
    const std::string what =
        std::string(row.method) + ": loss " + std::to_string(std::log10(loss)) + " (log10), " + run.result.describe();
    EXPECT_TRUE(std::isfinite(loss)) << what;
    if (fate == Fate::breaks) {
      EXPECT_FALSE(run.result.orthonormal) << what;
      EXPECT_EQ(run.result.reason, orth::Reason::breakdown) << what;
      EXPECT_LT(run.result.rank, x.columns) << what;
      return;
    }
    EXPECT_LE(run.residual(), 4 * rounding_residual<Scalar>(x.columns)) << what;
    constexpr double clearly = 4;
    const double least = fate == Fate::rounding ? 0
                         : fate == Fate::lost   ? 0.5
                                                : clearly * rounding / static_cast<double>(x.columns);
    const double most = fate == Fate::rounding      ? rounding
                        : fate == Fate::linear      ? rounding * condition
                        : fate == Fate::quadratic   ? rounding * condition * condition
                        : fate == Fate::first_block ? rounding * of_first * of_first
                                                    : static_cast<double>(x.columns);
    EXPECT_GE(loss, least) << what;
    EXPECT_LE(loss, most) << what;
  }

  Context context = Context::self(2);
  Generator<Scalar> generator{99};
};
template <class Space>
using SomeCases = ::testing::Types<testing::Case<double, RowMajor, Space>, testing::Case<float, ColumnMajor, Space>,
                                   testing::Case<Complex<double>, ColumnMajor, Space>>;
TYPED_TEST_SUITE(BlockTables, testing::InEverySpace<SomeCases>, testing::CaseName);

using enum Fate;
const Row table[] = {
    //                  glued      beyond      piled      beyond    first block alone
    {"bcgs/cgs2", quadratic, lost, lost, lost, quadratic},
    {"bmgs/cgs2", linear, linear, linear, linear, linear},
    {"pip/cgs2", quadratic, breaks, quadratic, breaks, quadratic},
    {"pip+/cgs2", rounding, breaks, rounding, breaks, rounding},
    {"pipi+/cgs2", rounding, breaks, rounding, breaks, rounding},
    {"p-1s/cgs2", rounding, breaks, rounding, breaks, rounding},
    {"two-stage/cgs2", rounding, breaks, rounding, breaks, rounding},
    {"bcgs2/cholqr", rounding, rounding, rounding, breaks, first_block},
    {"p-2s/cholqr", rounding, rounding, rounding, breaks, first_block},
    {"bcgsi+a/cgs2", rounding, rounding, rounding, breaks, rounding},
    {"bcgsi+a/tsqr", rounding, rounding, rounding, breaks, rounding},
    {"bcgs2/cgs2", rounding, rounding, rounding, rounding, rounding},
    {"bcgs2/tsqr", rounding, rounding, rounding, rounding, rounding},
    {"p-2s/tsqr", rounding, rounding, rounding, rounding, rounding},
    {"p-2s/cgs2", rounding, rounding, rounding, rounding, rounding},
    {"p-1s2s/cgs2", rounding, rounding, rounding, rounding, rounding},
    {"pip-dd/cgs2", rounding, rounding, rounding, rounding, rounding}};

TYPED_TEST(BlockTables, MethodsHoldWhereTheorySaysAndFailWhereItDoesNot) {
  // Condition numbers as powers of 1/eps: 0.35 is 3e5 in double precision, 0.63 about 8e9. Losses are to show where
  // sums of single precision are rounded once, too, as on a device.
  constexpr std::int64_t rows = 300, width = 5, blocks = 10;
  const double low = this->kappa(0.33), high = this->kappa(0.6), first = this->kappa(0.3);
  const auto glued = this->glued(rows, blocks, width, low, 1), glued_beyond = this->glued(rows, blocks, width, high, 1),
             piled = this->generator.piled(rows, blocks, width, low),
             piled_beyond = this->generator.piled(rows, blocks, width, high),
             stiff = this->glued(rows, blocks, width, low, first);
  for (const Row& row : table) {
    const auto expect = [&](const char* name, Fate fate, const auto& x, double condition) {
      SCOPED_TRACE(std::string(name) + ", kappa " + std::to_string(condition));
      this->expect(row, fate, x, width, condition, first);
    };
    expect("glued", row.glued, glued, low);
    expect("glued beyond", row.glued_beyond, glued_beyond, high);
    expect("piled", row.piled, piled, 4 * low);
    expect("piled beyond", row.piled_beyond, piled_beyond, 4 * high);
    expect("glued with an ill-conditioned first block", row.stiff_start, stiff, low * first);
  }
}

TYPED_TEST(BlockTables, SoTheyDoOnLaeuchliAndMonomialMatrices) {
  constexpr std::int64_t rows = 300, width = 5, n = 25;
  const double low = this->kappa(0.37), high = this->kappa(0.6);
  struct Expected {
    const char* method;
    Fate laeuchli, laeuchli_beyond, monomial;
  };
  const Expected expected[] = {
      {"bmgs/cgs2", linear, linear, linear},         {"pip/cgs2", quadratic, breaks, breaks},
      {"pipi+/cgs2", rounding, breaks, breaks},      {"p-1s/cgs2", rounding, breaks, breaks},
      {"bcgs2/cholqr", first_block, breaks, untold}, {"bcgs2/cgs2", rounding, rounding, rounding},
      {"p-2s/cgs2", rounding, rounding, untold},     {"p-1s2s/cgs2", rounding, rounding, untold},
      {"pip-dd/cgs2", rounding, rounding, untold}};
  using Draw = Generator<typename TestFixture::Scalar>;
  const auto laeuchli = Draw::laeuchli(rows, n, 1 / low), beyond = Draw::laeuchli(rows, n, 1 / high),
             monomial = this->generator.monomial(rows, n, 8);
  for (const Expected& row : expected) {
    const auto expect = [&](const char* name, Fate fate, const auto& x, double condition) {
      SCOPED_TRACE(name);
      this->expect({row.method, {}, {}, {}, {}, {}}, fate, x, width, condition, low);
    };
    expect("laeuchli", row.laeuchli, laeuchli, 8 * low);
    expect("laeuchli beyond", row.laeuchli_beyond, beyond, 8 * high);
    expect("monomial", row.monomial, monomial, this->kappa(0.95));
  }
}

TYPED_TEST(BlockTables, InTwiceThePrecisionPythagorasHoldsToTheLastDigit) {
  // 1e15 in double precision, and what corresponds to it in single.
  constexpr std::int64_t rows = 200, width = 5, n = 20;
  const double kappa = this->kappa(0.957);
  const typename TestFixture::Columns matrices[] = {this->generator.with_condition(rows, n, kappa),
                                                    this->generator.piled(rows, n / width, width, kappa / 10)};
  for (const auto& x : matrices) {
    this->expect({"pip-dd/cgs2", {}, {}, {}, {}, {}}, Fate::rounding, x, width, kappa, 1);
    this->expect({"pipi+/cgs2", {}, {}, {}, {}, {}}, Fate::breaks, x, width, kappa, 1);
  }
}

}  // namespace
}  // namespace blockvec::test
