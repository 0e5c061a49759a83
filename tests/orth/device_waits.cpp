// What the host waits for on a device: the results of reductions by which it decides, and nothing else.
#include <blockvec/operations.hpp>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

template <class K>
class WaitsOnDevice : public ::testing::Test {};
TYPED_TEST_SUITE(WaitsOnDevice, testing::CasesIn<Kokkos::CudaSpace>, testing::CaseName);

constexpr std::int64_t global_rows = 5003, m = 12, b = 4;

/// V, orthonormal, and W behind it.
template <class K>
struct Operands {
  explicit Operands(const Context& context)
      : basis(context, RowDistribution::uniform(global_rows, context.communicator()), m + b, "basis"),
        v(basis.columns(0, m)),
        w(basis.columns(m, m + b)),
        s(context, m, b),
        r(context, b, b) {
    fill_random(basis, 3);
    EXPECT_EQ(orth::Orthogonalizer(context).normalize(v).rank, m);
  }
  typename K::Vector basis, v, w;
  typename K::Small s, r;
};

TYPED_TEST(WaitsOnDevice, OnceForEachSweepOfAProjection) {
  const Context context = Context::self();
  const Operands<TypeParam> on(context);
  for (const char* method : {"bcgs", "bcgs2", "pipi+"}) {
    for (const bool adaptive : {true, false}) {
      auto options = orth::parse_options(method);
      options.adaptive = adaptive;
      fill_random(on.w, 5);
      const std::int64_t waits = context.waits();
      const auto result = orth::Orthogonalizer(context, options).project(on.v, on.w, &on.s);
      EXPECT_EQ(context.waits() - waits, result.sweeps) << result.describe();
      EXPECT_EQ(result.reductions, result.sweeps);
    }
  }
}

TYPED_TEST(WaitsOnDevice, OnceForTheColumnsOfABlock) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::self();
  const Operands<TypeParam> on(context);
  for (const char* method : {"/cgs", "/cgs2"}) {
    SCOPED_TRACE(method);
    auto options = orth::parse_options(method);
    const bool twice = options.within == orth::Within::cgs2;
    orth::Orthogonalizer orthogonalizer(context, options);
    fill_random(on.w, 7);
    std::int64_t waits = context.waits();
    auto result = orthogonalizer.normalize(on.w, &on.r);
    EXPECT_EQ(context.waits() - waits, 2) << result.describe();  // for the lengths at first, and for the columns
    EXPECT_EQ(result.reductions, 1 + (twice ? 2 : 1) * (b - 1));
    EXPECT_EQ(result.rank, b);
    EXPECT_LE(static_cast<double>(orth::orthogonality_loss(on.w)), rounding_loss<Scalar>(b));

    options.between = orth::Between::bcgs2;
    options.adaptive = false;
    fill_random(on.w, 8);
    waits = context.waits();
    result = orth::Orthogonalizer(context, options).project_and_normalize(on.v, on.w, &on.s, &on.r);
    EXPECT_EQ(result.sweeps, 2) << result.describe();
    EXPECT_EQ(context.waits() - waits, 4) << result.describe();
    EXPECT_LE(static_cast<double>(orth::orthogonality_loss(on.basis)), rounding_loss<Scalar>(m + b));
  }
}

// A column that lies in the range of those before it is the host's: its own two projections, and the columns after it.
TYPED_TEST(WaitsOnDevice, AgainForAColumnThatIsLost) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::self();
  const Operands<TypeParam> on(context);
  auto options = orth::parse_options("/cgs2");
  options.deficiency = orth::Deficiency::drop;
  fill_random(on.w, 7);
  copy(on.w.column(0), on.w.column(1));
  const std::int64_t waits = context.waits();
  const auto result = orth::Orthogonalizer(context, options).normalize(on.w, &on.r);
  EXPECT_EQ(result.rank, b - 1);
  EXPECT_EQ(result.lost, std::vector<std::int64_t>{1});
  EXPECT_LE(context.waits() - waits, 2 + 5 + 1) << result.describe();
  EXPECT_LE(static_cast<double>(orth::orthogonality_loss(on.w.columns(0, b - 1))), rounding_loss<Scalar>(b));
}

