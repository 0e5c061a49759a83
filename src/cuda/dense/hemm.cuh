#pragma once

#include "src/cuda/dense/pieces.cuh"
#include "src/cuda/ptx/mma_f64.cuh"

/// Y = S X for a Hermitian S of which a triangle is read, once: every piece of it is multiplied with X's rows of its
/// numbers, and its conjugate transpose with those of its lines.
///
/// A unit is a strip of 16 lines of a panel, which is 512 numbers of a line. Warp w of 8 has numbers 64 w and on of the
/// panel: X's rows of these numbers stay in its registers, and so do the sums of S^H X for them, through all strips
/// that the block takes of the panel. The sums of S X of a strip are added over the warps in shared memory and written,
/// one set a unit. The next kernel adds both kinds in the order of panels and of blocks: all sums have a fixed order.
///
///        panel            . . .        lower: units below the diagonal and on it
///   strip [ w 0 | w 1 | ... | w 7 ]    upper: above the diagonal and on it
///
/// Where a warp's part of a strip crosses the diagonal, it sets the other triangle to zero in shared memory.
namespace blockvec::kernels::cuda {

using dispatch::hemm_lines;
using dispatch::hemm_panel;
using dispatch::HemmUnits;
inline constexpr int hemm_warp_numbers = hemm_panel / dispatch::computing_warps;

template <class Real>
struct HemmProduct {
  PieceSource<Real> a;
  HemmUnits units;
  int complex;             ///< 1: a scalar is two numbers; 0
  const double* right;     ///< X for S X: [16 numbers of a line][tile of 8 columns] of read_right
  const double* left;      ///< X for S^H X: [strip][tile of 8 columns]
  double* strip_sums;      ///< [unit][line][column]
  double* panel_sums;      ///< [block + panel][number][column]
  int stages, stage_bytes, packed_bytes;
};

/// Panels and strips of units, one after the other.
struct HemmPosition {
  std::int64_t panel, strip, end;  ///< `end`: the first unit after the panel

  __device__ HemmPosition(const HemmUnits& units, std::int64_t unit) : panel(0) {
    std::int64_t beyond = units.panels;
    while (beyond - panel > 1) {
      const std::int64_t middle = (panel + beyond) / 2;
      (units.before(middle) <= unit ? panel : beyond) = middle;
    }
    strip = units.first_strip(panel) + unit - units.before(panel);
    end = units.before(panel + 1);
  }
  /// To unit `unit`, the next one.
  __device__ void advance(const HemmUnits& units, std::int64_t unit) {
    ++strip;
    if (unit != end || panel + 1 == units.panels) return;
    ++panel;
    strip = units.first_strip(panel);
    end = units.before(panel + 1);
  }
};

/// Where a warp's part of a strip lies.
enum class Part : std::uint8_t { whole, on_diagonal, outside };

template <class Real>
__device__ inline Part part_of(const HemmProduct<Real>& p, const HemmPosition& at, int warp) {
  const std::int64_t line = at.strip * hemm_lines, last_line = line + hemm_lines - 1;
  const std::int64_t number = at.panel * hemm_panel + warp * hemm_warp_numbers;
  if (number >= p.a.length) return Part::outside;
  const std::int64_t column = number >> p.complex, last_column = (number + hemm_warp_numbers - 1) >> p.complex;
  if (p.units.lower) return column > last_line ? Part::outside : last_column < line ? Part::whole : Part::on_diagonal;
  return last_column < line ? Part::outside : column > last_line ? Part::whole : Part::on_diagonal;
}

template <class Real>
struct HemmLoad {
  static constexpr int warp_bytes = hemm_lines * hemm_warp_numbers * static_cast<int>(sizeof(Real));
  static constexpr int piece_bytes = hemm_lines * line_bytes;
  const HemmProduct<Real>& p;
  std::int64_t first;

