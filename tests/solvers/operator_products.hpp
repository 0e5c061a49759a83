#pragma once

#include <gtest/gtest.h>

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <limits>
#include <vector>

#include "solvers/hermitian_entries.hpp"
#include "tests/solvers/dense.hpp"
#include "tests/support/cases.hpp"

/// Products of an operator that is made from (context, rows, source), against the dense matrix.
namespace blockvec::solvers {

/// Even, all rows on one rank, and with empty ranks between others.
inline std::vector<RowDistribution> distributions(std::int64_t rows, const Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::int64_t> all_on_last(ranks, 0);
  all_on_last.back() = rows;
  std::vector<std::int64_t> uneven(ranks, 0);  // the middle ones empty
  uneven.front() = rows / 3;
  uneven.back() += rows - rows / 3;
  return {RowDistribution::uniform(rows, communicator), RowDistribution::from_rows(all_on_last, communicator),
          RowDistribution::from_rows(uneven, communicator)};
}

/// Y = alpha (A - shift) X + beta Y against the dense matrix; each rank knows all of X by its counter-based numbers.
template <template <class, class> class Operator, class Space, class Scalar, class Layout>
void expect_product_in(const RowSource<Scalar>& source, int threads, Summation summation) {
  const auto context = Context::world(threads, summation);
  const auto alone = Context::self(1);
  const std::int64_t n = source.size();
  const auto number = [](double value) { return Scalar(static_cast<RealOf<Scalar>>(value)); };
  const auto a = dense(source);
  const auto all_rows = RowDistribution::uniform(n, alone.communicator());
  for (const RowDistribution& rows : distributions(n, context.communicator())) {
    Operator<Scalar, Space> op(context, rows, source);
    for (const std::int64_t width : {0, 1, 2, 3, 5, 8, 16, 17, 33}) {
      BlockVector<Scalar, Layout> full_x(alone, all_rows, width);
      BlockVector<Scalar, Layout> full_y(alone, all_rows, width);
      fill_random(full_x, 1);
      fill_random(full_y, 2);
      BlockVector<Scalar, Layout, Space> storage(context, rows, 2 * width + 3);
      const auto x = storage.columns(1, 1 + width);
      const auto y = storage.columns(2 + width, 2 + 2 * width);
      for (const double shift : {0.0, 0.75}) {
        for (const double beta : {0.0, 1.0, -0.5}) {
          fill(storage, Scalar(7));
          fill_random(x, 1);
          fill_random(y, 2);
          if (beta == 0) fill(y, number(std::numeric_limits<double>::quiet_NaN()));
          op.apply(number(1.5), number(shift), x, number(beta), y);
          const auto after = testing::on_host(storage).view();
          const auto offset = static_cast<std::size_t>(2 + width);
          for (std::int64_t i = 0; i < rows.local_rows(); ++i) {
            const auto row = static_cast<std::size_t>(rows.begin() + i);
            for (std::size_t j = 0; j < static_cast<std::size_t>(width); ++j) {
              Scalar expected = number(beta) * full_y.view()(row, j) - number(1.5 * shift) * full_x.view()(row, j);
              double size = 2;
              for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
                expected += number(1.5) * a(row, k) * full_x.view()(k, j);
                size += 1.5 * magnitude(a(row, k));
              }
              ASSERT_LE(magnitude(after(static_cast<std::size_t>(i), offset + j) - expected),
                        64 * epsilon<Scalar> * size)
                  << rows.describe() << " width " << width << " row " << row << " shift " << shift << " beta " << beta;
            }
            const auto local = static_cast<std::size_t>(i);
            ASSERT_EQ(after(local, 0), Scalar(7));
            ASSERT_EQ(after(local, static_cast<std::size_t>(1 + width)), Scalar(7));
            ASSERT_EQ(after(local, static_cast<std::size_t>(2 + 2 * width)), Scalar(7));
          }
        }
      }
    }
  }
}

/// On the host and, where there is one, on a device; with sums in any order and in that of the columns.
template <template <class, class> class Operator, class Scalar, class Layout>
void expect_product(const RowSource<Scalar>& source, int threads) {
  for (const Summation summation : {Summation::fast, Summation::reproducible}) {
    expect_product_in<Operator, Kokkos::HostSpace, Scalar, Layout>(source, threads, summation);
#if BLOCKVEC_HAVE_CUDA_SPACE
    if (threads == 1) expect_product_in<Operator, Kokkos::CudaSpace, Scalar, Layout>(source, threads, summation);
#endif
  }
}

}  // namespace blockvec::solvers
