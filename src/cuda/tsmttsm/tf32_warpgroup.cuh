#pragma once

#include "src/cuda/tsmttsm/tf32_warpgroup_products.cuh"

/// tsmttsm in single precision, for rows or complex columns, by 3xTF32 (math/tf32x3.cuh) and warpgroups. Products are
/// real ones, or complex ones by 3M (tf32_warpgroup_products.cuh).
///
///   memory -> stages of a pipeline -> rows of B, transposed, high and low
///                    |                      |
///                    `-> A, in registers -> products, 64 columns of A x `columns` of B
///
/// Wider results are cut into CTA tiles of 64 columns of A, each for other thread blocks.
///
/// One warpgroup loads, one transposes B's rows, and two multiply units of 16 rows. They take units in turn; or
/// each takes all units, for its own 64 columns of A (`apart`: a CTA tile has 128, and B is transposed half as often).
/// After at most `rows_of_early_sums` rows each adds its sums to sums in double precision.
namespace blockvec::kernels::cuda {

inline constexpr int multiplying_groups = dispatch::gauss_groups;
inline constexpr int multiplying_threads = multiplying_groups * warpgroup_threads;
inline constexpr int transposing_block_threads = multiplying_threads + warpgroup_threads + loading_threads;
inline constexpr int unit_rows = dispatch::gauss_unit_rows;

/// Buffers for B's transposed rows. Each multiplying warpgroup has a set of its own, unless both take the same units.
template <class Products, bool apart>
struct TransposedBuffers {
  static constexpr int sets = apart ? 1 : multiplying_groups;
  static constexpr int count = Products::buffers / sets;  ///< buffers in a set
  static constexpr int in_unit = unit_rows / Products::buffer_rows;
  static constexpr int product = TransposedRows<Products::columns>::bytes / in_unit;  ///< bytes of one right factor
  static constexpr int bytes = Products::products * product;
  static constexpr int step = dispatch::warpgroup_warps / Products::sharing;  ///< units from a warp's unit to its next
};

template <class Products>
struct TransposingBarriers {
  Barrier full[Products::buffers];
  Barrier empty[Products::buffers];
  Barrier sums[multiplying_groups];  ///< a group may add to shared sums, because the other group has added
};

/// The first row of a unit. Where `by_lane` is 8, the map is for one half of 32 rows.
__device__ inline int first_row(const RowMap& map, int unit) {
  return map.by_lane == 8 ? unit / 2 * 2 * unit_rows + unit % 2 * 4 : unit * unit_rows;
}
/// Row i of a unit.
__device__ inline int row_of_unit(const RowMap& map, int unit, int i) {
  return first_row(map, unit) + (map.by_lane == 8 ? i / 4 * 8 + i % 4 : i);
}

/// A warp's position when it takes every `step`-th unit. A row tile has `units` units: a power of two, or at least
/// `step`.
template <int step>
class UnitPosition {
 public:
  int unit;  ///< number in its row tile
  RingPosition at;

  __device__ UnitPosition(int first, int units, int stages)
      : unit(first % units),
        at{first / units, 0},
        units_(units),
        wrap_(max(units, step)),
        chunks_(max(1, step / units)),
        stages_(stages) {}
  /// Whether the next unit is in another row tile.
  __device__ bool leaves() const { return unit + step >= units_; }
  __device__ void advance() {
    const bool leaves = this->leaves();
    unit += step - (leaves ? wrap_ : 0);
    at.advance(leaves ? chunks_ : 0, stages_);
  }

 private:
  int units_, wrap_, chunks_, stages_;
};

/// The address of barriers. The compiler must keep it in a register instead of computing it again and again.
__device__ inline std::uint32_t kept_address(const Barrier* barriers) {
  std::uint32_t address = shared_address(barriers);
  asm volatile("" : "+r"(address));
  return address;
}

/// Reads a pair at an address in shared memory. If its numbers are not neighbours, they are `apart` bytes apart.
template <bool neighbours>
__device__ inline float2 read_pair(std::uint32_t from, std::uint32_t apart) {
  float2 pair;
  if constexpr (neighbours) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(from) : "memory");
  } else {
    pair = make_float2(read_shared(from), read_shared(from + apart));
  }
  return pair;
}

