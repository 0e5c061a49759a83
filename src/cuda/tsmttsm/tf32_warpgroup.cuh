#pragma once

#include "src/cuda/tsmttsm/tf32_warpgroup_sums.cuh"

/// tsmttsm in single precision, for rows or complex columns, by 3xTF32 (math/tf32x3.cuh) and warpgroups:
///
///   memory -> stages of a pipeline -> rows of B, transposed, high and low
///                    |                      |
///                    `-> A, in registers -> products, 64 columns of A x `columns` of B
///
/// Wider results are cut into CTA tiles of 64 rows, each for other thread blocks.
///
/// One warpgroup loads, one transposes (turns) B's rows, and two multiply units of 32 rows. Of each unit, two
/// warps transpose 16 rows each. The multiplying warpgroups take units in turn; or, `apart`, each takes all units, for
/// its own 64 columns of A. Sums of at most `rows_of_early_sums` rows are added up in double precision.
///
/// Two columns that a lane reads are a pair. They are neighbours where rows are `aligned` to pairs, like the two parts
/// of a complex column. Else they are some columns apart, so that lanes meet different banks.
namespace blockvec::kernels::cuda {

inline constexpr int half_units = 2;  ///< of turned_rows rows
inline constexpr int whole_unit_rows = half_units * turned_rows;
inline constexpr int early_units = dispatch::rows_of_early_sums / whole_unit_rows;  ///< units of a warpgroup
inline constexpr int turning_warps = multiplying_groups * half_units;
using dispatch::buffers_of_turning_warp;

/// Barriers of the buffers. Each transposing warp has its own buffers.
struct TurningBarriers {
  Barrier full[turning_warps * buffers_of_turning_warp];
  Barrier empty[turning_warps * buffers_of_turning_warp];
};

/// Rows from the first row of a unit to the first row of its second half.
__device__ inline int second_half_of(const RowMap& map) { return map.by_lane == 8 ? 4 : turned_rows; }

/// Reads four pairs, `to_next` bytes from one to the next. `together`: they follow one another, at a multiple of 16
/// bytes.
template <bool aligned>
__device__ inline void read_four_pairs(std::uint32_t from, int to_next, std::uint32_t apart, bool together,
                                       float2 (&x)[4]) {
  if (together) {
#pragma unroll
    for (int q = 0; q < 4; q += 2) {
      const float4 two = read_shared_four(from + 8 * q);
      x[q] = make_float2(two.x, two.y);
      x[q + 1] = make_float2(two.z, two.w);
    }
  } else {
#pragma unroll
    for (int q = 0; q < 4; ++q) x[q] = read_pair<aligned>(from + q * to_next, apart);
  }
}

/// A warp transposes one half of every unit that a multiplying warpgroup takes.
template <int columns, bool aligned, bool by_columns>
__device__ inline void turn_halves(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                   TurningBarriers& turning, const unsigned char* ring, unsigned char* turned,
                                   int warp) {
  using Turned = TurnedRows<columns>;
  constexpr int pairs = columns / 2;
  constexpr int rounds = (4 * pairs + warp_size - 1) / warp_size;  // every lane takes four rows of a pair
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int half = warp % half_units;
  const int group = warp / half_units;
  const int row = 4 * p.b.row_step;
  std::uint32_t from[rounds];
  std::uint32_t apart[rounds];
  unsigned second_counts[rounds];  // a mask
  int to[rounds];
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const int item = min(lane + i * warp_size, 4 * pairs - 1);  // surplus lanes repeat the last item
    const int four = item / pairs;
    const int pair = item % pairs;
    // Lanes beyond B read a column inside it: what lies beyond might not be finite.
    const int column = min((aligned ? 2 : 1) * pair, aligned ? (p.n - 1) & ~1 : p.n - 1);
    const int second = aligned ? column + 1 : min(pair + pairs, p.n - 1);
    const int first_row = p.map.by_first * (four % 2) + p.map.by_second * (four / 2) + half * second_half_of(p.map);
    from[i] = p.offset_b + 4 * (p.b.segment[0] + p.b.template place_of_column<by_columns>(0, column)) + first_row * row;
    apart[i] = 4 * (second - column);
    second_counts[i] = second < p.n ? ~0U : 0U;
    to[i] = four / 2 * Turned::step + four % 2 * Turned::four_rows + pair * 16;
  }
  const int next_row = p.map.by_lane * row;
  const bool together = by_columns && p.wide;
  const int units = p.rows / whole_unit_rows;
  const int all_units = share.turns<by_columns>(p) * units;
  const std::uint32_t start = shared_address(ring);
  const std::uint32_t full = kept_address(barriers.full);
  const std::uint32_t empty = kept_address(barriers.empty);
  const std::uint32_t full_turned = kept_address(turning.full + warp * buffers_of_turning_warp);
  const std::uint32_t empty_turned = kept_address(turning.empty + warp * buffers_of_turning_warp);
  turned += warp * buffers_of_turning_warp * Turned::bytes;
  UnitPosition<multiplying_groups> next(group, units, p.stages);
  RingPosition buffer{0, 1};
#pragma unroll 1
  for (int unit = group; unit < all_units; unit += multiplying_groups, next.advance()) {
    const int stage = next.at.stage;
    wait_at(full + 8 * stage, next.at.parity);
    const std::uint32_t rows = start + stage * p.stage_bytes + next.unit * whole_unit_rows * row;
    float2 x[rounds][4];
#pragma unroll
    for (int i = 0; i < rounds; ++i) read_four_pairs<aligned>(rows + from[i], next_row, apart[i], together, x[i]);
    wait_at(empty_turned + 8 * buffer.stage, buffer.parity);
    unsigned char* const all = turned + buffer.stage * Turned::bytes;
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
#pragma unroll
      for (int which = 0; which < 2; ++which) {
        SplitNumber both[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const float second = aligned ? __uint_as_float(__float_as_uint(x[i][q].y) & second_counts[i]) : x[i][q].y;
          both[q] = split(which == 0 ? x[i][q].x : second);
        }
        unsigned char* const own = all + to[i] + which * pairs * 16;
        *reinterpret_cast<uint4*>(own) = make_uint4(both[0].high, both[1].high, both[2].high, both[3].high);
        *reinterpret_cast<uint4*>(own + Turned::part) = make_uint4(both[0].low, both[1].low, both[2].low, both[3].low);
      }
    }
    publish_to_bulk_copies();
    arrive_as_warp(full_turned + 8 * buffer.stage);
    if (next.leaves()) arrive_at(empty + 8 * stage);
    buffer.advance(1, buffers_of_turning_warp);
  }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/// A warpgroup multiplies every other unit of the block, or every unit if `apart`.
