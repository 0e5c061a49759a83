#include <algorithm>
#include <blockvec/operations.hpp>
#include <limits>
#include <span>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Basis;
using orth::Options;
using orth::Reason;

/// The tridiagonal matrix with `diagonal` and `beside` it; at the two ends, `end` on the diagonal.
struct Tridiagonal {
  long double diagonal, beside, end;

  template <class T>
  T row(std::int64_t i, std::int64_t rows, const std::function<T(std::int64_t)>& x) const {
    T sum = (i == 0 || i == rows - 1 ? end : diagonal) * x(i);
    if (i > 0) sum += beside * x(i - 1);
    if (i < rows - 1) sum += beside * x(i + 1);
    return sum;
  }
  template <class T>
  HostColumns<T> operator*(const HostColumns<T>& x) const {
    HostColumns<T> y(x.rows, x.columns);
    for (std::int64_t j = 0; j < x.columns; ++j) {
      for (std::int64_t i = 0; i < x.rows; ++i) {
        y(i, j) = row<T>(i, x.rows, [&](std::int64_t k) { return x(k, j); });
      }
    }
    return y;
  }
};
constexpr Tridiagonal mass{4.0L / 6, 1.0L / 6, 2.0L / 6};  // of linear finite elements
constexpr Tridiagonal stiffness{2, -1, 1};                 // has the constants in its null space
constexpr Tridiagonal saddle{0.5L, 1, 0.5L};               // indefinite

constexpr std::int64_t count = 80, m = 7, b = 5;

template <class K>
class MetricTest : public ::testing::Test {
 public:
  using ScalarType = typename K::Scalar;
  using Tall = typename K::Vector;
  using Columns = HostColumns<Wide<ScalarType>>;
  using Metric = orth::Metric<ScalarType, typename K::Layout, typename K::Space>;