/// Reads four pairs, `to_next` bytes from one to the next. `together`: they follow one another, at a multiple of 16
/// bytes.
template <bool neighbours>
__device__ inline void read_four_pairs(std::uint32_t from, int to_next, std::uint32_t apart, bool together,
                                       float2 (&x)[4]) {
  if (together) {
#pragma unroll
    for (int q = 0; q < 4; q += 2) {
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x[q].x), "=f"(x[q].y), "=f"(x[q + 1].x), "=f"(x[q + 1].y)
                   : "r"(from + 8 * q)
                   : "memory");
    }
  } else {
    unrolled<4>([&](int q) { x[q] = read_pair<neighbours>(from + q * to_next, apart); });
  }
}

/// A warp transposes every `step`-th unit of B's rows, or its part of one.
template <class Products, bool by_columns, bool apart>
__device__ inline void transpose_units(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                       TransposingBarriers<Products>& transposing, const unsigned char* ring,
                                       unsigned char* transposed, int warp) {
  using Turned = TransposedRows<Products::columns>;
  using Buffers = TransposedBuffers<Products, apart>;
  constexpr bool neighbours = Products::neighbours;
  constexpr int pairs = Products::pairs;
  constexpr int items = 4 * pairs / Buffers::in_unit;  // an item is four rows of a pair
  constexpr int lanes = Products::sharing * warp_size;
  constexpr int rounds = (items + lanes - 1) / lanes;
  constexpr int ahead = Products::reads_ahead ? rounds : 1;
  const int lane = static_cast<int>(threadIdx.x) % warp_size + warp % Products::sharing * warp_size;
  const int row = 4 * p.b.row_step;
  std::uint32_t from[Buffers::in_unit][rounds];
  std::uint32_t to_second[rounds];
  unsigned second_counts[rounds];  // a mask
  int to[rounds];
  unrolled<rounds>([&](int i) {
    const int item = min(lane + i * lanes, items - 1);
    const int four = item / pairs;
    const int pair = item % pairs;
    // Lanes beyond B read a column inside it: what lies beyond might not be finite.
    const int column = min((neighbours ? 2 : 1) * pair, neighbours ? (p.n - 1) & ~1 : p.n - 1);
    const int second = neighbours ? column + 1 : min(pair + pairs, p.n - 1);
    to_second[i] = 4 * (second - column);
    second_counts[i] = second < p.n ? ~0U : 0U;
    to[i] = four / 2 * Turned::step + four % 2 * Turned::four_rows + pair * 16;
    unrolled<Buffers::in_unit>([&](int half) {
      const int rows = p.map.by_first * (four % 2) + p.map.by_second * (half + four / 2);
      from[half][i] =
          p.offset_b + 4 * (p.b.segment[0] + p.b.template place_of_column<by_columns>(0, column)) + rows * row;
    });
  });
  constexpr bool all_turn = items == rounds * lanes;  // in the last round, too
  const bool transposes_last = all_turn || lane + (rounds - 1) * lanes < items;
  const int next_row = p.map.by_lane * row;
  const bool together = by_columns && p.wide;
  const int units = p.rows / unit_rows;
  const int all_units = share.turns<by_columns>(p) * units;
  const int first_unit = warp / Products::sharing;
  const int set = first_unit % Buffers::sets;
  const std::uint32_t start = shared_address(ring);
  const std::uint32_t full = kept_address(barriers.full);
  const std::uint32_t empty = kept_address(barriers.empty);
  const std::uint32_t full_transposed = kept_address(transposing.full + set * Buffers::count);
  const std::uint32_t empty_transposed = kept_address(transposing.empty + set * Buffers::count);
  transposed += set * Buffers::count * Buffers::bytes;
  UnitPosition<Buffers::step> next(first_unit, units, p.stages);
  RingPosition buffer{first_unit / Buffers::sets, 1};
#pragma unroll 1
  for (int unit = first_unit; unit < all_units; unit += Buffers::step, next.advance()) {
    const int stage = next.at.stage;
    wait_at(full + 8 * stage, next.at.parity);
    const int first = neighbours ? next.unit * unit_rows : first_row(p.map, next.unit);
    const std::uint32_t rows = start + stage * p.stage_bytes + first * row;
    unrolled<Buffers::in_unit>([&](int half) {
      unsigned char* const all = transposed + buffer.stage * Buffers::bytes;
#pragma unroll
      for (int round = 0; round < rounds; round += ahead) {
        float2 x[ahead][4];
        unrolled<ahead>([&](int i) {
          read_four_pairs<neighbours>(rows + from[half][round + i], next_row, to_second[round + i], together, x[i]);
        });
        if (round == 0) wait_at(empty_transposed + 8 * buffer.stage, buffer.parity);
        unrolled<ahead>([&](int i) {
          if (round + i == rounds - 1 && !transposes_last) return;
          unrolled<Products::from_pair>([&](int which) {
            SplitNumber both[4];
            unrolled<4>([&](int q) {
              float second = x[i][q].y;
              if (neighbours && Products::parts == 1) {
                second = __uint_as_float(__float_as_uint(second) & second_counts[round + i]);
              }
              both[q] = split(which == 0 ? x[i][q].x : which == 1 ? second : x[i][q].x + second);
            });
            unsigned char* const own = all + which * Products::to_next + to[round + i];
            *reinterpret_cast<uint4*>(own) = make_uint4(both[0].high, both[1].high, both[2].high, both[3].high);
            *reinterpret_cast<uint4*>(own + Turned::part) =
                make_uint4(both[0].low, both[1].low, both[2].low, both[3].low);
          });
        });
      }
      publish_to_bulk_copies();
      if (half == Buffers::in_unit - 1 && next.leaves()) arrive_at(empty + 8 * stage);
      arrive_as_warp(full_transposed + 8 * buffer.stage);
      buffer.advance(Buffers::step / Buffers::sets, Buffers::count);  // buffers are taken in turn, like units
    });
  }
}

