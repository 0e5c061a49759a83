#pragma once

#include "src/cuda/tsmttsm_ring.cuh"
#include "src/cuda/warpgroup.cuh"

/// tsmttsm in single precision by split products (split.cuh) of whole warpgroups. A goes from the stage to registers;
/// of B, 16 rows at a time are written to shared memory again, in two parts and turned as the tensor cores want them,
/// while the 16 rows before are multiplied. The sums of so many rows are added up in double precision.
///
/// Neighbours in a row are a pair. Up to 32 pairs of A stand for two rows of the result each, and two warpgroups take
/// stages in turn.
namespace blockvec::kernels::cuda {

inline constexpr int turned_rows = 16;
inline constexpr int turned_buffers = 3;

/// Turned rows of B for one warpgroup: [8 rows][high, low][4 rows][column][4].
template <int columns>
struct TurnedRows {
  static constexpr int four_rows = columns * 16;  ///< bytes
  static constexpr int part = 2 * four_rows;
  static constexpr int step = 2 * part;
  static constexpr int bytes = turned_rows / 8 * step;
};

/// A lane's sums, of two rows of the warp's 16 and a quarter of the columns.
template <int columns>
struct WarpgroupProduct {
  static constexpr int count = columns / 2;
  float early[1][count] = {};
  double sum[count] = {};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  /// 8 rows: left[high, low][...], `right` is the address of as many turned ones.
  __device__ void start(const unsigned (&left)[2][4], std::uint32_t right) {
    using Turned = TurnedRows<columns>;
    start_product<1>(early[0], left[1], right_factor(right, Turned::four_rows));
    start_product<1>(early[0], left[0], right_factor(right + Turned::part, Turned::four_rows));
    start_product<1>(early[0], left[0], right_factor(right, Turned::four_rows));
  }
#endif

  /// Adds the sums of single precision to those of double precision and clears them, if all that count(i) are finite in
  /// the whole warp.
  template <class Counts>
  __device__ bool join(const Counts& counts) {
    float zero = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) zero = fmaf(counts(i) ? early[0][i] : 0.0F, 0.0F, zero);
    const bool finite = __all_sync(0xffffffffU, zero == 0);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (finite) sum[i] += early[0][i];
      early[0][i] = 0;
    }
    return finite;
  }
};

/// The left factors of four numbers.
__device__ inline void split_left(const float (&x)[4], unsigned (&left)[2][4]) {
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const SplitNumber both = split(x[v]);
    left[0][v] = both.high;
    left[1][v] = both.low;
  }
}

/// Where a lane's sums stand in the result: of pairs of B, the first numbers' columns come before the second ones'.
template <int columns>
struct PlaceOfSums {
  int left;   ///< pair of A
  int right;  ///< and of B, the lane's first

  __device__ int row(int i) const { return 2 * left + i % 4 / 2; }
  __device__ int column(int i) const {
    const int place = i / 4 * 8;
    return 2 * (right + place % (columns / 2) + i % 2) + place / (columns / 2);
  }
  __device__ bool counts(const TsmttsmRing<float>& p, int i) const { return row(i) < p.m && column(i) < p.n; }
};

/// Adds so many rows in double precision and from memory, as join could not.
template <int columns>
__device__ inline void add_plainly(WarpgroupProduct<columns>& product, const PlaceOfSums<columns>& place,
                                   const TsmttsmRing<float>& p, std::int64_t first_row) {
  const std::int64_t end = min(first_row + p.rows, p.k);
#pragma unroll 1
  for (std::int64_t i = first_row; i < end; ++i) {
    const float* const a = p.whole_a.data + i * p.whole_a.row_stride;
    const float* const b = p.whole_b.data + i * p.whole_b.row_stride;
#pragma unroll
    for (int v = 0; v < product.count; ++v) {
      if (!place.counts(p, v)) continue;
      product.sum[v] += static_cast<double>(a[place.row(v)]) * b[place.column(v)];
    }
  }
}

/// Pairs of odd rows of real numbers may begin anywhere.
template <bool aligned>
__device__ inline float2 read_pair(const float* from) {
  if constexpr (aligned) return *reinterpret_cast<const float2*>(from);
  return make_float2(from[0], from[1]);
}

