#pragma once

#include "src/cuda/tsmttsm_ring.cuh"
#include "src/cuda/warpgroup.cuh"

/// tsmttsm of columns in single precision by split products (split.cuh) of whole warpgroups. A goes from the stage to
/// registers; of B, 16 rows at a time are written to shared memory again, in two parts and turned as the tensor cores
/// want them, while the 16 rows before are multiplied. The sums of so many rows are added up in double precision.
///
/// Two columns that a lane reads are a pair: some way apart, for lanes to meet different banks. Up to 32 pairs of A
/// stand for two rows of the result each, and two warpgroups take stages in turn.
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
  float early[1][count];
  double sum[count] = {};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  /// 8 rows: left[high, low][...], and the factor of as many turned ones.
  __device__ void start(const unsigned (&left)[2][4], std::uint64_t right) {
    start_product<1>(early[0], left[1], right);
    start_product<1>(early[0], left[0], right + TurnedRows<columns>::part / 16);
    start_product<1>(early[0], left[0], right);
  }
#endif

  /// Adds the sums of single precision to those of double precision if all that count(i) are finite in the whole warp.
  template <class Counts>
  __device__ bool join(const Counts& counts) {
    float zero = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) zero = fmaf(counts(i) ? early[0][i] : 0.0F, 0.0F, zero);
    const bool finite = __all_sync(0xffffffffU, zero == 0);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (finite) sum[i] += early[0][i];
    }
    return finite;
  }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i) early[0][i] = 0;
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

/// Where a lane's sums stand in the result: of pairs of neighbours in B, the first ones' columns come before the second
/// ones'.
template <int columns, bool neighbours>
struct PlaceOfSums {
  int left;   ///< first column of the lane's pair of A
  int right;  ///< the lane's first sum in a row

  __device__ int row(int i) const { return left + i % 4 / 2 * (neighbours ? 1 : 8); }
  __device__ int column(int i) const {
    const int place = right + i / 4 * 8 + i % 2;
    return neighbours ? 2 * (place % (columns / 2)) + place / (columns / 2) : place;
  }
  __device__ bool counts(const TsmttsmRing<float>& p, int i) const { return row(i) < p.m && column(i) < p.n; }
};

/// Adds so many rows in double precision and from memory, as join could not.
template <int columns, bool neighbours>
__device__ inline void add_plainly(WarpgroupProduct<columns>& product, const PlaceOfSums<columns, neighbours>& place,
                                   const TsmttsmRing<float>& p, std::int64_t first_row, int rows) {
  const std::int64_t end = min(first_row + rows, p.k);
#pragma unroll 1
  for (std::int64_t i = first_row; i < end; ++i) {
#pragma unroll
    for (int v = 0; v < product.count; ++v) {
      if (!place.counts(p, v)) continue;
      product.sum[v] += static_cast<double>(p.whole_a.data[p.whole_a.offset(i, place.row(v))]) *
                        p.whole_b.data[p.whole_b.offset(i, place.column(v))];
      asm volatile("" : "+d"(product.sum[v])::"memory");  // one at a time: what is rare is not to take registers
    }
  }
}

/// The second of two groups gives its sums to the first one, which writes the block's: where stages were, once all have
/// been read.
template <int columns, bool neighbours>
__device__ inline void add_second_group(const WarpgroupProduct<columns>& product,
                                        const PlaceOfSums<columns, neighbours>& place, const TsmttsmRing<float>& p,
                                        const Share& share, unsigned char* memory, int group) {
  double* const sums = reinterpret_cast<double*>(memory) + threadIdx.x % warpgroup_threads;
  meet(1, 2 * warpgroup_threads);
  if (group == 1) {
#pragma unroll
    for (int i = 0; i < product.count; ++i) sums[i * warpgroup_threads] = product.sum[i];
  }
  meet(1, 2 * warpgroup_threads);
  if (group == 1) return;
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
#pragma unroll
  for (int i = 0; i < product.count; ++i) {
    const double sum = product.sum[i] + sums[i * warpgroup_threads];
    if (place.counts(p, i)) partial[place.row(i) * p.n + place.column(i)] = sum;
  }
}

/// Two neighbours at an address in shared memory.
__device__ inline float2 read_shared_pair(std::uint32_t from) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(from) : "memory");
  return pair;
}
__device__ inline float4 read_shared_four(std::uint32_t from) {
  float4 x;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(from)
               : "memory");
  return x;
}

__device__ inline float read_shared(std::uint32_t from) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
  return x;
}

/// Numbers of two columns that are so many bytes apart.
template <bool neighbours>
__device__ inline float2 read_pair(std::uint32_t from, std::uint32_t apart) {
  return neighbours ? read_shared_pair(from) : make_float2(read_shared(from), read_shared(from + apart));
}