/// A warpgroup multiplies every other unit of the block, or every unit if `apart`.
template <class Products, bool by_columns, bool apart>
__device__ inline void multiply_units(const TsmttsmRing<float>& p, const Share& share, RingBarriers& barriers,
                                      TransposingBarriers<Products>& transposing, unsigned char* ring,
                                      unsigned char* transposed, double2* shared_sums, int warp) {
  using Turned = TransposedRows<Products::columns>;
  using Buffers = TransposedBuffers<Products, apart>;
  constexpr bool neighbours = Products::neighbours;
  constexpr int parts = Products::parts;
  constexpr int in_turn = Buffers::sets;
  constexpr int early_units = in_turn * dispatch::rows_of_early_sums / unit_rows;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int group = warp / 4;
  // Half of a warp reads at a time. Where columns have two classes, it reads those of one class.
  const int of_lane = by_columns && p.a.columns.classes == 2 ? lane / 4 % 4 * 2 + lane / 16 : lane / 4;
  const int set = apart ? 0 : group;
  const int first_of_warp = share.row0 + parts * ((apart ? group * dispatch::warpgroup_rows : 0) + warp % 4 * 16);
  const typename Products::Place first_place{first_of_warp + of_lane * (neighbours ? 2 : 1), 2 * (lane % 4)};
  // Bytes from a lane's first number to its others of 16 rows. Warps beyond the result read one place only.
  const int reads = first_of_warp < p.m ? 1 : 0;
  const int row = 4 * p.a.row_step * reads;
  const int first = p.map.by_first * row;
  const int second = p.map.by_second * row;
  const int sixteen = unit_rows * row;
  const int eight = 8 * (by_columns ? p.a.eight_columns : 8) * reads;
  const std::uint32_t start =
      shared_address(ring) + 4 * p.a.segment[0] + p.map.by_lane * (lane % 4) * row +
      4 * reads * p.a.template place_of_column<by_columns>(share.row0, first_place.left - share.row0);
  const std::uint32_t full = kept_address(barriers.full);
  const std::uint32_t empty = kept_address(barriers.empty);
  const std::uint32_t full_transposed = kept_address(transposing.full + set * Buffers::count);
  const std::uint32_t empty_transposed = kept_address(transposing.empty + set * Buffers::count);
  const std::uint32_t right0 = shared_address(transposed) + set * Buffers::count * Buffers::bytes;
  const int units = p.rows / unit_rows;
  const int all_units = __shfl_sync(0xffffffffU, share.turns<by_columns>(p), 0) * units;
  const std::uint32_t own_turn = kept_address(transposing.sums + group);
  const std::uint32_t other_turn = kept_address(transposing.sums + 1 - group);

  Products product(p.sign, shared_sums + (apart ? group * Products::shared_sums * warpgroup_threads : 0) +
                               threadIdx.x % warpgroup_threads);
  unsigned left[2][Products::products][2][4];
  UnitPosition<in_turn> next(set, units, p.stages);
  RingPosition buffer{0, 0};
  // The next unit's numbers are read while products run; then its stage is free.
  float2 x[2][2 * parts];
  const auto read = [&] {
    wait_at(full + 8 * next.at.stage, next.at.parity);
    const int to_unit = neighbours ? next.unit * sixteen : first_row(p.map, next.unit) * row;
    const std::uint32_t a = start + next.at.stage * p.stage_bytes + to_unit;
    unrolled<2, 2 * parts>([&](int t, int v) {
      x[t][v] = read_pair<neighbours>(a + t * second + v / parts * first + v % parts * eight, 4 * 8);
    });
  };
  if (set < all_units) read();
  // Groups add to shared sums in turn, one while the other multiplies, so that each sum has one order. The second group
  // begins, with half as many units. Sums that running products add to must not meet other values at the end of any
  // loop except this one: the compiler would wait there.
  const int behind = group == 0 ? 0 : early_units / 2;
  const int rounds = (all_units + early_units / 2 + early_units - 1) / early_units;
  for (int round = 0; round < rounds; ++round) {
    const int first_unit = max(0, round * early_units - behind) + set;
    const int end_unit = min((round + 1) * early_units - behind, all_units);
    unrolled<Products::products * Products::count>([&](int i) { (&product.early[0][0])[i] = 0; });
    int last = -1;  // buffer whose products may still run
    const auto give_back = [&] {
      if (last < 0) return;
      arrive_as_warp(empty_transposed + 8 * last);
      last = -1;
    };
#pragma unroll 1
    for (int unit = first_unit; unit < end_unit; unit += in_turn) {
      unrolled<2>([&](int t) {
        product.split_pairs(x[t], left[t]);
        // The compiler must compute left factors before any product starts that takes some of them.
        unrolled<8 * Products::products>([&](int i) { asm volatile("" : "+r"((&left[t][0][0][0])[i])); });
        if (t == 1) {
          if (next.leaves()) arrive_at(empty + 8 * next.at.stage);
          next.advance();
          if (unit + in_turn < all_units) read();
        }
        const bool begins = t == 0 || Buffers::in_unit == 2;  // begins a buffer
        if (begins) {
          const std::uint32_t transposed_now = full_transposed + 8 * buffer.stage;
          if (Products::few_buffers && (!Products::looks_first || !is_over(transposed_now, buffer.parity))) {
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            give_back();
          }
          wait_at(transposed_now, buffer.parity);
        }
        const std::uint32_t right = __shfl_sync(0xffffffffU, right0 + buffer.stage * Buffers::bytes, 0);
        const std::uint64_t factors = right_factor(right, Turned::four_rows);  // in units of 16 bytes
        open_products();
        unrolled<3, Products::products>([&](int part, int which) {
          const int place = which * Buffers::product + (begins ? 0 : Turned::step) + (part == 1 ? Turned::part : 0);
          start_product<1>(product.early[which], left[t][which][part == 0 ? 1 : 0], factors + place / 16);
        });
        commit_products();
        await_products_but_last();  // the products with the other factors are done
        if (begins) give_back();
        if (t == 1 || Buffers::in_unit == 2) {
          last = buffer.stage;
          buffer.advance(1, Buffers::count);
        }
      });
    }
    await_products(product.early);
    give_back();
    auto place = first_place;
    asm volatile("" : "+r"(place.left), "+r"(place.right));  // values derived from it must not stay in registers
    // All columns of B are finite if those inside B are, and rows of the result do not mix.
    float zero[2] = {};
    unrolled<Products::count>([&](int i) { product.test(i, zero[i % 4 / 2]); });
    const bool finite = (zero[0] == 0 || place.row(0) >= p.m) && (zero[1] == 0 || place.row(2) >= p.m);
    constexpr bool add_in_turn = !apart && Products::shared_sums != 0;
    if (add_in_turn && (group == 0 || round > 0)) wait_at(own_turn, (round + group) % 2);
    if (__all_sync(0xffffffffU, finite)) {
      product.join();
    } else {
#pragma unroll 1
      for (int unit = first_unit; unit < end_unit; unit += in_turn) {
        const std::int64_t tile = share.chunk<by_columns>(p, unit / units);
#pragma unroll 1
        for (int i = 0; i < unit_rows; ++i) {
          const std::int64_t of_matrix = tile * p.rows + row_of_unit(p.map, unit % units, i);
          if (of_matrix < p.k) product.add_row(p, place, of_matrix);
        }
      }
    }
    if (add_in_turn) arrive_at(other_turn);
  }
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
  product.template finish<apart>(p, first_place, partial, ring, group);
}

