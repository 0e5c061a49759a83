#pragma once

#include "src/cuda/scalar.cuh"
#include "src/cuda/succession.cuh"
#include "src/cuda/tsmttsm_columns_align.cuh"

/// tsmttsm of column-major operands in single precision by split products (split.cuh) of whole warpgroups:
///
///   memory -> ring of stages -> 32 rows of B's columns, aligned, in two parts
///                    |                            |
///                    `-> A, in registers -> 64 columns of A x `columns` of B, sums of single precision
///
/// One warpgroup loads, one aligns B, and two multiply pieces in turn. More columns of A are sections for other blocks.
namespace blockvec::kernels::cuda {

/// The first 8 numbers of B's columns (AlignedColumns).
__device__ inline std::uint64_t swizzled_factor(std::uint32_t address) {
  constexpr std::uint64_t to_eight_columns = 1024;
  constexpr std::uint64_t swizzled_128 = std::uint64_t{1} << 62;
  return (address & 0x3ffffU) >> 4 | std::uint64_t{1} << 16 | to_eight_columns / 16 << 32 | swizzled_128;
}
inline constexpr int eight_deep = 2;  ///< from one such factor to the next

/// A lane's products: two columns of A, 8 positions apart, and a quarter of B's.
template <int columns>
struct SplitProducts {
  static constexpr int count = columns / 2;

  float early[1][count];
  double sum[count] = {};
  int first;             ///< column of A in the section
  int left;              ///< position of the lane's first column of A
  int right;             ///< of the first one of B
  unsigned counted = 0;  ///< a bit for each sum within the result

  __device__ SplitProducts(const TsmttsmColumnsWarpgroup& p, int first_column, int warp, int lane)
      : first(first_column), left(16 * warp + lane / 4), right(2 * (lane % 4)) {
    const bool rows[] = {row(p, 0) < p.a.count, row(p, 2) < p.a.count};
#pragma unroll
    for (int i = 0; i < count; ++i) counted |= rows[i % 4 / 2] && column(p, i) < p.b.count ? 1U << i : 0;
  }

