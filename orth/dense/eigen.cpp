#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <limits>
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

[[noreturn]] void refuse_b(const std::string& b_shape, std::int64_t column) {
  throw Error("dense::generalized_eigendecomposition: B (" + b_shape +
              ") is not positive definite to rounding: its pivot in column " + std::to_string(column) + " is gone");
}

// By loops that give the same bits on every processor: the eigendecomposition of R^-H A R^-1. On the host.
template <class Scalar, class Space>
RealOf<Scalar> decompose_pencil(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b,
                                const SmallMatrix<RealOf<Scalar>, Space>& values, const SmallMatrix<Scalar, Space>& x) {
  using kernels::Triangle;
  const std::int64_t n = a.columns();
  const auto r = square_work_matrix<Scalar, Space, GeneralizedFactor>(a.context(), n);
  const auto c = square_work_matrix<Scalar, Space, GeneralizedMatrix>(a.context(), n);
  const auto found = cholesky(b, static_cast<RealOf<Scalar>>(n) * epsilon<Scalar>, r);
  if (found.rank < n) refuse_b(shape(b), found.rank);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      at(c, i, j) = at(a, i, j);
      at(c, j, i) = conjugate(at(a, i, j));
    }
    at(c, j, j) = Scalar(real_part(at(a, j, j)));
  }
  triangular_solve(Side::right, Triangle::upper, r, false, c);
  triangular_solve(Side::left, Triangle::upper, r, true, c);
  decompose("generalized_eigendecomposition", "R^-H A R^-1 with R^H R = B", c, values, c);
  triangular_solve(Side::left, Triangle::upper, r, false, c);
  copy(c, x);
  return found.condition_estimate * found.condition_estimate;
}

// The same by LAPACK throughout, on the first rank.
template <class Scalar, class Space>
RealOf<Scalar> decompose_wide_pencil(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b,
                                     const SmallMatrix<RealOf<Scalar>, Space>& values,
                                     const SmallMatrix<Scalar, Space>& x) {
  using Real = RealOf<Scalar>;
  constexpr std::int64_t reals = sizeof(Scalar) / sizeof(Real);
  const std::int64_t n = a.columns();
  const auto take_upper = [n](const SmallMatrix<Scalar, Space>& from, Scalar* to) {
    for (std::int64_t j = 0; j < n; ++j) std::copy_n(from.data() + j * from.ld(), j + 1, to + j * n);
  };
  Scalar* const vectors = work_array<Scalar, GeneralizedMatrix>(n * n + n + 1);
  Real* const numbers = reinterpret_cast<Real*>(vectors);  // the eigenvectors, the eigenvalues and the condition
  on_first_rank(a.context(), n * n * reals + n + 1, numbers, [&](Real* found) {
    const auto expect = [&](int info, const char* routine) {
      if (info == 0) return;
      throw Error(std::string("dense::generalized_eigendecomposition: LAPACK's ") + routine +
                  " ended with info = " + std::to_string(info) + " for A and B (" + shape(b) + ")");
    };
    const auto order = static_cast<lapack_int>(n);
    Scalar* const r = work_array<Scalar, GeneralizedFactor>(n * n);
    Scalar* const c = reinterpret_cast<Scalar*>(found);
    take_upper(b, r);
    if (const int info = call_potrf(order, r); info > 0) refuse_b(shape(b), info - 1);
    Real largest = 0, smallest = std::numeric_limits<Real>::infinity();
    for (std::int64_t j = 0; j < n; ++j) {
      const Real pivot = real_part(r[j + j * n]), length = real_part(at(b, j, j));
      if (!(pivot * pivot > static_cast<Real>(n) * epsilon<Scalar> * length)) refuse_b(shape(b), j);
      largest = std::max(largest, pivot * pivot / length);
      smallest = std::min(smallest, pivot * pivot / length);
    }
    take_upper(a, c);
    expect(call_hegst(order, c, r), "hegst");
    expect(call_heevd(order, c, order, found + n * n * reals), "heevd");
    expect(call_trtrs(order, r, c), "trtrs");
    found[n * n * reals + n] = largest / smallest;
  });
  for (std::int64_t j = 0; j < n; ++j) {
    std::copy_n(vectors + j * n, n, x.data() + j * x.ld());
    at(values, 0, j) = numbers[n * n * reals + j];
  }
  return numbers[n * n * reals + n];
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
    require_finite(operation, "A", a);
    require_finite(operation, "B", b);
    return n <= widest_by_rotations ? decompose_pencil(a, b, values, x) : decompose_wide_pencil(a, b, values, x);
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
