#pragma once

#include "src/cuda/tsmttsm_warpgroup.cuh"

/// tsmttsm in complex single precision by three real products (tsmttsm_gauss.cuh), each of a whole warpgroup and split
/// (split.cuh). A fourth warpgroup loads and turns what they multiply:
///
///   memory -> ring of stages -> rows of B, turned: real parts, imaginary parts, their sums, each in two parts
///                    |                            |
///                    `-> A, in registers -> product of a warpgroup, 64 complex columns of A x `columns` of B
///
/// The sums of so many rows are added up in double precision.
namespace blockvec::kernels::cuda {

inline constexpr int gauss_products = 3;
inline constexpr int multiplying_threads = gauss_products * warpgroup_threads;
inline constexpr int gauss_block_threads = multiplying_threads + warpgroup_threads;

/// 8 rows of B, turned: [re, im, re + im] of half of TurnedRows.
template <int columns>
inline constexpr int gauss_turned_bytes = gauss_products* TurnedRows<columns>::step;
inline constexpr int gauss_turned_buffers = 4;  ///< one of each warp that turns

struct TurnedBarriers {
  Barrier full[gauss_turned_buffers];
  Barrier empty[gauss_turned_buffers];
};

/// One lane speaks for a warp whose lanes are all done.
__device__ inline void arrive_as_warp(Barrier& barrier) {
  __syncwarp();
  if (elected()) barrier.arrive();
}

/// Two numbers at an address in shared memory.
__device__ inline float2 read_shared_pair(std::uint32_t from) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(from) : "memory");
  return pair;
}

/// What a product takes of a complex number: re of_re + im of_im.
template <class Number>
struct PartOfNumber {
  Number of_re, of_im;

  __device__ Number operator()(Number re, Number im) const { return fma(im, of_im, re * of_re); }
};

/// Product 0, 1 or 2 takes real parts, imaginary ones or both, the latter times `sign`.
template <class Number>
__device__ inline PartOfNumber<Number> part_of_product(int product, double sign) {
  return {product == 1 ? Number(0) : Number(1), product == 0 ? Number(0) : product == 1 ? Number(1) : Number(sign)};
}

/// Where a lane's sums stand in the result, as a complex matrix.
struct PlaceOfGaussSums {
  int left, right;  ///< the first ones

  __device__ int row(int i) const { return left + 8 * (i % 4 / 2); }
  __device__ int column(int i) const { return right + i / 4 * 8 + i % 2; }
  __device__ bool counts(const TsmttsmRing<float>& p, int i) const { return 2 * row(i) < p.m && 2 * column(i) < p.n; }
};

/// Adds so many rows in double precision and from memory, as join could not.
template <class Product>
__device__ inline void add_plainly(Product& product, int which, const PlaceOfGaussSums& place,
                                   const TsmttsmRing<float>& p, std::int64_t first_row) {
  const auto part_a = part_of_product<double>(which, p.sign);
  const auto part_b = part_of_product<double>(which, 1);
  const std::int64_t end = min(first_row + p.rows, p.k);
#pragma unroll 1
  for (std::int64_t i = first_row; i < end; ++i) {
#pragma unroll
    for (int v = 0; v < product.count; ++v) {
      if (!place.counts(p, v)) continue;
      const float* const a = p.whole_a.data + p.whole_a.offset(i, 2 * place.row(v));
      const float* const b = p.whole_b.data + p.whole_b.offset(i, 2 * place.column(v));
      product.sum[v] += part_a(a[0], a[1]) * part_b(b[0], b[1]);
    }
  }
}

/// Four rows of a column; `together`: they follow one another, at a multiple of 16 bytes.
__device__ inline void read_four(const float* from, int to_next, bool together, float2 (&x)[4]) {
  if (together) {
#pragma unroll
    for (int q = 0; q < 4; q += 2) {
      const float4 two = *reinterpret_cast<const float4*>(from + 2 * q);
      x[q] = make_float2(two.x, two.y);
      x[q + 1] = make_float2(two.z, two.w);
    }
  } else {
#pragma unroll
    for (int q = 0; q < 4; ++q) x[q] = *reinterpret_cast<const float2*>(from + q * to_next);
  }
}

/// How a loading warp fills a stage: with its share of every chunk of column-major operands, with all of a row-major
/// one.
template <bool by_columns>
struct GaussFeeder {
  using Feeder = std::conditional_t<by_columns, ColumnFeeder<float>, RowFeeder<float>>;
  Feeder a, b;
  unsigned bytes_a, bytes_b;

  __device__ GaussFeeder(const TsmttsmRing<float>& p, int warp)
      : a(feeder(p.a, p.rows, warp)), b(feeder(p.b, p.rows, 3 - warp)), bytes_a(a.bytes()), bytes_b(b.bytes()) {}

