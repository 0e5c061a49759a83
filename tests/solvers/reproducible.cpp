// The whole solver in a reproducible Context: the ranks together against each alone, bit for bit.
#include <gtest/gtest.h>

#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cstring>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout>
Result<BlockVector<Scalar, Layout>> solve(const Context& context, const RowDistribution& rows,
                                          const RowSource<Scalar>& source, const LanczosOptions& options) {
  SparseOperator<Scalar> a(context, rows, source);
  return block_lanczos<BlockVector<Scalar, Layout>>({a}, options);
}

/// Uniform, and with empty ranks and a rank of a few rows.
std::vector<RowDistribution> distributions(std::int64_t rows, const Communicator& communicator) {
  std::vector<RowDistribution> result{RowDistribution::uniform(rows, communicator)};
  const int ranks = communicator.size();
  if (ranks < 3) return result;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 0);
  counts[0] = 11;
  counts[2] = rows - 11;
  result.push_back(RowDistribution::from_rows(counts, communicator));
  return result;
}

template <class Layout, class Scalar>
void expect_same_run(const RowSource<Scalar>& source, const char* method, std::int64_t block) {
  SCOPED_TRACE(source.describe() + ", " + method);
  LanczosOptions options;
  options.wanted = 5;
  options.block = block;
  options.orth = orth::parse_options(method);
  const Context self = Context::self(1, Summation::reproducible);
  const auto expected =
      solve<Scalar, Layout>(self, RowDistribution::uniform(source.size(), self.communicator()), source, options);
  ASSERT_TRUE(expected.converged());
  for (const int threads : {1, 2}) {
    const Context context = Context::world(threads, Summation::reproducible);
    for (const auto& rows : distributions(source.size(), context.communicator())) {
      const auto got = solve<Scalar, Layout>(context, rows, source, options);
      EXPECT_EQ(got.eigenvalues, expected.eigenvalues);
      EXPECT_EQ(got.residual_norms, expected.residual_norms);
      EXPECT_EQ(got.residual_estimates, expected.residual_estimates);
      EXPECT_EQ(got.orthogonality_loss, expected.orthogonality_loss);
      EXPECT_EQ(got.reductions, expected.reductions);
      ASSERT_EQ(got.history.size(), expected.history.size());
      for (std::size_t i = 0; i < got.history.size(); ++i)
        EXPECT_EQ(got.history[i].residuals, expected.history[i].residuals) << i;
      for (std::int64_t i = 0; i < got.vectors.local_rows(); ++i) {
        for (std::int64_t j = 0; j < got.vectors.width(); ++j) {
          const Scalar x = got.vectors.view()(i, j), y = expected.vectors.view()(rows.begin() + i, j);
          ASSERT_EQ(std::memcmp(&x, &y, sizeof x), 0) << "row " << rows.begin() + i << ", column " << j;
        }
      }
    }
  }
}

TEST(Reproducible, TheMainJob) {
  const SpinChain ring(16, 8, true, 1);
  expect_same_run<ColumnMajor>(ring, "pipi+/cholqr2", 3);
  expect_same_run<RowMajor>(ring, "pipi+/cholqr2", 3);
}

TEST(Reproducible, OtherMatricesAndMethods) {
  expect_same_run<RowMajor>(Laplacian({22, 21, 20}), "bcgs2/svqb", 4);
  expect_same_run<ColumnMajor>(Anderson({10, 10, 10}, 2, 1), "bcgs/cgs2", 1);
  const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
  expect_same_run<ColumnMajor>(sheet, "pipi+/cholqr2", 2);
  expect_same_run<RowMajor>(sheet, "pip/cholqr", 5);
  expect_same_run<RowMajor>(Anderson({8, 12, 11}, 2, 1), "pip-dd/cholqr2", 3);
  expect_same_run<ColumnMajor>(Anderson({8, 12, 11}, 2, 1), "bcgsi+a/cholqr2", 3);
}

}  // namespace
}  // namespace blockvec::solvers
