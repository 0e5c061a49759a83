#pragma once

#include "src/cuda/tsmttsm/tf32_3m_warpgroup_sums.cuh"

/// tsmttsm in complex single precision by 3M (tsmttsm/ring_3m.cuh) and 3xTF32 (math/tf32x3.cuh), by warpgroups:
///
///   memory -> stages of a pipeline -> rows of B, transposed: re, im and re + im, each high and low
///                    |                            |
///                    `-> A, in registers -> the three products, 64 complex columns of A x `columns` of B
///
/// Wider results are cut into CTA tiles of 64 rows, each for other thread blocks.
///
/// One warpgroup loads, one transposes (turns) B's rows, and two multiply units of 16 rows. They take units in turn, or
/// each has 64 columns of A (`apart`: a CTA tile has 128 columns, and B is transposed half as often). After at most
/// `rows_of_early_sums` rows each adds its sums to a double-precision sum in shared memory.
namespace blockvec::kernels::cuda {

/// Reads four rows of a column. `together`: they follow one another, at a multiple of 16 bytes.
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

/// A warp of the transposing warpgroup transposes B's rows.
template <bool by_columns, int columns, bool apart>
__device__ inline void turn_rows(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                 TurnedBarriers& turned_barriers, const unsigned char* ring, unsigned char* turned,
                                 int warp) {
  using Turned = TurnedRows<columns>;
  using Buffers = GaussBuffers<columns, apart>;
  constexpr int sharing = Buffers::sharing;
  constexpr int items = 4 * columns / Buffers::in_unit;  // an item is four rows of a column
  constexpr int rounds = (items + sharing * warp_size - 1) / (sharing * warp_size);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  int from[Buffers::in_unit][rounds];
  int to[rounds];
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const int item = min(lane + (i * sharing + warp % sharing) * warp_size, items - 1);
    const int four = item / columns;
    to[i] = four / 2 * Turned::step + four % 2 * Turned::four_rows + item % columns * 16;
#pragma unroll
    for (int half = 0; half < Buffers::in_unit; ++half) {
      const int row = (half + four / 2) * p.map.by_second + four % 2 * p.map.by_first;
      // Lanes beyond B read a column inside it: what lies beyond might not be finite.
      const int column = min(2 * (item % columns), p.n - 2);
      from[half][i] = p.b.segment[0] + row * p.b.row_step + p.b.template place_of_column<by_columns>(0, column);
    }
  }
  constexpr bool all_turn = items == rounds * sharing * warp_size;  // in the last round, too
  const bool turns_last = all_turn || lane + ((rounds - 1) * sharing + warp % sharing) * warp_size < items;
  const int to_next = p.map.by_lane * p.b.row_step;
  const bool together = by_columns && p.wide;
  const int turns = share.turns<by_columns>(p);
  const int units = p.rows / unit_rows;
  const int first_unit = warp / sharing;
  const int set = first_unit % Buffers::sets;
  const std::uint32_t full_turned = kept_address(turned_barriers.full + set * Buffers::count);
  const std::uint32_t empty_turned = kept_address(turned_barriers.empty + set * Buffers::count);
  const std::uint32_t full = kept_address(barriers.full);
  const std::uint32_t empty = kept_address(barriers.empty);
  turned += set * Buffers::count * Buffers::bytes;
  RingPosition buffer{first_unit / Buffers::sets, 1};
  const int all_units = turns * units;
  UnitPosition<Buffers::step> next(first_unit, units, p.stages);
  for (int unit = first_unit; unit < all_units; unit += Buffers::step, next.advance()) {
    const int stage = next.at.stage;
    wait_at(full + 8 * stage, next.at.parity);
    const float* const rows = reinterpret_cast<const float*>(ring + stage * p.stage_bytes + p.offset_b) +
                              next.unit * unit_rows * p.b.row_step;
#pragma unroll
    for (int half = 0; half < Buffers::in_unit; ++half) {
      unsigned char* const all = turned + buffer.stage * Buffers::bytes;
#pragma unroll
      for (int i = 0; i < rounds; ++i) {
        float2 x[4];
        read_four(rows + from[half][i], to_next, together, x);
        if (i == 0) wait_at(empty_turned + 8 * buffer.stage, buffer.parity);
        if (i == rounds - 1 && !turns_last) continue;
#pragma unroll
        for (int which = 0; which < gauss_products; ++which) {
          SplitNumber both[4];
#pragma unroll
          for (int q = 0; q < 4; ++q) both[q] = split(which == 0 ? x[q].x : which == 1 ? x[q].y : x[q].x + x[q].y);
          unsigned char* const own = all + which * Buffers::product + to[i];
          *reinterpret_cast<uint4*>(own) = make_uint4(both[0].high, both[1].high, both[2].high, both[3].high);
          *reinterpret_cast<uint4*>(own + Turned::part) =
              make_uint4(both[0].low, both[1].low, both[2].low, both[3].low);
        }
      }
      if (half == Buffers::in_unit - 1 && next.leaves()) arrive_at(empty + 8 * stage);
      publish_to_bulk_copies();
      arrive_as_warp(full_turned + 8 * buffer.stage);
      // Where warps take units in turn, they take buffers in turn as well.
      buffer.advance(Buffers::step / Buffers::sets, Buffers::count);
    }
  }
}

