#include <algorithm>
#include <blockvec/operations.hpp>
#include <limits>
#include <memory>
#include <type_traits>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Deficiency;
using orth::Options;
using orth::Reason;

Options plain(const std::string& method) {
  Options options = orth::parse_options("/" + method);
  options.escalate = false;
  options.adaptive = false;
  return options;
}

/// The figures that the field knows: 2000 x 16, double, U Sigma V^H with singular values evenly spaced in the
/// logarithm.
class Table : public ::testing::Test {
 public:
  using K = testing::Case<double, RowMajor>;
  static constexpr std::int64_t count = 2000, b = 16;
  static constexpr double eps = epsilon<double>;

  const Trial<K>& run(double kappa, const std::string& method) {
    if (kappa != kappa_) {
      Generator<double> generator(11);
      const auto rows = RowDistribution::uniform(count, context_.communicator());
      trial_ = std::make_unique<Trial<K>>(context_, rows, HostColumns<long double>(count, 0),
                                          generator.with_condition(count, b, kappa));
      kappa_ = kappa;
    }
    distribute<double>(trial_->x, trial_->w);
    trial_->run(plain(method));
    return *trial_;
  }

 private:
  Context context_ = Context::self(2);
  double kappa_ = 0;
  std::unique_ptr<Trial<K>> trial_;
};

const double kappas[] = {1e4, 1e7, 1e8, 1e10, 1e12, 1e15};

TEST_F(Table, MethodsThatLoseNothingAtAnyCondition) {
  for (const double kappa : kappas) {
    for (const char* method : {"cgs2", "tsqr", "dd-cholqr2", "rand-cholqr", "rand-cholqr-gauss", "svqb"}) {
      SCOPED_TRACE(std::string(method) + ", kappa " + std::to_string(kappa));
      const auto& trial = run(kappa, method);
      EXPECT_TRUE(trial.result.orthonormal) << trial.result.describe();
      EXPECT_LE(trial.loss(), rounding_loss<double>(b));
      EXPECT_LE(trial.residual(), rounding_residual<double>(b));
      EXPECT_LE(trial.cholesky_residual(), rounding_residual<double>(b));
    }
    // At 1e15 a column is within the rank tolerance of the others: it is lost, and replaced.
    const auto& trial = run(kappa, "pcholqr");
    EXPECT_LE(trial.loss(), rounding_loss<double>(b)) << trial.result.describe();
    EXPECT_GE(trial.result.rank, kappa < 1e15 ? b : b - 1) << trial.result.describe();
  }
}

TEST_F(Table, GramMatricesInWorkingPrecisionLoseTheSquareAndBreak) {
  for (const double kappa : kappas) {
    SCOPED_TRACE("kappa " + std::to_string(kappa));
    const double squared = eps * kappa * kappa;
    const auto& cgs = run(kappa, "cgs");
    EXPECT_LE(cgs.loss(), std::min(squared, 1.0) * b);
    EXPECT_GE(cgs.loss(), kappa < 1e9 ? 1e-3 * squared : 0.1) << "CGS is as bad as its bound";
    const auto& cholqr = run(kappa, "cholqr");
    EXPECT_FALSE(cholqr.result.orthonormal);
    if (kappa < 1e9) {
      EXPECT_LE(cholqr.loss(), squared * b);
      EXPECT_GE(cholqr.loss(), 1e-3 * squared) << "CholQR is as bad as its bound";
      EXPECT_LE(run(kappa, "cholqr2").loss(), rounding_loss<double>(b));
      continue;
    }
    for (const char* method : {"cholqr", "cholqr2"}) {  // W is left as it was
      const auto& broken = run(kappa, method);
      EXPECT_EQ(broken.result.reason, Reason::breakdown) << method;
      EXPECT_FALSE(broken.result.orthonormal);
      EXPECT_LT(broken.result.rank, b);
      EXPECT_EQ(broken.residual(), 0);
    }
  }
}

TEST_F(Table, InDoubleDoubleTheConditionItselfIsLost) {
  for (const double kappa : kappas) {
    const auto& trial = run(kappa, "dd-cholqr");
    EXPECT_EQ(trial.result.rank, b);
    EXPECT_FALSE(trial.result.orthonormal);
    EXPECT_LE(trial.loss(), eps * kappa * b) << "kappa " << kappa;
    EXPECT_GE(trial.loss(), 1e-3 * eps * kappa) << "kappa " << kappa << ": the bound is reached";
    EXPECT_LE(trial.residual(), rounding_residual<double>(b));
  }
}