  RowDistribution rows() const { return RowDistribution::uniform(count, context.communicator()); }
  /// B as an operator on block vectors of one rank. Counts the columns that it is applied to.
  Metric metric_of(const Tridiagonal& matrix) {
    return {[this, matrix](const Tall& x, const Tall& y) {
      applied += x.width();
      const auto from = testing::on_host(x), to = testing::on_host(y);
      for (std::int64_t j = 0; j < x.width(); ++j) {
        for (std::int64_t i = 0; i < x.local_rows(); ++i) {
          to.view()(i, j) = narrow<ScalarType>(matrix.row<Wide<ScalarType>>(
              i, count, [&](std::int64_t k) { return widen<ScalarType>(from.view()(k, j)); }));
        }
      }
      copy(to, y);
    }};
  }
  Tall tall(const Columns& values, const char* label) const {
    const Tall v(context, rows(), values.columns, label);
    distribute<ScalarType>(values, v);
    return v;
  }
  /// B-orthonormal columns, made here.
  Columns b_orthonormal(std::int64_t columns) {
    Columns v = generator.random(count, columns);
    for (int pass = 0; pass < 3; ++pass) {
      for (std::int64_t j = 0; j < columns; ++j) {
        Columns column = columns_of(v, j, j + 1);
        for (std::int64_t i = 0; i < j; ++i) {
          const auto t = gram(columns_of(v, i, i + 1), mass * column)(0, 0);
          for (std::int64_t k = 0; k < count; ++k) column(k, 0) -= v(k, i) * t;
        }
        const auto length = std::sqrt(std::abs(gram(column, mass * column)(0, 0)));
        for (std::int64_t k = 0; k < count; ++k) v(k, j) = column(k, 0) / length;
      }
    }
    return rounded<ScalarType>(v);
  }
  static double b_loss(const Columns& q) {
    Columns defect = gram(q, mass * q);
    for (std::int64_t j = 0; j < q.columns; ++j) defect(j, j) -= Wide<ScalarType>(1);
    return norm(defect);
  }
  template <class Body>
  static std::string message(Body body) {
    try {
      static_cast<void>(body());  // what it returns tells nothing of errors
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  Context context = Context::self(2);
  Generator<ScalarType> generator{404};
  std::int64_t applied = 0;
};
TYPED_TEST_SUITE(MetricTest, testing::AllCases, testing::CaseName);

const char* const methods[] = {"pipi+/cholqr2", "pip/cholqr", "bcgs/cgs",  "bcgs2/cgs2",
                               "bmgs/cholqr2",  "bcgs2/svqb", "pipi+/svqb"};

TYPED_TEST(MetricTest, BlocksBecomeOrthonormalInIt) {
  using Scalar = typename TestFixture::ScalarType;
  // Lengths in this metric and the Euclidean ones differ by up to the root of its condition, 3.
  const double slack = 3;
  for (const char* method : methods) {
    for (const std::int64_t basis : {std::int64_t{0}, m}) {
      for (const double power : {0.1, 0.4, 0.8}) {
        for (const bool has_images : {false, true}) {
          SCOPED_TRACE(std::string(method) + ", " + std::to_string(basis) + " in the basis, kappa = eps^-" +
                       std::to_string(power) + (has_images ? ", images at hand" : ""));
          const auto v_given = this->b_orthonormal(basis);
          const auto x = rounded<Scalar>(
              this->generator.with_condition(count, b, std::pow(static_cast<double>(epsilon<Scalar>), -power)));
          const auto v = this->tall(v_given, "V"), w = this->tall(x, "W"), bv = this->tall(mass * v_given, "B V"),
                     bw = this->tall(x, "B W");
          const typename TypeParam::Small s(this->context, basis, b), r(this->context, b, b);
          auto metric = this->metric_of(mass);
          if (has_images) {
            metric.image_of_basis = bv;
            metric.image_of_block = bw;
          }
          this->applied = 0;
          orth::Orthogonalizer orthogonalizer(this->context, orth::parse_options(method));
          const auto result = orthogonalizer.project_and_normalize(v, w, &s, &r, &metric);
          EXPECT_TRUE(result.orthonormal) << result.describe();
          EXPECT_EQ(result.rank, b) << result.describe();
          EXPECT_EQ(result.applications, this->applied);
          const auto q = collect(w);
          EXPECT_LE(this->b_loss(join(v_given, q)), slack * rounding_loss<Scalar>(m + b)) << result.describe();
          EXPECT_LE(relative_residual(x, v_given, collect(s), q, collect(r)), slack * rounding_residual<Scalar>(m + b));
          if (has_images) {
            auto error = mass * q;
            const auto image = collect(bw);
            for (std::size_t i = 0; i < error.entries.size(); ++i) error.entries[i] -= image.entries[i];
            EXPECT_LE(norm(error), 64 * rounding_loss<Scalar>(m + b));
          }
        }
      }
    }
  }
}

TYPED_TEST(MetricTest, ItIsAppliedOnceASweepAndLessWithImagesAtHand) {
  using Scalar = typename TestFixture::ScalarType;
  const auto v_given = this->b_orthonormal(m);
  const auto all = this->b_orthonormal(m + b);
  struct Case {
    const char* method;
    std::int64_t without, with;  // applications to blocks
    std::int64_t reductions;
  };
  for (const Case& expected :
       {Case{"pip/cholqr", 1, 1, 1}, {"pipi+/cholqr", 2, 1, 2}, {"bcgs/cholqr", 2, 1, 2}, {"bcgs2/cholqr", 3, 1, 4}}) {
    for (const bool has_images : {false, true}) {
      SCOPED_TRACE(expected.method);
      const auto v = this->tall(columns_of(all, 0, m), "V"), w = this->tall(columns_of(all, m, m + b), "W");
      auto metric = this->metric_of(mass);
      if (has_images) {
        metric.image_of_basis = this->tall(mass * columns_of(all, 0, m), "B V");
        metric.image_of_block = this->tall(columns_of(all, m, m + b), "B W");
      }
      auto options = orth::parse_options(expected.method);
      options.adaptive = false;
      options.escalate = false;
      this->applied = 0;
      const auto result =
          orth::Orthogonalizer(this->context, options).project_and_normalize(v, w, nullptr, nullptr, &metric);
      EXPECT_EQ(this->applied, (has_images ? expected.with : expected.without) * b) << result.describe();
      EXPECT_EQ(result.reductions, expected.reductions + (has_images ? 1 : 0)) << "one shows that B Q is finite";
      EXPECT_LE(this->b_loss(join(columns_of(all, 0, m), collect(w))), 3 * rounding_loss<Scalar>(m + b));
    }
  }
}

TYPED_TEST(MetricTest, ProjectionsAndFactorizationsKnowItToo) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t n = 14;
  const auto metric = this->metric_of(mass);
  const auto v_given = this->b_orthonormal(m);
  const auto v = this->tall(v_given, "V"), w = this->tall(this->generator.random(count, 3), "W");
  EXPECT_EQ(orth::Orthogonalizer(this->context).project(v, w, nullptr, &metric).rank, 3);
  EXPECT_LE(norm(gram(v_given, mass * collect(w))), 3 * norm(collect(w)) * rounding_loss<Scalar>(m));
  for (const char* skeleton : {"bcgs2", "bmgs", "pipi+", "pip+", "p-1s", "p-2s", "p-1s2s", "two-stage"}) {
    for (const double power : {0.1, 0.8}) {
      for (const bool has_image : {false, true}) {
        SCOPED_TRACE(std::string(skeleton) + ", kappa = eps^-" + std::to_string(power));
        const auto x = rounded<Scalar>(
            this->generator.with_condition(count, n, std::pow(static_cast<double>(epsilon<Scalar>), -power)));
        const auto q = this->tall(x, "X"), bq = this->tall(x, "B X");
        const typename TypeParam::Small r(this->context, n, n);
        auto chosen = metric;
        if (has_image) chosen.image_of_block = bq;
        this->applied = 0;
        const auto result =
            orth::Orthogonalizer(this->context, orth::parse_options(skeleton)).factorize(q, &r, 4, &chosen);
        EXPECT_TRUE(result.orthonormal) << result.describe();
        EXPECT_EQ(result.applications, this->applied);
        const auto q_now = collect(q);
        EXPECT_LE(this->b_loss(q_now), 3 * rounding_loss<Scalar>(n)) << result.describe();
        EXPECT_LE(relative_residual(x, {x.rows, 0}, {0, n}, q_now, collect(r)), 3 * rounding_residual<Scalar>(n));
        if (has_image) {
          auto error = mass * q_now;
          const auto image = collect(bq);
          for (std::size_t i = 0; i < error.entries.size(); ++i) error.entries[i] -= image.entries[i];
          EXPECT_LE(norm(error), 64 * rounding_loss<Scalar>(n));
        }
      }
    }
  }
}

TYPED_TEST(MetricTest, DependentColumnsAreReplacedBesideIt) {
  using Scalar = typename TestFixture::ScalarType;
  const auto metric = this->metric_of(mass);
  const auto v_given = this->b_orthonormal(m);
  auto x = this->generator.random(count, b);
  const auto inside = product(v_given, this->generator.random(m, 1));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    x(i, 0) = Wide<Scalar>(0);
    x(i, 2) = inside(i, 0);
    x(i, 4) = x(i, 3) - x(i, 1);
  }
  for (const char* method : methods) {
    SCOPED_TRACE(method);
    const auto v = this->tall(v_given, "V"), w = this->tall(x, "W");
    const auto result = orth::Orthogonalizer(this->context, orth::parse_options(method))
                            .project_and_normalize(v, w, nullptr, nullptr, &metric);
    EXPECT_EQ(result.lost, (std::vector<std::int64_t>{0, 2, 4})) << result.describe();
    EXPECT_LE(this->b_loss(join(v_given, collect(w))), 3 * rounding_loss<Scalar>(m + b));
  }
}

