#pragma once

#include <type_traits>

#include "src/cuda/tsmm/row_ring.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// tsmm by FMA instructions for rows of few numbers, where tensor cores would mostly idle. tsmm/row_ring.cuh has the
/// kernel.
namespace blockvec::kernels::cuda {

/// The most numbers that a row of A may have where B has at most `columns` columns.
template <int columns>
inline constexpr int narrow_depth = dispatch::narrow_depth(columns);

/// `unit` neighbouring numbers, moved by one access.
template <int unit, class Real>
struct alignas(unit * sizeof(Real)) Neighbouring {
  Real number[unit];
};

/// Writes a row's results to shared memory, plus beta times B's old row if it `adds`. Returns false if a sum of single
/// precision is not finite.
template <bool adds, int unit, int columns, class Number, class Real>
__device__ inline bool put_row(const TsmmRing<Real>& p, const Number (&sum)[columns], Real* out, const Real* old,
                               Factor beta) {
  using Unit = Neighbouring<unit, Real>;
  float zero = 0;
#pragma unroll
  for (int j = 0; j < columns; j += unit) {
    if (j >= p.n) break;
    Unit stored;
#pragma unroll
    for (int u = 0; u < unit; ++u) {
      Number value = sum[j + u];
      if (adds) value += static_cast<Number>(scaled_entry(old, j + u, beta));
      stored.number[u] = static_cast<Real>(value);
      if constexpr (std::is_same_v<Number, float>) zero = fmaf(value, 0.0F, zero);
    }
    *reinterpret_cast<Unit*>(out + j) = stored;
  }
  return zero == 0;
}

/// Each lane computes whole rows; all lanes read the same entry of C at a time. A lane loads several rows before it
/// multiplies them.
template <bool adds, int unit, int columns, class Real>
__device__ inline void narrow_rows(const TsmmRing<Real>& p, const double* c, const Real* a, Real* out, const Real* old,
                                   Factor beta, int lane) {
  using Unit = Neighbouring<unit, Real>;
  constexpr int depth = narrow_depth<columns>;
  constexpr int batch = columns < 8 ? 8 : 4;
  const int m = p.m;
  for (int first = lane; first < p.rows; first += batch * warp_size) {
    Real left[batch][depth];
#pragma unroll
    for (int r = 0; r < batch; ++r) {
      const int row = min(first + r * warp_size, p.rows - 1);
#pragma unroll
      for (int i = 0; i < depth; i += unit) {
        Unit loaded{};
        if (i < m) loaded = *reinterpret_cast<const Unit*>(a + row * p.a.row_step + i);
#pragma unroll
        for (int u = 0; u < unit; ++u) left[r][i + u] = loaded.number[u];
      }
    }
    double sum[batch][columns] = {};
#pragma unroll
    for (int i = 0; i < depth; ++i) {
      if (i >= m) break;  // conversions of columns beyond A would take as long as those that are needed
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const double factor = c[columns * i + j];
#pragma unroll
        for (int r = 0; r < batch; ++r) sum[r][j] += static_cast<double>(left[r][i]) * factor;
      }
    }
#pragma unroll
    for (int r = 0; r < batch; ++r) {
      const int row = first + r * warp_size;
      if (row >= p.rows) break;
      put_row<adds, unit>(p, sum[r], out + row * p.pitch_out, old + row * p.old.row_step, beta);
    }
  }
}

