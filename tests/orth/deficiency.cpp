#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/orth/dense.hpp>
#include <limits>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Deficiency;
using orth::Options;
using orth::Reason;

template <class K>
class DeficiencyTest : public ::testing::Test {
 public:
  using ScalarType = typename K::Scalar;
  using Columns = HostColumns<Wide<ScalarType>>;
  static constexpr std::int64_t count = 60, m = 7, b = 5;

  RowDistribution rows(std::int64_t n) const { return RowDistribution::uniform(n, context.communicator()); }
  Trial<K> trial(const Columns& x, std::int64_t basis = m) {
    return Trial<K>(context, rows(x.rows), generator.orthonormal(x.rows, basis), x);
  }
  static Options options(Deficiency deficiency, const char* method = "pipi+/cholqr2") {
    Options chosen = orth::parse_options(method);
    chosen.deficiency = deficiency;
    return chosen;
  }
  /// What holds for any block under Deficiency::replace where there is room.
  static void expect_replaced(const Trial<K>& t, const std::vector<std::int64_t>& lost) {
    EXPECT_TRUE(t.result.orthonormal) << t.result.describe();
    EXPECT_EQ(t.result.lost, lost) << t.result.describe();
    EXPECT_EQ(t.result.rank, t.x.columns - static_cast<std::int64_t>(lost.size()));
    EXPECT_LE(t.loss(), rounding_loss<ScalarType>(t.v_given.columns + t.x.columns)) << t.result.describe();
    EXPECT_EQ(t.zero_columns, 0);
    const double tolerance = static_cast<double>(orth::rank_tolerance<ScalarType>(t.v_given.columns, t.x.columns));
    EXPECT_LE(t.residual(), rounding_residual<ScalarType>(t.v_given.columns + t.x.columns) +
                                tolerance * std::sqrt(static_cast<double>(lost.size())))
        << t.result.describe();
    const auto r = collect(t.r);
    for (const std::int64_t i : lost) {
      for (std::int64_t j = 0; j < r.columns; ++j) EXPECT_EQ(r(i, j), Wide<ScalarType>(0)) << "row " << i;
    }
    EXPECT_TRUE(t.guards_hold());
  }

  Context context = Context::self(2);
  Generator<ScalarType> generator{77};
};
TYPED_TEST_SUITE(DeficiencyTest, testing::AllCases, testing::CaseName);

const char* const methods[] = {"pipi+/cholqr2", "pip/cholqr",      "bcgs/cgs",         "bcgs2/cgs2",
                               "bcgs/cholqr",   "bcgs2/svqb",      "pipi+/svqb",       "bcgs/scholqr3",
                               "bcgs2/tsqr",    "bcgs/dd-cholqr2", "bcgs2/rand-cholqr"};

TYPED_TEST(DeficiencyTest, ABlockOfZerosIsReplacedWhole) {
  for (const char* method : methods) {
    for (const std::int64_t basis : {std::int64_t{0}, this->m}) {
      SCOPED_TRACE(method);
      auto t = this->trial({this->count, this->b}, basis);
      t.run(this->options(Deficiency::replace, method));
      this->expect_replaced(t, {0, 1, 2, 3, 4});
      EXPECT_EQ(t.result.reason, Reason::rank_deficient);
    }
  }
}

TYPED_TEST(DeficiencyTest, DuplicatesAndZeroColumnsAreNamed) {
  using Scalar = typename TestFixture::ScalarType;
  for (const char* method : methods) {
    for (const std::int64_t basis : {std::int64_t{0}, this->m}) {
      SCOPED_TRACE(method);
      auto x = this->generator.random(this->count, this->b);
      for (std::int64_t i = 0; i < x.rows; ++i) {
        x(i, 1) = Wide<Scalar>(0);
        x(i, 3) = x(i, 0);
        x(i, 4) = 0.5L * x(i, 0) - 3.0L * x(i, 2);
      }
      auto t = this->trial(x, basis);
      t.run(this->options(Deficiency::replace, method));
      this->expect_replaced(t, {1, 3, 4});
    }
  }
}