TYPED_TEST(WaitsOnDevice, OnceForEachReductionOfAMetric) {
  using Scalar = typename TypeParam::Scalar;
  using Tall = typename TypeParam::Vector;
  const Context context = Context::self();
  const Operands<TypeParam> on(context);
  orth::Metric<Scalar, typename TypeParam::Layout, typename TypeParam::Space> metric;
  metric.apply = [](const Tall& x, const Tall& y) { axpby(Scalar(1), x, Scalar(0), y); };
  for (const bool keeps_image : {false, true}) {
    const Tall image_of_basis = on.v.deep_copy(), image_of_block = on.w.deep_copy();
    if (keeps_image) metric.image_of_basis = image_of_basis;
    if (keeps_image) metric.image_of_block = image_of_block;
    for (const char* method : {"pipi+", "bcgs2", "bcgs2/cgs2"}) {
      SCOPED_TRACE(method);
      auto options = orth::parse_options(method);
      options.adaptive = false;
      fill_random(on.w, 9);
      const std::int64_t waits = context.waits();
      const auto result =
          orth::Orthogonalizer(context, options).project_and_normalize(on.v, on.w, &on.s, &on.r, &metric);
      const std::int64_t for_columns = options.within == orth::Within::cgs2 ? 2 * (2 * b - 1) - 2 : 0;
      EXPECT_LE(context.waits() - waits, result.reductions - for_columns) << result.describe();
      EXPECT_EQ(result.rank, b);
      EXPECT_LE(static_cast<double>(orth::orthogonality_loss(on.basis)), rounding_loss<Scalar>(m + b));
    }
  }
}

TYPED_TEST(WaitsOnDevice, OnceForEachReductionOfASketch) {
  const Context context = Context::self();
  const Operands<TypeParam> on(context);
  for (const char* method : {"/rand-cholqr", "/rand-cholqr-gauss", "/dd-cholqr2", "/pcholqr"}) {
    fill_random(on.w, 7);
    const std::int64_t waits = context.waits();
    const auto result = orth::Orthogonalizer(context, orth::parse_options(method)).normalize(on.w, &on.r);
    EXPECT_EQ(context.waits() - waits, result.reductions) << result.describe();
  }
}

// Q and R agree with the host's, which differ in what rounding does to a factor that is unique; W has any layout.
TYPED_TEST(WaitsOnDevice, OnceForTheReflectionsOfTsqr) {
  using Scalar = typename TypeParam::Scalar;
  using HostCase = testing::Case<Scalar, typename TypeParam::Layout>;
  const Context context = Context::world(2);
  Generator<Scalar> generator(13);
  const auto options = orth::parse_options("/tsqr");
  for (const auto& [count, columns] : {std::pair<std::int64_t, std::int64_t>{9, 8},
                                       {300, 1},
                                       {100003, 1},
                                       {40009, 8},
                                       {5003, 17},
                                       {5003, 64},
                                       {3001, 65}}) {
    SCOPED_TRACE(std::to_string(count) + " x " + std::to_string(columns));
    const auto rows = RowDistribution::uniform(count, context.communicator());
    const auto x = generator.random(count, columns);
    const HostColumns<Wide<Scalar>> none(count, 0);
    const Frame frame{1, 1, 3};
    Trial<TypeParam> device(context, rows, none, x, frame), again(context, rows, none, x, frame);
    Trial<HostCase> host(context, rows, none, x);
    const std::int64_t waits = context.waits();
    const auto result = device.run(options);
    if (context.communicator().size() == 1) {
      EXPECT_EQ(context.waits() - waits, 2) << result.describe();
    }
    EXPECT_EQ(result.method.within, orth::Within::tsqr) << result.describe();
    EXPECT_EQ(result.rank, columns);
    host.run(options);
    again.run(options);
    EXPECT_TRUE(collect(device.w).entries == collect(again.w).entries);
    EXPECT_TRUE(collect(device.r).entries == collect(again.r).entries);
    EXPECT_TRUE(device.guards_hold());
    EXPECT_LE(device.loss(), rounding_loss<Scalar>(columns));
    EXPECT_LE(device.residual(), rounding_residual<Scalar>(columns));
    if (count < 4 * columns) continue;  // elsewhere the condition is small
    auto difference = collect(device.r);
    const auto expected = collect(host.r);
    for (std::size_t i = 0; i < difference.entries.size(); ++i) difference.entries[i] -= expected.entries[i];
    EXPECT_LE(norm(difference), 8 * rounding_residual<Scalar>(columns) * norm(x));
  }
}

TYPED_TEST(WaitsOnDevice, TsqrTakesDependentColumns) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  constexpr std::int64_t count = 4001, columns = 6;
  const auto rows = RowDistribution::uniform(count, context.communicator());
  Generator<Scalar> generator(14);
  auto x = generator.with_condition(generator.orthonormal(count, columns), static_cast<double>(1 / epsilon<Scalar>));
  for (std::int64_t i = 0; i < count; ++i) {
    x(i, 2) = Wide<Scalar>(0);
    x(i, 4) = x(i, 0);
  }
  auto options = orth::parse_options("/tsqr");
  options.escalate = false;
  Trial<TypeParam> trial(context, rows, HostColumns<Wide<Scalar>>(count, 0), x);
  const auto result = trial.run(options);
  EXPECT_LE(result.rank, columns - 2) << result.describe();
  EXPECT_LE(trial.loss(), rounding_loss<Scalar>(columns));
  EXPECT_EQ(trial.zero_columns, 0);
  EXPECT_LE(trial.residual(), rounding_residual<Scalar>(columns));
}

}  // namespace
}  // namespace blockvec::test
