// Tutorial 2: eigenvalues of an operator of your own. Here the Fourier transform of a particle on a ring is known, so
// the energies are known, too: 2 - 2 cos(2 pi k / n), all but the first one twice.
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace {

using Block = blockvec::BlockVector<double>;
namespace solvers = blockvec::solvers;
constexpr std::int64_t sites = 2000;

// Y = A X for any number of columns. All that a solver knows of A is this function.
void multiply(const Block& x, const Block& y) {
  const auto in = x.view(), out = y.view();
  for (std::int64_t i = 0; i < sites; ++i) {
    const std::int64_t left = (i + sites - 1) % sites, right = (i + 1) % sites;
    for (std::int64_t j = 0; j < x.width(); ++j) out(i, j) = 2 * in(i, j) - in(left, j) - in(right, j);
  }
}

int run() {
  const auto context = blockvec::Context::self();  // this process alone: tutorial 5 has several ranks
  const auto rows = blockvec::RowDistribution::uniform(sites, context.communicator());
  const solvers::FunctionOperator<Block> a(context, rows, multiply);

  // An observer sees every step; returning false would stop the search.
  const auto observer = [](const solvers::Step& step) {
    if (step.converged > 0) std::printf("%lld pairs found\n", static_cast<long long>(step.converged));
    return true;
  };
  const solvers::LanczosOptions options{.wanted = 5, .which = solvers::Which::smallest};
  const auto result = solvers::block_lanczos<Block>({a}, options, observer);
  if (!result.converged()) {
    std::printf("not converged: %s\n", result.why.c_str());
    return 1;
  }

  // Known eigenvectors can be kept out of the next search, which then finds the following ones.
  const auto more = solvers::block_lanczos<Block>({.a = a, .deflation = result.vectors}, {.wanted = 2});

  bool is_right = more.converged();
  for (int i = 0; i < 7; ++i) {
    const double value = i < 5 ? result.eigenvalues[i] : more.eigenvalues[i - 5];
    const double exact = 2 - 2 * std::cos(2 * std::numbers::pi * ((i + 1) / 2) / sites);
    std::printf("%.12f, exact %.12f\n", value, exact);
    is_right = is_right && std::abs(value - exact) <= options.tolerance * result.norm_estimate;
  }
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard(&run);
}