TEST_F(Table, ShiftedCholeskyGoesAsFarAsItsShiftLetsIt) {
  for (const double kappa : kappas) {
    const auto& trial = run(kappa, "scholqr3");
    // A shift of s leaves singular values of about kappa^-1 s^-1/2, which CholQR2 can deal with down to eps^1/2.
    const double shift = 11 * (count * b + b * (b + 1)) * eps / 2;
    const bool within_reach = 4 * kappa * std::sqrt(shift * eps) < 1;
    if (within_reach) {
      EXPECT_TRUE(trial.result.orthonormal) << trial.result.describe();
    }
    EXPECT_LE(trial.loss(), within_reach ? rounding_loss<double>(b) : eps * kappa * b) << "kappa " << kappa;
  }
}

TEST_F(Table, EscalationReachesRoundingAtAnyCondition) {
  for (const double kappa : kappas) {
    for (const char* method : {"cholqr2", "scholqr3", "dd-cholqr", "tsqr", "rand-cholqr", "pcholqr"}) {
      const auto& before = run(kappa, method);
      Trial<K> trial(before.storage.context(), before.w.rows(), before.v_given, before.x);
      trial.run(orth::parse_options(std::string("/") + method));
      EXPECT_TRUE(trial.result.orthonormal) << trial.result.describe();
      EXPECT_LE(trial.loss(), 100 * eps * b) << "kappa " << kappa << ": " << trial.result.describe();
      if (trial.result.rank == b) {
        EXPECT_LE(trial.result.reductions, 6) << "kappa " << kappa << ": " << trial.result.describe();
      }
    }
  }
}

template <class K>
class Within : public ::testing::Test {
 public:
  using ScalarType = typename K::Scalar;
  using Columns = HostColumns<Wide<ScalarType>>;
  static constexpr double eps = static_cast<double>(epsilon<ScalarType>);
  static double kappa(double power) { return std::pow(eps, -power); }
  RowDistribution rows(std::int64_t count) const { return RowDistribution::uniform(count, context.communicator()); }
  Trial<K> alone(const Columns& x) const { return {context, rows(x.rows), Columns(x.rows, 0), x}; }

  Context context = Context::self(2);
  Generator<ScalarType> generator{8};
};
TYPED_TEST_SUITE(Within, testing::AllCases, testing::CaseName);

const char* const strong[] = {"tsqr", "dd-cholqr2", "rand-cholqr", "rand-cholqr-gauss", "pcholqr"};
const char* const added[] = {"scholqr3",    "dd-cholqr",         "tsqr",   "dd-cholqr2",
                             "rand-cholqr", "rand-cholqr-gauss", "pcholqr"};

bool is_upper(const auto& r) {
  for (std::int64_t j = 0; j < r.columns; ++j) {
    for (std::int64_t i = j + 1; i < r.columns; ++i) {
      if (std::norm(r(i, j)) != 0) return false;
    }
    if (!(std::real(r(j, j)) > 0) || std::imag(r(j, j)) != 0) return false;
  }
  return true;
}

TYPED_TEST(Within, StrongMethodsReachRoundingByThemselves) {
  using Scalar = typename TestFixture::ScalarType;
  for (const double power : {0.0, 0.3, 0.5, 0.7, 0.85}) {
    auto trial = this->alone(this->generator.with_condition(160, 7, this->kappa(power)));
    for (const std::string method : strong) {
      SCOPED_TRACE(method + ", kappa = eps^-" + std::to_string(power));
      distribute<Scalar>(trial.x, trial.w);
      const auto result = trial.run(plain(method));
      EXPECT_TRUE(result.orthonormal) << result.describe();
      EXPECT_EQ(result.rank, 7);
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(7)) << result.describe();
      EXPECT_LE(trial.residual(), rounding_residual<Scalar>(7)) << result.describe();
      EXPECT_LE(trial.cholesky_residual(), rounding_residual<Scalar>(7));
      EXPECT_TRUE(trial.guards_hold());
      EXPECT_TRUE(method == "pcholqr" || is_upper(collect(trial.r)));
    }
    if (power > 0.8) continue;
    distribute<Scalar>(trial.x, trial.w);
    trial.run(plain("dd-cholqr"));
    EXPECT_LE(trial.loss(), this->kappa(power) * rounding_loss<Scalar>(7));
    EXPECT_LE(trial.residual(), rounding_residual<Scalar>(7));
    EXPECT_EQ(trial.result.orthonormal, power < 0.01) << trial.result.describe();
  }
}

