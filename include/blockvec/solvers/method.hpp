#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace blockvec::solvers {

/// The solvers: block_lanczos(), lobpcg(), jacobi_davidson(), chebyshev_subspace(), interior_lanczos(),
/// dense_diagonalization().
enum class Method { lanczos, lobpcg, jacobi_davidson, chebyshev, interior, dense };

/// "lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior", "dense".
std::string_view name_of(Method method);
/// The other way round. Throws InputError for other words.
Method method_named(std::string_view name);

/// What a choice of the method goes by.
struct ProblemTraits {
  bool is_inside = false;           ///< pairs near a target or in an interval are wanted, not those at an end
  bool has_b = false;               ///< A x = theta B x
  bool has_inverse_b = false;       ///< B^-1 is given (Problem::inverse_b) and exact, as that of a diagonal B
  bool has_preconditioner = false;  ///< Problem::precondition is given
  bool wants_wide_blocks = false;   ///< on a device or on several ranks: narrow blocks and reductions take long
  std::int64_t rows = 0;            ///< of A; 0: not known
  std::int64_t wanted = 8;          ///< eigenpairs, as far as their number is known
  bool is_complex = false;          ///< A's entries are
  double row_entries = 0;           ///< of A, on average; 0: not known
};

/// A method, and why it was chosen.
struct MethodChoice {
  Method method = Method::lanczos;  ///< the choice
  std::string_view reason;          ///< completes "since ..."
  /// A search that applies A to so many columns takes twice as long as the whole spectrum (search_or_diagonalize).
  /// 0: LAPACK is not allowed, or would take too much memory, or is the choice.
  std::int64_t most_applications = 0;
};

/// The method that is likely to be the fastest among those allowed; of `allowed`, which is not empty, the first one
/// where no rule holds. bench/auto_choice.py measures how good the choice is.
MethodChoice choose_method(const ProblemTraits& problem, std::span<const Method> allowed);

}  // namespace blockvec::solvers
