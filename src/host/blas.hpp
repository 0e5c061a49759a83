#pragma once

#include <complex>

/// The BLAS by its Fortran names, which every one of them has; one name for its four types. Matrices are column-major.
namespace blockvec::kernels::host::blas {

// The macros declare what Fortran calls sgemm, dgemm, cgemm and zgemm, and so on.
#define BLOCKVEC_BLAS(T, name, SYMM, SYMV)                                                                            \
  extern "C" void name##gemm_(const char*, const char*, const int* m, const int* n, const int* k, const T* alpha,     \
                              const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c,            \
                              const int* ldc);                                                                        \
  extern "C" void name##gemv_(const char*, const int* m, const int* n, const T* alpha, const T* a, const int* lda,    \
                              const T* x, const int* incx, const T* beta, T* y, const int* incy);                     \
  extern "C" void name##SYMM##_(const char* side, const char* uplo, const int* m, const int* n, const T* alpha,       \
                                const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c,          \
                                const int* ldc);                                                                      \
  extern "C" void name##SYMV##_(const char* uplo, const int* n, const T* alpha, const T* a, const int* lda,           \
                                const T* x, const int* incx, const T* beta, T* y, const int* incy);                   \
  inline void gemm(char op_a, char op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb,      \
                   T beta, T* c, int ldc) {                                                                           \
    name##gemm_(&op_a, &op_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);                                  \
  }                                                                                                                   \
  inline void gemv(char op, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y,           \
                   int incy) {                                                                                        \
    name##gemv_(&op, &m, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy);                                             \
  }                                                                                                                   \
  inline void hemm(char side, char uplo, int m, int n, T alpha, const T* a, int lda, const T* b, int ldb, T beta,     \
                   T* c, int ldc) {                                                                                   \
    name##SYMM##_(&side, &uplo, &m, &n, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);                                    \
  }                                                                                                                   \
  inline void hemv(char uplo, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y, int incy) {    \
    name##SYMV##_(&uplo, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy);                                             \
  }
BLOCKVEC_BLAS(float, s, symm, symv)
BLOCKVEC_BLAS(double, d, symm, symv)
BLOCKVEC_BLAS(std::complex<float>, c, hemm, hemv)
BLOCKVEC_BLAS(std::complex<double>, z, hemm, hemv)
#undef BLOCKVEC_BLAS

}  // namespace blockvec::kernels::host::blas