  __device__ void fill(const TsmttsmRing<float>& p, std::uint32_t chunk, unsigned char* stage, Barrier& full) const {
    if constexpr (by_columns) {
      fill_stage<true>(a, b, p.offset_b, bytes_a, bytes_b, chunk, stage, full);
    } else {
      fill_stage<true>(a, b, p.offset_b, chunk, stage, full);
    }
  }

 private:
  __device__ static Feeder feeder(const Staged<float>& operand, int rows, int own) {
    if constexpr (by_columns) {
      return Feeder(operand.columns, rows, 0, own);
    } else {
      return Feeder(operand, rows, 0);
    }
  }
};

/// The warpgroup that loads chunks and turns B's rows, each of its warps 8 of 32.
template <bool by_columns, int columns>
__device__ inline void supply(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                              TurnedBarriers& turned_barriers, unsigned char* ring, unsigned char* turned, int warp) {
  using Turned = TurnedRows<columns>;
  constexpr int items = 2 * columns;  // four rows of a column each
  constexpr int rounds = (items + 2 * warp_size - 1) / (2 * warp_size) * 2;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  int from[rounds];
  int to[rounds];
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const int item = lane + i * warp_size;
    const int four = item / columns;
    const int row = warp / 2 * 16 + warp % 2 * p.map.by_second + four * p.map.by_first;
    from[i] = p.b.segment[0] + row * p.b.row_step + p.b.template place_of_column<by_columns>(0, 2 * (item % columns));
    to[i] = four * Turned::four_rows + item % columns * 16;
  }
  const int to_next = p.map.by_lane * p.b.row_step;
  const bool together = by_columns && p.wide;
  const int turns = share.turns<by_columns>(p);
  // A stage is filled again once the chunk before the last one is multiplied.
  const int ahead = max(p.stages - 2, 0);
  const GaussFeeder<by_columns> feeder(p, warp);
  RingPosition next{0, 1};
  const auto fill = [&](int turn) {
    if (turn >= turns) return;
    if (by_columns || turn % 4 == warp) {
      barriers.empty[next.stage].wait(next.parity);
      feeder.fill(p, share.chunk<by_columns>(p, turn), ring + next.stage * p.stage_bytes, barriers.full[next.stage]);
    }
    next.advance(1, p.stages);
  };
  for (int turn = 0; turn < ahead; ++turn) fill(turn);
  RingPosition at{0, 0};
  unsigned parity = 1;
  unsigned char* const all = turned + warp * gauss_turned_bytes<columns>;
  for (int turn = 0; turn < turns; ++turn) {
    fill(turn + ahead);
    barriers.full[at.stage].wait(at.parity);
    const float* rows = reinterpret_cast<const float*>(ring + at.stage * p.stage_bytes + p.offset_b);
#pragma unroll 1
    for (int row = 0; row < p.rows; row += 32, rows += 32 * p.b.row_step) {
#pragma unroll
      for (int first = 0; first < rounds; first += 2) {  // as many as registers hold
        float2 x[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (lane + (first + i) * warp_size < items) read_four(rows + from[first + i], to_next, together, x[i]);
        }
        if (first == 0) turned_barriers.empty[warp].wait(parity);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (lane + (first + i) * warp_size >= items) continue;
#pragma unroll
          for (int which = 0; which < gauss_products; ++which) {
            SplitNumber both[4];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
              both[q] = split(which == 0 ? x[i][q].x : which == 1 ? x[i][q].y : x[i][q].x + x[i][q].y);
            }
            unsigned char* const own = all + which * Turned::step + to[first + i];
            *reinterpret_cast<uint4*>(own) = make_uint4(both[0].high, both[1].high, both[2].high, both[3].high);
            *reinterpret_cast<uint4*>(own + Turned::part) =
                make_uint4(both[0].low, both[1].low, both[2].low, both[3].low);
          }
        }
      }
      if (row == p.rows - 32) arrive_as_warp(barriers.empty[at.stage]);
      publish_to_bulk_copies();
      arrive_as_warp(turned_barriers.full[warp]);
      parity ^= 1;
    }
    at.advance(1, p.stages);
  }
}

