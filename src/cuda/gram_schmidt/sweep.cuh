#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/dispatch/cuda/gram_schmidt/sweep.hpp"

/// A sweep of block Gram-Schmidt on row-major matrices in one pass: W <- [V W] C and P = [V W]^H W, or one of them.
///
/// TMA tiles bring row tiles of V's parts and of W side by side into the stages of a pipeline. What a TMA tile covers
/// beyond its matrix becomes zero. Four warps change W: each takes a whole stage and writes the new rows of W to memory
/// and over the old ones in the stage. Eight warps add products: a group of `sharing` warps takes a whole stage, and
/// each of them has the sums of its own columns of [V W] in registers through all row tiles of the thread block.
///
///   loading warp --full--> change warps --changed--> product warps --empty--> loading warp
///
/// Blocks take row tiles in fixed turns, so that the order of all sums is fixed.
namespace blockvec::kernels::cuda {

using dispatch::most_sweep_barriers;
using dispatch::most_sweep_parts;
using dispatch::sweep_change_warps;
using dispatch::sweep_product_warps;
using dispatch::SweepPart;
inline constexpr int sweep_consumers = (sweep_product_warps + sweep_change_warps) * warp_size;
inline constexpr int sweep_threads = sweep_consumers + loading_threads;

template <class Real>
struct GramSchmidtSweep {
  CUtensorMap map[most_sweep_parts];
  SweepPart part[most_sweep_parts];
  int parts;   ///< of V and W: W's columns are the last ones of the last part
  int loaded;  ///< parts with that of the products' right factor, if it is not W
  int m, n;    ///< columns of [V W] and of W
  Real* w;
  std::int64_t pitch_w;
  bool pairs;  ///< pairs of neighbours in W are aligned to their size
  std::int64_t k;
  std::uint32_t chunks;
  int rows;  ///< of a row tile
  int stages;
  int stage_bytes;  ///< that arrive in a stage
  int stage_step;   ///< bytes from stage to stage
  int barriers;     ///< see dispatch::CudaSweep
  int sharing;
  int blocks, steps, packed_bytes;
  bool changes, multiplies;
  Condition change_condition, products_condition;
  Small<Real> c;
  double* partial;  ///< [block][m][n]

  /// Where the last n columns of the first `count` parts begin in a stage: those of W, or of another right factor.
  __device__ int place_of_last(int count) const {
    const SweepPart& last = part[count - 1];
    return last.offset + last.width - n;
  }
};

struct SweepBarriers {
  Barrier full[most_sweep_barriers];
  Barrier changed[most_sweep_barriers];
  Barrier empty[most_sweep_barriers];
};

/// What all warps of a thread block know.
template <class Real>
struct SweepBlock {
  const GramSchmidtSweep<Real>& p;
  SweepBarriers& barriers;
  unsigned char* stages;
  double* packed;
  int turns;  ///< row tiles of this block
  bool changes, multiplies;