TYPED_TEST(DeficiencyTest, ABlockInTheRangeOfTheBasisIsReplaced) {
  for (const char* method : methods) {
    SCOPED_TRACE(method);
    const auto v = rounded<typename TestFixture::ScalarType>(this->generator.orthonormal(this->count, this->m));
    Trial<TypeParam> t(this->context, this->rows(this->count), v, product(v, this->generator.random(this->m, this->b)));
    t.run(this->options(Deficiency::replace, method));
    this->expect_replaced(t, {0, 1, 2, 3, 4});
  }
}

TYPED_TEST(DeficiencyTest, ReplacementsAreNotTheRandomVectorsThatTheBasisWasStartedFrom) {
  using Scalar = typename TestFixture::ScalarType;
  const auto options = this->options(Deficiency::replace, "pipi+/cholqr2");
  orth::Orthogonalizer orthogonalizer(this->context, options);
  const typename TypeParam::Vector basis(this->context, this->rows(this->count), 6, "basis");
  fill_random(basis.columns(0, 3), options.seed);
  ASSERT_EQ(orthogonalizer.normalize(basis.columns(0, 3)).rank, 3);
  fill_random(basis.columns(3, 6), options.seed, 3);
  copy(basis.columns(3, 4), basis.columns(5, 6));
  const auto result = orthogonalizer.project_and_normalize(basis.columns(0, 3), basis.columns(3, 6));
  EXPECT_EQ(result.rank, 2);
  EXPECT_EQ(result.reason, Reason::rank_deficient);
  EXPECT_LE(orth::orthogonality_loss(basis), 100 * 6 * epsilon<Scalar>);
}

TYPED_TEST(DeficiencyTest, AProjectionSaysWhatLiesInTheRangeOfTheBasis) {
  const auto v = rounded<typename TestFixture::ScalarType>(this->generator.orthonormal(this->count, this->m));
  auto x = this->generator.random(this->count, this->b);
  const auto inside = product(v, this->generator.random(this->m, 1));
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 2) = inside(i, 0);
  Trial<TypeParam> t(this->context, this->rows(this->count), v, x);
  orth::Orthogonalizer orthogonalizer(this->context);
  const auto result = orthogonalizer.project(t.v, t.w);
  EXPECT_EQ(result.rank, this->b - 1);
  EXPECT_EQ(result.lost, std::vector<std::int64_t>{2});
}

TYPED_TEST(DeficiencyTest, DroppedColumnsLeaveTheOthersInFront) {
  using Scalar = typename TestFixture::ScalarType;
  for (const char* method : methods) {
    SCOPED_TRACE(method);
    auto x = this->generator.random(this->count, this->b);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      x(i, 0) = Wide<Scalar>(0);
      x(i, 2) = x(i, 1) * 2.0L;
    }
    auto t = this->trial(x);
    t.run(this->options(Deficiency::drop, method));
    EXPECT_EQ(t.result.rank, 3);
    EXPECT_EQ(t.result.lost, (std::vector<std::int64_t>{0, 2}));
    const auto q = collect(t.w), r = collect(t.r);
    for (std::int64_t i = 0; i < q.rows; ++i) {
      EXPECT_EQ(q(i, 3), Wide<Scalar>(0));
      EXPECT_EQ(q(i, 4), Wide<Scalar>(0));
    }
    for (std::int64_t j = 0; j < this->b; ++j) {
      EXPECT_EQ(r(3, j), Wide<Scalar>(0));
      EXPECT_EQ(r(4, j), Wide<Scalar>(0));
    }
    EXPECT_LE(t.loss(), rounding_loss<Scalar>(this->m + this->b));
    EXPECT_EQ(t.zero_columns, 2);
    EXPECT_LE(t.residual(), rounding_residual<Scalar>(this->m + this->b) +
                                2 * static_cast<double>(orth::rank_tolerance<Scalar>(this->m, this->b)));
  }
}