template <int columns, bool aligned, bool by_columns, bool apart>
__device__ inline void multiply_units(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                      TurningBarriers& turning, unsigned char* ring, const unsigned char* turned,
                                      int warp) {
  using Product = WarpgroupProduct<columns>;
  using Turned = TurnedRows<columns>;
  constexpr int buffers = half_units * buffers_of_turning_warp;
  constexpr int in_turn = apart ? 1 : multiplying_groups;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int group = warp / 4;
  const int own_warp = warp % 4;
  // Half of a warp reads at a time. Where columns have two classes, it reads those of one class.
  const int of_lane = by_columns && p.a.columns.classes == 2 ? lane / 4 % 4 * 2 + lane / 16 : lane / 4;
  const int set = apart ? 0 : group;
  const int first_of_warp = share.row0 + (apart ? group * dispatch::warpgroup_rows : 0) + own_warp * 16;
  const PlaceOfSums<columns, aligned> first_place{first_of_warp + of_lane * (aligned ? 2 : 1), 2 * (lane % 4)};
  // Bytes from a lane's first number to its others of 16 rows. Warps beyond the result read one place only.
  const int reads = first_of_warp < p.m ? 1 : 0;
  const int row = 4 * p.a.row_step * reads;
  const int first = p.map.by_first * row;
  const int second = p.map.by_second * row;
  const int second_half = second_half_of(p.map) * row;
  const std::uint32_t start =
      shared_address(ring) + 4 * p.a.segment[0] + p.map.by_lane * (lane % 4) * row +
      4 * reads * p.a.template place_of_column<by_columns>(share.row0, first_place.left - share.row0);
  const int units = p.rows / whole_unit_rows;
  const int all_units = __shfl_sync(0xffffffffU, share.turns<by_columns>(p), 0) * units;
  const std::uint32_t full = kept_address(barriers.full);
  const std::uint32_t empty = kept_address(barriers.empty);
  const std::uint32_t full_turned = kept_address(turning.full + set * buffers);
  const std::uint32_t empty_turned = kept_address(turning.empty + set * buffers);
  const std::uint32_t right0 = shared_address(turned) + set * buffers * Turned::bytes;

  Product product;
  unsigned left[2][2][4];
  UnitPosition<in_turn> next(set, units, p.stages);
  RingPosition buffer{0, 0};
  int stage = 0;
  // The next half's numbers are read while products run.
  float2 x[4];
  const auto read = [&](int half) {
    if (half == 0) {
      stage = next.at.stage;
      wait_at(full + 8 * stage, next.at.parity);
    }
    const std::uint32_t a = start + stage * p.stage_bytes + next.unit * whole_unit_rows * row + half * second_half;
#pragma unroll
    for (int v = 0; v < 4; ++v) x[v] = read_pair<aligned>(a + v % 2 * first + v / 2 * second, 4 * 8);
  };
  if (set < all_units) read(0);
  // Sums that running products add to must not meet other values at the end of another loop: the compiler would wait.
  for (int first_unit = set; first_unit < all_units; first_unit += in_turn * early_units) {
    product.clear();
    const int end_unit = min(first_unit + in_turn * early_units, all_units);
    int last = -1;  // buffer whose products may still run
#pragma unroll 1
    for (int unit = first_unit; unit < end_unit; unit += in_turn) {
#pragma unroll
      for (int half = 0; half < half_units; ++half) {
        const int place = (apart ? unit % 2 * buffers : 0) + half * buffers_of_turning_warp + buffer.stage;
        std::uint64_t factors = 0;
#pragma unroll
        for (int t = 0; t < 2; ++t) {
          await_products_but_last();  // first those with these left factors are done, then those with the last buffer
          if (t == 1 && last >= 0) arrive_as_warp(empty_turned + 8 * last);
          split_left({x[2 * t].x, x[2 * t].y, x[2 * t + 1].x, x[2 * t + 1].y}, left[t]);
          complete_before_products(left[t]);
          if (t == 0) {
            wait_at(full_turned + 8 * place, buffer.parity);
            factors = right_factor(__shfl_sync(0xffffffffU, right0 + place * Turned::bytes, 0), Turned::four_rows);
          } else if (half == 0) {
            read(1);
          } else {
            if (next.leaves()) arrive_at(empty + 8 * stage);
            next.advance();
            if (unit + in_turn < all_units) read(0);
          }
          open_products();
          product.start(left[t], factors + t * Turned::step / 16);
          commit_products();
        }
        last = place;
      }
      if (!apart || unit % 2 == 1) buffer.advance(1, buffers_of_turning_warp);
    }
    await_products(product.early);
    if (last >= 0) arrive_as_warp(empty_turned + 8 * last);
    auto place = first_place;
    asm volatile("" : "+r"(place.left), "+r"(place.right));  // values derived from it must not stay in registers
    // All columns of B are finite if those inside B are, and rows of the result do not mix.
    const bool counts[] = {place.row(0) < p.m, place.row(2) < p.m};
    if (!product.join([&](int i) { return counts[i % 4 / 2]; })) {
#pragma unroll 1
      for (int again = first_unit; again < end_unit; again += in_turn) {
        const std::int64_t first_row = std::int64_t{share.chunk<by_columns>(p, again / units)} * p.rows;
        add_plainly(product, place, p, first_row + again % units * whole_unit_rows, whole_unit_rows);
      }
    }
  }
  if (!apart && !add_second_group(product, ring, group)) return;
  store(product, first_place, p, share);
}
#endif