template <int columns, bool aligned>
__global__ void __launch_bounds__(block_threads, 1)
    tsmttsm_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const Share share(p, 0, 0);
  run_ring<false>(p, share, barriers, memory, [&](int, int) {
    using Product = WarpgroupProduct<columns>;
    using Turned = TurnedRows<columns>;
    constexpr int pairs = columns / 2;
    constexpr int in_turn = 2;
    // The compiler must see that all lanes of a warp go the same way: products that run beside others need it.
    const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int group = warp / 4;
    const int own_warp = warp % 4;
    unsigned char* const turned = memory + p.stages * p.stage_bytes + group * turned_buffers * Turned::bytes;
    const PlaceOfSums<columns> place{own_warp * 8 + lane / 4, 2 * (lane % 4)};
    const int first = p.map.by_first * p.a.row_step;
    const int second = p.map.by_second * p.a.row_step;
    const float* const start_a = reinterpret_cast<const float*>(memory) + p.a.segment[0] +
                                 p.map.by_lane * (lane % 4) * p.a.row_step + 2 * place.left;
    // A lane turns 4 rows of its pair of B.
    const bool turns_rows = lane < pairs;
    const int row_b = p.map.by_first * (own_warp % 2) + p.map.by_second * (own_warp / 2);
    const float* const start_b =
        reinterpret_cast<const float*>(memory + p.offset_b) + p.b.segment[0] + row_b * p.b.row_step + 2 * lane;
    const int step_b = p.map.by_lane * p.b.row_step;
    unsigned char* const own = turned + own_warp / 2 * Turned::step + own_warp % 2 * Turned::four_rows + lane * 16;
    const std::uint32_t right0 = shared_address(turned);

    Product product;
    unsigned left[2][2][4];
    RingPosition at{group, 0};
    int buffer = 0;
    int early = 0;
    const int turns = __shfl_sync(0xffffffffU, share.turns<false>(p), 0);
    for (int turn = at.stage; turn < turns; turn += in_turn) {
      barriers.full[at.stage].wait(at.parity);
      const int stage = at.stage * p.stage_bytes / static_cast<int>(sizeof(float));
      const float* a = start_a + stage;
      const float* b = start_b + stage;
#pragma unroll 1
      for (int step = 0; step < p.steps; step += 2) {
#pragma unroll
        for (int u = 0; u < 2; ++u, a += turned_rows * p.a.row_step, b += turned_rows * p.b.row_step) {
          float2 of_b[4];
#pragma unroll
          for (int q = 0; q < 4; ++q) of_b[q] = turns_rows ? read_pair<aligned>(b + q * step_b) : make_float2(0, 0);
          float2 of_a[2][2];
#pragma unroll
          for (int v = 0; v < 4; ++v) of_a[v / 2][v % 2] = read_pair<aligned>(a + v % 2 * first + v / 2 * second);
          if (u == 1 && step == p.steps - 2) barriers.empty[at.stage].arrive();
          if (turns_rows) {
#pragma unroll
            for (int which = 0; which < 2; ++which) {
              SplitNumber both[4];
#pragma unroll
              for (int q = 0; q < 4; ++q) both[q] = split(which == 0 ? of_b[q].x : of_b[q].y);
              unsigned char* const to = own + buffer + which * pairs * 16;
              *reinterpret_cast<uint4*>(to) = make_uint4(both[0].high, both[1].high, both[2].high, both[3].high);
              *reinterpret_cast<uint4*>(to + Turned::part) =
                  make_uint4(both[0].low, both[1].low, both[2].low, both[3].low);
            }
          }
          publish_to_bulk_copies();
          const std::uint32_t right = right0 + buffer;
#pragma unroll
          for (int t = 0; t < 2; ++t) {
            // But for the last ones products are done: those with these factors, and, for all who meet here, those with
            // the turned rows that are overwritten next.
            await_products_but_last();
            if (t == 0) meet(2 + group, warpgroup_threads);
            split_left({of_a[t][0].x, of_a[t][0].y, of_a[t][1].x, of_a[t][1].y}, left[t]);
            open_products();
            product.start(left[t], right + t * Turned::step);
            commit_products();
          }
          buffer = buffer == (turned_buffers - 1) * Turned::bytes ? 0 : buffer + Turned::bytes;
        }
      }
      at.advance(in_turn, p.stages);
      if (++early < p.chunks_in_sum && turn + in_turn < turns) continue;
      await_products(product.early);
      if (!product.join([&](int i) { return place.counts(p, i); })) {
#pragma unroll 1
        for (int i = 0; i < early; ++i) {
          const std::int64_t chunk = share.chunk<false>(p, turn - i * in_turn);
          add_plainly(product, place, p, chunk * p.rows);
        }
      }
      early = 0;
    }
    // The second group's sums go to the first one.
    double* const sums = reinterpret_cast<double*>(memory) + threadIdx.x % warpgroup_threads;
    meet(1, computing_threads);  // all stages have been read
    if (group == 1) {
#pragma unroll
      for (int i = 0; i < Product::count; ++i) sums[i * warpgroup_threads] = product.sum[i];
    }
    meet(1, computing_threads);
    if (group == 1) return;
    double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
#pragma unroll
    for (int i = 0; i < Product::count; ++i) {
      const double sum = product.sum[i] + sums[i * warpgroup_threads];
      if (place.counts(p, i)) partial[place.row(i) * p.n + place.column(i)] = sum;
    }
  });
#endif
}

}  // namespace blockvec::kernels::cuda