/// Four rows of a pair of columns that are so many bytes apart.
__device__ inline void read_four_pairs(std::uint32_t from, std::uint32_t apart, float2 (&x)[4]) {
  const float4 one = read_shared_four(from);
  const float4 other = read_shared_four(from + apart);
  x[0] = make_float2(one.x, other.x);
  x[1] = make_float2(one.y, other.y);
  x[2] = make_float2(one.z, other.z);
  x[3] = make_float2(one.w, other.w);
}

/// Four rows of a column can be read at once.
template <int columns>
__global__ void __launch_bounds__(block_threads, 1)
    tsmttsm_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const Share share(p, 0, 0);
  run_ring<true>(p, share, barriers, memory, [&](int, int) {
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
    const PlaceOfSums<columns, false> first_place{own_warp * 16 + lane / 4, 2 * (lane % 4)};
    // Bytes from row to row, from a lane's first number to the others of 16 rows, and from a pair's first column to the
    // other one.
    const int row_a = 4 * p.a.row_step;
    const int first = p.map.by_first * row_a;
    const int second = p.map.by_second * row_a;
    const std::uint32_t apart_a = 4 * p.a.eight_columns;
    const std::uint32_t start_a = shared_address(memory) +
                                  4 * (p.a.segment[0] + p.a.template place_of_column<true>(0, first_place.left)) +
                                  p.map.by_lane * (lane % 4) * row_a;
    // A lane turns 4 rows of its pair of B.
    const bool turns_rows = lane < pairs;
    const int row_b = 4 * p.b.row_step;
    const std::uint32_t apart_b = 4 * pairs / 8 * p.b.eight_columns;
    const std::uint32_t start_b = shared_address(memory) + p.offset_b +
                                  4 * (p.b.segment[0] + p.b.template place_of_column<true>(0, lane)) +
                                  (p.map.by_first * (own_warp % 2) + p.map.by_second * (own_warp / 2)) * row_b;
    const int second_half = p.map.by_lane == 8 ? 4 : 16;  // of 32 rows
    unsigned char* const own = turned + own_warp / 2 * Turned::step + own_warp % 2 * Turned::four_rows + lane * 16;
    const std::uint32_t right0 = shared_address(turned);

    Product product;
    unsigned left[2][2][4];
    RingPosition at{group, 0};
    int buffer = 0;
    const int turns = __shfl_sync(0xffffffffU, share.turns<true>(p), 0);
    // Sums that products may add to must not meet others where a loop ends but here: the compiler would wait there.
    for (int turn = at.stage; turn < turns;) {
      product.clear();
      const int first_turn = turn;
      const int end = min(turn + p.chunks_in_sum * in_turn, turns);
#pragma unroll 1
      for (; turn < end; turn += in_turn) {
        barriers.full[at.stage].wait(at.parity);
        std::uint32_t a = start_a + at.stage * p.stage_bytes;
        std::uint32_t b = start_b + at.stage * p.stage_bytes;
#pragma unroll 1
        for (int step = 0; step < p.steps; step += 2) {
#pragma unroll
          for (int u = 0; u < 2; ++u) {
            float2 of_b[4] = {};
            if (turns_rows) read_four_pairs(b, apart_b, of_b);
            float2 of_a[2][2];
#pragma unroll
            for (int v = 0; v < 4; ++v)
              of_a[v / 2][v % 2] = read_pair<false>(a + v % 2 * first + v / 2 * second, apart_a);
            const int on = u == 0 ? second_half : 2 * turned_rows - second_half;
            a += on * row_a;
            b += on * row_b;
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
            if (u == 1 && step == p.steps - 2) barriers.empty[at.stage].arrive();
            const std::uint32_t right = right0 + buffer;
#pragma unroll
            for (int t = 0; t < 2; ++t) {
              // But for the last ones products are done: those with these factors, and, for all who meet here, those
              // with the turned rows that are overwritten next.
              await_products_but_last();
              if (t == 0) meet(2 + group, warpgroup_threads);
              split_left({of_a[t][0].x, of_a[t][0].y, of_a[t][1].x, of_a[t][1].y}, left[t]);
              open_products();
              product.start(left[t], right_factor(right + t * Turned::step, Turned::four_rows));
              commit_products();
            }
            buffer = buffer == (turned_buffers - 1) * Turned::bytes ? 0 : buffer + Turned::bytes;
          }
        }
        at.advance(in_turn, p.stages);
      }
      await_products(product.early);
      auto place = first_place;
      asm volatile("" : "+r"(place.left), "+r"(place.right));  // what follows of it is not to stay in registers
      if (!product.join([&](int i) { return place.counts(p, i); })) {
#pragma unroll 1
        for (int again = first_turn; again < turn; again += in_turn) {
          add_plainly(product, place, p, std::int64_t{share.chunk<true>(p, again)} * p.rows, p.rows);
        }
      }
    }
    add_second_group(product, first_place, p, share, memory, group);
  });
#endif
}

}  // namespace blockvec::kernels::cuda
