#pragma once

#include "src/cuda/columns.cuh"
#include "src/cuda/mma.cuh"
#include "src/cuda/succession.cuh"
#include "src/cuda/tsmm_factor.cuh"
#include "src/cuda/tsmm_task.cuh"

/// tsmm of many columns of A and few of B, column-major, in double precision: A crosses shared memory once, panel by
/// panel in long pieces of its columns, while the results of a chunk of rows stay in registers. C is packed beside the
/// stages, or comes with A's panels where it leaves too little room for them. Rows are all read before they are
/// written, so that B may be A.
///
/// A warp has `tb` sets of 16 rows, a lane two neighbours of each. Pieces lie in a stage at the same places of a line
/// as in memory: bulk copies are slower elsewhere. There, columns begin in the same bank, so that the lanes of four
/// columns read their sets in different orders, and sets have their rows in different orders (pair_of).
namespace blockvec::kernels::cuda {

struct TsmmColumnsDeep : TsmmTask<double> {
  Columns<double> a;    ///< at_once: columns of a panel, whole sixteens
  Columns<double> old;  ///< B
  bool loads_old;       ///< it comes ahead of A's panels, or lanes read it
  double* b;
  std::int64_t pitch_b;
  std::int64_t k;
  int m, n;
  int rows;  ///< of a chunk, whole sets of some or all warps
  int stages;
  int stage_bytes;
  const double* packed;  ///< C in the order of steps, to come panel by panel with A's; null: it stays in the block
  int offset_c;          ///< bytes from a stage's start to C's panel
  int panel_bytes;       ///< of C, as it comes with a panel of A, or 0
};

/// C in the order of steps, for `pieces` of 8 columns.
__device__ inline void pack_deep(const TsmmColumnsDeep& p, int pieces, double* packed, int thread, int threads) {
  const OrderOfSteps order{pieces, (p.m + p.a.at_once - 1) / p.a.at_once * p.a.at_once / 8, 1, true};
  pack(p.small, p.m, p.n, p.alpha.read(), order, packed, thread, threads);
}

/// The same for all blocks, whose tickets it makes ready.
static __global__ void pack_deep_kernel(const __grid_constant__ TsmmColumnsDeep p, int pieces, double* packed) {
  release_next_kernel();
  await_previous_kernel();
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.tickets = 0;
  pack_deep(p, pieces, packed, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
            static_cast<int>(gridDim.x * blockDim.x));
}

inline constexpr int deep_loaders = 2;  ///< warps

/// The warps that load, each every so many columns. The last stage says that there is nothing more.
__device__ inline void load_panels(const TsmmColumnsDeep& p, RingBarriers& barriers, std::uint32_t* chunk_of,
                                   std::uint32_t (&tickets)[2], unsigned char* memory, int own) {
#if __CUDA_ARCH__ >= 900
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const bool leads = own == 0 && elected();
  const bool fetches_old = p.loads_old && !p.beta.read().is_zero();
  RingPosition at{0, 1};
  int turn = 0;
  const auto take_ticket = [&] { return leads ? atomicAdd(p.tickets, 1U) : 0U; };
  const auto share_ticket = [&](unsigned ticket) {
    if (leads) tickets[turn] = ticket;
    meet(2, deep_loaders * warp_size);
    const std::uint32_t first = tickets[turn] * p.chunks_per_ticket;
    turn ^= 1;
    return first;
  };
  std::uint32_t first = share_ticket(take_ticket());
  while (first < p.chunks) {
    const unsigned next = take_ticket();  // looked at when these chunks are under way
    const std::uint32_t end = min(first + p.chunks_per_ticket, p.chunks);
    for (std::uint32_t chunk = first; chunk < end; ++chunk) {
      const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.rows;
      const int rows = static_cast<int>(min(p.k - first_row, std::int64_t{p.rows}));
      const bool in_bulk = rows % 2 == 0;  // else a bulk copy would read beyond the last row
      const double* c = p.packed;
      const auto fetch = [&](const Columns<double>& columns, int column, unsigned bytes_c) {
        barriers.empty[at.stage].wait(at.parity);
        Barrier& full = barriers.full[at.stage];
        unsigned char* const stage = memory + at.stage * p.stage_bytes;
        double* to = reinterpret_cast<double*>(stage) + columns.shift(column) + own * columns.pitch;
        const double* from = columns.column(column + own) + first_row;
        const int mine = (min(columns.at_once, columns.count - column) - own + deep_loaders - 1) / deep_loaders;
        if (!in_bulk) {
          for (int j = 0; j < mine; ++j) {
            for (int i = lane; i < rows; i += warp_size) {
              async_copy<sizeof(double)>(to + j * deep_loaders * columns.pitch + i,
                                         from + j * deep_loaders * columns.distance + i, true);
            }
          }
          full.await_copies();
          __syncwarp();
        }
        if (elected()) {
          if (own == 0) chunk_of[at.stage] = chunk;
          const auto bytes = static_cast<unsigned>(rows) * static_cast<unsigned>(sizeof(double));
          full.arrive_and_expect((in_bulk ? static_cast<unsigned>(mine) * bytes : 0) + bytes_c);
          if (bytes_c != 0) bulk_load(stage + p.offset_c, c, bytes_c, full);
          if (in_bulk) {
#pragma unroll 2
            for (int j = 0; j < mine; ++j) {
              bulk_load(to, from, bytes, full);
              to += deep_loaders * columns.pitch;
              from += deep_loaders * columns.distance;
            }
          }
        }
        __syncwarp();
        at.advance(1, p.stages);
      };
      if (fetches_old) {
        for (int column = 0; column < p.n; column += p.old.at_once) fetch(p.old, column, 0);
      }
      for (int column = 0; column < p.m; column += p.a.at_once) {
        fetch(p.a, column, own == 0 ? static_cast<unsigned>(p.panel_bytes) : 0);
        c += p.panel_bytes / static_cast<int>(sizeof(double));
      }
    }
    first = share_ticket(next);
  }
  barriers.empty[at.stage].wait(at.parity);
  if (leads) chunk_of[at.stage] = no_chunk;
  if (elected()) barriers.full[at.stage].arrive();
#endif
}

/// A lane's rows of 4 columns: pairs of neighbours of `tb` sets.
template <int tb>
class DeepRows {
 public:
  /// Of 8 pairs of neighbours of set t, the one that lanes 4 g and on have.
  __device__ static int pair_of(int g, int t) { return g ^ (2 * t); }