template <class Products, bool by_columns, bool apart>
__global__ void __launch_bounds__(transposing_block_threads, 1)
    tsmttsm_tf32_warpgroup_kernel(const __grid_constant__ TsmttsmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static_assert(Products::neighbours || !by_columns);
  using Buffers = TransposedBuffers<Products, apart>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ TransposingBarriers<Products> transposing;
  release_next_kernel();
  constexpr int apart_groups = apart ? multiplying_groups : 1;
  const Share share(p, Products::parts * dispatch::warpgroup_rows * apart_groups, 0);
  // The compiler must see that all lanes of a warp take the same branch: asynchronous products need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  constexpr int multiplying_warps = multiplying_threads / warp_size;
  constexpr int transposing_warps = dispatch::warpgroup_warps;
  unsigned char* const transposed = memory + p.stages * p.stage_bytes;
  double2* const sums = reinterpret_cast<double2*>(transposed + Products::buffers * Buffers::bytes);
  if (threadIdx.x == 0) {
    const int units = p.rows / unit_rows;
    const int groups = apart ? multiplying_groups : min(units, multiplying_groups);  // groups that read a stage
    const int readers = groups * warpgroup_threads + min(units, Buffers::step) * Products::sharing * warp_size;
    for (int s = 0; s < p.stages; ++s) {
      barriers.full[s].initialize(by_columns ? loading_threads / warp_size : 1);
      barriers.empty[s].initialize(readers);
    }
    for (int i = 0; i < Products::buffers; ++i) {
      transposing.full[i].initialize(Products::sharing);
      transposing.empty[i].initialize(apart_groups * warpgroup_threads / warp_size);
    }
    for (Barrier& turn : transposing.sums) turn.initialize(warpgroup_threads);
    publish_barriers();
  }
  constexpr int zeros = apart_groups * Products::shared_sums * warpgroup_threads;
  for (int i = static_cast<int>(threadIdx.x); i < zeros; i += transposing_block_threads) sums[i] = make_double2(0, 0);
  if (!by_columns && warp >= multiplying_warps + transposing_warps) prefetch(p, share);
  await_previous_kernel();
  if (!p.condition.holds() || p.alpha.read().is_zero()) return;
  __syncthreads();
  if (warp >= multiplying_warps + transposing_warps) {
    give_registers<40>();
    load<by_columns>(p, share, barriers, memory);
  } else if (warp >= multiplying_warps) {
    give_registers<Products::transposing_registers>();
    transpose_units<Products, by_columns, apart>(p, share, barriers, transposing, memory, transposed,
                                                 warp - multiplying_warps);
  } else {
    take_registers<Products::multiplying_registers>();
    multiply_units<Products, by_columns, apart>(p, share, barriers, transposing, memory, transposed, sums, warp);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