TYPED_TEST(MetricTest, MethodsThatKnowNoneGiveWayAndSaySo) {
  const auto metric = this->metric_of(mass);
  const auto v = this->tall(this->b_orthonormal(m), "V");
  struct Case {
    const char *asked, *done;
  };
  for (const Case& expected : {Case{"pip-dd/cholqr2", "pipi+/cholqr2"},
                               {"bcgs2/dd-cholqr", "bcgs2/cholqr"},
                               {"bcgs2/dd-cholqr2", "bcgs2/cholqr2"},
                               {"bcgs/tsqr", "bcgs/cholqr2"},
                               {"bcgs/rand-cholqr", "bcgs/cholqr2"},
                               {"bcgs/rand-cholqr-gauss", "bcgs/cholqr2"},
                               {"p-2s/pcholqr", "p-2s/cholqr2"},
                               {"bcgs2/cholqr2", "bcgs2/cholqr2"}}) {
    SCOPED_TRACE(expected.asked);
    const auto reason = std::string(expected.asked) == expected.done ? Reason::none : Reason::not_here;
    const auto w = this->tall(this->generator.with_condition(count, b, 3), "W");
    auto options = orth::parse_options(expected.asked);
    options.escalate = false;
    orth::Orthogonalizer orthogonalizer(this->context, options);
    const auto beside = orthogonalizer.project_and_normalize(v, w, nullptr, nullptr, &metric);
    EXPECT_EQ(to_string(beside.method), expected.done);
    EXPECT_EQ(beside.reason, reason) << beside.describe();
    const auto whole = orthogonalizer.factorize(v, this->tall(this->generator.with_condition(count, 2 * b, 3), "X"),
                                                nullptr, nullptr, b, &metric);
    EXPECT_EQ(to_string(whole.method), expected.done);
    EXPECT_EQ(whole.reason, reason) << whole.describe();
  }
}

