#pragma once

#include "src/cuda/dense/vectors.cuh"
#include "src/cuda/ptx/mma_f64.cuh"

/// Y = S X for a Hermitian S of which a triangle is read, once: every piece of it is multiplied with X's rows of its
/// numbers, and its conjugate transpose with those of its lines.
///
/// A unit is a strip of 16 lines of a panel, which is 512 numbers of a line. Warp w of 8 has numbers 64 w and on of the
/// panel: X's rows of these numbers stay in its registers, and so do the sums of S^H X for them, through all strips
/// that the block takes of the panel. The sums of S X of a strip are added over the warps by warps of their own, which
/// write one set a unit; so the computing warps need not wait for one another. The next kernel adds both kinds in the
/// order of panels and of blocks: all sums have a fixed order.
///
///        panel            . . .        lower: units below the diagonal and on it
///   strip [ w 0 | w 1 | ... | w 7 ]    upper: above the diagonal and on it
///
///   loading warps --full--> 8 warps --strip_full--> adding warps
///
/// Where a warp's part of a strip crosses the diagonal, what it reads of the other triangle becomes zero in registers.
namespace blockvec::kernels::cuda {

using dispatch::hemm_lines;
using dispatch::hemm_panel;
using dispatch::HemmUnits;
inline constexpr int hemm_warp_numbers = hemm_panel / dispatch::computing_warps;
/// Half of the loading warpgroup loads, the other half adds.
inline constexpr int hemm_loaders = loading_threads / 2;
inline constexpr int hemm_adders = loading_threads - hemm_loaders;

template <class Real>
struct HemmProduct {
  PieceSource<Real> a;  ///< the matrix; `packed`: its units, 16 lines of 512 numbers each
  HemmUnits units;
  std::int64_t length;  ///< numbers of the matrix's lines
  std::int64_t lines;
  int complex;  ///< 1: a scalar is two numbers; 0
  bool packed;
  DenseX<Real> x;
  const double* left;  ///< X for S^H X: [strip][tile of 8 columns] of read_right
  double* strip_sums;  ///< [unit][line][column]
  double* panel_sums;  ///< [block + panel][number][column]
  int stages, stage_bytes, packed_bytes;
  int exchanges;  ///< strips whose sums may wait for the adding warps
};

/// Panel and strip of a unit.
struct HemmPosition {
  std::int64_t unit, panel, strip, end;  ///< `end`: the first unit after the panel

  __device__ HemmPosition(const HemmUnits& units, std::int64_t first) : unit(first), panel(0) {
    std::int64_t beyond = units.panels;
    while (beyond - panel > 1) {
      const std::int64_t middle = (panel + beyond) / 2;
      (units.before(middle) <= unit ? panel : beyond) = middle;
    }
    strip = units.first_strip(panel) + unit - units.before(panel);
    end = units.before(panel + 1);
  }
  /// To the next unit.
  __device__ void advance(const HemmUnits& units) {
    ++strip;
    if (++unit != end || panel + 1 == units.panels) return;
    ++panel;
    strip = units.first_strip(panel);
    end = units.before(panel + 1);
  }
};

/// What of a warp's part of a strip is read: nothing, all of it, or what is on one side of the diagonal.
enum class Part : std::uint8_t { outside, whole, cut };

/// A warp's part of a strip.
template <class Real>
struct HemmPart {
  Part kind;
  int first;      ///< of its numbers, less that of the diagonal's entry in the strip's first line
  int pitch;      ///< from one line's entry of the diagonal to that of the next one
  int direction;  ///< of the triangle along a line
  int lines;      ///< of the strip that the matrix has

