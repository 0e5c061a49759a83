#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "tests/kernels/host/run.hpp"
#include "tests/kernels/support/tsmttsm_cases.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class Tsmttsm : public testing::Test {};
TYPED_TEST_SUITE(Tsmttsm, Scalars);

INSTANTIATE_TYPED_TEST_SUITE_P(Host, TsmttsmCases, InAllScalars<OnHost>);

TYPED_TEST(Tsmttsm, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 6, 33}) {
      GuardedMatrix<T> a(60001, width, layout, 0, 0, mark<T>());
      a.fill(random);
      GuardedMatrix<T> once(width, width, Layout::row_major, 0, 0, mark<T>());
      tsmttsm(Op::transpose, T(1), a.view(), a.view(), T(0), once.view(), {1, {}});
      for (const int threads : {2, 3, 5, 8}) {
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        tsmttsm(Op::transpose, T(1), a.view(), a.view(), T(0), c.view(), {threads, {}});
        EXPECT_TRUE(c.same_bits_as(once)) << threads << " threads, width " << width;
      }
    }
  }
}

TYPED_TEST(Tsmttsm, WorkspaceOfTheCallerIsEnough) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    const std::size_t bytes = tsmttsm_workspace<T>(20000, 9, 7, layout);
    std::vector<std::byte> memory(bytes + 3, std::byte{7});
    const HostRun run{{2, std::span(memory).subspan(1, bytes)}};
    expect_tsmttsm<T>(run, 20000, 9, 7, {layout, Layout::row_major, 0, 0}, Op::transpose, T(1), T(0));
    EXPECT_EQ(memory.front(), std::byte{7});
    EXPECT_EQ(memory[bytes + 1], std::byte{7});
  }
}

}  // namespace
}  // namespace blockvec::kernels
