#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>

#include "blockvec/instantiate.hpp"
#include "orth/dense/jacobi.hpp"
#include "orth/first_rank.hpp"
#include "orth/host_dense.hpp"
#include "orth/lapacke.hpp"

// Of OpenBLAS; null with any other BLAS.
extern "C" {
[[gnu::weak]] int openblas_get_parallel();
[[gnu::weak]] int openblas_get_num_threads();
[[gnu::weak]] void openblas_set_num_threads(int threads);
}

namespace blockvec::orth::dense {
namespace {

struct EigenWork {};
struct EigenIntegers {};
struct EigenReals {};
struct EigenMatrix {};

template <class T>
T* as_standard(T* x) {
  return x;
}
template <class Real>
std::complex<Real>* as_standard(Complex<Real>* x) {
  return reinterpret_cast<std::complex<Real>*>(x);
}

/// While it lives, OpenBLAS works in the calling thread alone. Its own threads gain nothing on small matrices, and they
/// wait for their next task by spinning, on the cores that the passes over tall data need. Nothing happens with another
/// BLAS, or with an OpenBLAS that uses OpenMP's threads.
class CallingThreadAlone {
 public:
  CallingThreadAlone() {
    constexpr int own_threads = 1;
    if (openblas_get_parallel == nullptr || openblas_get_parallel() != own_threads) return;
    threads_ = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
  ~CallingThreadAlone() {
    if (threads_ > 0) openblas_set_num_threads(threads_);
  }
  CallingThreadAlone(const CallingThreadAlone&) = delete;
  CallingThreadAlone& operator=(const CallingThreadAlone&) = delete;

 private:
  int threads_ = 0;
};

/// LAPACK's divide-and-conquer eigensolver, with work arrays that are kept.
template <class Scalar>
int call_heevd(lapack_int n, Scalar* a, lapack_int lda, RealOf<Scalar>* values) {
  using Real = RealOf<Scalar>;
  const CallingThreadAlone alone;
  const auto call = [&](Scalar* work, lapack_int work_size, Real* reals, lapack_int reals_size, lapack_int* integers,
                        lapack_int integers_size) -> int {
    const auto run = [&](auto routine, auto... real_work) {
      return static_cast<int>(routine(LAPACK_COL_MAJOR, 'V', 'U', n, as_standard(a), lda, values, as_standard(work),
                                      work_size, real_work..., integers, integers_size));
    };
    if constexpr (std::is_same_v<Scalar, float>) {
      return run(LAPACKE_ssyevd_work);
    } else if constexpr (std::is_same_v<Scalar, double>) {
      return run(LAPACKE_dsyevd_work);
    } else if constexpr (std::is_same_v<Scalar, Complex<float>>) {
      return run(LAPACKE_cheevd_work, reals, reals_size);
    } else {
      return run(LAPACKE_zheevd_work, reals, reals_size);
    }
  };
  Scalar work_size = Scalar(0);
  Real reals_size = 0;
  lapack_int integers_size = 0;
  const int info = call(&work_size, -1, &reals_size, -1, &integers_size, -1);
  if (info != 0) return info;
  const auto words = static_cast<lapack_int>(real_part(work_size)) + 1;
  const auto reals = static_cast<lapack_int>(reals_size) + 1;
  return call(work_array<Scalar, EigenWork>(words), words, work_array<Real, EigenReals>(reals), reals,
              work_array<lapack_int, EigenIntegers>(integers_size), integers_size);
}

// From here on LAPACK is quicker than rotations by more than a message between ranks takes.
constexpr std::int64_t widest_by_rotations = 32;

}  // namespace

template <class Scalar, class Space>
void eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& values,
                        const SmallMatrix<Scalar, Space>& z) {
  using Real = RealOf<Scalar>;
  require_square("eigendecomposition", "A", a);
  require_shape("eigendecomposition", "values", values, 1, a.columns());
  require_shape("eigendecomposition", "Z", z, a.rows(), a.columns());
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& from, const auto& l, const auto& to) { return eigendecomposition(from, l, to); },
                   reads(a), writes(values), writes(z));
  }
  const std::int64_t n = a.columns();
  if (n == 0) return;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      if (!finite(at(a, i, j))) {
        throw NotFiniteError("dense::eigendecomposition: A (" + shape(a) + ") holds NaN or Inf in column " +
                             std::to_string(j));
      }
    }
  }
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
    throw Error("dense::eigendecomposition: " + what + " for A (" + shape(a) + ")");
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

#define BLOCKVEC_DENSE_EIGEN(Scalar, Space)                                                                      \
  template void eigendecomposition(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&, \
                                   const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_EIGEN)

}  // namespace blockvec::orth::dense