  __device__ std::uint32_t chunk(int turn) const { return blockIdx.x + static_cast<std::uint32_t>(turn) * gridDim.x; }
  __device__ Real* stage(int turn) const { return reinterpret_cast<Real*>(stages + turn % p.stages * p.stage_step); }
  __device__ Barrier& empty(int turn) const { return barriers.empty[turn % p.stages]; }
};

/// Which of 16 rows a lane takes as depth j = 0..3 of a product: lanes meet different banks.
template <class Real>
inline constexpr RowMap sweep_rows = sizeof(Real) == 8 ? RowMap{1, 4, 8} : RowMap{2, 1, 8};

/// Writes C as tensor cores take it: [4 rows][8 columns][lane]. Each part of [V W] begins with a step of its own.
template <int tn, class Real>
__device__ inline void pack_sweep_factor(const GramSchmidtSweep<Real>& p, double* packed, int thread, int threads) {
#pragma unroll 4
  for (int i = thread; i < p.steps * tn * warp_size; i += threads) {
    const int lane = i % warp_size;
    const int column = i / warp_size % tn * 8 + lane / 4;
    const int step = i / warp_size / tn;
    int part = p.parts - 1;
    while (p.part[part].step > step) --part;
    const int row = 4 * (step - p.part[part].step) + lane % 4;
    const bool valid = row < p.part[part].width && column < p.n;
    packed[i] = valid ? p.c.scaled(p.part[part].column + row, column, {1, 0}) : 0.0;
  }
}

/// One lane brings the block's first row tile into L2, and the tensor maps with it.
template <class Real>
__device__ inline void prefetch(const GramSchmidtSweep<Real>& p) {
  const int row = static_cast<int>(blockIdx.x) * p.rows;
  for (int i = 0; i < p.loaded; ++i) tensor_prefetch(p.map[i], 0, row);
}

/// One lane loads all row tiles of the block.
template <class Real>
__device__ inline void load(const SweepBlock<Real>& block) {
  const GramSchmidtSweep<Real>& p = block.p;
  RingPosition at{0, 1};  // the first round finds the stages empty
  RingPosition told{0, 0};
  for (int turn = 0; turn < block.turns; ++turn) {
    const int row = static_cast<int>(block.chunk(turn)) * p.rows;
    Real* const stage = reinterpret_cast<Real*>(block.stages + at.stage * p.stage_step);
    Barrier& full = block.barriers.full[told.stage];
    block.barriers.empty[at.stage].wait(at.parity);
    full.arrive_and_expect(static_cast<unsigned>(p.stage_bytes));
    for (int i = 0; i < p.loaded; ++i) tensor_load(stage + p.part[i].offset, p.map[i], 0, row, full);
    at.advance(1, p.stages);
    told.advance(1, p.barriers);
  }
}

/// Sums for `tb` times 16 rows of W <- [V W] C, from row `row` of a stage on.
template <int tn, int tb, class Real>
__device__ inline void add_changed_rows(const GramSchmidtSweep<Real>& p, const Real* stage, int row, const double* c,
                                        double (&sum)[tb][tn][4]) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  c += lane;
  for (int i = 0; i < p.parts; ++i) {
    const SweepPart& part = p.part[i];
    const int eight_rows = 8 * part.pitch;
    const Real* a = stage + part.offset + (row + lane / 4) * part.pitch + lane % 4;
    int columns = part.width;
#pragma unroll 2
    for (; columns >= 16; columns -= 16, a += 16, c += 4 * tn * warp_size) {
      double left[tb][8];
      unrolled<tb, 4, 2>(
          [&](int t, int v, int half) { left[t][2 * v + half] = a[(2 * t + half) * eight_rows + 4 * v]; });
      unrolled<tn>([&](int y) {
        double right[4];
        unrolled<4>([&](int v) { right[v] = c[(v * tn + y) * warp_size]; });
        unrolled<tb>([&](int t) { multiply_16x8x16(sum[t][y], left[t], right); });
      });
    }
    for (; columns > 0; columns -= 4, a += 4, c += tn * warp_size) {
      double left[tb][2];
      unrolled<tb, 2>([&](int t, int half) { left[t][half] = a[(2 * t + half) * eight_rows]; });
      unrolled<tn, tb>([&](int y, int t) { multiply_16x8x4(sum[t][y], left[t], c[y * warp_size]); });
    }
  }
}

/// Changes `tb` times 16 rows of W: those of a stage from row `row` on, of which so many are `valid`. Row 0 of the
/// stage is row `first` of W.
template <int tn, int tb, class Real>
__device__ inline void change_rows(const SweepBlock<Real>& block, Real* stage, int row, std::int64_t first, int valid) {
  const GramSchmidtSweep<Real>& p = block.p;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int pitch = p.part[p.parts - 1].pitch;
  Real* const staged = stage + p.place_of_last(p.parts);
  double sum[tb][tn][4] = {};
  add_changed_rows<tn, tb>(p, stage, row, block.packed, sum);
  __syncwarp();  // all lanes have read W's rows
  unrolled<tb, 2, tn>([&](int t, int half, int y) {
    const int column = 8 * y + 2 * (lane % 4);
    const int at = row + 16 * t + 8 * half + lane / 4;
    const bool inside = at < valid;
    const bool has_one = column < p.n;
    const bool has_other = column + 1 < p.n;
    // Rows beyond the matrix stay zero, whatever C holds: products take them.
    const Real one = static_cast<Real>(inside ? sum[t][y][2 * half] : 0);
    const Real other = static_cast<Real>(inside ? sum[t][y][2 * half + 1] : 0);
    if (block.multiplies) {
      Real* const to = staged + at * pitch + column;
      if (has_one) to[0] = one;
      if (has_other) to[1] = other;
    }
    if (!inside) return;
    Real* const out = p.w + (first + at) * p.pitch_w + column;
    if (p.pairs && has_other) {
      using Pair = Neighbouring<2, Real>;
      *reinterpret_cast<Pair*>(out) = {{one, other}};
    } else {
      if (has_one) out[0] = one;
      if (has_other) out[1] = other;
    }
  });
}