TYPED_TEST(DeficiencyTest, ReportsThrowWithRankAndColumns) {
  auto x = this->generator.random(this->count, this->b);
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 2) = x(i, 4) = x(i, 0);
  auto t = this->trial(x);
  try {
    t.run(this->options(Deficiency::report));
    FAIL() << "expected a RankError";
  } catch (const orth::RankError& error) {
    EXPECT_EQ(std::string(error.what()),
              "orth: W = " + t.w.describe() + " has rank 3 beside V = " + t.v.describe() + "; dependent columns: 2, 4");
  }
}

TYPED_TEST(DeficiencyTest, ReportsLeaveAllThatDroppingGives) {
  using Scalar = typename TestFixture::ScalarType;
  auto x = this->generator.random(this->count, this->b);
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 2) = x(i, 4) = x(i, 0);
  for (const char* method : methods) {
    for (const int verb : {0, 1, 2}) {
      SCOPED_TRACE(std::string(method) + ", verb " + std::to_string(verb));
      const auto run = [&](Trial<TypeParam>& t, Deficiency deficiency) {
        orth::Orthogonalizer orthogonalizer(this->context, this->options(deficiency, method));
        orth::dense::fill(t.s, Scalar(-77));
        orth::dense::fill(t.r, Scalar(-77));
        return verb == 0   ? orthogonalizer.normalize(t.w, &t.r)
               : verb == 1 ? orthogonalizer.project_and_normalize(t.v, t.w, &t.s, &t.r)
                           : orthogonalizer.factorize(t.v, t.w, &t.s, &t.r, 2);
      };
      auto dropped = this->trial(x);
      Trial<TypeParam> reported(this->context, this->rows(x.rows), dropped.v_given, x);
      const auto expected = run(dropped, Deficiency::drop);
      this->context.history().start();
      try {
        const auto result = run(reported, Deficiency::report);
        FAIL() << "expected a RankError: " << result.describe();
      } catch (const orth::RankError& error) {
        const auto& result = error.result();
        EXPECT_EQ(result.describe(), expected.describe());
        EXPECT_EQ(result.lost, expected.lost);
        EXPECT_EQ(result.rank, 3);
      }
      EXPECT_TRUE(collect(reported.w).entries == collect(dropped.w).entries);
      EXPECT_TRUE(collect(reported.s).entries == collect(dropped.s).entries);
      EXPECT_TRUE(collect(reported.r).entries == collect(dropped.r).entries);
      ASSERT_EQ(this->context.history().count(), 1);
      EXPECT_EQ(this->context.history().entries().front().rank, 3);
      this->context.history().stop();
    }
  }
}

TYPED_TEST(DeficiencyTest, NearlyDependentColumnsAreKept) {
  using Scalar = typename TestFixture::ScalarType;
  auto x = this->generator.random(this->count, 2);
  const auto other = this->generator.random(this->count, 1);
  const double distance = 30 * static_cast<double>(orth::rank_tolerance<Scalar>(this->m, 2));
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 1) = x(i, 0) + static_cast<long double>(distance) * other(i, 0);
  auto t = this->trial(x);
  t.run({});
  this->expect_replaced(t, {});
}

TYPED_TEST(DeficiencyTest, MoreColumnsThanRowsEndsWithZeros) {
  using Scalar = typename TestFixture::ScalarType;
  for (const char* method : methods) {
    for (std::int64_t n = 0; n <= 9; ++n) {
      for (const std::int64_t basis : {std::int64_t{0}, n / 2, n}) {
        for (const bool zero : {false, true}) {
          SCOPED_TRACE(std::string(method) + ", " + std::to_string(n) + " rows, " + std::to_string(basis) +
                       " in the basis");
          auto x = this->generator.random(n, 6);
          if (zero) std::fill(x.entries.begin(), x.entries.end(), Wide<Scalar>(0));
          auto t = this->trial(x, basis);
          const auto result = t.run(this->options(Deficiency::replace, method));
          const std::int64_t room = std::min<std::int64_t>(6, n - basis);
          EXPECT_EQ(result.rank, zero ? 0 : room) << result.describe();
          EXPECT_LE(t.loss(), rounding_loss<Scalar>(basis + 6));
          EXPECT_EQ(t.zero_columns, 6 - room) << result.describe();
          if (room < 6) {
            EXPECT_EQ(result.reason, Reason::no_room);
          }
          EXPECT_LE(t.residual(), rounding_residual<Scalar>(basis + 6) +
                                      6 * static_cast<double>(orth::rank_tolerance<Scalar>(basis, 6)));
        }
      }
    }
  }
}

