// Tutorial 5: several ranks, mpirun -n 4 several_ranks. The rows of a sparse matrix and of all block vectors are spread
// over them. Each rank writes down its own rows only, and the library exchanges what neighbours need.
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace {

using Block = blockvec::BlockVector<double>;
namespace solvers = blockvec::solvers;
constexpr std::int64_t side = 40;  // a square grid, with zeros around it

int run() {
  const auto context = blockvec::Context::world();
  const auto& ranks = context.communicator();
  const auto rows = blockvec::RowDistribution::uniform(side * side, ranks);

  // Called for this rank's rows, by several threads at a time.
  const solvers::RowFunction<double> grid(side * side, [](std::int64_t row, solvers::RowEntries<double>& entries) {
    const std::int64_t x = row % side, y = row / side;
    entries.add(row, 4);
    if (x > 0) entries.add(row - 1, -1);
    if (x + 1 < side) entries.add(row + 1, -1);
    if (y > 0) entries.add(row - side, -1);
    if (y + 1 < side) entries.add(row + side, -1);
  });
  solvers::SparseOperator<double> a(context, rows, grid);
  const solvers::LanczosOptions options{.wanted = 3};
  const auto result = solvers::block_lanczos<Block>({a}, options);

  // Each rank holds its rows of the vectors. A sum over ranks is a reduction; all of them get the same bits.
  const blockvec::SmallMatrix<double> norms(context, 1, 3);
  blockvec::column_norms(result.vectors, norms);
  const double length = norms.to_host()(0, 0);

  // The lowest levels of the grid: (1, 1), then (1, 2) and (2, 1), which are equal.
  const auto level = [](int k) { return 2 - 2 * std::cos(std::numbers::pi * k / (side + 1)); };
  const double exact[] = {2 * level(1), level(1) + level(2), level(1) + level(2)};
  bool is_right = result.converged() && std::abs(length - 1) <= 1e-12;
  for (int i = 0; is_right && i < 3; ++i) {
    is_right = std::abs(result.eigenvalues[i] - exact[i]) <= options.tolerance * result.norm_estimate;
  }
  if (ranks.rank() == 0) {
    std::printf("%d ranks; this one has %lld rows and reads %lld of others\n", ranks.size(),
                static_cast<long long>(rows.local_rows()), static_cast<long long>(a.ghosts()));
    for (const double value : result.eigenvalues) std::printf("%.12f\n", value);
  }
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard(&run);
}
