// No operation allocates once it is warm: every operator new and every Kokkos allocation of this program is counted.
#include <Kokkos_Core.hpp>

#include "tests/support/count_allocations.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

template <class C>
class AllocationTest : public ::testing::Test {
 protected:
  void expect_no_allocation_after_the_first_round(const Context& context);
};
TYPED_TEST_SUITE(AllocationTest, testing::AllCases, testing::CaseName);

template <class C>
void AllocationTest<C>::expect_no_allocation_after_the_first_round(const Context& context) {
  using Scalar = typename C::Scalar;
  using Space = typename C::Space;
  const auto rows = RowDistribution::uniform(3000, context.communicator());
  const typename C::Vector basis(context, rows, 24, "basis");
  const typename C::Small coefficients(context, 24, 4);
  const typename C::Small gram(context, 4, 4), low(context, 4, 4);
  const typename C::Small dots(context, 1, 4);
  const typename C::RealSmall norms(context, 1, 4);
  const auto round = [&] {
    for (std::int64_t j = 4; j < 24; j += 4) {
      const auto v = basis.columns(0, j);
      const auto w = basis.columns(j, j + 4);
      const auto s = coefficients.block(0, j, 0, 4);
      fill_random(w, 1, j);
      InnerProducts<Scalar, typename C::Layout, Space>(context).add(v, w, s).add(w, w, gram).reduce();
      inner_product_dd(w, w, {gram, low});
      update(Scalar(-1), v, s, Scalar(1), w);
      multiply_in_place(w, gram, kernels::Triangle::upper);
      column_dots(w, w, dots);
      column_norms(w, norms);
      scale_columns(w, dots);
      axpby(Scalar(1), w, Scalar(2), basis.columns(0, 4));
      copy(w, basis.columns(0, 4));
      scale(w, Scalar(0.5));
      fill(w, Scalar(0));
    }
  };
  context.profile().start();
  round();
  round();
  const std::int64_t warm = testing::allocations_so_far();
  const auto asked = [&] {
    return context.workspace().allocations() + context.workspace<Space>().allocations() +
           context.workspace<StagingSpaceOf<Space>>().allocations();
  };
  const std::int64_t warm_workspaces = asked();
  for (int i = 0; i < 5; ++i) round();
  EXPECT_EQ(testing::allocations_so_far(), warm);
  EXPECT_EQ(asked(), warm_workspaces);
}

TYPED_TEST(AllocationTest, AGrowingBasisAllocatesNothingAfterItsFirstRound) {
  this->expect_no_allocation_after_the_first_round(Context::world(2));
}

TYPED_TEST(AllocationTest, NorDoesItInAReproducibleContext) {
  if (!is_host_space<typename TypeParam::Space>) GTEST_SKIP() << "on the host alone";
  this->expect_no_allocation_after_the_first_round(Context::world(2, Summation::reproducible));
}

}  // namespace
}  // namespace blockvec