TYPED_TEST(Within, ShiftedCholeskyWithinItsReach) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 60, b = 3;  // short columns: single precision's shift is near 1 else
  const double shift = 11 * (count * b + b * (b + 1)) * this->eps / 2;
  for (const double power : {0.0, 0.3, 0.5, 0.6}) {
    auto trial = this->alone(this->generator.with_condition(count, b, this->kappa(power)));
    const auto result = trial.run(plain("scholqr3"));
    if (4 * this->kappa(power) * std::sqrt(shift * this->eps) < 1) {
      EXPECT_TRUE(result.orthonormal) << result.describe();
      EXPECT_EQ(result.reductions, 3);
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(b)) << result.describe();
      EXPECT_TRUE(is_upper(collect(trial.r)));
    }
    EXPECT_LE(trial.residual(), rounding_residual<Scalar>(b));
  }
}

TYPED_TEST(Within, EveryWidthFromOneToForty) {
  using Scalar = typename TestFixture::ScalarType;
  for (std::int64_t b = 1; b <= 40; b += b < 8 ? 1 : 4) {
    const double power = 0.9;
    const auto x = this->generator.with_condition(90, b, b > 1 ? this->kappa(power) : 1);
    auto trial = this->alone(x);
    for (const std::string method : {"tsqr", "dd-cholqr2", "rand-cholqr", "cholqr2"}) {
      distribute<Scalar>(trial.x, trial.w);
      const auto result = trial.run(orth::parse_options("/" + method));
      SCOPED_TRACE(method + ", b = " + std::to_string(b) + ": " + result.describe());
      EXPECT_TRUE(result.orthonormal);
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(b));
      EXPECT_LE(trial.residual(), 2 * rounding_residual<Scalar>(b));
      EXPECT_TRUE(trial.guards_hold());
    }
  }
}

TYPED_TEST(Within, HouseholderReflectionsAreOrthonormalForAnyBlockAtAll) {
  using Scalar = typename TestFixture::ScalarType;
  for (const std::int64_t count : {6, 7, 40, 900}) {
    auto x = this->generator.random(count, 6);
    for (std::int64_t i = 0; i < count; ++i) {
      x(i, 1) = Wide<Scalar>(0);
      x(i, 3) = x(i, 0);
      x(i, 5) = x(i, 2) * (1 + static_cast<long double>(this->eps));
    }
    for (const bool zero : {false, true}) {
      if (zero) std::fill(x.entries.begin(), x.entries.end(), Wide<Scalar>(0));
      auto trial = this->alone(x);
      const auto result = trial.run(plain("tsqr"));
      SCOPED_TRACE(std::to_string(count) + " rows: " + result.describe());
      EXPECT_EQ(result.rank, zero ? 0 : 3);
      EXPECT_EQ(trial.zero_columns, 0);
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(6));
      EXPECT_LE(trial.residual(), rounding_residual<Scalar>(6));
      EXPECT_TRUE(trial.guards_hold());
    }
  }
}

TYPED_TEST(Within, HouseholderReflectionsHaveTheSameBitsForAnyThreads) {
  const auto x = this->generator.with_condition(3000, 5, 1e3);
  const auto run = [&](int threads) {
    const Context team = Context::self(threads);
    Trial<TypeParam> trial(team, RowDistribution::uniform(3000, team.communicator()), {3000, 0}, x);
    trial.run(plain("tsqr"));
    return std::pair(collect(trial.w).entries, collect(trial.r).entries);
  };
  const auto once = run(1);
  EXPECT_TRUE(run(2) == once);
  EXPECT_TRUE(run(3) == once);
}

TYPED_TEST(Within, PivotingNamesTheRankWithoutEscalation) {
  using Scalar = typename TestFixture::ScalarType;
  auto x = this->generator.random(70, 7);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    x(i, 1) = Wide<Scalar>(0);
    x(i, 3) = x(i, 0) * 4.0L;
    x(i, 5) = x(i, 2) * 0.25L - x(i, 4) * 8.0L;
  }
  for (const std::int64_t m : {0, 5}) {
    for (const auto deficiency : {Deficiency::replace, Deficiency::drop}) {
      Trial<TypeParam> trial(this->context, this->rows(70), this->generator.orthonormal(70, m), x);
      Options options = orth::parse_options(m > 0 ? "bcgs2/pcholqr" : "/pcholqr");
      options.escalate = false;
      options.deficiency = deficiency;
      const auto result = trial.run(options);
      SCOPED_TRACE(result.describe());
      EXPECT_TRUE(result.orthonormal);
      EXPECT_EQ(result.rank, 4);
      EXPECT_EQ(result.lost.size(), 3u);
      EXPECT_EQ(result.reason, Reason::rank_deficient);
      EXPECT_TRUE(std::find(result.lost.begin(), result.lost.end(), 1) != result.lost.end());
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + 7));
      EXPECT_EQ(trial.zero_columns, deficiency == Deficiency::drop ? 3 : 0);
      EXPECT_LE(trial.residual(),
                rounding_residual<Scalar>(m + 7) + 3 * static_cast<double>(orth::rank_tolerance<Scalar>(m, 7)));
    }
  }
}

