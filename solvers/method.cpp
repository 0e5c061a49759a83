#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/method.hpp>
#include <utility>

namespace blockvec::solvers {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 5> names{{{Method::lanczos, "lanczos"},
                                                                    {Method::lobpcg, "lobpcg"},
                                                                    {Method::jacobi_davidson, "jacobi-davidson"},
                                                                    {Method::chebyshev, "chebyshev"},
                                                                    {Method::interior, "interior"}}};

struct Rule {
  bool (*holds)(const ProblemTraits&);
  Method method;
  std::string_view reason;
};

/// The first rule that holds and whose method is allowed counts. Measured: bench/results/cpu/auto_choice.csv.
constexpr Rule rules[] = {
    // Filters of B^-1 A take many products with B for each one with A, Jacobi-Davidson takes one.
    {[](const ProblemTraits& p) { return p.is_inside && p.has_b && !p.has_inverse_b; }, Method::jacobi_davidson,
     "pairs near a target are wanted, and B is not diagonal"},
    {[](const ProblemTraits& p) { return p.is_inside; }, Method::interior, "pairs inside the spectrum are wanted"},
    {[](const ProblemTraits& p) { return p.is_inside; }, Method::jacobi_davidson, "pairs near a target are wanted"},
    // Inner iterations on two columns take fewer words than all columns with their images under A and B do.
    {[](const ProblemTraits& p) { return p.has_preconditioner && p.has_b && !p.wants_wide_blocks; },
     Method::jacobi_davidson, "B and a preconditioner are given"},
    {[](const ProblemTraits& p) { return p.has_preconditioner; }, Method::lobpcg, "a preconditioner is given"},
    {[](const ProblemTraits& p) { return p.has_preconditioner; }, Method::jacobi_davidson, "a preconditioner is given"},
    // Filters of B^-1 A take as many products with A as those of A do; a Krylov space takes fewer than a subspace.
    {[](const ProblemTraits& p) { return p.has_b && p.has_inverse_b; }, Method::lanczos, "B is diagonal"},
    {[](const ProblemTraits& p) { return p.has_b && p.has_inverse_b; }, Method::chebyshev, "B is diagonal"},
    // Without an exact inverse a filter takes many products with B for each one with A.
    {[](const ProblemTraits& p) { return p.has_b && !p.has_inverse_b; }, Method::lobpcg, "B is not diagonal"},
    {[](const ProblemTraits& p) { return p.has_b; }, Method::lobpcg, "B is given"},
    {[](const ProblemTraits& p) { return p.has_b; }, Method::jacobi_davidson, "B is given"},
    {[](const ProblemTraits&) { return true; }, Method::lanczos, "one matrix and no preconditioner"},
};

}  // namespace

std::string_view name_of(Method method) {
  return std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == method; })->second;
}

Method method_named(std::string_view name) {
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.second == name; });
  if (found == names.end()) throw InputError(fmt::format("there is no method {}", name));
  return found->first;
}

MethodChoice choose_method(const ProblemTraits& problem, std::span<const Method> allowed) {
  for (const Rule& rule : rules) {
    if (rule.holds(problem) && std::find(allowed.begin(), allowed.end(), rule.method) != allowed.end()) {
      return {rule.method, rule.reason};
    }
  }
  return {allowed.front(), "the options allow it"};
}

}  // namespace blockvec::solvers
