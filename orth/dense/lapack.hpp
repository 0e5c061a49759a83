#pragma once

#include <cstdint>
#include <type_traits>

#include "orth/dense/host_dense.hpp"
#include "orth/dense/lapacke.hpp"

// Of OpenBLAS; null with any other BLAS.
extern "C" {
[[gnu::weak]] int openblas_get_parallel();
[[gnu::weak]] int openblas_get_num_threads();
[[gnu::weak]] void openblas_set_num_threads(int threads);
}

/// LAPACK's routines for four scalars, with work arrays that are kept. Their bits depend on the processor: see
/// orth/dense/first_rank.hpp.
namespace blockvec::orth::dense {

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

struct LapackWork {};
struct LapackReals {};
struct LapackIntegers {};

/// The divide-and-conquer eigensolver: A's eigenvectors take its place. Returns LAPACK's info.
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
  return call(work_array<Scalar, LapackWork>(words), words, work_array<Real, LapackReals>(reals), reals,
              work_array<lapack_int, LapackIntegers>(integers_size), integers_size);
}

/// The one of LAPACK's four routines that takes these scalars, in whose types the scalars are given.
template <class Scalar, class Single, class Double, class SingleComplex, class DoubleComplex>
constexpr auto routine_for(Single s, Double d, SingleComplex c, DoubleComplex z) {
  if constexpr (std::is_same_v<Scalar, float>) {
    return s;
  } else if constexpr (std::is_same_v<Scalar, double>) {
    return d;
  } else if constexpr (std::is_same_v<Scalar, Complex<float>>) {
    return c;
  } else {
    return z;
  }
}

/// R^H R = A for the upper triangle of A, which R replaces. Returns LAPACK's info: k where the k-th pivot is gone.
template <class Scalar>
int call_potrf(lapack_int n, Scalar* a) {
  const CallingThreadAlone alone;
  const auto run =
      routine_for<Scalar>(LAPACKE_spotrf_work, LAPACKE_dpotrf_work, LAPACKE_cpotrf_work, LAPACKE_zpotrf_work);
  return static_cast<int>(run(LAPACK_COL_MAJOR, 'U', n, as_standard(a), n));
}

/// A, by its upper triangle, becomes R^-H A R^-1 in the same. Returns LAPACK's info.
template <class Scalar>
int call_hegst(lapack_int n, Scalar* a, const Scalar* r) {
  constexpr lapack_int a_x_is_b_x = 1;
  const CallingThreadAlone alone;
  const auto run =
      routine_for<Scalar>(LAPACKE_ssygst_work, LAPACKE_dsygst_work, LAPACKE_chegst_work, LAPACKE_zhegst_work);
  return static_cast<int>(
      run(LAPACK_COL_MAJOR, a_x_is_b_x, 'U', n, as_standard(a), n, as_standard(const_cast<Scalar*>(r)), n));
}

/// X becomes R^-1 X. Returns LAPACK's info.
template <class Scalar>
int call_trtrs(lapack_int n, const Scalar* r, Scalar* x) {
  const CallingThreadAlone alone;
  const auto run =
      routine_for<Scalar>(LAPACKE_strtrs_work, LAPACKE_dtrtrs_work, LAPACKE_ctrtrs_work, LAPACKE_ztrtrs_work);
  return static_cast<int>(
      run(LAPACK_COL_MAJOR, 'U', 'N', 'N', n, n, as_standard(const_cast<Scalar*>(r)), n, as_standard(x), n));
}

/// The divide-and-conquer singular value decomposition, thin, of A (m x n without gaps), which is lost: U is m x k, VT
/// (the conjugate transpose of V) k x n, k the smaller extent. Returns LAPACK's info.
template <class Scalar>
int call_gesdd(lapack_int m, lapack_int n, Scalar* a, RealOf<Scalar>* values, Scalar* u, Scalar* vt) {
  using Real = RealOf<Scalar>;
  const CallingThreadAlone alone;
  const lapack_int k = m < n ? m : n, larger = m < n ? n : m;
  auto* const integers = work_array<lapack_int, LapackIntegers>(8 * k);
  const auto call = [&](Scalar* work, lapack_int work_size, Real* reals) -> int {
    const auto run = [&](auto routine, auto... real_work) {
      return static_cast<int>(routine(LAPACK_COL_MAJOR, 'S', m, n, as_standard(a), m, values, as_standard(u), m,
                                      as_standard(vt), k, as_standard(work), work_size, real_work..., integers));
    };
    if constexpr (std::is_same_v<Scalar, float>) {
      return run(LAPACKE_sgesdd_work);
    } else if constexpr (std::is_same_v<Scalar, double>) {
      return run(LAPACKE_dgesdd_work);
    } else if constexpr (std::is_same_v<Scalar, Complex<float>>) {
      return run(LAPACKE_cgesdd_work, reals);
    } else {
      return run(LAPACKE_zgesdd_work, reals);
    }
  };
  // As much as LAPACK's description asks for: there is no query for real work.
  const std::int64_t some = 5 * k * k + 5 * k, others = 2 * larger * k + 2 * k * k + k;
  Real* const reals = work_array<Real, LapackReals>(some > others ? some : others);
  Scalar work_size = Scalar(0);
  const int info = call(&work_size, -1, reals);
  if (info != 0) return info;
  const auto words = static_cast<lapack_int>(real_part(work_size)) + 1;
  return call(work_array<Scalar, LapackWork>(words), words, reals);
}

}  // namespace blockvec::orth::dense
