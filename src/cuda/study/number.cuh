#pragma once

#include <cuda_runtime.h>

/// Scalars of the study: double (D) and complex double (Z), which is loaded in one piece of 16 bytes.
namespace blockvec::kernels::cuda::study {

struct alignas(16) Complex {
  double re;
  double im;
};

template <class T>
inline constexpr char letter = 'D';
template <>
inline constexpr char letter<Complex> = 'Z';

__device__ inline double load(const double* from) { return __ldg(from); }
__device__ inline Complex load(const Complex* from) {
  const double2 both = __ldg(reinterpret_cast<const double2*>(from));
  return {both.x, both.y};
}

/// sum += a b
__device__ inline void add_product(double& sum, double a, double b) { sum = fma(a, b, sum); }
__device__ inline void add_product(Complex& sum, Complex a, Complex b) {
  sum.re = fma(a.re, b.re, sum.re);
  sum.im = fma(a.re, b.im, sum.im);
  sum.re = fma(-a.im, b.im, sum.re);
  sum.im = fma(a.im, b.re, sum.im);
}

__device__ inline double conjugate(double x) { return x; }
__device__ inline Complex conjugate(Complex x) { return {x.re, -x.im}; }

__device__ inline void add(double& sum, double x) { sum += x; }
__device__ inline void add(Complex& sum, Complex x) {
  sum.re += x.re;
  sum.im += x.im;
}

/// In the order in which threads happen to come.
__device__ inline void add_atomically(double* sum, double x) { atomicAdd(sum, x); }
__device__ inline void add_atomically(Complex* sum, Complex x) {
  atomicAdd(&sum->re, x.re);
  atomicAdd(&sum->im, x.im);
}

/// False for all sums of numbers in (-1, 1), which the compiler cannot know.
__device__ inline bool is_impossible(double sum) { return sum == 1e300; }
__device__ inline bool is_impossible(Complex sum) { return sum.re == 1e300 && sum.im == 1e300; }

}  // namespace blockvec::kernels::cuda::study
