// A generalised problem and a preconditioner: the vibrations K x = omega^2 M x of a chain of springs and masses, by
// LOBPCG. Mikota (2001) chose springs and masses so that the frequencies are 1, 2, 3, ...
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <cstdio>

using namespace blockvec;
using namespace blockvec::solvers;
using Block = BlockVector<double>;
constexpr std::int64_t masses = 300;

int solve() {
  const auto context = Context::world();
  const auto rows = RowDistribution::uniform(masses, context.communicator());

  // Matrices are written down row by row, each rank its own rows.
  const RowFunction<double> springs(masses, [](std::int64_t row, RowEntries<double>& entries) {
    const auto next = static_cast<double>(masses - row - 1);
    entries.add(row, 2 * next + 1);
    if (row > 0) entries.add(row - 1, -(next + 1));
    if (row + 1 < masses) entries.add(row + 1, -next);
  });
  const RowFunction<double> inertia(masses, [](std::int64_t row, RowEntries<double>& entries) {
    entries.add(row, 1 / static_cast<double>(row + 1));
  });
  SparseOperator<double, Block::Space> k(context, rows, springs), m(context, rows, inertia);

  const auto jacobi =
      jacobi_preconditioner(diagonal_of<Block>(context, rows, springs), diagonal_of<Block>(context, rows, inertia));
  const Problem<Block> problem{.a = k, .b = m, .precondition = jacobi};
  const auto result = lobpcg(problem, {.wanted = 4, .tolerance = 1e-10});

  bool is_right = result.converged();
  for (std::size_t j = 0; j < result.eigenvalues.size(); ++j) {
    const double frequency = std::sqrt(result.eigenvalues[j]), exact = static_cast<double>(j + 1);
    is_right = is_right && std::fabs(frequency - exact) <= 1e-6;
    if (context.communicator().rank() == 0)
      std::printf("frequency %.9f, exact %.0f, backward error %.1e\n", frequency, exact, result.backward_errors[j]);
  }
  if (context.communicator().rank() == 0)
    std::printf("%d iterations; K was applied to %d columns, M to %d\n", static_cast<int>(result.iterations),
                static_cast<int>(result.applications), static_cast<int>(result.applications_b));
  return is_right ? 0 : 1;
}

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard(&solve);
}
