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
  for (const char* method : {"pipi+/cholqr2", "pip/svqb", "bcgs/cgs", "bcgs2/cgs2", "bcgs2/cholqr2"}) {
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

}  // namespace
}  // namespace blockvec::test