  __device__ HemmPosition unit(int i) const { return {p.units, first + i}; }
  __device__ int bytes(const HemmPosition& unit) const {
    int count = 0;
#pragma unroll 1
    for (int w = 0; w < dispatch::computing_warps; ++w) count += part_of(p, unit, w) == Part::outside ? 0 : 1;
    return count * warp_bytes;
  }
  __device__ const double* x(const HemmPosition& unit) const {
    return p.left + unit.strip * (p.packed_bytes / static_cast<int>(sizeof(double)));
  }
  __device__ void copy_a(const HemmPosition& unit, unsigned char* to, int thread) const {
#pragma unroll 1
    for (int w = 0; w < dispatch::computing_warps; ++w) {
      if (part_of(p, unit, w) == Part::outside) continue;
      copy_pieces(p.a, to + w * warp_bytes, unit.panel * hemm_panel + w * hemm_warp_numbers, unit.strip * hemm_lines,
                  hemm_warp_numbers / piece<Real>, hemm_lines, thread);
    }
  }
  __device__ void bulk_a(const HemmPosition& unit, unsigned char* to, Barrier& barrier) const {
#pragma unroll 1
    for (int w = 0; w < dispatch::computing_warps; ++w) {
      if (part_of(p, unit, w) == Part::outside) continue;
      const int number = static_cast<int>(unit.panel) * hemm_panel + w * hemm_warp_numbers;
      for (int k = 0; k < hemm_warp_numbers / piece<Real>; ++k) {
        tensor_load(to + w * warp_bytes + k * piece_bytes, p.a.map, number + k * piece<Real>,
                    static_cast<int>(unit.strip) * hemm_lines, barrier);
      }
    }
  }
};

/// Changes numbers of a warp's part: `change(number, column - line)`, where column counts scalars.
template <class Real, class Change>
__device__ inline void change_part(const HemmProduct<Real>& p, const HemmPosition& at, int warp, int lane,
                                   unsigned char* part, const Change& change) {
  constexpr int units_of_line = hemm_warp_numbers;
  for (int i = lane; i < hemm_lines * units_of_line; i += warp_size) {
    const int line = i / units_of_line, n = i % units_of_line;
    const int byte = n % piece<Real> * static_cast<int>(sizeof(Real));
    auto* const x = reinterpret_cast<Real*>(part + n / piece<Real> * (hemm_lines * line_bytes) +
                                            place_of_unit(line, byte / 16) + byte % 16);
    const std::int64_t number = at.panel * hemm_panel + warp * hemm_warp_numbers + n;
    change(*x, (number >> p.complex) - (at.strip * hemm_lines + line), number & p.complex);
  }
  __syncwarp();
}

template <class Real, int tiles_n>
__global__ void __launch_bounds__(block_threads, 1) hemm_kernel(const __grid_constant__ HemmProduct<Real> p) {
  constexpr int columns = 8 * tiles_n;
  constexpr int pieces = hemm_warp_numbers / piece<Real>;  // of a warp
  constexpr int tiles = hemm_warp_numbers / 16;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ Barrier full[dispatch::max_stages];
  __shared__ Barrier empty[dispatch::max_stages];
  const DenseStages stages{aligned_memory(memory), full, empty, p.stages, p.stage_bytes, p.packed_bytes};
  release_next_kernel();
  prepare(stages, p.a.bulk);
  const std::int64_t all = p.units.count();
  const std::int64_t first = dispatch::first_unit(all, gridDim.x, blockIdx.x);
  const int units = static_cast<int>(dispatch::first_unit(all, gridDim.x, blockIdx.x + 1) - first);
  if (threadIdx.x >= computing_threads) {
    give_registers<dense_loading_registers>();
    fill_stages(stages, p.a.bulk, units, HemmLoad<Real>{p, first});
    return;
  }
  take_registers<dense_computing_registers>();
  await_previous_kernel();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / warp_size, lane = thread % warp_size;
  const int g = lane / 4, q = lane % 4;
  auto* const exchange = reinterpret_cast<double*>(stages.end());  // [warp][line][column]
  HemmPosition position(p.units, first);
  std::int64_t panel = -1;
  double right[tiles][tiles_n][4];          // X's rows of the warp's numbers
  double sums[tiles][tiles_n][4] = {};      // S^H X for them
  RingPosition at{0, 0};
  for (int i = 0; i < units; ++i, at.advance(1, p.stages)) {
    if (position.panel != panel) {
      panel = position.panel;
      const double* const packed = p.right + (panel * hemm_panel + warp * hemm_warp_numbers) * columns;
#pragma unroll
      for (int k = 0; k < tiles; ++k) {
#pragma unroll
        for (int n = 0; n < tiles_n; ++n) read_right(right[k][n], packed, k * tiles_n + n, lane);
      }
    }
    const Part part = part_of(p, position, warp);
    double strip[tiles_n][4] = {};
    full[at.stage].wait(at.parity);
    if (part != Part::outside) {
      unsigned char* const mine = stages.a(at.stage) + warp * HemmLoad<Real>::warp_bytes;
      if (part == Part::on_diagonal) {
        change_part(p, position, warp, lane, mine, [&](Real& x, std::int64_t beyond, std::int64_t imaginary) {
          if (p.units.lower ? beyond > 0 : beyond < 0) x = 0;
          if (beyond == 0 && imaginary != 0) x = 0;
        });
      }
#pragma unroll
      for (int k = 0; k < pieces; ++k) {
#pragma unroll
        for (int step = 0; step < piece_tiles<Real>; ++step) {
          double left[8];
          lines_as_results<Real>(left, mine + k * HemmLoad<Real>::piece_bytes, step, lane);
#pragma unroll
          for (int n = 0; n < tiles_n; ++n) {
            multiply_16x8x16(strip[n], left, right[k * piece_tiles<Real> + step][n]);
          }
        }
      }
      if (part == Part::on_diagonal) {
        __syncwarp();
        change_part(p, position, warp, lane, mine, [](Real& x, std::int64_t beyond, std::int64_t) {
          if (beyond == 0) x = 0;
        });
      }
      double of_lines[tiles_n][4];
#pragma unroll
      for (int n = 0; n < tiles_n; ++n) {
        read_right(of_lines[n], reinterpret_cast<const double*>(stages.x(at.stage)), n, lane);
      }
#pragma unroll
      for (int k = 0; k < pieces; ++k) {
        double left[piece_tiles<Real>][8];
        numbers_as_results<Real>(left, mine + k * HemmLoad<Real>::piece_bytes, 0, lane);
#pragma unroll
        for (int m = 0; m < piece_tiles<Real>; ++m) {
#pragma unroll
          for (int n = 0; n < tiles_n; ++n) {
            multiply_16x8x16(sums[k * piece_tiles<Real> + m][n], left[m], of_lines[n]);
          }
        }
      }
      if (part == Part::on_diagonal) publish_to_bulk_copies();
    }
    __syncwarp();
    if (lane == 0) empty[at.stage].arrive();
    // The strip's sums of all warps, added in their order.
#pragma unroll
    for (int n = 0; n < tiles_n; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<double2*>(exchange + (warp * hemm_lines + g + 8 * half) * columns + 8 * n + 2 * q) =
            make_double2(strip[n][2 * half], strip[n][2 * half + 1]);
      }
    }
    meet(1, computing_threads);
    if (thread < hemm_lines * columns) {
      double sum = 0;
#pragma unroll
      for (int w = 0; w < dispatch::computing_warps; ++w) sum += exchange[w * hemm_lines * columns + thread];
      p.strip_sums[(first + i) * hemm_lines * columns + thread] = sum;
    }
    meet(1, computing_threads);
    if (first + i + 1 == position.end || i + 1 == units) {
      double* const to = p.panel_sums +
                         ((blockIdx.x + panel) * hemm_panel + warp * hemm_warp_numbers) * columns;
#pragma unroll
      for (int k = 0; k < tiles; ++k) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int number =
              k / piece_tiles<Real> * piece<Real> + number_of_result<Real>(k % piece_tiles<Real>, g, half);
#pragma unroll
          for (int n = 0; n < tiles_n; ++n) {
            *reinterpret_cast<double2*>(to + number * columns + 8 * n + 2 * q) =
                make_double2(sums[k][n][2 * half], sums[k][n][2 * half + 1]);
            sums[k][n][2 * half] = sums[k][n][2 * half + 1] = 0;
          }
        }
      }
    }
    position.advance(p.units, first + i + 1);
  }
}

}  // namespace blockvec::kernels::cuda
