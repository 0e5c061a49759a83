#pragma once

#include "src/cuda/tsmttsm_ring.cuh"
#include "src/cuda/warpgroup.cuh"

/// tsmttsm in single precision by split products (split.cuh) of whole warpgroups. A goes from the stage to registers;
/// of B, 16 rows at a time are written to shared memory again, in two parts and turned as the tensor cores want them,
/// while the 16 rows before are multiplied. The sums of so many rows are added up in double precision.
///
/// Neighbours in a row are a pair. Of complex operands, up to 64 pairs of A stand for as many rows of the result, and
/// either of two warpgroups has its pairs of B, for sums of real and of imaginary parts. Of others (and of narrow
/// complex ones as real matrices), up to 32 pairs of A stand for two rows each, and two warpgroups take stages in turn.
namespace blockvec::kernels::cuda {

inline constexpr int turned_rows = 16;
inline constexpr int turned_buffers = 3;

/// Turned rows of B for one warpgroup: [8 rows][high, low][4 rows][first, second of pairs][pair][4].
template <int pairs>
struct TurnedRows {
  static constexpr int second = pairs * 16;  ///< bytes
  static constexpr int four_rows = 2 * second;
  static constexpr int part = 2 * four_rows;
  static constexpr int step = 2 * part;
  static constexpr int bytes = turned_rows / 8 * step;
};

/// A lane's sums, of two rows of the warp's 16 and a quarter of the columns: complex ones in two parts.
template <bool complex, int pairs>
struct WarpgroupProduct {
  static constexpr int sets = complex ? 2 : 1;
  static constexpr int in_set = complex ? pairs / 2 : pairs;
  static constexpr int count = sets * in_set;
  float early[sets][in_set] = {};
  double sum[count] = {};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  template <int set, int sign>
  __device__ void start(const unsigned (&left)[2][4], std::uint32_t right) {
    using Turned = TurnedRows<pairs>;
    start_product<sign>(early[set], left[1], right_factor(right, Turned::four_rows));
    start_product<sign>(early[set], left[0], right_factor(right + Turned::part, Turned::four_rows));
    start_product<sign>(early[set], left[0], right_factor(right, Turned::four_rows));
  }

  /// 8 rows.
  __device__ void start(const unsigned (&left)[sets][2][4], std::uint32_t right) {
    start<0, 1>(left[0], right);
    if constexpr (complex) {
      start<1, 1>(left[0], right + TurnedRows<pairs>::second);
      start<0, 1>(left[1], right + TurnedRows<pairs>::second);
      start<1, -1>(left[1], right);
    }
  }
#endif

  /// The left factors of 8 rows: a[row / 4][half], pairs; real ones have both halves of the rows in one pair. The
  /// second factor of complex numbers is the imaginary part times `sign`.
  __device__ static void split_rows(const float2 (&a)[2][sets], float sign, unsigned (&left)[sets][2][4]) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const float2 pair = a[v / 2][complex ? v % 2 : 0];
#pragma unroll
      for (int which = 0; which < sets; ++which) {
        const SplitNumber both = split(!complex ? (v % 2 == 0 ? pair.x : pair.y) : which == 0 ? pair.x : sign * pair.y);
        left[which][0][v] = both.high;
        left[which][1][v] = both.low;
      }
    }
  }

  /// Adds the sums of single precision to those of double precision and clears them, if all that count(i) are finite in
  /// the whole warp.
  template <class Counts>
  __device__ bool join(const Counts& counts) {
    float zero = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) zero = fmaf(counts(i) ? early[i / in_set][i % in_set] : 0.0F, 0.0F, zero);
    const bool finite = __all_sync(0xffffffffU, zero == 0);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      float& from = early[i / in_set][i % in_set];
      if (finite) sum[i] += from;
      from = 0;
    }
    return finite;
  }
};

/// Where a lane's sums stand in the result, as a real matrix.
template <bool complex, int pairs>
struct PlaceOfSums {
  int left;   ///< pair of A, the lane's first
  int right;  ///< and of B

  __device__ int row(int i) const {
    const int half = i % 4 / 2;
    return complex ? 2 * (left + 8 * half) : 2 * left + half;
  }
  __device__ int column(int i) const {
    constexpr int in_set = WarpgroupProduct<complex, pairs>::in_set;
    const int place = i % in_set / 4 * 8;
    return 2 * (right + place % pairs + i % 2) + (complex ? i / in_set : place / pairs);
  }
  __device__ bool counts(const TsmttsmRing<float>& p, int i) const { return row(i) < p.m && column(i) < p.n; }
};

/// Adds so many rows in double precision and from memory, as join could not.
template <bool complex, int pairs>
__device__ inline void add_plainly(WarpgroupProduct<complex, pairs>& product, const PlaceOfSums<complex, pairs>& place,
                                   const TsmttsmRing<float>& p, std::int64_t first_row, float sign) {
  const std::int64_t end = min(first_row + p.rows, p.k);
#pragma unroll 1
  for (std::int64_t i = first_row; i < end; ++i) {
    const float* const a = p.whole_a.data + i * p.whole_a.row_stride;
    const float* const b = p.whole_b.data + i * p.whole_b.row_stride;
#pragma unroll
    for (int v = 0; v < product.count; ++v) {
      if (!place.counts(p, v)) continue;
      const int row = place.row(v);
      const int column = place.column(v);
      product.sum[v] += static_cast<double>(a[row]) * b[column];
      if constexpr (complex) {
        const float own_sign = column % 2 == 0 ? sign : -sign;
        product.sum[v] += static_cast<double>(own_sign * a[row + 1]) * b[column ^ 1];
      }
    }
  }
}

