// Few pairs of a generalised problem in little memory: the s states of a hydrogen atom in a basis of Coulomb-Sturmian
// functions, by Jacobi-Davidson. The exact energies are -1 / (2 N^2) hartree, N = 1, 2, 3, ...
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <cstdio>

using namespace blockvec;
using namespace blockvec::solvers;
using Block = BlockVector<double>;
constexpr std::int64_t functions = 80;
constexpr double exponent = 0.5, charge = 1;  // the functions fall off as exp(-exponent r)

// The basis is not orthonormal: these are its overlaps, row by row.
void overlaps(std::int64_t row, RowEntries<double>& entries) {
  const auto i = static_cast<double>(row);
  entries.add(row, (i + 1) / exponent);
  if (row > 0) entries.add(row - 1, -std::sqrt(i * (i + 1)) / (2 * exponent));
  if (row + 1 < functions) entries.add(row + 1, -std::sqrt((i + 1) * (i + 2)) / (2 * exponent));
}

int solve() {
  const auto context = Context::world();
  const auto rows = RowDistribution::uniform(functions, context.communicator());
  const RowFunction<double> overlap(functions, overlaps);
  // Kinetic energy and attraction: exponent (i + 1) - charge on the diagonal, and -exponent^2 / 2 times the overlaps.
  const RowFunction<double> hamiltonian(functions, [](std::int64_t row, RowEntries<double>& entries) {
    const double half = -exponent * exponent / 2;
    const auto i = static_cast<double>(row);
    entries.add(row, exponent * (i + 1) - charge + half * (i + 1) / exponent);
    if (row > 0) entries.add(row - 1, -half * std::sqrt(i * (i + 1)) / (2 * exponent));
    if (row + 1 < functions) entries.add(row + 1, -half * std::sqrt((i + 1) * (i + 2)) / (2 * exponent));
  });
  SparseOperator<double, Block::Space> h(context, rows, hamiltonian), s(context, rows, overlap);

  const auto jacobi =
      jacobi_preconditioner(diagonal_of<Block>(context, rows, hamiltonian), diagonal_of<Block>(context, rows, overlap));
  const Problem<Block> problem{.a = h, .b = s, .precondition = jacobi};
  const auto result = jacobi_davidson(problem, {.wanted = 4, .block = 2, .tolerance = 1e-10});

  bool is_right = result.converged();
  for (std::size_t j = 0; j < result.eigenvalues.size(); ++j) {
    const double level = static_cast<double>(j + 1), exact = -1 / (2 * level * level);
    is_right = is_right && std::fabs(result.eigenvalues[j] - exact) <= 1e-7;
    if (context.communicator().rank() == 0)
      std::printf("energy %.10f, exact %.10f, backward error %.1e\n", result.eigenvalues[j], exact,
                  result.backward_errors[j]);
  }
  if (context.communicator().rank() == 0)
    std::printf("%d outer iterations; H was applied to %d columns, S to %d\n", static_cast<int>(result.iterations),
                static_cast<int>(result.applications), static_cast<int>(result.applications_b));
  return is_right ? 0 : 1;
}

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard(&solve);
}
