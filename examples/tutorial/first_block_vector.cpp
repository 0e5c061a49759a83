// Tutorial 1: a block vector, its two products, and orthonormal columns.
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <cstdio>
#include <limits>

namespace {

constexpr std::int64_t rows_of_all = 100'000, width = 8;

int run() {
  // Where block vectors live: the ranks, the threads, scratch memory. The rows are spread evenly over the ranks.
  const auto context = blockvec::Context::world();
  const auto rows = blockvec::RowDistribution::uniform(rows_of_all, context.communicator());

  // Eight long vectors side by side, filled with random numbers: the same ones on any number of ranks.
  const blockvec::BlockVector<double> v(context, rows, width, "V");
  blockvec::fill_random(v, /*seed=*/1);

  // The inner product C = V^T V is small. Every rank holds the same bits of it.
  const blockvec::SmallMatrix<double> c(context, width, width);
  blockvec::inner_product(v, v, c);
  const auto gram = c.to_host();

  // The update W = V C makes a tall block of a tall and a small one.
  const blockvec::BlockVector<double> w(context, rows, width, "W");
  blockvec::update(1.0, v, c, 0.0, w);

  // Columns are views: this scales V itself.
  blockvec::scale(v.column(0), 2.0);

  // Orthonormal columns, however the old ones were: V_in = V_out R. The result says what was done.
  blockvec::orth::Orthogonalizer orthogonalizer(context);
  const auto result = orthogonalizer.normalize(v);
  const double loss = blockvec::orth::orthogonality_loss(v);

  if (context.communicator().rank() == 0) {
    std::printf("V^T V has %.1f in its corner; uniform numbers in (-1, 1) make that %.1f on average\n", gram(0, 0),
                static_cast<double>(rows_of_all) / 3);
    std::printf("%s\nloss of orthogonality %.1e\n", result.describe().c_str(), loss);
  }
  const bool is_right = result.rank == width && loss <= 100 * width * std::numeric_limits<double>::epsilon();
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);  // starts MPI and Kokkos
  return blockvec::Environment::guard(&run);            // an exception on one rank ends all ranks
}