TYPED_TEST(DeficiencyTest, NothingIsFine) {
  auto none = this->trial({this->count, 0});
  const auto result = none.run({});
  EXPECT_EQ(result.rank, 0);
  EXPECT_EQ(result.reductions, 0);
  EXPECT_EQ(result.reason, Reason::none);
  auto no_rows = this->trial({0, 3}, 0);
  EXPECT_EQ(no_rows.run({}).rank, 0);
  EXPECT_EQ(no_rows.result.reason, Reason::no_room);
  EXPECT_EQ(orth::Orthogonalizer(this->context).project(none.v, none.w).rank, 0);
}

TYPED_TEST(DeficiencyTest, AProjectionOnNothingLooksAtTheBlock) {
  auto x = this->generator.random(this->count, this->b);
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 3) = Wide<typename TestFixture::ScalarType>(0);
  for (const char* method : {"pipi+/cholqr2", "bcgs2/rand-cholqr", "bcgs/dd-cholqr"}) {
    auto t = this->trial(x, 0);
    const auto result =
        orth::Orthogonalizer(this->context, this->options(Deficiency::replace, method)).project(t.v, t.w, &t.s);
    EXPECT_TRUE(collect(t.w).entries == t.x.entries);
    EXPECT_EQ(result.lost, std::vector<std::int64_t>{3}) << "it lies in the range of no columns";
    EXPECT_EQ(result.rank, this->b - 1);
    EXPECT_TRUE(result.orthonormal);
    EXPECT_EQ(result.sweeps, 0);
    auto full = this->trial(this->generator.random(this->count, this->b), 0);
    const auto look =
        orth::Orthogonalizer(this->context, this->options(Deficiency::replace, method)).project(full.v, full.w);
    EXPECT_EQ(look.rank, this->b);
    EXPECT_EQ(look.reductions, 1);
    EXPECT_EQ(look.passes, 1);
  }
}

TYPED_TEST(DeficiencyTest, NotFiniteInputIsNamedAndLeftAlone) {
  using Scalar = typename TestFixture::ScalarType;
  using Real = RealOf<Scalar>;
  for (const char* method : methods) {
    for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
      for (const std::int64_t basis : {std::int64_t{0}, this->m}) {
        for (const bool in_basis : {false, true}) {
          if (in_basis && basis == 0) continue;
          SCOPED_TRACE(std::string(method) + (in_basis ? ", in V" : ", in W"));
          auto t = this->trial(this->generator.random(this->count, this->b), basis);
          testing::put(t.w, 11, 1, Scalar(std::numeric_limits<Real>::max() / 4));  // large is no error
          if (in_basis) {
            testing::put(t.v, 30, 6, Scalar(bad));
          } else {
            testing::put(t.w, this->count - 1, 3, Scalar(bad));
            testing::put(t.w, 0, 4, Scalar(bad));
          }
          const auto before = collect(t.storage);
          const auto same = [&] {
            const auto now = collect(t.storage);
            for (std::size_t i = 0; i < now.entries.size(); ++i) {
              const bool both_nan = now.entries[i] != now.entries[i] && before.entries[i] != before.entries[i];
              if (!both_nan && now.entries[i] != before.entries[i]) return false;
            }
            return true;
          };
          const std::string expected = in_basis ? "orth: V = " + t.v.describe() + " holds NaN or Inf in column 6"
                                                : "orth: W = " + t.w.describe() + " holds NaN or Inf in column 3";
          for (const bool project_only : {false, true}) {
            try {
              orth::Orthogonalizer orthogonalizer(this->context, this->options(Deficiency::replace, method));
              const auto result =
                  project_only ? orthogonalizer.project(t.v, t.w) : orthogonalizer.project_and_normalize(t.v, t.w);
              FAIL() << "expected a NotFiniteError: " << result.describe();
            } catch (const NotFiniteError& error) {
              EXPECT_EQ(std::string(error.what()), expected);
            }
            EXPECT_TRUE(same()) << "input was changed";
          }
        }
      }
    }
  }
}

