// Gram-Schmidt by columns whose steps the host does not see, and what it does about those that do not fit.
#include "orth/queued_columns.hpp"

#include <gtest/gtest.h>

#include <blockvec/operations.hpp>
#include <string>

#include "orth/columnwise.hpp"
#include "orth/extended.hpp"
#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

template <class K>
class QueuedColumnsTest : public ::testing::Test {};
TYPED_TEST_SUITE(QueuedColumnsTest, testing::AllCases, testing::CaseName);

template <class K>
using Queued = orth::QueuedColumns<typename K::Scalar, typename K::Layout, typename K::Space>;

template <class K>
constexpr std::int64_t one_wait_on_device = is_host_space<typename K::Space> ? 0 : 1;

TYPED_TEST(QueuedColumnsTest, OrthonormaliseABlock) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t count = 400;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  Generator<Scalar> generator(31);
  for (const std::int64_t b : {1, 2, 9}) {
    for (const bool is_known : {false, true}) {
      SCOPED_TRACE("b = " + std::to_string(b) + (is_known ? ", first length known" : ""));
      const auto x = generator.with_condition(generator.orthonormal(count, b), 20);
      Trial<TypeParam> trial(context, rows, HostColumns<Wide<Scalar>>(count, 0), x);
      Real square = 0;
      for (std::int64_t i = 0; i < count; ++i) square += static_cast<Real>(std::norm(trial.x(i, 0)));
      const std::int64_t waits = context.waits(), reductions = context.reductions();
      Queued<TypeParam> queued(trial.w);
      for (std::int64_t j = 0; j < b; ++j) {
        const bool known = is_known && j == 0;
        for (int pass = known ? 2 : 1; pass <= 2; ++pass) {
          queued.project(j, known ? 1 : pass, trial.w.column(j), {Real(0), Real(0), pass == 2},
                         known ? &square : nullptr);
        }
      }
      const auto results = queued.results();
      if (context.communicator().size() == 1) {
        EXPECT_EQ(context.waits() - waits, one_wait_on_device<TypeParam>);
      }
      EXPECT_EQ(context.reductions() - reductions, 2 * b - (is_known ? 2 : 0));
      EXPECT_EQ(results.status.goes_on, 1u);
      HostColumns<Wide<Scalar>> r(b, b);
      for (std::int64_t j = 0; j < b; ++j) {
        EXPECT_NEAR(static_cast<double>(results.before.view()(0, j)), std::norm(norm(columns_of(trial.x, j, j + 1))),
                    rounding_residual<Scalar>(b) * std::norm(norm(trial.x)));
        for (std::int64_t i = 0; i <= j; ++i) r(i, j) = widen<Scalar>(results.r.view()(i, j));
      }
      EXPECT_LE(trial.loss(), rounding_loss<Scalar>(b));
      EXPECT_LE(relative_residual(trial.x, trial.v_given, HostColumns<Wide<Scalar>>(0, b), collect(trial.w), r),
                rounding_residual<Scalar>(b));
      EXPECT_TRUE(trial.guards_hold());
    }
  }
}

TYPED_TEST(QueuedColumnsTest, StopAtTheFirstColumnThatDoesNotFit) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t count = 300, b = 6, bad = 3;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  Generator<Scalar> generator(5);
  for (const bool is_zero : {false, true}) {
    auto x = generator.orthonormal(count, b);
    for (std::int64_t i = 0; i < count; ++i)
      x(i, bad) = is_zero ? Wide<Scalar>(0) : x(i, 1) + Wide<Scalar>(0.5) * x(i, bad);
    const Trial<TypeParam> trial(context, rows, HostColumns<Wide<Scalar>>(count, 0), x);
    Queued<TypeParam> queued(trial.w);
    for (std::int64_t j = 0; j < b; ++j) queued.project(j, 1, trial.w.column(j), {Real(1e-3), Real(0), true}, nullptr);
    const auto results = queued.results();
    EXPECT_EQ(results.status.goes_on, 0u);
    EXPECT_EQ(results.status.column, bad);
    EXPECT_EQ(results.status.pass, 1);
    const auto w = collect(trial.w);
    EXPECT_TRUE(columns_of(w, bad, b).entries == columns_of(trial.x, bad, b).entries) << "as they were";
  }
}