  __device__ int row(const TsmttsmColumnsWarpgroup& p, int i) const {
    return p.a.column(left + 8 * (i % 4 / 2), first);
  }
  __device__ int column(const TsmttsmColumnsWarpgroup& p, int i) const {
    return p.b.column(right + i / 4 * 8 + i % 2, 0);
  }
  __device__ bool counts(int i) const { return (counted >> i & 1) != 0; }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i) early[0][i] = 0;
  }

  /// Adds early sums to the others if all that count are finite in the whole warp.
  __device__ bool join() {
    return join_if_finite(early[0], sum, [this](int i) { return counts(i); });
  }

  /// Adds a piece's rows in double precision and from memory, as join could not.
  __device__ void add_plainly(const TsmttsmColumnsWarpgroup& p, std::int64_t piece) {
    const std::int64_t end = min((piece + 1) * piece_rows, p.k);
#pragma unroll 1
    for (std::int64_t i = piece * piece_rows; i < end; ++i) {
#pragma unroll
      for (int v = 0; v < count; ++v) {
        if (!counts(v)) continue;
        sum[v] +=
            static_cast<double>(p.a.data[row(p, v) * p.a.distance + i]) * p.b.data[column(p, v) * p.b.distance + i];
        asm volatile("" : "+d"(sum[v])::"memory");  // one at a time: what is rare is not to take registers
      }
    }
  }

  __device__ void store(const TsmttsmColumnsWarpgroup& p, std::uint32_t part) const {
    double* const partial = p.partial + static_cast<std::int64_t>(part) * p.a.count * p.b.count;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (counts(i)) partial[row(p, i) * p.b.count + column(p, i)] = sum[i];
    }
  }
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <int columns>
__device__ inline void multiply_split(const TsmttsmColumnsWarpgroup& p, const ColumnShare& share,
                                      SplitBarriers& barriers, unsigned char* ring, const unsigned char* aligned,
                                      int warp) {
  using Products = SplitProducts<columns>;
  constexpr int steps = piece_rows / right_factor_rows;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int group = warp / 4;
  Products product(p, share.first_column, warp % 4, lane);
  const auto start_of = [&](int position) {
    return shared_address(ring) + p.a.first_byte + 4 * (p.a.place(position) + p.a.lead(position) + lane % 4);
  };
  const std::uint32_t start = start_of(product.left);
  const std::uint32_t to_other = start_of(product.left + 8) - start;
  // What the warp has columns for.
  const bool reads[] = {p.a.find(16 * (warp % 4)).exists, p.a.find(16 * (warp % 4) + 8).exists};
  const int pieces = share.turns * p.pieces;
  if (pieces > 0) {
    PiecePlace now(p, barriers, min(group, pieces - 1));
    RingPosition buffer{group, 0};
    // The next piece's numbers come while products run.
    float x[4 * steps] = {};
    const auto read = [&] {
      const std::uint32_t from = start + now.at.stage * p.stage_bytes + now.piece * piece_bytes;
#pragma unroll
      for (int which = 0; which < 2; ++which) {
        if (!reads[which]) continue;
#pragma unroll
        for (int four = 0; four < 2 * steps; ++four)
          x[2 * four + which] = read_shared(from + which * to_other + 16 * four);
      }
    };
    read();
    // Sums that products may add to must not meet others where a loop ends but here: the compiler would wait there.
    for (int piece = group; piece < pieces;) {
      product.clear();
      const int first = piece;
      const int end = min(first + p.pieces_in_sum * split_groups, pieces);
#pragma unroll 1
      for (; piece < end; piece += split_groups) {
        unsigned high[steps][4], rest[steps][4];
#pragma unroll
        for (int i = 0; i < 4 * steps; ++i) {
          // Not the number itself in place of what tensor cores read of it: products read registers while they run,
          // and the compiler lets the next numbers come to those of these.
          const SplitNumber both = split(x[i]);
          high[i / 4][i % 4] = both.high;
          rest[i / 4][i % 4] = both.low;
          asm volatile("" : "+r"(high[i / 4][i % 4]), "+r"(rest[i / 4][i % 4]));  // before any product is started
        }
        barriers.aligned_full[buffer.stage].wait(buffer.parity);
        const std::uint32_t of_b = shared_address(aligned) + buffer.stage * AlignedColumns<columns>::bytes;
        const std::uint64_t right = swizzled_factor(__shfl_sync(0xffffffffU, of_b, 0));
        const std::uint64_t right_low = right + AlignedColumns<columns>::part / 16;
        open_products();
#pragma unroll
        for (int s = 0; s < steps; ++s) {
          start_product<1>(product.early[0], rest[s], right + s * eight_deep);
          start_product<1>(product.early[0], high[s], right_low + s * eight_deep);
          start_product<1>(product.early[0], high[s], right + s * eight_deep);
        }
        commit_products();
        if (now.piece + split_groups >= p.pieces && elected()) barriers.empty[now.at.stage].arrive();
        if (piece + split_groups < pieces) {
          now.go_on(split_groups);
          read();
        }
        await_products(product.early);
        if (elected()) barriers.aligned_empty[buffer.stage].arrive();
        buffer.advance(split_groups, AlignedColumns<columns>::buffers);
      }
      if (!product.join()) {
#pragma unroll 1
        for (int again = first; again < end; again += split_groups) {
          product.add_plainly(p, std::int64_t{share.chunk(again / p.pieces)} * p.pieces + again % p.pieces);
        }
      }
    }
  }
  // The second group's sums go to the first one.
  double* const sums = reinterpret_cast<double*>(ring) + threadIdx.x % warpgroup_threads;
  meet(1, split_multiplying_threads);  // all stages have been read
  if (group == 1) {
#pragma unroll
    for (int i = 0; i < Products::count; ++i) sums[i * warpgroup_threads] = product.sum[i];
  }
  meet(1, split_multiplying_threads);
  if (group == 1) return;
#pragma unroll
  for (int i = 0; i < Products::count; ++i) product.sum[i] += sums[i * warpgroup_threads];
  product.store(p, share.part);
}
#endif

template <int columns>
__global__ void __launch_bounds__(split_block_threads, 1)
    tsmttsm_columns_warpgroup_kernel(const __grid_constant__ TsmttsmColumnsWarpgroup p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ SplitBarriers barriers;
  constexpr int group_warps = warpgroup_threads / warp_size;
  release_next_kernel();
  const ColumnShare share(p);
  // The compiler must see that all lanes of a warp go the same way: products that run beside others need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) {
      barriers.full[s].initialize(loading_threads / warp_size);
      barriers.empty[s].initialize(p.pieces + min(p.pieces, split_groups) * group_warps);
    }
    for (int i = 0; i < AlignedColumns<columns>::buffers; ++i) {
      barriers.aligned_full[i].initialize(1);
      barriers.aligned_empty[i].initialize(group_warps);
    }
    publish_barriers();
  }
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  __syncthreads();
  unsigned char* const aligned = memory;  // which swizzled places want at a multiple of 1024 bytes
  unsigned char* const ring = memory + AlignedColumns<columns>::buffers * AlignedColumns<columns>::bytes;
  if (warp >= 3 * group_warps) {
    give_registers<40>();
    load_split(p, share, barriers, ring, warp % group_warps);
  } else if (warp >= 2 * group_warps) {
    give_registers<88>();
    align_columns<columns>(p, share, barriers, ring, aligned, warp % group_warps);
  } else {
    take_registers<192>();
    multiply_split<columns>(p, share, barriers, ring, aligned, warp);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
