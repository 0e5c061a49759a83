#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/method.hpp>
#include <cmath>
#include <utility>

namespace blockvec::solvers {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 6> names{{{Method::lanczos, "lanczos"},
                                                                    {Method::lobpcg, "lobpcg"},
                                                                    {Method::jacobi_davidson, "jacobi-davidson"},
                                                                    {Method::chebyshev, "chebyshev"},
                                                                    {Method::interior, "interior"},
                                                                    {Method::dense, "dense"}}};

struct Rule {
  bool (*holds)(const ProblemTraits&);
  Method method;
  std::string_view reason;
};

/// What LAPACK takes for the whole spectrum, in products of real numbers: a reduction to a tridiagonal matrix and the
/// eigenvectors, and with a B its factor and three triangular solves. It begins with half a millisecond, in which A is
/// formed by products; several times that in a process that calls LAPACK for the first time. Complex numbers are four
/// products each, of which LAPACK makes more at a time.
double products_of_lapack(const ProblemTraits& p) {
  constexpr double beginning = 2e7;
  const double rows = static_cast<double>(p.rows), cube = rows * rows * rows;
  return beginning + (p.has_b ? 14 : 9) * (p.is_complex ? 2.5 : 1) * cube;
}

/// LAPACK works on matrices of so many bytes.
double bytes_of_lapack(const ProblemTraits& p) {
  const double rows = static_cast<double>(p.rows);
  return (p.has_b ? 9 : 6) * (p.is_complex ? 16 : 8) * rows * rows;
}

/// A product of A with a column takes so long, in the same unit as products_of_lapack(): it has a tenth of its speed.
double products_of_column(double rows, double row_entries) { return 10 * 2 * row_entries * rows; }
constexpr double usual_row_entries = 10;

/// What a search takes at least, in the same unit: it goes twice through a basis, since it looks for copies, in steps
/// of a narrow block. A step takes some 12 operations on tall data, which cost little but their beginning. A device
/// solves the small problem of the size that the basis has by then after each step, a processor after some. Without an
/// inverse of B images of all columns under A and B are carried along, 3 times as many operations. Inside the spectrum
/// a filter comes in between, whose degree is about 6 times the part of the spectrum that it is to reach; with a B that
/// is not diagonal each of its products takes 20 or more with B.
double least_products_of_search(const ProblemTraits& p) {
  constexpr double block = 4, few_looks = 8;
  const bool has_costly_b = p.has_b && !p.has_inverse_b;
  const double operations_a_step = has_costly_b ? 36 : 12;
  // A few microseconds, in which LAPACK makes so many products. Launches and reductions take longer.
  const double operation = p.wants_wide_blocks ? 3e5 : 1e5;
  const double rows = static_cast<double>(p.rows), wanted = static_cast<double>(p.wanted);
  const double basis = 2 * wanted + 12 * block, steps = 2 * basis / block;
  const double small_problems = (p.wants_wide_blocks ? steps : few_looks) * 9 * std::pow(basis, 3) / 4;
  double filter = 0;
  if (p.is_inside) {
    const double product = 2 * operation + block * products_of_column(rows, usual_row_entries);  // and an update
    filter = 6 * rows / (8 * (wanted + block)) * product * (has_costly_b ? 20 : 1);
  }
  return steps * (operations_a_step * operation + filter) + small_problems;
}

/// Whether the whole spectrum is the cheapest way to a few pairs, by an estimate, and takes no memory to speak of.
bool is_cheapest_as_a_whole(const ProblemTraits& p) {
  constexpr double little_memory = 64 << 20;
  return p.rows > 0 && bytes_of_lapack(p) <= little_memory && products_of_lapack(p) <= least_products_of_search(p);
}

/// MethodChoice::most_applications where LAPACK is allowed.
std::int64_t most_applications_of_search(const ProblemTraits& p) {
  constexpr double most_memory = 512 << 20;
  if (p.rows == 0 || bytes_of_lapack(p) > most_memory) return 0;
  const double entries = p.row_entries > 0 ? p.row_entries : usual_row_entries;
  return static_cast<std::int64_t>(2 * products_of_lapack(p) /
                                   products_of_column(static_cast<double>(p.rows), entries));
}

/// The first rule that holds and whose method is allowed counts. Measured: bench/results/cpu/auto_choice.csv.
constexpr Rule rules[] = {
    {is_cheapest_as_a_whole, Method::dense, "the whole spectrum of so few rows takes less than a search"},
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
  const auto is_allowed = [&](Method method) {
    return std::find(allowed.begin(), allowed.end(), method) != allowed.end();
  };
  MethodChoice choice{allowed.front(), "the options allow it"};
  for (const Rule& rule : rules) {
    if (!rule.holds(problem) || !is_allowed(rule.method)) continue;
    choice = {rule.method, rule.reason};
    break;
  }
  if (choice.method != Method::dense && is_allowed(Method::dense))
    choice.most_applications = most_applications_of_search(problem);
  return choice;
}

}  // namespace blockvec::solvers
