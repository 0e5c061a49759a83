// Iterating a growing basis allocates nothing once it is warm: every operator new of this program is counted.
#include <algorithm>
#include <blockvec/operations.hpp>

#include "tests/orth/support.hpp"
#include "tests/support/count_allocations.hpp"

namespace blockvec::test {
namespace {

template <class K>
class OrthAllocations : public ::testing::Test {};
TYPED_TEST_SUITE(OrthAllocations, testing::AllCases, testing::CaseName);

TYPED_TEST(OrthAllocations, AGrowingBasisAllocatesNothingAfterItsFirstRound) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 500, b = 4, m = 20;
  const Context context = Context::world(2);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const typename TypeParam::Vector basis(context, rows, m, "basis");
  const typename TypeParam::Small s(context, m, b), r(context, b, b);
  for (const char* method : {"pipi+/cholqr2", "pip/svqb", "bcgs/cgs", "bcgs2/cgs2", "bcgs2/cholqr2", "bcgs/scholqr3",
                             "bcgs/dd-cholqr2", "bcgs2/tsqr", "bcgs/rand-cholqr", "bcgs2/pcholqr"}) {
    for (const double noise : {1.0, 16.0}) {  // well-conditioned, and so ill that it escalates
      orth::Orthogonalizer orthogonalizer(context, orth::parse_options(method));
      const auto round = [&] {
        for (std::int64_t j = 0; j < m; j += b) {
          const auto v = basis.columns(0, j), w = basis.columns(j, j + b);
          fill_random(w, 1, j);
          if (noise > 1) {  // columns alike but for a little
            const auto small = static_cast<RealOf<Scalar>>(std::pow(static_cast<double>(epsilon<Scalar>), 0.7));
            for (std::int64_t i = 1; i < b; ++i) axpby(Scalar(1), w.column(0), Scalar(small), w.column(i));
          }
          const auto coefficients = s.block(0, j, 0, b);
          const auto result = orthogonalizer.project_and_normalize(v, w, &coefficients, &r);
          EXPECT_EQ(result.rank, b);
        }
      };
      round();
      round();
      const std::int64_t warm = blockvec::testing::allocations_so_far();
      for (int i = 0; i < 3; ++i) round();
      EXPECT_EQ(blockvec::testing::allocations_so_far(), warm) << method << ", noise " << noise;
    }
  }
}

TYPED_TEST(OrthAllocations, NeitherDoesAnyMethodBetweenBlocks) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 300, width = 4, n = 18;
  const Context context = Context::world(2);
  context.history().start(8);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const typename TypeParam::Vector x(context, rows, n, "X"), image(context, rows, n, "B X");
  const typename TypeParam::Small r(context, n, n), s(context, 2 * width, width);
  orth::Metric<Scalar, typename TypeParam::Layout, typename TypeParam::Space> twice;
  twice.apply = [](const auto& from, const auto& to) { axpby(Scalar(2), from, Scalar(0), to); };
  twice.image_of_block = image;
  for (const char* method : {"bmgs", "bcgs2", "bcgsi+a", "pip+", "p-1s", "p-2s", "p-1s2s", "two-stage"}) {
    for (const bool ill : {false, true}) {
      orth::Orthogonalizer orthogonalizer(context, orth::parse_options(method));
      const auto round = [&](const auto* metric) {
        fill_random(x, 3);
        if (ill) {  // every block like the one before it but for a little
          const auto small = static_cast<RealOf<Scalar>>(std::pow(static_cast<double>(epsilon<Scalar>), 0.7));
          for (std::int64_t j = width; j < n; ++j) axpby(Scalar(1), x.column(j - width), Scalar(small), x.column(j));
        }
        EXPECT_EQ(orthogonalizer.factorize(x, &r, width, metric).rank, n);
        fill_random(x.columns(2 * width, 3 * width), 4);
        EXPECT_EQ(orthogonalizer
                      .project_and_normalize({x.columns(0, width), x.columns(width, 2 * width)},
                                             x.columns(2 * width, 3 * width), &s)
                      .rank,
                  width);
      };
      for (int i = 0; i < 2; ++i) {
        round(&twice);
        round(static_cast<decltype(&twice)>(nullptr));
      }
      const std::int64_t warm = blockvec::testing::allocations_so_far();
      round(&twice);
      round(static_cast<decltype(&twice)>(nullptr));
      EXPECT_EQ(blockvec::testing::allocations_so_far(), warm) << method << ", ill " << ill;
    }
  }
}

}  // namespace
}  // namespace blockvec::test