/// Pairs of odd rows of real numbers may begin anywhere.
template <bool aligned>
__device__ inline float2 read_pair(const float* from) {
  if constexpr (aligned) return *reinterpret_cast<const float2*>(from);
  return make_float2(from[0], from[1]);
}

template <bool complex, int pairs, bool aligned>
__global__ void __launch_bounds__(block_threads, 1)
    tsmttsm_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const Share share(p, 0, 0);
  run_ring<false>(p, share, barriers, memory, [&](int, int) {
    using Product = WarpgroupProduct<complex, pairs>;
    using Turned = TurnedRows<pairs>;
    constexpr int in_turn = complex ? 1 : 2;
    // The compiler must see that all lanes of a warp go the same way: products that run beside others need it.
    const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int group = warp / 4;
    const int own_warp = warp % 4;
    unsigned char* const turned = memory + p.stages * p.stage_bytes + group * turned_buffers * Turned::bytes;
    const int first_pair = complex ? group * pairs : 0;  // of B
    const PlaceOfSums<complex, pairs> place{own_warp * (complex ? 16 : 8) + lane / 4, first_pair + 2 * (lane % 4)};
    const int first = p.map.by_first * p.a.row_step;
    const int second = p.map.by_second * p.a.row_step;
    const float* const start_a = reinterpret_cast<const float*>(memory) + p.a.segment[0] +
                                 p.map.by_lane * (lane % 4) * p.a.row_step + 2 * place.left;
    // A lane turns 4 rows of its pair of B.
    const bool turns_rows = lane < pairs;
    const int row_b = p.map.by_first * (own_warp % 2) + p.map.by_second * (own_warp / 2);
    const float* const start_b = reinterpret_cast<const float*>(memory + p.offset_b) + p.b.segment[0] +
                                 row_b * p.b.row_step + 2 * (first_pair + lane);
    const int step_b = p.map.by_lane * p.b.row_step;
    unsigned char* const own = turned + own_warp / 2 * Turned::step + own_warp % 2 * Turned::four_rows + lane * 16;
    const std::uint32_t right0 = shared_address(turned);
    const float sign = __shfl_sync(0xffffffffU, p.sign < 0 ? 1.0F : -1.0F, 0);  // stays in a register

    Product product;
    constexpr int batches = complex ? 2 : 1;  // of 16 rows on their way; real ones have half of that, for want of work
    unsigned left[batches][2][Product::sets][2][4];
    RingPosition at{complex ? 0 : group, 0};
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
          float2 of_a[2][2][Product::sets];
#pragma unroll
          for (int v = 0; v < 4; ++v) {
#pragma unroll
            for (int half = 0; half < Product::sets; ++half) {
              of_a[v / 2][v % 2][half] = read_pair<aligned>(a + v % 2 * first + v / 2 * second + 16 * half);
            }
          }
          if (u == 1 && step == p.steps - 2) barriers.empty[at.stage].arrive();
          if (turns_rows) {
#pragma unroll
            for (int which = 0; which < 2; ++which) {
              SplitNumber both[4];
#pragma unroll
              for (int q = 0; q < 4; ++q) both[q] = split(which == 0 ? of_b[q].x : of_b[q].y);
              unsigned char* const to = own + buffer + which * Turned::second;
              *reinterpret_cast<uint4*>(to) = make_uint4(both[0].high, both[1].high, both[2].high, both[3].high);
              *reinterpret_cast<uint4*>(to + Turned::part) =
                  make_uint4(both[0].low, both[1].low, both[2].low, both[3].low);
            }
          }
          publish_to_bulk_copies();
          unsigned(&factors)[2][Product::sets][2][4] = left[u % batches];
          const std::uint32_t right = right0 + buffer;
#pragma unroll
          for (int t = 0; t < 2; ++t) {
            // But for the last ones products are done: those with these factors, and, for all who meet here, those with
            // the turned rows that are overwritten next.
            if (t == 0 || batches == 1) await_products_but_last();
            if (t == 0) meet(2 + group, warpgroup_threads);
            Product::split_rows(of_a[t], sign, factors[t]);
            if (t == 0 && batches == 2) continue;
            open_products();
            if (batches == 2) product.start(factors[0], right);
            product.start(factors[t], right + t * Turned::step);
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
          add_plainly(product, place, p, chunk * p.rows, sign);
        }
      }
      early = 0;
    }
    if constexpr (!complex) {  // the second group's sums go to the first one
      double* const sums = reinterpret_cast<double*>(memory) + threadIdx.x % warpgroup_threads;
      meet(1, computing_threads);  // all stages have been read
      if (group == 1) {
#pragma unroll
        for (int i = 0; i < Product::count; ++i) sums[i * warpgroup_threads] = product.sum[i];
      }
      meet(1, computing_threads);
      if (group == 1) return;
#pragma unroll
      for (int i = 0; i < Product::count; ++i) product.sum[i] += sums[i * warpgroup_threads];
    }
    double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
#pragma unroll
    for (int i = 0; i < Product::count; ++i) {
      if (!place.counts(p, i)) continue;
      double* const to = partial + place.row(i) * p.n + place.column(i);
      to[0] = product.sum[i];
      if (complex) to[p.n] = 0;  // of the four products of parts (operands.cuh) the sums have two each
    }
  });
#endif
}

}  // namespace blockvec::kernels::cuda