template <int columns, bool aligned, bool by_columns, bool apart>
__global__ void __launch_bounds__(turning_block_threads, 1)
    tsmttsm_rows_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static_assert(aligned || !by_columns);
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ TurningBarriers turning;
  release_next_kernel();
  const Share share(p, dispatch::warpgroup_rows * (apart ? multiplying_groups : 1), 0);
  // The compiler must see that all lanes of a warp take the same branch: asynchronous products need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  constexpr int multiplying_warps = multiplying_threads / warp_size;
  unsigned char* const turned = memory + p.stages * p.stage_bytes;
  if (threadIdx.x == 0) {
    // Both groups read stages of more than one unit.
    const int turned_groups = min(p.rows / whole_unit_rows, multiplying_groups);
    const int groups = apart ? multiplying_groups : turned_groups;
    for (int s = 0; s < p.stages; ++s) {
      barriers.full[s].initialize(by_columns ? loading_threads / warp_size : 1);
      barriers.empty[s].initialize(groups * warpgroup_threads + turned_groups * half_units * warp_size);
    }
    for (int i = 0; i < turning_warps * buffers_of_turning_warp; ++i) {
      turning.full[i].initialize(1);
      turning.empty[i].initialize((apart ? multiplying_groups : 1) * warpgroup_threads / warp_size);
    }
    publish_barriers();
  }
  if (!by_columns && warp >= multiplying_warps + turning_warps) prefetch(p, share);
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  __syncthreads();
  if (warp >= multiplying_warps + turning_warps) {
    give_registers<by_columns ? 40 : 32>();
    load<by_columns>(p, share, barriers, memory);
  } else if (warp >= multiplying_warps) {
    give_registers<112>();
    turn_halves<columns, aligned, by_columns>(p, share, barriers, turning, memory, turned, warp - multiplying_warps);
  } else {
    take_registers<176>();
    multiply_units<columns, aligned, by_columns, apart>(p, share, barriers, turning, memory, turned, warp);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