TYPED_TEST(MetricTest, StepsOfASweepAreOnePass) {
  using Scalar = typename TestFixture::ScalarType;
  if (!is_host_space<typename TypeParam::Space>) GTEST_SKIP() << "where steps of a sweep are passes of their own";
  const auto all = this->b_orthonormal(m + b);
  const auto v_given = columns_of(all, 0, m);
  for (const bool has_images : {false, true}) {
    const auto v = this->tall(v_given, "V"), w = this->tall(columns_of(all, m, m + b), "W");
    auto metric = this->metric_of(mass);
    if (has_images) {
      metric.image_of_basis = this->tall(mass * v_given, "B V");
      metric.image_of_block = this->tall(columns_of(all, m, m + b), "B W");
    }
    auto options = orth::parse_options("pipi+/cholqr2");
    options.adaptive = false;
    const auto result =
        orth::Orthogonalizer(this->context, options).project_and_normalize(v, w, nullptr, nullptr, &metric);
    // W's lengths at first; then twice products of V, W and B W with B W, and a change of W, and of B W where B V is at
    // hand. Then B Q is looked at.
    const std::int64_t words = b + 2 * (m + 2 * b) + (has_images ? 4 : 2) * (m + 2 * b) + (has_images ? b : 0);
    EXPECT_EQ(result.passes * b, static_cast<double>(words)) << result.describe();
    EXPECT_LE(this->b_loss(join(v_given, collect(w))), 3 * rounding_loss<Scalar>(m + b));
  }
}

// Wherever V, W and their images lie, in one block vector or each in one of its own, and on devices as their kernels
// take them.
TYPED_TEST(MetricTest, WordsAreThoseOfProductsAndChanges) {
  using Scalar = typename TestFixture::ScalarType;
  const auto values = this->b_orthonormal(m + b);
  for (const bool together : {false, true}) {
    for (const bool has_images : {false, true}) {
      SCOPED_TRACE(std::string(together ? "one block vector" : "several") + (has_images ? ", images at hand" : ""));
      const auto all = this->tall(values, "[V W]"), images = this->tall(mass * values, "B [V W]");
      const typename TestFixture::Tall v = together ? all.columns(0, m) : this->tall(columns_of(values, 0, m), "V"),
                                       w = all.columns(m, m + b);
      const typename TestFixture::Tall bv = images.columns(0, m),
                                       bw = together ? images.columns(m, m + b)
                                                     : this->tall(columns_of(values, m, m + b), "B W");
      auto metric = this->metric_of(mass);
      if (has_images) {
        metric.image_of_basis = bv;
        metric.image_of_block = bw;
      }
      auto options = orth::parse_options("pipi+/cholqr2");
      options.adaptive = false;
      const auto result =
          orth::Orthogonalizer(this->context, options).project_and_normalize(v, w, nullptr, nullptr, &metric);
      const typename TestFixture::Tall left[] = {together ? v.joined(w) : v, w};
      const std::span<const typename TestFixture::Tall> beside(left, together ? 1 : 2), basis(&v, 1),
          image_of_basis(&bv, 1);
      const std::int64_t products = sweep_words(beside, bw, {.forms_p = true, .forms_g = true}),
                         change = sweep_words(basis, w, {.subtracts = true, .applies = true}),
                         change_of_image = sweep_words(image_of_basis, bw, {.subtracts = true, .applies = true});
      // The bound is that of three products apart: V^H B W, W^H B W and (B W)^H B W.
      EXPECT_LE(products, (m + b) + 2 * b + b);
      const std::int64_t words = b + 2 * (products + change) + (has_images ? 2 * change_of_image + b : 0);
      EXPECT_EQ(result.passes * b, static_cast<double>(words)) << result.describe();
      EXPECT_LE(this->b_loss(join(columns_of(values, 0, m), collect(w))), 3 * rounding_loss<Scalar>(m + b));
    }
  }
}