__device__ inline void await_all_products() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

/// A multiplying warpgroup multiplies every other unit of the block, or every unit if `apart`.
template <bool by_columns, int columns, bool apart>
__device__ inline void multiply(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                TurnedBarriers& turned_barriers, unsigned char* ring, unsigned char* turned,
                                double2* all_sums, int warp) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Sums = GaussSums<columns>;
  using Turned = TurnedRows<columns>;
  using Buffers = GaussBuffers<columns, apart>;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int group = warp / 4;
  const int own_warp = warp % 4;
  // Half of a warp reads at a time. Where columns have two classes, it reads those of one class.
  const int of_lane = by_columns && p.a.columns.classes == 2 ? lane / 4 % 4 * 2 + lane / 16 : lane / 4;
  constexpr int in_turn = groups_in_turn<apart>;
  constexpr int early_units = gauss_early_units<apart>;
  const int set = apart ? 0 : group;
  const int first_column = share.row0 + (apart ? group * 2 * dispatch::warpgroup_rows : 0);
  const PlaceOfGaussSums first_place{first_column / 2 + own_warp * 16 + of_lane, 2 * (lane % 4)};
  // Bytes from a lane's first number to its others of 16 rows. Warps beyond the result read one place only.
  const int reads = first_column + 32 * own_warp < p.m ? 1 : 0;
  const int row = 4 * p.a.row_step * reads;
  const int first = p.map.by_first * row;
  const int second = p.map.by_second * row;
  const int sixteen = unit_rows * row;
  const int eight = 8 * (by_columns ? p.a.eight_columns : 8) * reads;
  const std::uint32_t start =
      shared_address(ring) + 4 * p.a.segment[0] + p.map.by_lane * (lane % 4) * row +
      4 * reads * p.a.template place_of_column<by_columns>(share.row0, 2 * first_place.left - share.row0);
  const std::uint32_t full = kept_address(barriers.full);
  const std::uint32_t empty = kept_address(barriers.empty);
  const std::uint32_t full_turned = kept_address(turned_barriers.full + set * Buffers::count);
  const std::uint32_t empty_turned = kept_address(turned_barriers.empty + set * Buffers::count);
  const std::uint32_t right0 = shared_address(turned) + set * Buffers::count * Buffers::bytes;
  auto sign = static_cast<float>(p.sign);
  asm volatile("" : "+f"(sign));  // the compiler must not compute it again and again
  const int units = p.rows / unit_rows;
  const int all_units = __shfl_sync(0xffffffffU, share.turns<by_columns>(p), 0) * units;
  double2* const sums = all_sums + (apart ? threadIdx.x / warpgroup_threads * Sums::count * warpgroup_threads : 0) +
                        threadIdx.x % warpgroup_threads;
  const std::uint32_t own_turn = kept_address(turned_barriers.sums + group);
  const std::uint32_t other_turn = kept_address(turned_barriers.sums + 1 - group);

  Sums product;
  unsigned left[2][gauss_products][2][4];
  UnitPosition<in_turn> next(set, units, p.stages);
  RingPosition buffer{0, 0};
  // The next unit's numbers are read while products run; then its stage is free.
  float2 x[2][4];
  int leaving = -1;  // stage whose last numbers are in x
  const auto read = [&] {
    const int stage = next.at.stage;
    wait_at(full + 8 * stage, next.at.parity);
    const std::uint32_t a = start + stage * p.stage_bytes + next.unit * sixteen;
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int v = 0; v < 4; ++v) x[t][v] = read_shared_pair(a + t * second + v / 2 * first + v % 2 * eight);
    }
    if (next.leaves()) leaving = stage;
    next.advance();
  };
  if (set < all_units) read();
  // The groups add their sums in turn, one while the other multiplies, so that each sum has one order. The second group
  // begins, with half as many units. Sums that running products add to must not meet other values at the end of any
  // loop except this one: the compiler would wait there.
  const int behind = group == 0 ? 0 : early_units / 2;
  const int rounds = (all_units + early_units / 2 + early_units - 1) / early_units;
  for (int round = 0; round < rounds; ++round) {
    const int first_unit = max(0, round * early_units - behind) + set;
    const int end_unit = min((round + 1) * early_units - behind, all_units);
    product.clear();
    int last = -1;  // buffer whose products may still run
    const auto give_back = [&] {
      if (last < 0) return;
      arrive_as_warp(empty_turned + 8 * last);
      last = -1;
    };
#pragma unroll 1
    for (int unit = first_unit; unit < end_unit; unit += in_turn) {
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        split_left({x[t][0].x, x[t][1].x, x[t][2].x, x[t][3].x}, left[t][0]);
        split_left({x[t][0].y, x[t][1].y, x[t][2].y, x[t][3].y}, left[t][1]);
        split_left({fmaf(sign, x[t][0].y, x[t][0].x), fmaf(sign, x[t][1].y, x[t][1].x),
                    fmaf(sign, x[t][2].y, x[t][2].x), fmaf(sign, x[t][3].y, x[t][3].x)},
                   left[t][2]);
#pragma unroll
        for (int which = 0; which < gauss_products; ++which) complete_before_products(left[t][which]);
        if (t == 1) {
          if (leaving >= 0) arrive_at(empty + 8 * leaving);
          leaving = -1;
          if (unit + in_turn < all_units) read();
        }
        const bool begins = t == 0 || Buffers::in_unit == 2;  // begins a buffer
        if (begins) {
          // Buffers are few: those of finished products must not wait for rows that are not transposed yet.
          const std::uint32_t turned_now = full_turned + 8 * buffer.stage;
          if (!Buffers::looks_first || !is_over(turned_now, buffer.parity)) {
            await_all_products();
            give_back();
            wait_at(turned_now, buffer.parity);
          }
        }
        const std::uint32_t right = __shfl_sync(0xffffffffU, right0 + buffer.stage * Buffers::bytes, 0);
        const std::uint64_t factors = right_factor(right, Turned::four_rows);  // in units of 16 bytes
        open_products();
#pragma unroll
        for (int part = 0; part < 3; ++part) {
#pragma unroll
          for (int which = 0; which < gauss_products; ++which) {
            const int place = which * Buffers::product + (begins ? 0 : Turned::step) + (part == 1 ? Turned::part : 0);
            start_product<1>(product.early[which], left[t][which][part == 0 ? 1 : 0], factors + place / 16);
          }
        }
        commit_products();
        await_products_but_last();  // the products with the other factors are done
        if (begins) give_back();
        if (t == 1 || Buffers::in_unit == 2) {
          last = buffer.stage;
          buffer.advance(1, Buffers::count);
        }
      }
    }
    await_products(product.early);
    give_back();
    PlaceOfGaussSums place = first_place;
    asm volatile("" : "+r"(place.left), "+r"(place.right));  // values derived from it must not stay in registers
    const bool finite = product.finite(p, place);
    if (!apart && (group == 0 || round > 0)) wait_at(own_turn, (round + group) % 2);
    product.template join<by_columns, in_turn>(p, share, place, finite, sums, first_unit, end_unit);
    if (!apart) arrive_at(other_turn);
  }

  if (!apart) meet(1, multiplying_threads);
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
#pragma unroll 1
  for (int i = set; i < Sums::count; i += in_turn) {
    if (!first_place.counts(p, i)) continue;
    const double2 sum = sums[i * warpgroup_threads];
    double* const to = partial + 2 * first_place.row(i) * p.n + 2 * first_place.column(i);
    to[0] = sum.x;
    to[1] = sum.y;
    to[p.n] = 0;
    to[p.n + 1] = 0;
  }
