// The eigensolvers. What they are given has been checked by _eigsh.py.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/dense_diagonalization.hpp>
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/method.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <functional>
#include <type_traits>
#include <utility>

#include "module.hpp"
#include "operators.hpp"
#include "orth_options.hpp"
#include "runtime.hpp"

namespace blockvec::python {
namespace {

using solvers::Step;

/// What _eigsh.py asks for; 0, or nothing: the method's own choice.
struct Request {
  std::string method;
  std::int64_t rows = 0;  ///< of this rank
  std::int64_t wanted = 0;
  std::int64_t most_applications = 0;  // of auto's choice: MethodChoice
  double tolerance = 0;                ///< what the judge of A returns
  double row_entries = 0;
  solvers::Which which = solvers::Which::smallest;
  std::optional<double> target;
  std::optional<std::pair<double, double>> interval;
  std::int64_t block = 0, basis = 0, most_steps = 0;
  std::uint64_t seed = 1;
  bool is_reproducible = false, has_single_filter = false;
  nb::object a, b, inverse_b, preconditioner, initial, deflation;  // None where there is none
  nb::dict options;                                                // of the method alone
  nb::object allocate;  // of rows and columns: an array of the caller's library, and what this module takes of it
};

/// Shows take() the options of a method that eigsh has no argument for, each with its name.
template <class Options, class Take>
void show_named(Options& options, const Take& take) {
  if constexpr (requires { options.filter_degree; }) take("filter_degree", options.filter_degree);
  if constexpr (requires { options.first_degree; }) {
    take("first_degree", options.first_degree);
    take("most_degree", options.most_degree);
    take("filter_width", options.filter_width);
  }
  if constexpr (requires { options.inner_steps; }) {
    take("kept", options.kept);
    take("inner_steps", options.inner_steps);
  }
  take("orth", options.orth);
  if constexpr (requires { options.checkpoint; }) {
    take("checkpoint", options.checkpoint.file);
    take("checkpoint_seconds", options.checkpoint.seconds);
    take("restart", options.checkpoint.restart);
  }
}

/// Throws InputError for names that the method does not have, and values of another type.
template <class Options>
void read_named(const Request& request, Options& options) {
  std::string names;
  std::size_t count = 0;
  show_named(options, [&]<class Value>(const char* name, Value& value) {
    names += std::string(names.empty() ? "" : ", ") + name;
    if (!request.options.contains(name)) return;
    ++count;
    const nb::object given = request.options[name];
    std::conditional_t<std::is_same_v<Value, orth::Options>, std::string, Value> read{};
    if (!nb::try_cast(given, read)) {
      throw solvers::InputError(std::string("options[") + name + "]=" + nb::repr(given).c_str() +
                                ": it has another type");
    }
    if constexpr (std::is_same_v<Value, orth::Options>) {
      value = orth_options(read);
    } else {
      value = std::move(read);
    }
  });
  if (count < request.options.size()) {
    throw solvers::InputError(std::string("options=") + nb::repr(request.options).c_str() + ": method='" +
                              request.method + "' has " + names);
  }
}

template <class Options>
Options options_of(const Request& request) {
  Options options;
  if (request.wanted > 0) options.wanted = request.wanted;
  options.tolerance = request.tolerance;
  if constexpr (requires { options.seed; }) options.seed = request.seed;
  if constexpr (requires { options.which; }) options.which = request.which;
  if constexpr (requires { options.target; }) {
    if (request.target) options.target = *request.target;
  }
  if constexpr (requires { options.interval; }) {
    if (request.interval) options.interval = solvers::Interval{request.interval->first, request.interval->second};
  }
  if constexpr (requires { options.block; }) {
    if (request.block > 0) options.block = request.block;
  }
  if constexpr (requires { options.basis; }) options.basis = request.basis;
  if constexpr (requires { options.row_entries; }) options.row_entries = request.row_entries;
  // LOBPCG and Chebyshev iterate a fixed number of columns.
  if constexpr (requires { options.guard; }) {
    if (request.basis > 0) options.guard = request.basis - request.wanted;
  }
  if constexpr (requires { options.extra; }) {
    if (request.basis > 0) options.extra = request.basis - request.wanted;
  }
  if constexpr (requires { options.max_restarts; }) {
    if (request.most_steps > 0) options.max_restarts = request.most_steps;
  }
  if constexpr (requires { options.max_iterations; }) {
    if (request.most_steps > 0) options.max_iterations = request.most_steps;
  }
  read_named(request, options);
  return options;
}

template <class Vector>
using Search = std::function<solvers::Result<Vector>(const solvers::Problem<Vector>&, const solvers::Observer&)>;

/// The method that is asked for, with its options.
template <class Vector>
Search<Vector> search_from(const Request& request) {
  using namespace solvers;
  const auto with = [](auto options, auto solve) -> Search<Vector> {
    return [options, solve](const Problem<Vector>& problem, const Observer& observer) {
      return solve(problem, options, observer);
    };
  };
  switch (method_named(request.method)) {
    case Method::lanczos:
      return with(options_of<LanczosOptions>(request), block_lanczos<Vector>);
    case Method::lobpcg:
      return with(options_of<LobpcgOptions>(request), lobpcg<Vector>);
    case Method::jacobi_davidson:
      return with(options_of<JacobiDavidsonOptions>(request), jacobi_davidson<Vector>);
    case Method::chebyshev:
      return with(options_of<ChebyshevOptions>(request), chebyshev_subspace<Vector>);
    case Method::interior:
      return with(options_of<InteriorOptions>(request), interior_lanczos<Vector>);
    case Method::dense:
      return with(options_of<DenseOptions>(request), dense_diagonalization<Vector>);
  }
  throw InputError("there is no such method");
}

template <class Value>
void read_entry(const nb::dict& given, const char* name, Value& value) {
  value = nb::cast<Value>(given[name]);
}

/// The method, and the columns of products that it may take (MethodChoice). `given`: the problem's traits by their
/// names.
nb::tuple choose_method(const nb::dict& given, const std::vector<std::string>& allowed) {
  std::vector<solvers::Method> methods;
  for (const std::string& name : allowed) methods.push_back(solvers::method_named(name));
  solvers::ProblemTraits traits;
  read_entry(given, "is_inside", traits.is_inside);
  read_entry(given, "has_b", traits.has_b);
  read_entry(given, "has_inverse_b", traits.has_inverse_b);
  read_entry(given, "has_preconditioner", traits.has_preconditioner);
  read_entry(given, "wants_wide_blocks", traits.wants_wide_blocks);
  read_entry(given, "rows", traits.rows);
  read_entry(given, "wanted", traits.wanted);
  read_entry(given, "is_complex", traits.is_complex);
  read_entry(given, "row_entries", traits.row_entries);
  const solvers::MethodChoice choice = solvers::choose_method(traits, methods);
  return nb::make_tuple(std::string(solvers::name_of(choice.method)), choice.most_applications);
}

/// The diagonal of a matrix, or no vector for None. A copy.
template <class Vector>
Vector diagonal_from(const Context& context, const RowDistribution& rows, nb::handle given) {
  if (given.is_none()) return {};
  return tall<typename Vector::Scalar, RowMajor>(context, rows, nb::cast<Array>(given), "diagonal").deep_copy();
}

/// A tuple of the diagonal of B, a function of blocks, or None.
template <class Vector>
typename solvers::FunctionOperator<Vector>::Multiply inverse_from(const Lease& lease, const RowDistribution& rows,
                                                                  const nb::object& given, Conduct& conduct) {
  if (given.is_none()) return {};
  if (!nb::isinstance<nb::tuple>(given)) return PythonProduct<Vector>(given, lease, conduct);
  return solvers::inverse_of_diagonal(diagonal_from<Vector>(*lease, rows, given[0]));
}

/// A tuple of diagonals (of A, and of B or None), the word "chebyshev", or a function of blocks.
template <class Vector>
solvers::Preconditioner<Vector> preconditioner_from(const Lease& lease, const solvers::Problem<Vector>& problem,
                                                    const Request& request, Conduct& conduct) {
  const nb::object& given = request.preconditioner;
  if (given.is_none()) return {};
  if (nb::isinstance<nb::tuple>(given)) {
    const auto diagonal = [&](int number) { return diagonal_from<Vector>(*lease, problem.a.rows(), given[number]); };
    // Near a target the shift is theta itself.
    const auto end = request.target ? std::nullopt : std::optional(request.which);
    return solvers::jacobi_preconditioner<Vector>(diagonal(0), diagonal(1), end);
  }
  if (nb::isinstance<nb::str>(given)) {
    solvers::SpectrumEnds ends;
    conduct.without_lock([&] { ends = solvers::estimated_ends(problem.a, request.seed); });
    return solvers::chebyshev_preconditioner(problem.a, ends, 8, 30, request.which);
  }
  return [product = PythonProduct<Vector>(given, lease, conduct)](std::span<const double>, const Vector& r,
                                                                  const Vector& w) { product(r, w); };
}

nb::tuple as_tuple(const Step& step) {
  return nb::make_tuple(step.restart, step.converged, step.seconds, step.reductions, step.applications,
                        step.filter_degree, step.residuals, step.eigenvalues);
}

template <class Vector>
nb::dict as_dict(const Lease& lease, const solvers::Result<Vector>& result, const nb::object& allocate) {
  using Scalar = typename Vector::Scalar;
  nb::dict found;
  constexpr const char* names[] = {"converged", "exhausted", "stopped", "breakdown"};
  found["status"] = names[static_cast<int>(result.status)];
  found["why"] = result.why;
  found["eigenvalues"] = result.eigenvalues;
  found["residuals"] = result.residual_norms;
  found["backward_errors"] = result.backward_errors;
  found["level_cut"] = result.last_level_cut;
  found["orthogonality_loss"] = result.orthogonality_loss;
  found["norm_estimate"] = result.norm_estimate;
  found["steps"] = std::max(result.restarts, result.iterations);
  found["starts"] = result.starts;
  found["applications"] = result.applications;
  found["applications_m"] = result.applications_b;
  found["preconditionings"] = result.preconditionings;
  found["reductions"] = result.reductions;
  found["filter_degree"] = result.filter_degree;
  found["seconds"] = result.seconds;
  nb::list history;
  for (const Step& step : result.history) history.append(as_tuple(step));
  found["history"] = history;
  // Memory of the caller's library: nothing of this one outlives the call.
  const auto made = nb::cast<nb::tuple>(allocate(result.vectors.local_rows(), result.vectors.width()));
  if (result.vectors.width() > 0) {
    lease.in_callers_order([&] {
      copy(result.vectors,
           tall<Scalar, RowMajor>(*lease, result.vectors.rows(), nb::cast<Writable>(made[1]), "vectors"));
    });
  }
  found["vectors"] = made[0];
  return found;
}

template <class Scalar>
nb::dict solve_as(const Call& call, Request request, const nb::object& judge, const nb::object& callback) {
  using Vector = Tall<Scalar, RowMajor>;
  Conduct conduct;
  const Lease lease(call, request.is_reproducible ? Summation::reproducible : Summation::fast);
  const Context& context = *lease;
  RowDistribution rows;
  conduct.without_lock([&] { rows = RowDistribution::from_local_rows(request.rows, context.communicator()); });
  solvers::Problem<Vector> problem{operator_from<Vector>(lease, rows, request.a, conduct)};
  request.tolerance = nb::cast<double>(judged(judge, "A", problem.a, conduct));
  if (!request.b.is_none()) {
    problem.b = operator_from<Vector>(lease, rows, request.b, conduct);
    judged(judge, "M", *problem.b, conduct);
  }
  problem.inverse_b = inverse_from<Vector>(lease, rows, request.inverse_b, conduct);
  if (request.has_single_filter) problem.a_single = rounded_operator_from<Vector>(lease, rows, request.a, conduct);
  problem.precondition = preconditioner_from(lease, problem, request, conduct);
  const auto block = [&](const nb::object& given, const char* label) {
    return given.is_none() ? Vector() : tall<Scalar, RowMajor>(context, rows, nb::cast<Array>(given), label);
  };
  problem.initial = block(request.initial, "v0");
  problem.deflation = block(request.deflation, "Y");
  // An exception that leaves the callback has been kept. On one rank the search ends without further ado; other ranks
  // are told.
  const auto observer = [&](const Step& step) {
    try {
      return conduct.in_python([&] { return callback.is_none() || nb::cast<bool>(callback(as_tuple(step))); });
    } catch (...) {
      if (rows.ranks() > 1) throw;
      return false;
    }
  };
  const Search<Vector> search = search_from<Vector>(request);
  // Where auto may turn to LAPACK, no options of a search are given.
  const auto of_whole =
      request.most_applications > 0 ? options_of<solvers::DenseOptions>(request) : solvers::DenseOptions();
  std::string method = request.method;
  solvers::Result<Vector> result;
  conduct.without_lock([&] {
    result = solvers::search_or_diagonalize<Vector>(
        request.most_applications, [&](const solvers::Observer& seen) { return search(problem, seen); },
        [&](const solvers::Observer& seen) {
          method = solvers::name_of(solvers::Method::dense);
          return solvers::dense_diagonalization(problem, of_whole, seen);
        },
        observer);
  });
  nb::dict found = as_dict(lease, result, request.allocate);
  found["method"] = method;
  return found;
}

/// The keywords of a dictionary, all of them, as a Request.
Request request_from(const nb::dict& given) {
  Request request;
  const auto read = [&](const char* name, auto& value) { read_entry(given, name, value); };
  read("method", request.method);
  read("rows", request.rows);
  read("row_entries", request.row_entries);
  read("wanted", request.wanted);
  read("most_applications", request.most_applications);
  read("target", request.target);
  read("interval", request.interval);
  read("block", request.block);
  read("basis", request.basis);
  read("most_steps", request.most_steps);
  read("seed", request.seed);
  read("reproducible", request.is_reproducible);
  read("single_filter", request.has_single_filter);
  request.which = nb::cast<bool>(given["smallest"]) ? solvers::Which::smallest : solvers::Which::largest;
  request.a = given["a"];
  request.b = given["b"];
  request.inverse_b = given["inverse_b"];
  request.preconditioner = given["preconditioner"];
  request.initial = given["initial"];
  request.deflation = given["deflation"];
  request.allocate = given["allocate"];
  request.options = nb::cast<nb::dict>(given["options"]);
  return request;
}

}  // namespace

void bind_solve(nb::module_& api) {
  using namespace nb::literals;
  api.def("choose_method", &choose_method);
  api.def(
      "solve",
      [](const nb::tuple& given, const nb::dict& request, const nb::object& judge, const nb::object& callback) {
        const Call call = call_from(given);
        return with_scalar(
            call.type, [&]<class Scalar>() { return solve_as<Scalar>(call, request_from(request), judge, callback); });
      },
      "call"_a, "request"_a, "judge"_a, "callback"_a.none());
}

}  // namespace blockvec::python
