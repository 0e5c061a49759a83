// The energy of an electron that is bound to one of two impurities in a chain of 100 000 atoms, by block Lanczos.
// Uses BlockVec::orth as an outside program does, on one rank or many, and compares with the exact energy.
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

using Block = blockvec::BlockVector<double, blockvec::RowMajor>;  // 100 000 rows, spread over the ranks
constexpr int atoms = 100'000, width = 2, columns = 48;
constexpr double depth = 3;

// Y = H X: the electron hops to the neighbouring atoms with amplitude -1; an impurity lowers its energy by `depth`.
void apply(const Block& x, const Block& y) {
  const auto in = x.view(), out = y.view();
  const int rows = static_cast<int>(x.local_rows()), b = static_cast<int>(x.width());
  const auto& ranks = x.context().communicator();
  std::vector<double> above(b), below(b);  // the neighbouring ranks' rows; zeros at the ends of the chain
  std::vector<blockvec::Message> sends, receives;
  const auto swap_rows = [&](int rank, double* mine, double* theirs) {
    if (rank < 0 || rank == ranks.size()) return;
    sends.push_back({rank, mine, b * sizeof(double)});
    receives.push_back({rank, theirs, b * sizeof(double)});
  };
  swap_rows(ranks.rank() - 1, &in(0, 0), above.data());
  swap_rows(ranks.rank() + 1, &in(rows - 1, 0), below.data());
  ranks.exchange(sends, receives);
  for (int i = 0; i < rows; ++i) {
    const auto atom = x.rows().begin() + i;
    const double gain = atom == atoms / 4 || atom == 3 * atoms / 4 ? depth : 0;
    for (int j = 0; j < b; ++j) {
      out(i, j) = -(i > 0 ? in(i - 1, j) : above[j]) - (i + 1 < rows ? in(i + 1, j) : below[j]) - gain * in(i, j);
    }
  }
}

int solve() {
  const auto context = blockvec::Context::world();
  const auto rows = blockvec::RowDistribution::uniform(atoms, context.communicator());
  Block basis(context, rows, columns), image(context, rows, columns);
  blockvec::orth::Orthogonalizer orthogonalizer(context);
  blockvec::fill_random(basis.columns(0, width), 1);
  bool is_basis = orthogonalizer.normalize(basis.columns(0, width)).orthonormal;
  for (int j = width; j < columns; j += width) {  // the next block: H times the last one, orthogonal to all before it
    apply(basis.columns(j - width, j), basis.columns(j, j + width));
    is_basis &= orthogonalizer.project_and_normalize(basis.columns(0, j), basis.columns(j, j + width)).orthonormal;
  }
  apply(basis, image);
  blockvec::SmallMatrix<double> h(context, columns, columns), energies(context, 1, columns);
  blockvec::inner_product(basis, image, h);  // h = V^T H V is 48 x 48 and has the lowest energies of H
  blockvec::orth::dense::eigendecomposition(h, energies, h);
  const auto found = energies.to_host();
  const double exact = -std::sqrt(4 + depth * depth), norm = 2 + depth;
  const double error = std::fmax(std::fabs(found(0, 0) - exact), std::fabs(found(0, 1) - exact));
  if (context.communicator().rank() == 0) {
    std::printf("energies %.12f and %.12f, exact %.12f\n", found(0, 0), found(0, 1), exact);
  }
  return is_basis && error <= columns * std::numeric_limits<double>::epsilon() * norm ? 0 : 1;
}

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);  // starts MPI and Kokkos
  return blockvec::Environment::guard(&solve);          // an exception on one rank ends all ranks
}
