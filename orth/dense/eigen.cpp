#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <string>

#include "blockvec/instantiate.hpp"
#include "orth/dense/first_rank.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/dense/jacobi.hpp"
#include "orth/dense/lapack.hpp"

namespace blockvec::orth::dense {
namespace {

struct EigenMatrix {};
struct GeneralizedFactor {};
struct GeneralizedMatrix {};

template <class Scalar, class Space>
void require_finite(const char* operation, const char* name, const SmallMatrix<Scalar, Space>& a) {
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      if (!finite(at(a, i, j))) {
        throw NotFiniteError(std::string("dense::") + operation + ": " + name + " (" + shape(a) +
                             ") holds NaN or Inf in column " + std::to_string(j));
      }
    }
  }
}

// On the host.
template <class Scalar, class Space>
void decompose(const char* operation, const char* name, const SmallMatrix<Scalar, Space>& a,
               const SmallMatrix<RealOf<Scalar>, Space>& values, const SmallMatrix<Scalar, Space>& z) {
  using Real = RealOf<Scalar>;
  const std::int64_t n = a.columns();
  if (n == 0) return;
  require_finite(operation, name, a);
  // Both triangles of A, then the eigenvectors, then the eigenvalues.
  Scalar* const full = work_array<Scalar, EigenMatrix>(2 * n * n + n);
  Scalar* const vectors = full + n * n;
  Real* const ascending = reinterpret_cast<Real*>(vectors + n * n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      full[i + j * n] = at(a, i, j);
      full[j + i * n] = conjugate(at(a, i, j));
    }
    full[j + j * n] = Scalar(real_part(at(a, j, j)));
  }
  const auto fail = [&](const std::string& what) {
    throw Error(std::string("dense::") + operation + ": " + what + " for " + name + " (" + shape(a) + ")");
  };
  if (n <= widest_by_rotations) {
    if (!diagonalize_by_rotations(n, full, vectors)) fail("rotations did not converge");
    for (std::int64_t j = 0; j < n; ++j) ascending[j] = real_part(full[j + j * n]);
  } else {
    constexpr std::int64_t reals = sizeof(Scalar) / sizeof(Real);
    on_first_rank(a.context(), n * n * reals + n, reinterpret_cast<Real*>(vectors), [&](Real* numbers) {
      std::copy_n(reinterpret_cast<const Real*>(full), n * n * reals, numbers);
      const int info = call_heevd(static_cast<lapack_int>(n), reinterpret_cast<Scalar*>(numbers),
                                  static_cast<lapack_int>(n), numbers + n * n * reals);
      if (info != 0) fail("LAPACK's heevd ended with info = " + std::to_string(info));
    });
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) at(z, i, j) = vectors[i + j * n];
    at(values, 0, j) = ascending[j];
  }
}

template <class Scalar, class Space, class Tag>
SmallMatrix<Scalar, Space> square_work_matrix(const Context& context, std::int64_t n) {
  const auto size = static_cast<std::size_t>(n);
  return {context, typename SmallMatrix<Scalar, Space>::View(work_array<Scalar, Tag>(n * n), size, size)};
}

}  // namespace

template <class Scalar, class Space>
void eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& values,
                        const SmallMatrix<Scalar, Space>& z) {
  require_square("eigendecomposition", "A", a);
  require_shape("eigendecomposition", "values", values, 1, a.columns());
  require_shape("eigendecomposition", "Z", z, a.rows(), a.columns());
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& from, const auto& l, const auto& to) { return eigendecomposition(from, l, to); },
                   reads(a), writes(values), writes(z));
  } else {
    decompose("eigendecomposition", "A", a, values, z);
  }
}

template <class Scalar, class Space>
RealOf<Scalar> generalized_eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b,
                                              const SmallMatrix<RealOf<Scalar>, Space>& values,
                                              const SmallMatrix<Scalar, Space>& x) {
  using Real = RealOf<Scalar>;
  constexpr const char* operation = "generalized_eigendecomposition";
  const std::int64_t n = a.columns();
  require_square(operation, "A", a);
  require_shape(operation, "B", b, n, n);
  require_shape(operation, "values", values, 1, n);
  require_shape(operation, "X", x, n, n);
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& first, const auto& second, const auto& l,
                       const auto& to) { return generalized_eigendecomposition(first, second, l, to); },
                   reads(a), reads(b), writes(values), writes(x));
  } else {
    using kernels::Triangle;
    require_finite(operation, "A", a);
    require_finite(operation, "B", b);
    const auto r = square_work_matrix<Scalar, Space, GeneralizedFactor>(a.context(), n);
    const auto c = square_work_matrix<Scalar, Space, GeneralizedMatrix>(a.context(), n);
    const auto found = cholesky(b, static_cast<Real>(n) * epsilon<Scalar>, r);
    if (found.rank < n) {
      throw Error(std::string("dense::") + operation + ": B (" + shape(b) +
                  ") is not positive definite to rounding: its pivot in column " + std::to_string(found.rank) +
                  " is gone");
    }
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < j; ++i) {
        at(c, i, j) = at(a, i, j);
        at(c, j, i) = conjugate(at(a, i, j));
      }
      at(c, j, j) = Scalar(real_part(at(a, j, j)));
    }
    triangular_solve(Side::right, Triangle::upper, r, false, c);
    triangular_solve(Side::left, Triangle::upper, r, true, c);
    decompose(operation, "R^-H A R^-1 with R^H R = B", c, values, c);
    triangular_solve(Side::left, Triangle::upper, r, false, c);
    copy(c, x);
    return found.condition_estimate * found.condition_estimate;
  }
}

#define BLOCKVEC_DENSE_EIGEN(Scalar, Space)                                                                            \
  template void eigendecomposition(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&,       \
                                   const SmallMatrix<Scalar, Space>&);                                                 \
  template RealOf<Scalar> generalized_eigendecomposition(                                                              \
      const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&, \
      const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_EIGEN)

}  // namespace blockvec::orth::dense
