#include "problems/make_problem.hpp"

#include <fmt/core.h>

#include <blockvec/solvers/input_error.hpp>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"

namespace blockvec::examples {

std::variant<std::unique_ptr<solvers::RowSource<double>>, std::unique_ptr<solvers::RowSource<Complex<double>>>>
make_problem(const ProgramOptions& options) {
  const auto grid_or = [&](std::vector<std::int64_t> grid) { return options.grid.empty() ? grid : options.grid; };
  if (options.problem == "laplacian") return std::make_unique<Laplacian>(grid_or({40, 40, 40}));
  if (options.problem == "heisenberg") {
    return std::make_unique<SpinChain>(options.sites, options.up, options.periodic, options.delta);
  }
  if (options.problem == "anderson") {
    return std::make_unique<Anderson>(grid_or({20, 20, 20}), options.disorder, options.lanczos.seed);
  }
  if (options.problem == "graphene") {
    if (options.flux.empty()) return std::make_unique<Graphene<double>>(grid_or({60, 60}));
    return std::make_unique<Graphene<Complex<double>>>(grid_or({60, 60}), options.flux.at(0), options.flux.at(1));
  }
  throw solvers::InputError(fmt::format("there is no problem \"{}\"", options.problem));
}

}  // namespace blockvec::examples
