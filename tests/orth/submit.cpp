// submit() and get(): the two halves of project_and_normalize, in every memory.
#include <blockvec/operations.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

template <class K>
class Submit : public ::testing::Test {
 public:
  using Scalar_ = typename K::Scalar;
  using Handle = orth::Submitted<Scalar_, typename K::Layout, typename K::Space>;
  static_assert(std::is_nothrow_move_constructible_v<Handle> && !std::is_copy_constructible_v<Handle>);
  static constexpr std::int64_t count = 400, m = 8, b = 4;

  /// A block, and one that has a column twice.
  Trial<K> trial(bool dependent) const {
    Generator<Scalar_> generator(31);
    const auto directions = generator.orthonormal(count, m);
    auto x = generator.random(count, b);
    for (std::int64_t i = 0; i < count && dependent; ++i) x(i, b - 1) = x(i, 0);
    return {context, RowDistribution::uniform(count, context.communicator()), directions, x};
  }
  static auto outcome(const Trial<K>& of, const orth::Result& result) {
    return std::tuple(result.describe(), result.lost, collect(of.s).entries, collect(of.r).entries,
                      collect(of.w).entries);
  }

  Context context = Context::world(2);
};
TYPED_TEST_SUITE(Submit, testing::AllCases, testing::CaseName);

TYPED_TEST(Submit, AndGetGiveWhatTheWholeCallGives) {
  for (const char* method : {"pipi+/cholqr2", "pip/cholqr", "pip/svqb", "bcgs2/cgs2", "p-1s2s/cholqr2"}) {
    for (const bool dependent : {false, true}) {
      for (const bool adaptive : {false, true}) {
        SCOPED_TRACE(std::string(method) + (dependent ? ", dependent" : "") + (adaptive ? "" : ", not adaptive"));
        auto options = orth::parse_options(method);
        options.adaptive = adaptive;
        auto whole = this->trial(dependent), halves = this->trial(dependent);
        const auto expected = this->outcome(whole, whole.run(options));
        orth::Orthogonalizer orthogonalizer(this->context, options);
        auto submitted = orthogonalizer.submit(halves.v, halves.w, &halves.s, &halves.r);
        fill_random(whole.w, 3);  // something of the caller's
        inner_product(whole.v, whole.w, whole.s);
        auto moved = std::move(submitted);
        const auto result = moved.get();
        EXPECT_TRUE(this->outcome(halves, result) == expected) << result.describe() << "\n" << std::get<0>(expected);
        if (!dependent) {
          EXPECT_LE(halves.loss(), rounding_loss<typename TypeParam::Scalar>(this->m + this->b));
        }
        EXPECT_TRUE(halves.guards_hold());
        EXPECT_THROW(std::ignore = submitted.get(), Error);
      }
    }
  }
}

TYPED_TEST(Submit, TellsWhetherWStood) {
  for (const bool dependent : {false, true}) {
    auto trial = this->trial(dependent);
    orth::Orthogonalizer orthogonalizer(this->context);
    auto submitted = orthogonalizer.submit(trial.v, trial.w);
    EXPECT_FALSE(submitted.left_to_device());
    const auto between = collect(trial.w).entries;
    EXPECT_TRUE(submitted.get().orthonormal);
    EXPECT_EQ(submitted.left_to_device(), between == collect(trial.w).entries);
    if (!dependent) {
      EXPECT_TRUE(submitted.left_to_device());
    }
  }
}

TYPED_TEST(Submit, MayBeForgotten) {
  auto trial = this->trial(false);
  orth::Orthogonalizer orthogonalizer(this->context);
  std::ignore = orthogonalizer.submit(trial.v, trial.w, &trial.s, &trial.r);  // gone at once
  EXPECT_LE(trial.loss(), 64 * rounding_loss<typename TypeParam::Scalar>(this->m + this->b));
  EXPECT_EQ(orthogonalizer.project_and_normalize(trial.v, trial.w).rank, this->b);
}

TYPED_TEST(Submit, RefusesWhatTheWholeCallRefuses) {
  auto trial = this->trial(false);
  orth::Orthogonalizer orthogonalizer(this->context);
  EXPECT_THROW(std::ignore = orthogonalizer.submit(trial.v, trial.w, &trial.r), ShapeError);
  auto nothing = orthogonalizer.submit(trial.v, trial.w.columns(0, 0));
  EXPECT_EQ(nothing.get().rank, 0);
  EXPECT_THROW(std::ignore = nothing.get(), Error);
}

// Deficiency::report: by submit() where it does the work at once, else by get().
TYPED_TEST(Submit, ReportsDependentColumns) {
  auto trial = this->trial(true);
  orth::Options options;
  options.deficiency = orth::Deficiency::report;
  orth::Orthogonalizer orthogonalizer(this->context, options);
  EXPECT_THROW(std::ignore = orthogonalizer.submit(trial.v, trial.w, &trial.s, &trial.r).get(), orth::RankError);
  EXPECT_LE(trial.residual(), rounding_residual<typename TypeParam::Scalar>(this->m + this->b));
}

}  // namespace
}  // namespace blockvec::test