TYPED_TEST(MetricTest, ASemiDefiniteOrIndefiniteOneIsAnError) {
  using Scalar = typename TestFixture::ScalarType;
  auto constant = this->generator.random(count, b);
  auto alternating = constant;
  for (std::int64_t i = 0; i < count; ++i) {
    constant(i, 3) = Wide<Scalar>(1);
    alternating(i, 1) = Wide<Scalar>(i % 2 == 0 ? 1 : -1);
  }
  // Seen only when a projection has taken the rest: X = (V, V + constants).
  auto hidden = this->generator.random(count, 2);
  for (std::int64_t i = 0; i < count; ++i) hidden(i, 1) = hidden(i, 0) + Wide<Scalar>(1);
  for (const char* method : methods) {
    SCOPED_TRACE(method);
    const auto normalize = [&](const auto& x, const Tridiagonal& matrix) {
      return this->message([&] {
        const auto metric = this->metric_of(matrix);
        return orth::Orthogonalizer(this->context, orth::parse_options(method))
            .normalize(this->tall(x, "W"), nullptr, &metric);
      });
    };
    const auto one = normalize(constant, stiffness), two = normalize(hidden, stiffness),
               three = normalize(alternating, saddle);
    EXPECT_NE(one.find("in column 3 of W"), std::string::npos) << one;
    EXPECT_NE(one.find("semi-definite to rounding"), std::string::npos) << one;
    EXPECT_NE(two.find("in column 1 of W"), std::string::npos) << two;
    EXPECT_NE(two.find("semi-definite to rounding"), std::string::npos) << two;
    EXPECT_NE(three.find("B is indefinite"), std::string::npos) << three;
  }
  EXPECT_EQ(this->message([&] {
    const auto metric = this->metric_of(stiffness);
    return orth::Orthogonalizer(this->context)
        .normalize(this->tall(this->generator.random(count, b), "W"), nullptr, &metric);
  }),
            "no error");
}

TYPED_TEST(MetricTest, WhatItsImagesBringInIsNeverSilent) {
  using Scalar = typename TestFixture::ScalarType;
  using Real = RealOf<Scalar>;
  const auto v_given = this->b_orthonormal(m);
  auto x = this->generator.random(count, b);
  for (std::int64_t i = 0; i < count; ++i) x(i, 2) = Wide<Scalar>(0);
  for (const char* method : methods) {
    for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
      for (const int verb : {0, 1, 2, 3}) {
        const auto run = [&](const auto& metric, const auto& w) {
          return this->message([&] {
            const auto v = this->tall(v_given, "V");
            orth::Orthogonalizer orthogonalizer(this->context, orth::parse_options(method));
            if (verb == 0) return orthogonalizer.project(v, w, nullptr, &metric);
            if (verb == 1) return orthogonalizer.project_and_normalize(v, w, nullptr, nullptr, &metric);
            if (verb == 2) return orthogonalizer.normalize(w, nullptr, &metric);
            return orthogonalizer.factorize(v, w, nullptr, nullptr, 2, &metric);
          });
        };
        // By B, in one column, at its first application or a later one; even where W's column is zero.
        for (const std::int64_t column : {0, 2, 4}) {
          for (const int good : {0, 1}) {
            SCOPED_TRACE(std::string(method) + ", verb " + std::to_string(verb) + ", column " + std::to_string(column) +
                         " after " + std::to_string(good));
            auto metric = this->metric_of(mass);
            int met = 0;
            metric.apply = [&, apply = metric.apply](const auto& from, const auto& to) {
              apply(from, to);
              const std::int64_t j = verb == 3 ? column % 2 : column;
              if (met++ >= good && to.width() > j) testing::put(to, 5, j, Scalar(bad));
            };
            const auto w = this->tall(x, "W");
            const std::string text = run(metric, w);
            if (good == 0) {
              EXPECT_EQ(text, verb == 3 ? "orth: B W for W = " + w.describe() + " holds NaN or Inf in column " +
                                              std::to_string(column % 2)
                                        : "orth: B W for W = " + w.describe() + " holds NaN or Inf in column " +
                                              std::to_string(column));
              EXPECT_TRUE(collect(w).entries == rounded<Scalar>(x).entries) << "W was changed";
            } else if (met > good && text != "no error") {
              EXPECT_NE(text.find("NaN or Inf"), std::string::npos) << text;
            }
            for (const auto& entry : collect(w).entries) EXPECT_TRUE(std::isfinite(std::norm(entry)));
          }
        }
        // By B V.
        if (verb == 2) continue;
        SCOPED_TRACE(std::string(method) + ", verb " + std::to_string(verb) + ", B V");
        auto metric = this->metric_of(mass);
        const auto bv = this->tall(mass * v_given, "B V"), bw = this->tall(x, "B W");
        testing::put(bv, 7, 3, Scalar(bad));
        metric.image_of_basis = bv;
        metric.image_of_block = bw;
        const auto w = this->tall(x, "W");
        const std::string text = run(metric, w);
        const auto image = collect(bw);
        const bool clean = std::all_of(image.entries.begin(), image.entries.end(),
                                       [](const auto& entry) { return std::isfinite(std::norm(entry)); });
        EXPECT_TRUE(text.find("NaN or Inf") != std::string::npos || (text == "no error" && clean)) << text;
        for (const auto& entry : collect(w).entries) EXPECT_TRUE(std::isfinite(std::norm(entry)));
      }
    }
  }
}

