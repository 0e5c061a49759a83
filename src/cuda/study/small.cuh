#pragma once

#include "src/cuda/study/kernels.hpp"
#include "src/cuda/study/number.cuh"

/// Where tsmm takes C from (section 4.2 of the paper): each source says how to address the entry of C at row i and the
/// t-th column of `Mine`, the columns of a thread.
namespace blockvec::kernels::cuda::study {

/// What a kernel's second argument holds: C, where it comes from constant memory.
template <class T, int count>
struct Values {
  T entries[count];
};
struct NoValues {};

/// A zero of which the compiler knows nothing: what is addressed with it is read again for each row.
__device__ inline int unknown_zero() {
  int zero = 0;
  asm volatile("" : "+r"(zero));
  return zero;
}

template <class T, int m, int n, class Mine, Source source>
struct Small;

template <class T, int m, int n, class Mine>
struct Small<T, m, n, Mine, Source::registers> {
  using Argument = NoValues;
  static constexpr bool any_row = false;  // registers have no run-time index
  T kept[m][Mine::count];

  __device__ Small(const T* c, const Argument&, int piece) {
#pragma unroll
    for (int i = 0; i < m; ++i) {
#pragma unroll
      for (int t = 0; t < Mine::count; ++t)
        kept[i][t] = load(c + Mine::first(piece) + i * n + Mine::offset_to_read(piece, t));
    }
  }
  __device__ T entry(int /*zero*/, int i, int t) const { return kept[i][t]; }
};

template <class T, int m, int n, class Mine>
struct Small<T, m, n, Mine, Source::shared> {
  using Argument = NoValues;
  static constexpr bool any_row = true;
  const T* c;
  int piece;

  __device__ Small(const T* from, const Argument&, int own_piece) : piece(own_piece) {
    extern __shared__ double2 dynamic[];
    T* const to = reinterpret_cast<T*>(dynamic);
    for (int at = static_cast<int>(threadIdx.x); at < m * n; at += static_cast<int>(blockDim.x)) to[at] = from[at];
    __syncthreads();
    c = to + Mine::first(piece);
  }
  __device__ T entry(int zero, int i, int t) const { return c[zero + i * n + Mine::offset_to_read(piece, t)]; }
};

template <class T, int m, int n, class Mine>
struct Small<T, m, n, Mine, Source::global> {
  using Argument = NoValues;
  static constexpr bool any_row = true;
  const T* c;
  int piece;

  __device__ Small(const T* from, const Argument&, int own_piece)
      : c(from + Mine::first(own_piece)), piece(own_piece) {}
  __device__ T entry(int zero, int i, int t) const { return load(c + zero + i * n + Mine::offset_to_read(piece, t)); }
};

template <class T, int m, int n, class Mine>
struct Small<T, m, n, Mine, Source::constant> {
  using Argument = Values<T, m * n>;
  static constexpr bool any_row = true;
  const Argument& c;
  int piece;

  __device__ Small(const T*, const Argument& values, int own_piece) : c(values), piece(own_piece) {}
  __device__ T entry(int zero, int i, int t) const {
    return c.entries[zero + Mine::first(piece) + i * n + Mine::offset_to_read(piece, t)];
  }
};

}  // namespace blockvec::kernels::cuda::study
