#include "src/dispatch/cuda/model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

/// The choices that a thread keeps.
namespace blockvec::kernels::dispatch {
namespace {

const CudaDevice device{131, 232448, true, "a device without a table"};

CudaTsmttsm marked(int mark) {
  DirectTsmttsm c{};
  c.kernel = CudaKernel::direct;
  c.partials = 1;
  c.rows = mark;
  return c;
}
CudaTsmm marked_tsmm(int mark) {
  GeneralTsmm c{};
  c.kernel = CudaKernel::general;
  c.blocks = 1;
  c.rows = mark;
  return c;
}

// As a call asks, with a search that finds one configuration.
int mark_of(const CudaTsmttsmProblem& problem, int mark, int& searches) {
  return row_or_best<CudaTsmttsm>(device, problem,
                                  [&](std::vector<CudaTsmttsm>& found) {
                                    ++searches;
                                    found.push_back(marked(mark));
                                  })
      .configuration->rows;
}
int mark_of(const CudaTsmmProblem& problem, int mark, int& searches) {
  return row_or_best<CudaTsmm>(device, problem,
                               [&](std::vector<CudaTsmm>& found) {
                                 ++searches;
                                 found.push_back(marked_tsmm(mark));
                               })
      .configuration->rows;
}

// Asked for in turn, as a solver does, all are searched for once.
template <class Problem>
void expect_kept(const std::vector<Problem>& problems) {
  int searches = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const int mark = static_cast<int>(i) + 1;
      EXPECT_EQ(mark_of(problems[i], mark, searches), mark);
    }
  }
  EXPECT_EQ(searches, static_cast<int>(problems.size())) << "K " << problems[0].k << " M " << problems[0].m;
}

TEST(CudaLastChoices, ProductsOfEqualShapeStandSideBySide) {
  for (std::int64_t width = 1; width <= 64; ++width) {
    const CudaTsmttsmProblem product{1000003 + width, width, width, width, width, 8, true, false};
    CudaTsmttsmProblem gram = product;
    gram.same = true;
    CudaTsmttsmProblem aligned = product;
    aligned.aligned = true;
    CudaTsmttsmProblem single = product;
    single.real_bytes = 4;
    expect_kept<CudaTsmttsmProblem>({product, gram, aligned, single});

    const CudaTsmmProblem maps{1000003 + width, width, width, width, width, 8, true, false, false};
    CudaTsmmProblem update = maps;
    update.reads_output = true;
    CudaTsmmProblem in_place = maps;
    in_place.in_place = true;
    CudaTsmmProblem may_skip = maps;
    may_skip.may_skip_a = true;
    expect_kept<CudaTsmmProblem>({maps, update, in_place, may_skip});
  }
}

TEST(CudaLastChoices, ASearchThatThrowsLeavesNothingBehind) {
  const CudaTsmttsmProblem product{77, 5, 5, 5, 5, 8, true, false};
  CudaTsmttsmProblem gram = product;
  gram.same = true;
  int searches = 0;
  EXPECT_EQ(mark_of(product, 1, searches), 1);
  for (int i = 0; i < 2; ++i) {
    const auto fails = [](std::vector<CudaTsmttsm>& found) {
      found.push_back(marked(3));
      throw std::runtime_error("no memory");
    };
    EXPECT_THROW(row_or_best<CudaTsmttsm>(device, gram, fails), std::runtime_error);
  }
  EXPECT_EQ(mark_of(gram, 2, searches), 2);
  EXPECT_EQ(searches, 2);
  EXPECT_EQ(mark_of(product, 4, searches), 1);
}

}  // namespace
}  // namespace blockvec::kernels::dispatch