/// Sums more columns in single precision. Sums in double precision would take longer than memory does.
template <bool adds, int unit, int columns>
__device__ inline void narrow_rows(const TsmmRing<float>& p, const float* c, const float* a, float* out,
                                   const float* old, Factor beta, int lane) {
  using Unit = Neighbouring<unit, float>;
  constexpr int batch = 2;
  for (int first = lane; first < p.rows; first += batch * warp_size) {
    const float* from[batch];
#pragma unroll
    for (int r = 0; r < batch; ++r) from[r] = a + min(first + r * warp_size, p.rows - 1) * p.a.row_step;
    float sum[batch][columns] = {};
#pragma unroll 4
    for (int i = 0; i < p.m; i += unit) {
      Unit left[batch];
#pragma unroll
      for (int r = 0; r < batch; ++r) left[r] = *reinterpret_cast<const Unit*>(from[r] + i);
#pragma unroll
      for (int u = 0; u < unit; ++u) {
        const auto* const four = reinterpret_cast<const Neighbouring<4, float>*>(c + (i + u) * columns);
#pragma unroll
        for (int j = 0; j < columns / 4; ++j) {
          const Neighbouring<4, float> right = four[j];
#pragma unroll
          for (int v = 0; v < 4; ++v) {
#pragma unroll
            for (int r = 0; r < batch; ++r) {
              sum[r][4 * j + v] = fmaf(left[r].number[u], right.number[v], sum[r][4 * j + v]);
            }
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < batch; ++r) {
      const int row = first + r * warp_size;
      if (row >= p.rows) break;
      float* const to = out + row * p.pitch_out;
      const float* const held = old + row * p.old.row_step;
      if (!put_row<adds, unit>(p, sum[r], to, held, beta)) [[unlikely]] {
        rows_in_double(p, from[r], 0, adds ? held : nullptr, 0, 1, 0, p.n, 0, 1,
                       [&](int, int column, float value) { to[column] = value; });
      }
    }
  }
}

/// Calls narrow_rows with the widest accesses that the alignment of A's and B's rows allows.
template <bool adds, int columns, class Real, class Number>
__device__ inline void narrow_rows(const TsmmRing<Real>& p, const Number* c, const Real* a, Real* out, const Real* old,
                                   Factor beta, int lane) {
  constexpr int most = 16 / sizeof(Real) < columns ? 16 / sizeof(Real) : columns;  // 1, 2 or 4
  constexpr int some = most == 4 ? 2 : most;
  const auto aligned = [&](int unit) {
    const auto places = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(out);
    return p.m % unit == 0 && p.n % unit == 0 && p.a.row_step % unit == 0 && p.pitch_out % unit == 0 &&
           places % (unit * sizeof(Real)) == 0;
  };
  if (aligned(most)) {
    narrow_rows<adds, most, columns>(p, c, a, out, old, beta, lane);
  } else if (aligned(some)) {
    narrow_rows<adds, some, columns>(p, c, a, out, old, beta, lane);
  } else {
    narrow_rows<adds, 1, columns>(p, c, a, out, old, beta, lane);
  }
}

template <class Real, int columns>
class RowFma {
 public:
  using Number = std::conditional_t<(columns > dispatch::widest_exact_narrow), float, double>;
  static constexpr int warps = computing_warps;

  /// Packs alpha C as [row][columns], with zeros beyond C.
  __device__ static void pack(const TsmmRing<Real>& p, Number* packed, int thread, int threads) {
    const Factor alpha = p.alpha.read();
    for (int i = thread; i < columns * narrow_depth<columns>; i += threads) {
      const int row = i / columns;
      packed[i] = static_cast<Number>(row < p.m && i % columns < p.n ? p.small.scaled(row, i % columns, alpha) : 0.0);
    }
  }

  __device__ RowFma(const TsmmRing<Real>& p, const Number* packed, int, int lane) : p_(p), c_(packed), lane_(lane) {}

  template <class Wait>
  __device__ void multiply(const Real* a, const Real* old, Real* out, bool adds, Factor beta,
                           const Wait& wait_for_room) const {
    wait_for_room();
    if (adds) {
      narrow_rows<true, columns>(p_, c_, a, out, old, beta, lane_);
    } else {
      narrow_rows<false, columns>(p_, c_, a, out, old, beta, lane_);
    }
  }

 private:
  const TsmmRing<Real>& p_;
  const Number* c_;
  int lane_;
};

}  // namespace blockvec::kernels::cuda