/// A warpgroup's product of all chunks of the block.
template <bool by_columns, int columns>
__device__ inline void multiply(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                TurnedBarriers& turned_barriers, unsigned char* ring, unsigned char* turned, int warp) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Product = WarpgroupProduct<columns>;
  using Turned = TurnedRows<columns>;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int which = warp / 4;
  const int own_warp = warp % 4;
  const PlaceOfGaussSums first_place{own_warp * 16 + lane / 4, 2 * (lane % 4)};
  const bool reads = 32 * own_warp < p.m;
  // Bytes from a lane's first number to the others of 8 rows, and from 8 rows to the next ones.
  const int first = 4 * p.map.by_first * p.a.row_step;
  const int second = 4 * p.map.by_second * p.a.row_step;
  const int sixteen = 4 * 16 * p.a.row_step;
  const int eight = 4 * (by_columns ? 8 * p.a.columns.pitch : 16);
  const std::uint32_t start =
      shared_address(ring) + 4 * (p.a.segment[0] + p.map.by_lane * (lane % 4) * p.a.row_step +
                                  p.a.template place_of_column<by_columns>(0, 2 * first_place.left));
  const std::uint32_t right0 = shared_address(turned) + which * Turned::step;
  const std::uint32_t full_turned = shared_address(turned_barriers.full);
  const std::uint32_t empty_turned = shared_address(turned_barriers.empty);
  const auto part = part_of_product<float>(which, p.sign);
  const int turns = __shfl_sync(0xffffffffU, share.turns<by_columns>(p), 0);

  Product product;
  unsigned left[2][2][4];
  float2 x[4];
  const auto read = [&](std::uint32_t from) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      x[v] = reads ? read_shared_pair(from + v / 2 * first + v % 2 * eight) : make_float2(0, 0);
    }
  };
  RingPosition at{0, 0};
  unsigned parity = 0;
  bool reading = false;  // the last buffer
  int early = 0;
  for (int turn = 0; turn < turns; ++turn) {
    barriers.full[at.stage].wait(at.parity);
    std::uint32_t a = start + at.stage * p.stage_bytes;
#pragma unroll 1
    for (int row = 0; row < p.rows; row += 32, a += 2 * sixteen) {
      read(a);
#pragma unroll
      for (int t = 0; t < gauss_turned_buffers; ++t) {
        split_left({part(x[0].x, x[0].y), part(x[1].x, x[1].y), part(x[2].x, x[2].y), part(x[3].x, x[3].y)},
                   left[t % 2]);
        if (t < 3) read(a + (t + 1) / 2 * sixteen + (t + 1) % 2 * second);
        if (t == 3 && row == p.rows - 32) arrive_as_warp(barriers.empty[at.stage]);
        wait_at(full_turned + 8 * t, parity);
        open_products();
        product.start(left[t % 2], right0 + t * gauss_turned_bytes<columns>);
        commit_products();
        await_products_but_last();  // those with the other factors are done
        if (t > 0 || reading) {
          __syncwarp();
          if (elected()) arrive_at(empty_turned + 8 * ((t + 3) % 4));
        }
      }
      reading = true;
      parity ^= 1;
    }
    at.advance(1, p.stages);
    if (++early < p.chunks_in_sum && turn + 1 < turns) continue;
    await_products(product.early);
    PlaceOfGaussSums place = first_place;
    asm volatile("" : "+r"(place.left), "+r"(place.right));  // what follows of it is not to stay in registers
    if (!product.join([&](int i) { return place.counts(p, i); })) {
#pragma unroll 1
      for (int i = 0; i < early; ++i) {
        add_plainly(product, which, place, p, std::int64_t{share.chunk<by_columns>(p, turn - i)} * p.rows);
      }
    }
    early = 0;
  }

  double* const sums = reinterpret_cast<double*>(ring);
  constexpr int size = 64 * columns;
  meet(1, multiplying_threads);  // all stages have been read
#pragma unroll
  for (int i = 0; i < Product::count; ++i) {
    sums[which * size + first_place.row(i) * columns + first_place.column(i)] = product.sum[i];
  }
  meet(1, multiplying_threads);
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
  for (int i = static_cast<int>(threadIdx.x); i < p.m / 2 * columns; i += multiplying_threads) {
    const int column = 2 * (i % columns);
    if (column >= p.n) continue;
    double* const to = partial + 2 * (i / columns) * p.n + column;
    const double re = sums[i];
    const double im = sums[i + size];
    to[0] = re;
    to[1] = sums[i + 2 * size] - re - p.sign * im;
    to[p.n] = 0;
    to[p.n + 1] = im;
  }
#endif
}

template <bool by_columns, int columns>
__global__ void __launch_bounds__(gauss_block_threads, 1)
    tsmttsm_gauss_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ TurnedBarriers turned_barriers;
  release_next_kernel();
  const Share share(p, 0, 0);
  // The compiler must see that all lanes of a warp go the same way: products that run beside others need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) {
      barriers.full[s].initialize(by_columns ? warpgroup_threads / warp_size : 1);
      barriers.empty[s].initialize(gauss_block_threads / warp_size);
    }
    for (int i = 0; i < gauss_turned_buffers; ++i) {
      turned_barriers.full[i].initialize(1);
      turned_barriers.empty[i].initialize(multiplying_threads / warp_size);
    }
    publish_barriers();
  }
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  __syncthreads();
  unsigned char* const turned = memory + p.stages * p.stage_bytes;
  if (warp >= multiplying_threads / warp_size) {
    give_registers<56>();
    supply<by_columns, columns>(p, share, barriers, turned_barriers, memory, turned, warp % 4);
  } else {
    take_registers<152>();
    multiply<by_columns, columns>(p, share, barriers, turned_barriers, memory, turned, warp);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