#endif
}

template <bool by_columns>
__device__ inline void load_gauss(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                  unsigned char* ring) {
  const int loader = static_cast<int>(threadIdx.x) % loading_threads / warp_size;
  if constexpr (!by_columns) {
    if (loader != 0) return;  // row tiles are long: one warp requests them
    const RowFeeder<float> a(p.a, p.rows, share.row0);
    const RowFeeder<float> b(p.b, p.rows, 0);
    load_chunks<false>(p, share, barriers, ring, 0, 1, [&](std::uint32_t chunk, unsigned char* stage, Barrier& full) {
      fill_stage<true>(a, b, p.offset_b, chunk, stage, full);
    });
  } else {
    load<true>(p, share, barriers, ring);
  }
}

template <bool by_columns, int columns, bool apart>
__global__ void __launch_bounds__(turning_block_threads, 1)
    tsmttsm_gauss_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ TurnedBarriers turned_barriers;
  using Buffers = GaussBuffers<columns, apart>;
  constexpr int sharing = Buffers::sharing;
  constexpr int buffers = Buffers::sets * Buffers::count;
  const int units = p.rows / unit_rows;
  release_next_kernel();
  const Share share(p, 2 * dispatch::warpgroup_rows * (apart ? gauss_groups : 1), 0);
  // The compiler must see that all lanes of a warp take the same branch: asynchronous products need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  unsigned char* const turned = memory + p.stages * p.stage_bytes;
  double2* const sums = reinterpret_cast<double2*>(turned + buffers * Buffers::bytes);
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) {
      barriers.full[s].initialize(by_columns ? loading_threads / warp_size : 1);
      const int multiplying = apart ? gauss_groups : min(units, gauss_groups);  // groups that read a stage
      barriers.empty[s].initialize((multiplying * 4 + min(units, Buffers::step) * sharing) * warp_size);
    }
    for (int i = 0; i < buffers; ++i) {
      turned_barriers.full[i].initialize(sharing);
      turned_barriers.empty[i].initialize((apart ? gauss_groups : 1) * warpgroup_threads / warp_size);
    }
    for (Barrier& turn : turned_barriers.sums) turn.initialize(warpgroup_threads);
    publish_barriers();
  }
  for (int i = static_cast<int>(threadIdx.x); i < (apart ? gauss_groups : 1) * columns / 2 * warpgroup_threads;
       i += turning_block_threads) {
    sums[i] = make_double2(0, 0);
  }
  constexpr int multiplying_warps = multiplying_threads / warp_size;
  if (!by_columns && warp >= multiplying_warps + 4) prefetch(p, share);
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  __syncthreads();
  if (warp >= multiplying_warps + 4) {
    give_registers<40>();
    load_gauss<by_columns>(p, share, barriers, memory);
  } else if (warp >= multiplying_warps) {
    give_registers<56>();
    turn_rows<by_columns, columns, apart>(p, share, barriers, turned_barriers, memory, turned, warp % 4);
  } else {
    take_registers<208>();
    multiply<by_columns, columns, apart>(p, share, barriers, turned_barriers, memory, turned, sums, warp);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