/// A warp changes W's rows in every fourth stage.
template <int tn, class Real>
__device__ inline void change(const SweepBlock<Real>& block, int warp) {
  const GramSchmidtSweep<Real>& p = block.p;
  RingPosition told{warp, 0};
  for (int turn = warp; turn < block.turns; turn += sweep_change_warps) {
    Real* const stage = block.stage(turn);
    const std::int64_t first = static_cast<std::int64_t>(block.chunk(turn)) * p.rows;
    const int valid = static_cast<int>(min(static_cast<std::int64_t>(p.rows), p.k - first));
    block.barriers.full[told.stage].wait(told.parity);
    int row = 0;
    if constexpr (tn < 4) {  // more sums would not leave registers for it
#pragma unroll 1
      for (; row + 32 <= p.rows; row += 32) change_rows<tn, 2>(block, stage, row, first, valid);
    }
#pragma unroll 1
    for (; row < p.rows; row += 16) change_rows<tn, 1>(block, stage, row, first, valid);
    if (block.multiplies) block.barriers.changed[told.stage].arrive();
    block.empty(turn).give_back_as_warp();
    __syncwarp();
    told.advance(sweep_change_warps, p.barriers);
  }
}

/// The products of a warp: tm x tn MMA tiles of its blocks of 8 columns of [V W].
template <int tn, class Real>
struct SweepProducts {
  static constexpr int tm = dispatch::sweep_tiles_m(tn);
  static constexpr int numbers = tm * tn * 4 * warp_size;
  double sum[tm][tn][4] = {};

  /// `place`: which of its group's warps the warp is.
  __device__ void add(const SweepBlock<Real>& block, int group, int place) {
    const GramSchmidtSweep<Real>& p = block.p;
    constexpr RowMap map = sweep_rows<Real>;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int first_row = map.by_lane * (lane % 4);
    int start[tm][2], pitch[tm][2];
    unrolled<tm, 2>([&](int x, int half) {
      const int wanted = 2 * (place * tm + x) + half;
      const int at = wanted < p.blocks ? wanted : 0;  // what no block of [V W] stands for is not used
      int part = p.parts - 1;
      while (p.part[part].block > at) --part;
      pitch[x][half] = p.part[part].pitch;
      start[x][half] = p.part[part].offset + 8 * (at - p.part[part].block) + lane / 4 + first_row * pitch[x][half];
    });
    const int right_pitch = p.part[p.loaded - 1].pitch;
    const int right_start = p.place_of_last(p.loaded) + lane / 4 + first_row * right_pitch;
    const int groups = sweep_product_warps / p.sharing;
    RingPosition told{group, 0};
    for (int turn = group; turn < block.turns; turn += groups) {
      const Real* const stage = block.stage(turn);
      block.barriers.full[told.stage].wait(told.parity);
      if (block.changes) block.barriers.changed[told.stage].wait(told.parity);
#pragma unroll 1
      for (int row = 0; row < p.rows; row += 16) {
        double right[tn][4];
        const Real* const b = stage + right_start + row * right_pitch;
        unrolled<tn, 4>([&](int y, int j) {
          right[y][j] = b[8 * y + ((j % 2) * map.by_first + (j / 2) * map.by_second) * right_pitch];
        });
        unrolled<tm>([&](int x) {
          double left[8];
          unrolled<4, 2>([&](int j, int half) {
            const int down = row + (j % 2) * map.by_first + (j / 2) * map.by_second;
            left[2 * j + half] = stage[start[x][half] + down * pitch[x][half]];
          });
          unrolled<tn>([&](int y) { multiply_16x8x16(sum[x][y], left, right[y]); });
        });
      }
      block.empty(turn).give_back_as_warp();
      told.advance(groups, p.barriers);
    }
  }