  __device__ DeepRows(int lane) : turn_(lane % 4 % tb) {
#pragma unroll
    for (int t = 0; t < tb; ++t) place_[t] = 16 * (t ^ turn_) + 2 * pair_of(lane / 4, t ^ turn_);
  }

  /// `column` points to the first row.
  __device__ void read(const double* column, double2 (&pair)[tb]) const {
#pragma unroll
    for (int t = 0; t < tb; ++t) pair[t] = *reinterpret_cast<const double2*>(column + place_[t]);
    exchange<1>(pair);
    if (tb > 2) exchange<2>(pair);
  }

 private:
  /// Puts right what lanes with this bit in their turn read in another order.
  template <int bit>
  __device__ void exchange(double2 (&pair)[tb]) const {
    const bool really = (turn_ & bit) != 0;
#pragma unroll
    for (int t = 0; t < tb; ++t) {
      if ((t & bit) != 0) continue;
      const double2 one = pair[t];
      const double2 other = pair[t + bit];
      pair[t] = really ? other : one;
      pair[t + bit] = really ? one : other;
    }
  }

  int turn_;
  int place_[tb];
};

/// sum += A C for a panel of `columns` columns; `a` points to the warp's rows of this lane's first column, `c` to this
/// lane's entries of C.
template <int tb, int tn>
__device__ inline void multiply_deep(double (&sum)[tb][tn][4], const DeepRows<tb>& rows, const double* a, int pitch,
                                     const double* c, int columns, int q) {
  for (int left = columns; left > 0; left -= 16, a += 16 * pitch, c += 2 * 64 * tn) {
    double factor[tb][8];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      double2 pair[tb] = {};
      // What follows A is not ours to multiply with, not even by zero.
      if (left >= 16 || q + 4 * j < left) rows.read(a + 4 * j * pitch, pair);
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        factor[t][2 * j] = pair[t].x;
        factor[t][2 * j + 1] = pair[t].y;
      }
    }
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      const double2 first = *reinterpret_cast<const double2*>(c + 64 * x);
      const double2 second = *reinterpret_cast<const double2*>(c + 64 * (tn + x));
      const double right[4] = {first.x, first.y, second.x, second.y};
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_16x8x16(sum[t][x], factor[t], right);
    }
  }
}

/// A lane's results in B: calls f(place, whether its neighbour below is there, one, the other result).
template <int tb, int tn, class F>
__device__ inline void visit_deep(const TsmmColumnsDeep& p, double (&sum)[tb][tn][4], double* first, int rows, int lane,
                                  const F& f) {
#pragma unroll
  for (int t = 0; t < tb; ++t) {
    const int row = 16 * t + 2 * DeepRows<tb>::pair_of(lane / 4, t);
    if (row >= rows) continue;
#pragma unroll
    for (int x = 0; x < tn; ++x) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = 8 * x + 2 * (lane % 4) + i;
        if (column < p.n) f(first + row + column * p.pitch_b, row + 1 < rows, sum[t][x][i], sum[t][x][2 + i]);
      }
    }
  }
}

