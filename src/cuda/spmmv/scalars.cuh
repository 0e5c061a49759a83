#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

/// Scalars of sparse products: a scalar is `parts` real numbers.
namespace blockvec::kernels::cuda {

template <class Real, int parts_>
struct Scalar {
  static constexpr int parts = parts_;
  Real part[parts] = {};

  __device__ static Scalar of(const Real* from) {
    Scalar x;
#pragma unroll
    for (int i = 0; i < parts; ++i) x.part[i] = from[i];
    return x;
  }
};

/// sum += a x
template <class Real, int parts>
__device__ inline void add_product(Scalar<Real, parts>& sum, const Scalar<Real, parts>& a,
                                   const Scalar<Real, parts>& x) {
  if constexpr (parts == 1) {
    sum.part[0] += a.part[0] * x.part[0];
  } else {
    sum.part[0] += a.part[0] * x.part[0];
    sum.part[1] += a.part[0] * x.part[1];
    sum.part[0] -= a.part[1] * x.part[1];
    sum.part[1] += a.part[1] * x.part[0];
  }
}

/// Bytes as registers take them.
template <int bytes>
using Word = std::conditional_t<bytes == 4, unsigned, std::conditional_t<bytes == 8, uint2, uint4>>;

/// Whether `vector` scalars come in one access; else each real number has its own.
template <class S, int vector, bool whole>
inline constexpr int access_bytes = whole ? static_cast<int>(sizeof(S)) * vector
                                          : static_cast<int>(sizeof(S)) / S::parts;

/// Reads or writes neighbouring scalars.
template <bool whole, int vector, class Real, int parts>
__device__ inline void load(Scalar<Real, parts> (&to)[vector], const Real* from) {
  using W = Word<access_bytes<Scalar<Real, parts>, vector, whole>>;
  constexpr int words = static_cast<int>(sizeof to / sizeof(W));
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const W word = __ldg(reinterpret_cast<const W*>(from) + i);
    memcpy(reinterpret_cast<char*>(to) + i * sizeof(W), &word, sizeof(W));
  }
}
/// Reads what the kernel may write, which the read-only cache must not hold.
template <bool whole, int vector, class Real, int parts>
__device__ inline void load_written(Scalar<Real, parts> (&to)[vector], const Real* from) {
  using W = Word<access_bytes<Scalar<Real, parts>, vector, whole>>;
  constexpr int words = static_cast<int>(sizeof to / sizeof(W));
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const W word = __ldcs(reinterpret_cast<const W*>(from) + i);
    memcpy(reinterpret_cast<char*>(to) + i * sizeof(W), &word, sizeof(W));
  }
}
template <bool whole, int vector, class Real, int parts>
__device__ inline void store(Real* to, const Scalar<Real, parts> (&from)[vector]) {
  using W = Word<access_bytes<Scalar<Real, parts>, vector, whole>>;
  constexpr int words = static_cast<int>(sizeof from / sizeof(W));
#pragma unroll
  for (int i = 0; i < words; ++i) {
    W word;
    memcpy(&word, reinterpret_cast<const char*>(from) + i * sizeof(W), sizeof(W));
    __stcs(reinterpret_cast<W*>(to) + i, word);
  }
}

/// Reads entries of the matrix, past the first-level cache, which is left to X.
__device__ inline std::int32_t load_once(const std::int32_t* from, std::uint64_t policy) {
  std::int32_t x;
  asm("ld.global.nc.L1::no_allocate.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(x) : "l"(from), "l"(policy));
  return x;
}
__device__ inline float load_once(const float* from, std::uint64_t policy) {
  float x;
  asm("ld.global.nc.L1::no_allocate.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(x) : "l"(from), "l"(policy));
  return x;
}
__device__ inline double load_once(const double* from, std::uint64_t policy) {
  double x;
  asm("ld.global.nc.L1::no_allocate.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(x) : "l"(from), "l"(policy));
  return x;
}
template <class Real, int parts>
__device__ inline Scalar<Real, parts> load_entry(const Real* values, std::int64_t at, std::uint64_t policy) {
  Scalar<Real, parts> x;
  if constexpr (parts == 1) {
    x.part[0] = load_once(values + at, policy);
  } else if constexpr (sizeof(Real) == 4) {
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;"
        : "=f"(x.part[0]), "=f"(x.part[1])
        : "l"(values + 2 * at), "l"(policy));
  } else {
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
        : "=d"(x.part[0]), "=d"(x.part[1])
        : "l"(values + 2 * at), "l"(policy));
  }
  return x;
}

template <class Real, int parts>
__device__ inline Scalar<Real, parts> shuffle(const Scalar<Real, parts>& x, int lane) {
  Scalar<Real, parts> y;
#pragma unroll
  for (int i = 0; i < parts; ++i) y.part[i] = __shfl_sync(~0U, x.part[i], lane);
  return y;
}

}  // namespace blockvec::kernels::cuda