  __device__ HemmPart(const HemmProduct<Real>& p, const HemmPosition& at, int warp)
      : pitch(1 + p.complex), direction(p.units.lower ? -1 : 1) {
    const int number = warp * hemm_warp_numbers;
    first = pitch * hemm_lines * static_cast<int>(at.panel * p.units.strips_of_panel - at.strip) + number;
    const std::int64_t left = p.lines - at.strip * hemm_lines;
    lines = left < hemm_lines ? static_cast<int>(left) : hemm_lines;
    const bool before = first + hemm_warp_numbers <= 0, behind = first >= hemm_lines * pitch;
    const bool beyond = at.panel * hemm_panel + number >= p.length || (p.units.lower ? behind : before);
    const bool inside = (p.units.lower ? before : behind) && lines == hemm_lines;
    kind = beyond ? Part::outside : inside ? Part::whole : Part::cut;
  }
  /// What counts of a number of the part for S X, or for S^H X (`strictly`: without the diagonal). No branch: lanes
  /// that part company would take longer.
  __device__ double cut(double x, int line, int number, bool strictly) const {
    const int at = first + number - pitch * line;  // 0: the entry of the diagonal; in a complex one 1, too
    const bool off_diagonal = direction * at > (direction > 0 ? pitch - 1 : 0);
    const bool diagonal = static_cast<int>(at == 0) & static_cast<int>(!strictly);
    return (static_cast<int>(off_diagonal) | static_cast<int>(diagonal)) & static_cast<int>(line < lines) ? x : 0;
  }
};

template <class Real>
struct HemmLoad {
  static constexpr int warp_pieces = hemm_warp_numbers / piece<Real>;
  static constexpr int pieces = hemm_panel / piece<Real>;
  static constexpr int piece_bytes = hemm_lines * line_bytes;
  static constexpr int warp_bytes = warp_pieces * piece_bytes;
  static_assert(pieces <= warp_size);
  const HemmProduct<Real>& p;
  std::int64_t first;

  __device__ HemmPosition begin() const { return {p.units, first}; }
  __device__ void advance(HemmPosition& unit) const { unit.advance(p.units); }
  __device__ const double* x(const HemmPosition& unit) const {
    return p.left + unit.strip * (p.packed_bytes / static_cast<int>(sizeof(double)));
  }
  __device__ std::int64_t number(const HemmPosition& unit) const { return p.packed ? 0 : unit.panel * hemm_panel; }
  __device__ std::int64_t line(const HemmPosition& unit) const {
    return (p.packed ? unit.unit : unit.strip) * hemm_lines;
  }
  __device__ bool is_read(const HemmPosition& unit, int warp) const {
    return HemmPart<Real>(p, unit, warp).kind != Part::outside;
  }
  __device__ void copy_a(const HemmPosition& unit, unsigned char* to, int thread, int threads) const {
#pragma unroll 1
    for (int w = 0; w < dispatch::computing_warps; ++w) {
      if (!is_read(unit, w)) continue;
      copy_pieces(p.a, to + w * warp_bytes, number(unit) + w * hemm_warp_numbers, line(unit), warp_pieces, hemm_lines,
                  thread, threads);
    }
  }
  __device__ void bulk_a(const HemmPosition& unit, unsigned char* to, Barrier& barrier, int lane) const {
    const bool loads = lane < pieces && is_read(unit, lane / warp_pieces);
    const int count = __popc(__ballot_sync(~0U, loads));
    if (lane == 0) barrier.arrive_and_expect(static_cast<unsigned>(count * piece_bytes));
    if (!loads) return;
    tensor_load(to + lane * piece_bytes, p.a.map, static_cast<int>(number(unit)) + lane * piece<Real>,
                static_cast<int>(line(unit)), barrier, evict_first());
  }
};

/// Where the sums of a strip wait: [warp][line][column].
template <int columns>
struct HemmExchange {
  static constexpr int numbers = hemm_lines * columns;
  double* memory;
  Barrier *full, *empty;
  int count;

