// The preconditioner of diagonal blocks: what it inverts, what it saves, what it refuses.
#include <gtest/gtest.h>

#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <vector>

#include "tests/solvers/exact.hpp"

namespace blockvec::solvers {
namespace {

/// Blocks of `size` rows, which begin anew on each rank, with `diagonal` and 1 (above the diagonal i, below -i, of
/// complex ones) beside it.
template <class Scalar>
RowFunction<Scalar> blocks_of(const RowDistribution& rows, std::int64_t size, double diagonal) {
  const auto rank_begin = [rows](std::int64_t row) {
    int rank = 0;
    while (rows.begin(rank + 1) <= row) ++rank;
    return std::pair(rows.begin(rank), rows.begin(rank + 1));
  };
  return RowFunction<Scalar>(rows.global_rows(), [=](std::int64_t row, RowEntries<Scalar>& entries) {
    const auto [first, last] = rank_begin(row);
    const std::int64_t begin = first + (row - first) / size * size, end = std::min(begin + size, last);
    for (std::int64_t column = std::max(begin, row - 1); column < std::min(end, row + 2); ++column) {
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        using Real = RealOf<Scalar>;
        entries.add(column, column == row ? Scalar(static_cast<Real>(diagonal) + static_cast<Real>(row % 5))
                                          : Scalar(0, column > row ? Real(1) : Real(-1)));
      } else {
        entries.add(column, column == row ? Scalar(diagonal) + static_cast<Scalar>(row % 5) : Scalar(1));
      }
    }
  });
}

template <class Vector>
void expect_inverse(std::int64_t size) {
  using Scalar = typename Vector::Scalar;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(61, context.communicator());
  const auto of_a = blocks_of<Scalar>(rows, size, 3), of_b = blocks_of<Scalar>(rows, size, 4);
  SparseOperator<Scalar, typename Vector::Space> a(context, rows, of_a), b(context, rows, of_b);
  const Vector r(context, rows, 3), w(context, rows, 3), back(context, rows, 3);
  fill_random(r, 1);
  // Eigenvalues lie above 1 / 11; shifts of each column stay below.
  const std::vector<double> shifts{0, -1, -20};
  for (const bool is_pair : {false, true}) {
    const auto m = block_jacobi_preconditioner<Vector>(context, rows, of_a, is_pair ? &of_b : nullptr, size);
    m(shifts, r, w);
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto shift = Scalar(static_cast<RealOf<Scalar>>(shifts[static_cast<std::size_t>(j)]));
      const Vector from = w.column(j), to = back.column(j);
      a.apply(Scalar(1), is_pair ? Scalar(0) : shift, from, Scalar(0), to);
      if (is_pair) b.apply(-shift, Scalar(0), from, Scalar(1), to);
    }
    axpby(Scalar(-1), r, Scalar(1), back);
    const SmallMatrix<RealOf<Scalar>, typename Vector::Space> norms(context, 1, 3);
    column_norms(back, norms);
    // Entries of R are at most 1; the condition is some ten.
    const double limit = 64 * 10 * static_cast<double>(size) * std::sqrt(61.) * static_cast<double>(epsilon<Scalar>);
    const auto host = norms.to_host();
    for (std::size_t j = 0; j < 3; ++j) EXPECT_LE(host(0, j), limit) << "size " << size << ", column " << j;
  }
}

TEST(BlockJacobi, InvertsBlocksWithAShiftForEachColumn) {
  for (const std::int64_t size : {1, 4, 16, 40, 100}) {
    expect_inverse<BlockVector<double>>(size);
    expect_inverse<BlockVector<double, ColumnMajor>>(size);
    expect_inverse<BlockVector<Complex<double>>>(size);
    expect_inverse<BlockVector<float>>(size);
  }
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_inverse<BlockVector<double, RowMajor, Kokkos::CudaSpace>>(16);
#endif
}

/// A grid with strong coupling along lines of 16 points, whose rows are neighbours.
class StrongLines : public testing::Test {
 protected:
  using Vector = BlockVector<double>;
  static constexpr std::int64_t length_ = 16, lines_ = 60;
  static constexpr double strong_ = 100;

  const Context context_ = Context::world(1);
  /// Whole lines on each rank.
  static RowDistribution rows_of(const Communicator& communicator) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(communicator.size()),
                                     lines_ / communicator.size() * length_);
    counts.back() += lines_ % communicator.size() * length_;
    return RowDistribution::from_rows(counts, communicator);
  }
  const RowDistribution rows_ = rows_of(context_.communicator());
  const RowFunction<double> grid_{length_ * lines_, [](std::int64_t row, RowEntries<double>& entries) {
                                    const std::int64_t line = row / length_, point = row % length_;
                                    entries.add(row, 2 * strong_ + 2);
                                    if (point > 0) entries.add(row - 1, -strong_);
                                    if (point + 1 < length_) entries.add(row + 1, -strong_);
                                    if (line > 0) entries.add(row - length_, -1);
                                    if (line + 1 < lines_) entries.add(row + length_, -1);
                                  }};
  SparseOperator<double> a_{context_, rows_, grid_};
};

TEST_F(StrongLines, TakesHalfTheColumnsOfJacobi) {
  const LobpcgOptions options{.wanted = 4};
  const auto solve = [&](const Preconditioner<Vector>& m) {
    const auto result = lobpcg<Vector>({.a = a_, .precondition = m}, options);
    EXPECT_TRUE(result.converged()) << result.why;
    std::vector<double> along = exact_laplacian({length_});
    for (double& value : along) value *= strong_;
    const auto exact = sums({along, exact_laplacian({lines_})});
    for (std::size_t i = 0; i < result.eigenvalues.size(); ++i)
      EXPECT_NEAR(result.eigenvalues[i], exact[i], options.tolerance * exact.back());
    return result;
  };
  const auto jacobi = solve(jacobi_preconditioner(diagonal_of<Vector>(context_, rows_, grid_)));
  const auto blocks = solve(block_jacobi_preconditioner<Vector>(context_, rows_, grid_, nullptr, length_));
  EXPECT_TRUE(blocks.why.empty()) << blocks.why;
  EXPECT_LE(2 * blocks.applications, jacobi.applications);
}

TEST_F(StrongLines, BothEndsStayDefinite) {
  for (const auto which : {Which::smallest, Which::largest}) {
    const auto m = block_jacobi_preconditioner<Vector>(context_, rows_, grid_, nullptr, 7, which);
    const auto result = lobpcg<Vector>({.a = a_, .precondition = m}, {.wanted = 3, .which = which});
    EXPECT_TRUE(result.converged()) << result.why;
    EXPECT_TRUE(result.why.empty()) << result.why;
  }
}

TEST_F(StrongLines, RefusesWhatIsNotDefinite) {
  EXPECT_THROW((void)block_jacobi_preconditioner<Vector>(context_, rows_, grid_, nullptr, 0), InputError);
  const RowFunction<double> indefinite(
      length_ * lines_, [](std::int64_t row, RowEntries<double>& entries) { entries.add(row, row == 40 ? -1 : 1); });
  EXPECT_THROW((void)block_jacobi_preconditioner<Vector>(context_, rows_, grid_, &indefinite, 8), InputError);
}

}  // namespace
}  // namespace blockvec::solvers