TYPED_TEST(DeficiencyTest, AnyScaleOfColumnsIsFine) {
  using Scalar = typename TestFixture::ScalarType;
  using Real = RealOf<Scalar>;
  const long double tiny = std::is_same_v<Real, float> ? 1e-32L : 1e-290L,
                    small = std::is_same_v<Real, float> ? 1e-20L : 1e-150L;
  for (const char* method : methods) {
    SCOPED_TRACE(method);
    auto x = this->generator.with_condition(this->count, this->b, 100);
    const long double scales[] = {small, 1 / small, 1, tiny, 1 / tiny};
    for (std::int64_t j = 0; j < this->b; ++j) {
      for (std::int64_t i = 0; i < x.rows; ++i) x(i, j) *= scales[j];
    }
    auto t = this->trial(x);
    t.run(this->options(Deficiency::replace, method));
    this->expect_replaced(t, {});
    auto projected = this->trial(x);
    const auto projection = orth::Orthogonalizer(this->context, this->options(Deficiency::replace, method))
                                .project(projected.v, projected.w, &projected.s);
    EXPECT_EQ(projection.rank, this->b);
    Wide<Scalar> one(1);
    HostColumns<Wide<Scalar>> identity(this->b, this->b);
    for (std::int64_t j = 0; j < this->b; ++j) identity(j, j) = one;
    EXPECT_LE(relative_residual(projected.x, projected.v_given, collect(projected.s), collect(projected.w), identity),
              rounding_residual<Scalar>(this->m));
  }
}

TYPED_TEST(DeficiencyTest, DenormalColumnsAreOrthonormalisedAsFarAsTheirDigitsGo) {
  using Scalar = typename TestFixture::ScalarType;
  using Real = RealOf<Scalar>;
  auto x = this->generator.random(this->count, this->b);
  for (auto& entry : x.entries) entry *= 1000 * static_cast<long double>(std::numeric_limits<Real>::denorm_min());
  auto t = this->trial(x);
  t.run({});
  EXPECT_EQ(t.result.rank, this->b) << t.result.describe();
  EXPECT_LE(t.loss(), rounding_loss<Scalar>(this->m + this->b));
}

TYPED_TEST(DeficiencyTest, ReplacementsFollowTheSeed) {
  const auto run = [&](std::uint64_t seed, int skip) {
    auto t = this->trial({this->count, this->b}, 0);
    Options options;
    options.seed = seed;
    orth::Orthogonalizer orthogonalizer(this->context, options);
    for (int i = 0; i <= skip; ++i) {
      fill(t.w, typename TestFixture::ScalarType(0));
      EXPECT_EQ(orthogonalizer.normalize(t.w).rank, 0);
    }
    return collect(t.w).entries;
  };
  EXPECT_TRUE(run(1, 0) == run(1, 0));
  EXPECT_FALSE(run(1, 0) == run(2, 0));
  EXPECT_FALSE(run(1, 0) == run(1, 1)) << "two calls of one orthogonalizer draw different columns";
}

TYPED_TEST(DeficiencyTest, WithoutEscalationAnInvisibleRankIsSaid) {
  auto x = this->generator.random(this->count, this->b);
  for (std::int64_t i = 0; i < x.rows; ++i) x(i, 3) = x(i, 0);
  for (const char* method : {"pipi+/cholqr2", "pip/cholqr", "bcgs2/cholqr", "bcgs2/svqb"}) {
    SCOPED_TRACE(method);
    auto t = this->trial(x);
    auto options = this->options(Deficiency::replace, method);
    options.escalate = false;
    const auto result = t.run(options);
    EXPECT_TRUE(result.rank < this->b || !result.orthonormal) << result.describe();
    for (const auto& entry : collect(t.w).entries) EXPECT_TRUE(std::isfinite(static_cast<double>(std::norm(entry))));
    EXPECT_LE(t.residual(), rounding_residual<typename TestFixture::ScalarType>(4 * (this->m + this->b)));
  }
}

