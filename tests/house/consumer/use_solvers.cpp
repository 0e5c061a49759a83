// The lowest energies of an electron in a chain of 1000 atoms with two equal impurities, by an operator of the user's
// own and by a sparse matrix given row by row. Uses BlockVec::solvers as an outside program does, on one rank or many.
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

using Block = blockvec::BlockVector<double, blockvec::RowMajor>;
constexpr std::int64_t atoms = 1000;
constexpr double depth = 3;

double energy(std::int64_t atom) { return atom == atoms / 4 || atom == 3 * atoms / 4 ? -depth : 0; }

// Y = alpha (H - shift) X + beta Y: hopping to the neighbouring atoms with amplitude -1, an energy at each atom.
class Chain {
 public:
  Chain(const blockvec::Context& context, const blockvec::RowDistribution& rows) : context_(context), rows_(rows) {}
  const blockvec::Context& context() const { return context_; }
  const blockvec::RowDistribution& rows() const { return rows_; }

  void apply(double alpha, double shift, const Block& x, double beta, const Block& y) const {
    const auto in = x.view(), out = y.view();
    const auto count = x.local_rows(), b = x.width();
    const auto& ranks = context_.communicator();
    std::vector<double> above(b), below(b);  // the neighbouring ranks' rows; zeros at the ends of the chain
    std::vector<blockvec::Message> sends, receives;
    const auto swap_rows = [&](int rank, double* mine, double* theirs) {
      if (rank < 0 || rank == ranks.size()) return;
      sends.push_back({rank, mine, b * sizeof(double)});
      receives.push_back({rank, theirs, b * sizeof(double)});
    };
    swap_rows(ranks.rank() - 1, &in(0, 0), above.data());
    swap_rows(ranks.rank() + 1, &in(count - 1, 0), below.data());
    ranks.exchange(sends, receives);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < b; ++j) {
        const double hops = -(i > 0 ? in(i - 1, j) : above[j]) - (i + 1 < count ? in(i + 1, j) : below[j]);
        const double value = alpha * (hops + (energy(rows_.begin() + i) - shift) * in(i, j));
        out(i, j) = beta == 0 ? value : value + beta * out(i, j);
      }
    }
  }

 private:
  blockvec::Context context_;
  blockvec::RowDistribution rows_;
};

int solve() {
  namespace solvers = blockvec::solvers;
  const auto context = blockvec::Context::world();
  const auto rows = blockvec::RowDistribution::uniform(atoms, context.communicator());
  const solvers::LanczosOptions options{.wanted = 2, .tolerance = 1e-10};
  const auto mine = solvers::block_lanczos<Block>({Chain(context, rows)}, options);

  const solvers::RowFunction<double> source(atoms, [](std::int64_t row, solvers::RowEntries<double>& entries) {
    entries.add(row, energy(row));
    if (row > 0) entries.add(row - 1, -1);
    if (row + 1 < atoms) entries.add(row + 1, -1);
  });
  solvers::SparseOperator<double> matrix(context, rows, source);
  const auto sparse = solvers::block_lanczos<Block>({matrix}, options);

  const double exact = -std::sqrt(4 + depth * depth);  // twice: the impurities are far apart
  double error = 0;
  for (const auto* result : {&mine, &sparse}) {
    if (!result->converged()) return 1;
    for (const double value : result->eigenvalues) error = std::fmax(error, std::fabs(value - exact));
  }
  if (context.communicator().rank() == 0) {
    std::printf("energies %.12f and %.12f, exact %.12f\n", mine.eigenvalues[0], mine.eigenvalues[1], exact);
  }
  return error <= options.tolerance * mine.norm_estimate ? 0 : 1;
}

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard(&solve);
}