/// What B holds there times beta, as sums: all loads are on their way at once.
template <int tb, int tn>
__device__ inline void read_deep(const TsmmColumnsDeep& p, double (&sum)[tb][tn][4], const double* first, int rows,
                                 int lane, bool in_pairs, double beta) {
#pragma unroll
  for (int t = 0; t < tb; ++t) {
    const int row = 16 * t + 2 * DeepRows<tb>::pair_of(lane / 4, t);
#pragma unroll
    for (int x = 0; x < tn; ++x) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = 8 * x + 2 * (lane % 4) + i;
        const int there = column < p.n ? rows - row : 0;
        const double* const place = first + row + column * p.pitch_b;
        double2 old = {};
        if (in_pairs && there > 1) {
          old = *reinterpret_cast<const double2*>(place);
        } else {
          if (there > 0) old.x = place[0];
          if (there > 1) old.y = place[1];
        }
        sum[t][x][i] = old.x;
        sum[t][x][2 + i] = old.y;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < tb * tn * 4; ++i) sum[i / (4 * tn)][i / 4 % tn][i % 4] *= beta;
}

/// sum += beta times what B held in a panel of columns from `first` on; `old` points to the warp's rows of column 0.
template <int tb, int tn>
__device__ inline void add_deep(const TsmmColumnsDeep& p, double (&sum)[tb][tn][4], const double* old, int first,
                                int lane, double beta) {
#pragma unroll
  for (int t = 0; t < tb; ++t) {
    const int row = 16 * t + 2 * DeepRows<tb>::pair_of(lane / 4, t);
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      if (8 * x < first || 8 * x >= first + p.old.at_once) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = 8 * x + 2 * (lane % 4) + i;
        if (column >= p.n) continue;
        const double2 pair = *reinterpret_cast<const double2*>(old + column * p.old.pitch + row);
        sum[t][x][i] += beta * pair.x;
        sum[t][x][2 + i] += beta * pair.y;
      }
    }
  }
}

template <int tb, int tn>
__global__ void __launch_bounds__(block_threads, 1)
    tsmm_columns_deep_kernel(const __grid_constant__ TsmmColumnsDeep p) {
#if __CUDA_ARCH__ >= 900
  static_assert(tb == 2 || tb == 4, "sets are read in turns of a power of two");
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  if (threadIdx.x == 0) barriers.initialize(p.stages, computing_warps, deep_loaders);
  await_previous_kernel();
  __syncthreads();

  if (warp >= computing_warps) {
    give_registers<56>();
    const int own = warp - computing_warps;
    if (own < deep_loaders) load_panels(p, barriers, chunk_of, tickets, memory, own);
    return;
  }

  take_registers<224>();
  double* const packed = reinterpret_cast<double*>(memory + p.stages * p.stage_bytes);
  const bool resident = p.packed == nullptr;
  if (resident) {
    pack_deep(p, tn, packed, static_cast<int>(threadIdx.x), computing_threads);
    meet(1, computing_threads);
  }
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  const DeepRows<tb> in_set(lane);
  const int q = lane % 4;
  const int row0 = 16 * tb * warp;
  const bool in_pairs = reinterpret_cast<std::uintptr_t>(p.b) % 16 == 0 && p.pitch_b % 2 == 0;

  for (RingPosition at{0, 0};;) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.rows + row0;
    const int rows = static_cast<int>(min(p.k - first_row, std::int64_t{min(16 * tb, p.rows - row0)}));
    double* const b = p.b + first_row;
    double sum[tb][tn][4] = {};
    if (adds && p.loads_old) {
      for (int column = 0; column < p.n; column += p.old.at_once, at.advance(1, p.stages)) {
        barriers.full[at.stage].wait(at.parity);
        const double* const old = reinterpret_cast<const double*>(memory + at.stage * p.stage_bytes) +
                                  p.old.shift(column) - column * p.old.pitch + row0;
        if (rows > 0) add_deep(p, sum, old, column, lane, beta.re);
        barriers.empty[at.stage].arrive();
      }
    }
    for (int column = 0; column < p.m; column += p.a.at_once, at.advance(1, p.stages)) {
      barriers.full[at.stage].wait(at.parity);
      const unsigned char* const stage = memory + at.stage * p.stage_bytes;
      const double* const a = reinterpret_cast<const double*>(stage) + p.a.shift(column) + q * p.a.pitch + row0;
      const double* const c = resident ? packed + column * 8 * tn : reinterpret_cast<const double*>(stage + p.offset_c);
      if (rows > 0) {
        multiply_deep(sum, in_set, a, p.a.pitch, c + 2 * lane, min(p.a.at_once, p.m - column), q);
      }
      barriers.empty[at.stage].arrive();
    }
    if (adds && !p.loads_old) {  // beside the writes: earlier, these reads would come between those of A
      double old[tb][tn][4];
      read_deep(p, old, b, rows, lane, in_pairs, beta.re);
#pragma unroll
      for (int i = 0; i < tb * tn * 4; ++i)
        sum[i / (4 * tn)][i / 4 % tn][i % 4] += old[i / (4 * tn)][i / 4 % tn][i % 4];
    }
    visit_deep(p, sum, b, rows, lane, [&](double* place, bool both, double one, double other) {
      if (in_pairs && both) {
        *reinterpret_cast<double2*>(place) = make_double2(one, other);
      } else {
        place[0] = one;
        if (both) place[1] = other;
      }
    });
  }
#endif
}

}  // namespace blockvec::kernels::cuda