TYPED_TEST(DeficiencyTest, ABasisThatIsNotOrthonormalEndsWithThatReason) {
  using Scalar = typename TestFixture::ScalarType;
  auto v = rounded<Scalar>(this->generator.orthonormal(this->count, this->m));
  for (std::int64_t i = 0; i < v.rows; ++i) v(i, 2) = v(i, 1);
  auto x = this->generator.random(this->count, this->b);
  for (std::int64_t i = 0; i < v.rows; ++i) x(i, 3) += 100.0L * v(i, 1);
  for (const char* method : methods) {
    SCOPED_TRACE(method);
    Trial<TypeParam> t(this->context, this->rows(this->count), v, x);
    const auto result = t.run(this->options(Deficiency::replace, method));
    EXPECT_FALSE(result.orthonormal) << result.describe();
    EXPECT_EQ(result.reason, Reason::bad_basis);
    for (const auto& entry : collect(t.w).entries) EXPECT_TRUE(std::isfinite(static_cast<double>(std::norm(entry))));
    EXPECT_LE(t.residual(), 64 * rounding_residual<Scalar>(this->m + this->b));
  }
}

// Each projection would make W longer: it stops before numbers leave their range.
TYPED_TEST(DeficiencyTest, ALongBasisEndsWithThatReason) {
  using Scalar = typename TestFixture::ScalarType;
  const auto x = this->generator.random(this->count, this->b);
  for (const long double length : {3.0L, 30.0L, 1e5L}) {
    auto v = this->generator.orthonormal(this->count, this->m);
    for (auto& entry : v.entries) entry *= length;
    v = rounded<Scalar>(v);
    for (const char* method : methods) {
      SCOPED_TRACE(::testing::Message() << method << ", columns of length " << length);
      Trial<TypeParam> t(this->context, this->rows(this->count), v, x);
      const auto result = t.run(this->options(Deficiency::replace, method));
      EXPECT_FALSE(result.orthonormal) << result.describe();
      EXPECT_EQ(result.reason, Reason::bad_basis);
      for (const auto& entry : collect(t.w).entries) EXPECT_TRUE(std::isfinite(static_cast<double>(std::norm(entry))));
      EXPECT_TRUE(std::isfinite(t.residual()));
    }
  }
}

TYPED_TEST(DeficiencyTest, OperandsThatDoNotFitAreNamed) {
  auto t = this->trial(this->generator.random(this->count, this->b));
  auto other = this->trial(this->generator.random(this->count + 1, this->b));
  orth::Orthogonalizer orthogonalizer(this->context);
  const auto message = [](auto&& call) -> std::string {
    try {
      static_cast<void>(call());  // it is to throw
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] { return orthogonalizer.project_and_normalize(other.v, t.w); }),
            "orth::project_and_normalize: V = " + other.v.describe() + " and W = " + t.w.describe() +
                ": expected the same context and distribution of rows");
  EXPECT_EQ(message([&] { return orth::Orthogonalizer(Context::self(1)).normalize(t.w); }),
            "orth::project_and_normalize: W = " + t.w.describe() + ": expected the orthogonalizer's context");
  const typename TypeParam::Small wrong(this->context, 2, 3);
  EXPECT_EQ(message([&] { return orthogonalizer.project(t.v, t.w, &wrong); }),
            "orth::project: S is 2 x 3, expected 7 x 5");
  EXPECT_EQ(message([&] { return orthogonalizer.project_and_normalize(t.v, t.w, &t.s, &wrong); }),
            "orth::project_and_normalize: R is 2 x 3, expected 5 x 5");
  EXPECT_TRUE(collect(t.w).entries == t.x.entries);
}

}  // namespace
}  // namespace blockvec::test