TYPED_TEST(Within, WithoutEscalationDependentColumnsAreCounted) {
  using Scalar = typename TestFixture::ScalarType;
  auto x = this->generator.random(50, 5);
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 3) = x(i, 0);
  for (const std::string method : added) {
    auto trial = this->alone(x);
    const auto result = trial.run(plain(method));
    SCOPED_TRACE(method + ": " + result.describe());
    EXPECT_TRUE(result.rank < 5 || !result.orthonormal);
    for (const auto& entry : collect(trial.w).entries)
      EXPECT_TRUE(std::isfinite(static_cast<double>(std::norm(entry))));
    EXPECT_LE(trial.residual(), rounding_residual<Scalar>(20));
  }
}

TYPED_TEST(Within, EveryMethodEscalatesBesideABasis) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 110, m = 8, b = 5;
  for (const double power : {0.1, 0.6, 0.9}) {
    const auto directions = this->generator.orthonormal(count, m + b);
    const auto v = rounded<Scalar>(columns_of(directions, 0, m));
    auto x = this->generator.with_condition(columns_of(directions, m, m + b), this->kappa(power));
    const auto inside = product(v, this->generator.random(m, b));
    for (std::size_t i = 0; i < x.entries.size(); ++i) x.entries[i] += 0.2L * inside.entries[i];
    Trial<TypeParam> trial(this->context, this->rows(count), v, x);
    for (const std::string between : {"bcgs", "bcgs2"}) {
      for (const std::string within : added) {
        distribute<Scalar>(trial.x, trial.w);
        const auto result = trial.run(orth::parse_options(between + "/" + within));
        SCOPED_TRACE(between + "/" + within + ", kappa = eps^-" + std::to_string(power) + ": " + result.describe());
        EXPECT_TRUE(result.orthonormal);
        EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
        EXPECT_LE(trial.residual(), rounding_residual<Scalar>(m + b));
        EXPECT_TRUE(trial.guards_hold());
      }
    }
  }
}

TYPED_TEST(Within, EscalationOfAFullRankBlockTakesAFewReductions) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t b = 12;
  auto trial = this->alone(this->generator.with_condition(150, b, this->kappa(0.8)));
  const auto result = trial.run({});
  EXPECT_EQ(to_string(result.method), "dd-cholqr2") << result.describe();
  EXPECT_EQ(result.reductions, 3) << result.describe();
  EXPECT_LE(trial.loss(), rounding_loss<Scalar>(b));
}

TYPED_TEST(Within, ReductionsAndPassesAreCounted) {
  struct Count {
    const char* method;
    std::int64_t reductions;
    double passes, fused_passes;  // fused: a sweep leaves the next Gram matrix behind
  };
  const bool fuses = is_host_space<typename TypeParam::Space> || std::is_same_v<typename TypeParam::Layout, RowMajor>;
  for (const Count& count : {Count{"scholqr3", 3, 9, 7},
                             {"dd-cholqr", 1, 3, 3},
                             {"dd-cholqr2", 2, 6, 5},
                             {"tsqr", 2, 5, 5},
                             {"rand-cholqr", 2, 7, 6},
                             {"pcholqr", 2, 0, 0}}) {
    auto trial = this->alone(this->generator.with_condition(60, 3, 1));
    const std::int64_t before = this->context.reductions();
    const auto result = trial.run(plain(count.method));
    SCOPED_TRACE(result.describe());
    EXPECT_EQ(result.reductions, count.reductions);
    EXPECT_EQ(this->context.reductions() - before, count.reductions);
    if (count.passes > 0) {
      EXPECT_DOUBLE_EQ(result.passes, fuses ? count.fused_passes : count.passes);
    }
  }
}