  __device__ double* sums(int place, int warp) const {
    return memory + (place * dispatch::computing_warps + warp) * numbers;
  }
};

/// Adds the sums of all warps in their order, strip by strip.
template <int columns>
__device__ inline void add_strips(const HemmExchange<columns>& exchange, double* to, int units, int thread) {
  await_previous_kernel();
  RingPosition at{0, 0};
  for (int i = 0; i < units; ++i, at.advance(1, exchange.count), to += exchange.numbers) {
    exchange.full[at.stage].wait(at.parity);
#pragma unroll
    for (int k = 2 * thread; k < exchange.numbers; k += 2 * hemm_adders) {
      double2 sum = make_double2(0, 0);
#pragma unroll
      for (int w = 0; w < dispatch::computing_warps; ++w) {
        const double2 x = *reinterpret_cast<const double2*>(exchange.sums(at.stage, w) + k);
        sum.x += x.x;
        sum.y += x.y;
      }
      *reinterpret_cast<double2*>(to + k) = sum;
    }
    exchange.empty[at.stage].arrive_as_warp();
  }
}

/// X's rows of a warp's numbers of a panel, which are `first` and on, for S X.
template <class Real, int tiles_n>
__device__ inline void read_panel(double (*right)[tiles_n][4], const DenseX<Real>& x, std::int64_t first, int lane) {
#pragma unroll
  for (int k = 0; k < hemm_warp_numbers / 16; ++k) {
#pragma unroll
    for (int n = 0; n < tiles_n; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int number =
            k / piece_tiles<Real> * piece<Real> + depth_by_lines<Real>(k % piece_tiles<Real>, lane % 4, j);
        right[k][n][j] = x.entry(true, first + number, 8 * n + lane / 4);
      }
    }
  }
}

/// A warp computes S X for a strip.
template <class Real, int tiles_n>
__device__ inline void multiply_lines(double (&strip)[tiles_n][4], const HemmPart<Real>& part,
                                      const unsigned char* mine, const double (*right)[tiles_n][4], int lane) {
#pragma unroll
  for (int k = 0; k < hemm_warp_numbers / 16; ++k) {
    const int of_warp = k / piece_tiles<Real>, step = k % piece_tiles<Real>;
    double left[8];
    lines_as_results<Real>(left, mine + of_warp * HemmLoad<Real>::piece_bytes, step, lane);
    if (part.kind == Part::cut) {
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        const int number = of_warp * piece<Real> + depth_by_lines<Real>(step, lane % 4, v / 2);
        left[v] = part.cut(left[v], lane / 4 + 8 * (v % 2), number, false);
      }
    }
#pragma unroll
    for (int n = 0; n < tiles_n; ++n) multiply_16x8x16(strip[n], left, right[k][n]);
  }
}

/// A warp adds S^H X of a strip.
template <class Real, int tiles_n>
__device__ inline void multiply_numbers(double (*sums)[tiles_n][4], const HemmPart<Real>& part,
                                        const unsigned char* mine, const double* x, int lane) {
  double right[tiles_n][4];
#pragma unroll
  for (int n = 0; n < tiles_n; ++n) read_right(right[n], x, n, lane);
#pragma unroll
  for (int k = 0; k < HemmLoad<Real>::warp_pieces; ++k) {
    double left[piece_tiles<Real>][8];
    numbers_as_results<Real>(left, mine + k * HemmLoad<Real>::piece_bytes, 0, lane);
#pragma unroll
    for (int m = 0; m < piece_tiles<Real>; ++m) {
      if (part.kind == Part::cut) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
          const int number = k * piece<Real> + number_of_result<Real>(m, lane / 4, v % 2);
          left[m][v] = part.cut(left[m][v], depth_by_numbers(0, lane % 4, v / 2), number, true);
        }
      }
#pragma unroll
      for (int n = 0; n < tiles_n; ++n) multiply_16x8x16(sums[k * piece_tiles<Real> + m][n], left[m], right[n]);
    }
  }
}

/// Writes S^H X of a warp's numbers, and begins sums anew.
template <class Real, int tiles_n>
__device__ inline void store_panel(double* to, double (*sums)[tiles_n][4], int lane) {
  constexpr int columns = 8 * tiles_n;
#pragma unroll
  for (int k = 0; k < hemm_warp_numbers / 16; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int number =
          k / piece_tiles<Real> * piece<Real> + number_of_result<Real>(k % piece_tiles<Real>, lane / 4, half);
#pragma unroll
      for (int n = 0; n < tiles_n; ++n) {
        *reinterpret_cast<double2*>(to + number * columns + 8 * n + 2 * (lane % 4)) =
            make_double2(sums[k][n][2 * half], sums[k][n][2 * half + 1]);
        sums[k][n][2 * half] = sums[k][n][2 * half + 1] = 0;
      }
    }
  }
}