TYPED_TEST(MetricTest, OperandsThatDoNotFitAreNamed) {
  using Scalar = typename TestFixture::ScalarType;
  const auto v = this->tall(this->b_orthonormal(m), "V"), w = this->tall(this->generator.random(count, b), "W");
  orth::Orthogonalizer orthogonalizer(this->context);
  auto metric = this->metric_of(mass);
  metric.image_of_basis = v.columns(1, m);
  EXPECT_EQ(this->message([&] { return orthogonalizer.project(v, w, nullptr, &metric); }),
            "orth::project: the inner product's B V = " + v.columns(1, m).describe() +
                ", expected pieces like those of V = " + v.describe());
  metric = this->metric_of(mass);
  metric.image_of_block = v;
  EXPECT_EQ(this->message([&] { return orthogonalizer.normalize(w, nullptr, &metric); }),
            "orth::project_and_normalize: the inner product's B W = " + v.describe() +
                ", expected a block vector like W = " + w.describe());
  metric = {};
  EXPECT_EQ(this->message([&] { return orthogonalizer.normalize(w, nullptr, &metric); }),
            "orth::project_and_normalize: the inner product's B is missing");
  metric.apply = [](const auto&, const auto& y) { fill(y, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN())); };
  EXPECT_EQ(this->message([&] { return orthogonalizer.normalize(w, nullptr, &metric); }),
            "orth: B W for W = " + w.describe() + " holds NaN or Inf in column 0");
}

TYPED_TEST(MetricTest, SeveralPiecesCountAsOneBasis) {
  using Scalar = typename TestFixture::ScalarType;
  const auto v_given = rounded<Scalar>(this->generator.orthonormal(count, m));
  const auto x = rounded<Scalar>(this->generator.with_condition(count, b, 30));
  const auto locked = this->tall(columns_of(v_given, 0, 3), "locked"), v = this->tall(columns_of(v_given, 3, m), "V"),
             nothing = this->tall(columns_of(v_given, 0, 0), "nothing");
  for (const char* method : {"pipi+/cholqr2", "bcgs2/cgs2", "bmgs/cholqr2", "pip/svqb"}) {
    SCOPED_TRACE(method);
    const auto w = this->tall(x, "W");
    const typename TypeParam::Small s(this->context, m, b), r(this->context, b, b);
    auto options = orth::parse_options(method);
    options.adaptive = false;
    orth::Orthogonalizer orthogonalizer(this->context, options);
    const auto result = orthogonalizer.project_and_normalize({locked, nothing, v}, w, &s, &r);
    if (std::string(method) == "pipi+/cholqr2") {
      EXPECT_EQ(result.reductions, 2);
    }
    EXPECT_LE(loss_of_orthogonality(join(v_given, collect(w))), rounding_loss<Scalar>(m + b)) << result.describe();
    EXPECT_LE(relative_residual(x, v_given, collect(s), collect(w), collect(r)), rounding_residual<Scalar>(m + b));
    const auto projected = this->tall(x, "W");
    EXPECT_EQ(orthogonalizer.project({locked, v}, projected, &s).rank, b);
    EXPECT_LE(norm(gram(v_given, collect(projected))), norm(x) * rounding_loss<Scalar>(m + b));
  }
  EXPECT_EQ(this->message([&] {
    return orth::Orthogonalizer(this->context).project({v, v, v, v, v}, locked);
  }),
            "orth::Basis: more than four block vectors");
  const typename TypeParam::Small wrong(this->context, 4, 3);
  EXPECT_EQ(this->message([&] {
    return orth::Orthogonalizer(this->context).project({locked, v}, this->tall(x, "W"), &wrong);
  }),
            "orth::project: S is 4 x 3, expected 7 x 5");
}

}  // namespace
}  // namespace blockvec::test
