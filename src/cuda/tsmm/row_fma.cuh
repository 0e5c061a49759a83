#pragma once

#include <type_traits>

#include "src/cuda/tsmm/row_ring.cuh"
#include "src/cuda/unrolled.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// tsmm by FMA instructions for rows of few numbers, where tensor cores would mostly idle.
namespace blockvec::kernels::cuda {

/// Each lane computes whole rows of up to `columns` results; all lanes read the same entry of C at a time. For many
/// columns, sums in double precision would take longer than memory does: these are in single precision.
template <class Real, int columns>
class RowFma {
 public:
  using Number = std::conditional_t<(columns > dispatch::widest_exact_narrow), float, double>;
  static constexpr int warps = computing_warps;

  /// Packs alpha C as [row][columns], with zeros beyond C.
  __device__ static void pack(const TsmmRing<Real>& p, Number* packed, int thread, int threads) {
    const Factor alpha = p.alpha.read();
    for (int i = thread; i < columns * depth; i += threads) {
      const int row = i / columns;
      const int column = i % columns;
      packed[i] = static_cast<Number>(row < p.m && column < p.n ? p.small.scaled(row, column, alpha) : 0.0);
    }
  }

  __device__ RowFma(const TsmmRing<Real>& p, const Number* packed, int, int lane) : p_(p), c_(packed), lane_(lane) {}

  /// Multiplies with the widest accesses that the alignment of A's and B's rows allows.
  template <class Wait>
  __device__ void multiply(const Real* a, const Real* old, Real* out, bool adds, Factor beta,
                           const Wait& wait_for_room) const {
    constexpr int most = 16 / sizeof(Real) < columns ? 16 / sizeof(Real) : columns;  // 1, 2 or 4
    constexpr int some = most == 4 ? 2 : most;
    const auto aligned = [&](int unit) {
      const auto places = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(out);
      return (p_.m | p_.n | p_.a.row_step | p_.pitch_out) % unit == 0 && places % (unit * sizeof(Real)) == 0;
    };
    wait_for_room();
    if (!adds) old = nullptr;
    const auto multiply_by_units = [&]<int unit>() {
      // Rows of one or two results in single precision are so short that the test for old ones is felt.
      if constexpr (columns <= 2 && sizeof(Real) == 4) {
        if (old == nullptr) return multiply_by<false, unit>(a, old, out, beta);
      }
      multiply_by<true, unit>(a, old, out, beta);
    };
    if (aligned(most)) {
      multiply_by_units.template operator()<most>();
    } else if (aligned(some)) {
      multiply_by_units.template operator()<some>();
    } else {
      multiply_by_units.template operator()<1>();
    }
  }

 private:
  static constexpr bool exact = std::is_same_v<Number, double>;
  static constexpr int depth = dispatch::narrow_depth(columns);   ///< the most numbers that a row of A has
  static constexpr int batch = !exact ? 2 : columns < 8 ? 8 : 4;  ///< rows that a lane multiplies at a time
  using Sums = Number[batch][columns];

  /// `old` is null where B's old rows are not added, as always unless they `may_add`.
  template <bool may_add, int unit>
  __device__ void multiply_by(const Real* a, const Real* old, Real* out, Factor beta) const {
    for (int first = lane_; first < p_.rows; first += batch * warp_size) {
      const Real* from[batch];
      unrolled<batch>([&](int r) { from[r] = a + min(first + r * warp_size, p_.rows - 1) * p_.a.row_step; });
      Sums sum = {};
      add_products<unit>(from, sum);
#pragma unroll
      for (int r = 0; r < batch; ++r) {
        const int row = first + r * warp_size;
        if (row >= p_.rows) break;
        const Real* const added = may_add && old != nullptr ? old + row * p_.old.row_step : nullptr;
        put_row<may_add, unit>(sum[r], from[r], added, out + row * p_.pitch_out, beta);
      }
    }
  }

  /// Multiplies `batch` rows, whose numbers are loaded a few at a time.
  template <int unit>
  __device__ void add_products(const Real* const (&from)[batch], Sums& sum) const {
    constexpr int most = 16 / static_cast<int>(sizeof(Number));
    constexpr int together = columns < most ? columns : most;  // entries of C that are read at once
#pragma unroll 4
    for (int i = 0; i < p_.m; i += unit) {
      Neighbouring<unit, Real> left[batch];
      unrolled<batch>([&](int r) { left[r] = *reinterpret_cast<const Neighbouring<unit, Real>*>(from[r] + i); });
      unrolled<unit, columns / together>([&](int u, int j) {
        using Entries = Neighbouring<together, Number>;
        const Entries right = reinterpret_cast<const Entries*>(c_ + (i + u) * columns)[j];
        unrolled<together, batch>([&](int v, int r) {
          sum[r][together * j + v] += static_cast<Number>(left[r].number[u]) * right.number[v];
        });
      });
    }
  }

  /// Writes a row's results to shared memory, plus beta times B's old row where there is one.
  template <bool may_add, int unit>
  __device__ void put_row(const Number (&sum)[columns], const Real* a, const Real* old, Real* out, Factor beta) const {
    float zero = 0;
#pragma unroll
    for (int j = 0; j < columns; j += unit) {
      if (j >= p_.n) break;
      Neighbouring<unit, Real> stored;
      unrolled<unit>([&](int u) {
        Number value = sum[j + u];
        if (may_add && old != nullptr) value += static_cast<Number>(scaled_entry(old, j + u, beta));
        stored.number[u] = static_cast<Real>(value);
        if constexpr (!exact) zero = fmaf(value, 0.0F, zero);
      });
      *reinterpret_cast<Neighbouring<unit, Real>*>(out + j) = stored;
    }
    if constexpr (!exact) {
      if (zero == 0) return;
      rows_in_double(p_, a, 0, old, 0, 1, 0, p_.n, 0, 1, [&](int, int column, Real value) { out[column] = value; });
    }
  }

  const TsmmRing<Real>& p_;
  const Number* c_;
  int lane_;
};

}  // namespace blockvec::kernels::cuda