/// A warp writes S X for a strip.
template <int tiles_n>
__device__ inline void store_strip(double* to, const double (&strip)[tiles_n][4], int lane) {
#pragma unroll
  for (int n = 0; n < tiles_n; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<double2*>(to + (lane / 4 + 8 * half) * 8 * tiles_n + 8 * n + 2 * (lane % 4)) =
          make_double2(strip[n][2 * half], strip[n][2 * half + 1]);
    }
  }
}

template <class Real, int tiles_n>
__global__ void __launch_bounds__(block_threads, 1) hemm_kernel(const __grid_constant__ HemmProduct<Real> p) {
  constexpr int columns = 8 * tiles_n;
  constexpr int tiles = hemm_warp_numbers / 16;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ Barrier full[dispatch::max_stages];
  __shared__ Barrier empty[dispatch::max_stages];
  __shared__ Barrier strip_full[dispatch::hemm_exchanges];
  __shared__ Barrier strip_empty[dispatch::hemm_exchanges];
  const DenseStages stages{aligned_memory(memory), full, empty, p.stages, p.stage_bytes, p.packed_bytes, hemm_loaders};
  const HemmExchange<columns> exchange{reinterpret_cast<double*>(stages.end()), strip_full, strip_empty, p.exchanges};
  release_next_kernel();
  if (threadIdx.x == 0) {
    for (int i = 0; i < p.exchanges; ++i) {
      strip_full[i].initialize(dispatch::computing_warps);
      strip_empty[i].initialize(hemm_adders / warp_size);
    }
  }
  prepare(stages, p.a.bulk);
  const std::int64_t all = p.units.count();
  const std::int64_t first = dispatch::first_unit(all, gridDim.x, blockIdx.x);
  const int units = static_cast<int>(dispatch::first_unit(all, gridDim.x, blockIdx.x + 1) - first);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / warp_size, lane = thread % warp_size;
  if (thread >= computing_threads) {
    give_registers<dense_loading_registers>();
    const int loading = thread - computing_threads;
    if (loading < hemm_loaders) {
      fill_stages(stages, p.a.bulk, units, HemmLoad<Real>{p, first});
    } else {
      add_strips(exchange, p.strip_sums + first * exchange.numbers, units, loading - hemm_loaders);
    }
    return;
  }
  take_registers<dense_computing_registers>();
  await_previous_kernel();
  HemmPosition position(p.units, first);
  std::int64_t panel = -1;
  double right[tiles][tiles_n][4];      // X's rows of the warp's numbers
  double sums[tiles][tiles_n][4] = {};  // S^H X for them
  RingPosition at{0, 0}, to_add{0, 1};
  for (int i = 0; i < units; ++i, at.advance(1, p.stages), to_add.advance(1, p.exchanges)) {
    if (position.panel != panel) {
      panel = position.panel;
      read_panel(right, p.x, panel * hemm_panel + warp * hemm_warp_numbers, lane);
    }
    const HemmPart<Real> part(p, position, warp);
    double strip[tiles_n][4] = {};
    full[at.stage].wait(at.parity);
    if (part.kind != Part::outside) {
      const unsigned char* const mine = stages.a(at.stage) + warp * HemmLoad<Real>::warp_bytes;
      multiply_lines<Real, tiles_n>(strip, part, mine, right, lane);
      multiply_numbers<Real, tiles_n>(sums, part, mine, reinterpret_cast<const double*>(stages.x(at.stage)), lane);
    }
    empty[at.stage].give_back_as_warp();
    strip_empty[to_add.stage].wait(to_add.parity);
    store_strip<tiles_n>(exchange.sums(to_add.stage, warp), strip, lane);
    strip_full[to_add.stage].arrive_as_warp();
    position.advance(p.units);
    if (position.panel != panel || i + 1 == units) {
      double* const to = p.panel_sums + ((blockIdx.x + panel) * hemm_panel + warp * hemm_warp_numbers) * columns;
      store_panel<Real, tiles_n>(to, sums, lane);
    }
  }
}

}  // namespace blockvec::kernels::cuda