TYPED_TEST(QueuedColumnsTest, StopAtAnImageThatIsNotFinite) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t count = 300, b = 5, bad = 2;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  Generator<Scalar> generator(6);
  const auto x = generator.orthonormal(count, b);
  for (const Real value : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    for (const bool is_last : {false, true}) {
      const Trial<TypeParam> trial(context, rows, HostColumns<Wide<Scalar>>(count, 0), x);
      const Trial<TypeParam> images(context, rows, HostColumns<Wide<Scalar>>(count, 0), x);
      testing::put(images.w, 7, bad, Scalar(value));
      Queued<TypeParam> queued(trial.w);
      for (std::int64_t j = 0; j < b; ++j) {
        queued.project(j, 1, images.w.column(j), {Real(1e-3), Real(0), is_last}, nullptr);
      }
      const auto results = queued.results();
      EXPECT_EQ(results.status.goes_on, 0u);
      EXPECT_EQ(results.status.column, bad);
      EXPECT_TRUE(columns_of(collect(trial.w), bad, b).entries == columns_of(trial.x, bad, b).entries) << "as they were";
    }
  }
}

// The whole sweep with the host's part in it, beside the one that is the host's alone.
TYPED_TEST(QueuedColumnsTest, LeaveToTheHostWhatItDecidesOn) {
  using Scalar = typename TypeParam::Scalar;
  using Layout = typename TypeParam::Layout;
  using Space = typename TypeParam::Space;
  constexpr std::int64_t count = 500, m = 4, b = 8;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const orth::Options options;
  const double small = std::sqrt(static_cast<double>(epsilon<Scalar>));
  for (const orth::Repetition repetition : {orth::Repetition{1, 1}, orth::Repetition{2, 2}, orth::repeated(1),
                                            orth::repeated(2), orth::repeated(1, true)}) {
    for (const int kind : {0, 1, 2, 3}) {
      SCOPED_TRACE("least " + std::to_string(repetition.least) + ", most " + std::to_string(repetition.most) +
                   (repetition.beside_basis ? ", beside V" : "") + ", kind " + std::to_string(kind));
      if (repetition.most == 1 && kind > 0) continue;  // not meant to be orthonormal
      Generator<Scalar> generator(7);
      const auto directions = generator.orthonormal(count, m + b);
      auto x = columns_of(directions, m, m + b);
      for (std::int64_t i = 0; i < count; ++i) {
        if (kind == 1 || kind == 3) x(i, 3) = x(i, 0) + Wide<Scalar>(small) * x(i, 3);  // nearly dependent
        if (kind >= 2) x(i, 5) = x(i, 1) - x(i, 2);                                     // dependent
        if (kind == 3) x(i, 0) = Wide<Scalar>(0);
      }
      const auto run = [&](bool is_queued) {
        const Trial<TypeParam> trial(context, rows, columns_of(directions, 0, m), x);
        std::int64_t draws = 0;
        const orth::Basis<Scalar, Layout, Space> basis(trial.v);
        orth::Call<Scalar, Layout, Space> call(context, options, draws, basis, trial.w);
        orth::reduce(call);
        orth::dense::copy(call.products.squares, call.lengths.original);
        orth::dense::copy(call.products.squares, call.lengths.before);
        orth::subtract_projection(call);
        orth::ColumnwiseSweep<Scalar, Layout, Space> sweep(call, repetition);
        const std::int64_t waits = context.waits();
        if (is_queued) {
          sweep.orthogonalize_queued();
          if (kind == 0 && context.communicator().size() == 1) {
            EXPECT_EQ(context.waits() - waits, one_wait_on_device<TypeParam>);
          }
        } else {
          for (std::int64_t j = 0; j < b; ++j) sweep.orthogonalize(j, {});
        }
        EXPECT_TRUE(sweep.conclude().done);
        if (repetition.beside_basis) {
          EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
        } else {
          std::vector<std::int64_t> zeros;
          for (std::int64_t j = 0; j < b; ++j) {
            if (call.findings.lost[j]) zeros.push_back(j);
          }
          EXPECT_LE(loss_of_orthogonality(collect(trial.w), zeros), rounding_loss<Scalar>(b));
        }
        EXPECT_LE(relative_residual(trial.x, trial.v_given, collect(call.coefficients.s), collect(trial.w),
                                    collect(call.coefficients.r)),
                  rounding_residual<Scalar>(m + b));
        std::string lost;
        for (std::int64_t j = 0; j < b; ++j) lost += call.findings.lost[j] ? 'x' : '.';
        return lost;
      };
      EXPECT_EQ(run(true), run(false));
    }
  }
}

}  // namespace
}  // namespace blockvec::test