  /// Adds the sums of all groups in fixed order and writes the block's partial sum. The product warps call this when
  /// nobody uses the stages any more.
  __device__ void write(const SweepBlock<Real>& block, int warp) const {
    const GramSchmidtSweep<Real>& p = block.p;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    double* const sums = reinterpret_cast<double*>(block.stages);
    unrolled<tm, tn, 2>([&](int x, int y, int half) {
      double* const to = sums + warp * numbers + ((x * tn + y) * 2 + half) * 2 * warp_size + 2 * lane;
      *reinterpret_cast<double2*>(to) = make_double2(sum[x][y][2 * half], sum[x][y][2 * half + 1]);
    });
    constexpr int threads = sweep_product_warps * warp_size;
    meet(1, threads);
    double* const partial = p.partial + static_cast<std::int64_t>(blockIdx.x) * p.m * p.n;
    const int group_numbers = p.sharing * numbers;
    for (int i = static_cast<int>(threadIdx.x); i < group_numbers; i += threads) {
      double total = sums[i];
      for (int j = i + group_numbers; j < sweep_product_warps * numbers; j += group_numbers) total += sums[j];
      const int pair = i / 2;  // of neighbouring columns
      const int from = pair % warp_size;
      const int column = pair / 2 / warp_size % tn * 8 + 2 * (from % 4) + i % 2;
      const int at = 2 * (pair / 2 / warp_size / tn) + pair / warp_size % 2;
      if (at >= p.blocks || column >= p.n) continue;
      int part = p.parts - 1;
      while (p.part[part].block > at) --part;
      const int row = 8 * (at - p.part[part].block) + from / 4;
      if (row < p.part[part].width) partial[(p.part[part].column + row) * p.n + column] = total;
    }
  }
};

/// The whole of a thread block.
template <int tn, class Real>
__device__ inline void sweep(const GramSchmidtSweep<Real>& p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ SweepBarriers barriers;
  release_next_kernel();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / warp_size;
  double* const packed = reinterpret_cast<double*>(memory);
  const int turns = static_cast<int>((p.chunks - blockIdx.x + gridDim.x - 1) / gridDim.x);
  // Where the sweep is sure to run, its first row tile comes into L2 while the previous kernel ends.
  const bool is_sure = p.change_condition.word == nullptr && p.products_condition.word == nullptr;
  if (is_sure && warp == sweep_consumers / warp_size && elected()) prefetch(p);
  await_previous_kernel();
  const bool changes = p.changes && p.change_condition.holds();
  const bool multiplies = p.multiplies && p.products_condition.holds();
  if (!changes && !multiplies) return;
  const SweepBlock<Real> block{p, barriers, memory + p.packed_bytes, packed, turns, changes, multiplies};
  if (thread < p.barriers) {
    barriers.full[thread].initialize(1);
    barriers.changed[thread].initialize(warp_size);
    if (thread < p.stages) {
      barriers.empty[thread].initialize((changes ? 1 : 0) + (multiplies ? static_cast<unsigned>(p.sharing) : 0));
    }
    publish_barriers();
  }
  __syncthreads();
  // C is packed while the first row tiles are on their way.
  const auto pack = [&] {
    if (!changes) return;
    pack_sweep_factor<tn>(p, packed, thread, sweep_consumers);
    meet(1, sweep_consumers);
  };
  if (thread >= sweep_consumers) {
    give_registers<24>();
    if (warp == sweep_consumers / warp_size && elected()) load(block);
    return;
  }
  const int sharers = changes ? sweep_consumers : sweep_product_warps * warp_size;  // of the stages' memory
  if (warp >= sweep_product_warps) {
    take_registers<152>();
    pack();
    if (!changes) return;
    change<tn>(block, warp - sweep_product_warps);
    if (multiplies) meet(1, sharers);
    return;
  }
  take_registers<168>();
  pack();
  if (!multiplies) return;
  SweepProducts<tn, Real> products;
  products.add(block, warp / p.sharing, warp % p.sharing);
  meet(1, sharers);
  products.write(block, warp);
}

template <class Real, int tn>
__global__ void __launch_bounds__(sweep_threads, 1) sweep_kernel(const __grid_constant__ GramSchmidtSweep<Real> p) {
  if constexpr (has_bulk_copies) sweep<tn>(p);
}

}  // namespace blockvec::kernels::cuda