// Conditions as powers of eps: up to some 30, one sweep or two do not need a copy.
TYPED_TEST(Within, IntoAnotherPlaceXStays) {
  using Scalar = typename TestFixture::ScalarType;
  for (const std::int64_t b : {0, 1, 3, 8, 20}) {
    for (const double power : {0.0, 0.05, 0.15, 0.4, 0.9, 2.0}) {
      for (const char* method : {"cholqr2", "cholqr", "svqb", "cgs2"}) {
        SCOPED_TRACE(::testing::Message() << b << " columns, condition eps^-" << power << ", " << method);
        const double kappa = std::pow(static_cast<double>(epsilon<Scalar>), -power);
        auto trial = this->alone(b == 0 ? HostColumns<Wide<Scalar>>(200, 0)
                                        : this->generator.with_condition(200, b, b == 1 ? 1.0 : kappa));
        const auto x = trial.w.deep_copy("X");
        fill(trial.w, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));  // is not read
        Options options = plain(method);
        options.escalate = options.adaptive = true;
        orth::Orthogonalizer orthogonalizer(this->context, options);
        trial.result = orthogonalizer.normalize_into(x, trial.w, &trial.r);
        EXPECT_TRUE(collect(x).entries == trial.x.entries);
        EXPECT_LE(trial.loss(), 4 * rounding_loss<Scalar>(b)) << trial.result.describe();
        EXPECT_LE(trial.residual(), 4 * rounding_residual<Scalar>(b));
        EXPECT_EQ(trial.result.orthonormal, true);
        if (b > 0 && power == 0 && trial.result.method.within == orth::Within::cholqr2) {
          EXPECT_DOUBLE_EQ(trial.result.passes, 3);
          EXPECT_EQ(trial.result.reductions, 1);
        }
        EXPECT_TRUE(trial.guards_hold());
      }
    }
  }
  auto trial = this->alone(this->generator.random(40, 3));
  orth::Orthogonalizer orthogonalizer(this->context);
  EXPECT_THROW((void)orthogonalizer.normalize_into(trial.w, trial.w), ShapeError);
  EXPECT_THROW((void)orthogonalizer.normalize_into(trial.w.columns(0, 2), trial.w.deep_copy("Q")), ShapeError);
  EXPECT_THROW((void)orthogonalizer.normalize_into(trial.w, trial.w.deep_copy("Q"), &trial.s), ShapeError);
}

TYPED_TEST(Within, UnderAMetricGramMatricesTakeTheirPlace) {
  using Scalar = typename TestFixture::ScalarType;
  using Tall = typename TypeParam::Vector;
  const auto x = this->generator.random(40, 3);
  for (const std::string method : added) {
    auto trial = this->alone(x);
    const orth::Metric<Scalar, typename TypeParam::Layout, typename TypeParam::Space> twice{
        [](const Tall& from, const Tall& to) { axpby(Scalar(2), from, Scalar(0), to); }};
    orth::Orthogonalizer orthogonalizer(this->context, plain(method));
    const auto result = orthogonalizer.normalize(trial.w, &trial.r, &twice);
    SCOPED_TRACE(method + ": " + result.describe());
    const bool kept = method == "scholqr3", one = method == "dd-cholqr";
    EXPECT_EQ(to_string(result.method), kept ? method : one ? "cholqr" : "cholqr2");
    auto q = collect(trial.w);
    for (auto& entry : q.entries) entry *= std::sqrt(2.0L);
    EXPECT_LE(loss_of_orthogonality(q), 4 * rounding_loss<Scalar>(3));
  }
}

TYPED_TEST(Within, InAReproducibleContextWhatDependsOnRanksGivesWay) {
  using Scalar = typename TestFixture::ScalarType;
  if constexpr (is_host_space<typename TypeParam::Space>) {
    const Context exact = Context::self(2, Summation::reproducible);
    const auto x = this->generator.with_condition(60, 4, this->kappa(0.7));
    for (const std::string method : added) {
      Trial<TypeParam> trial(exact, RowDistribution::uniform(60, exact.communicator()), {60, 0}, x);
      const auto result = trial.run(orth::parse_options("/" + method));
      SCOPED_TRACE(method + ": " + result.describe());
      EXPECT_NE(result.method.within, orth::Within::tsqr);
      EXPECT_NE(result.method.within, orth::Within::rand_cholqr);
      EXPECT_TRUE(result.orthonormal);
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(4));
    }
  }
}

}  // namespace
}  // namespace blockvec::test
