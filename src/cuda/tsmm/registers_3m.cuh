#pragma once

#include "src/cuda/tsmm/strided.cuh"

/// tsmm in complex double precision, in either layout, by the 3M method: three real products instead of four. A comes
/// in TMA tiles (boxes), as in tsmm/strided.cuh.
///
/// Gauss: t = C.re (A.re + A.im); the result is (t - A.im (C.re + C.im), t + A.re (C.im - C.re)). The kernel makes the
/// sums of C's parts once, and both parts of a result continue from t. So only A.re + A.im is added by instructions
/// that would keep the tensor cores waiting.
///
/// C stays in registers, so that shared memory is read only for A. Each warp has 16 columns of one half of C's rows.
/// The products are B^T = C^T A^T, 8 rows of B (a set) at a time. Two warps with both halves of C's rows are a pair. Of
/// every two sets, each warp of the pair begins one with its half and finishes the other. The sums that it began pass
/// through shared memory. Where C is small, two pairs hold the same part of it and take other sets.
///
/// Where a result is not finite, its warp computes it again with all four products. So only true infinities remain.
namespace blockvec::kernels::cuda {

/// Two sets of 8 x 16 complex numbers each way, which pairs of warps hand over. With two, none is overwritten unread.
inline constexpr int handed_numbers = dispatch::gauss_pair_bytes / static_cast<int>(sizeof(double2));
inline constexpr int set_numbers = 8 * 16;
static_assert(handed_numbers == 4 * set_numbers);

/// How the warps of a pair exchange the sums that they began. It keeps short addresses in registers, which are scarce.
template <int pairs>
class HandedOver {
 public:
  __device__ HandedOver(unsigned char* memory, Barrier (&barriers)[pairs][2][2], int pair, int half, int lane)
      : given_(shared_address(memory) + static_cast<unsigned>(pair * dispatch::gauss_pair_bytes +
                                                              (2 * half * set_numbers + lane) * numbers_bytes)),
        own_(shared_address(&barriers[pair][half])),
        other_(half == 0 ? 1 : -1) {
    asm volatile("" : "+r"(given_), "+r"(own_), "+r"(other_));
  }

  __device__ void give(unsigned turn, const double (&re)[4], const double (&im)[4]) const {
    const std::uint32_t to = given_ + turn % 2 * set_numbers * numbers_bytes;
#pragma unroll
    for (int v = 0; v < 4; v += 2) {
      store_pair(to + v * warp_size * numbers_bytes, re[v], re[v + 1]);
      store_pair(to + (v + 1) * warp_size * numbers_bytes, im[v], im[v + 1]);
    }
    arrive_at(own_ + turn % 2 * static_cast<unsigned>(sizeof(Barrier)));
  }

  __device__ void add_begun(unsigned turn, double (&re)[4], double (&im)[4]) const {
    wait_at(own_ + turn % 2 * static_cast<unsigned>(sizeof(Barrier)) +
                static_cast<unsigned>(other_ * 2 * static_cast<int>(sizeof(Barrier))),
            turn / 2 % 2);
    const std::uint32_t from = given_ + turn % 2 * set_numbers * numbers_bytes +
                               static_cast<unsigned>(other_ * 2 * set_numbers * numbers_bytes);
#pragma unroll
    for (int v = 0; v < 4; v += 2) {
      add_pair(from + v * warp_size * numbers_bytes, re[v], re[v + 1]);
      add_pair(from + (v + 1) * warp_size * numbers_bytes, im[v], im[v + 1]);
    }
  }

 private:
  __device__ static void store_pair(std::uint32_t to, double one, double other) {
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(to), "d"(one), "d"(other) : "memory");
  }
  __device__ static void add_pair(std::uint32_t from, double& one, double& other) {
    double begun, other_begun;
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(begun), "=d"(other_begun) : "r"(from) : "memory");
    one += begun;
    other += other_begun;
  }

  static constexpr int numbers_bytes = sizeof(double2);
  std::uint32_t given_;  ///< where this lane's own sums go
  std::uint32_t own_;    ///< the first barrier of this warp
  int other_;            ///< 1 or -1: where the other warp's barriers and sums lie
};

/// Adds left right, of depth 4 `depth`, to sum; it uses the deepest MMA instructions that fit.
template <int depth>
__device__ inline void multiply_deep(double (&sum)[4], const double (&left)[2 * depth], const double (&right)[depth]) {
#pragma unroll
  for (int d = 0; d + 4 <= depth; d += 4) {
    const double(&l)[8] = reinterpret_cast<const double(&)[8]>(left[2 * d]);
    multiply_16x8x16(sum, l, reinterpret_cast<const double(&)[4]>(right[d]));
  }
  constexpr int of_four = depth / 4 * 4;
  if constexpr (depth % 4 >= 2) {
    const double l[4] = {left[2 * of_four], left[2 * of_four + 1], left[2 * of_four + 2], left[2 * of_four + 3]};
    const double r[2] = {right[of_four], right[of_four + 1]};
    multiply_16x8x8(sum, l, r);
  }
  if constexpr (depth % 2 == 1) {
    const double l[2] = {left[2 * depth - 2], left[2 * depth - 1]};
    multiply_16x8x4(sum, l, right[depth - 1]);
  }
}

/// A warp's part of alpha C. A lane has columns lane / 4 and lane / 4 + 8, and rows lane % 4 + 4 d.
template <int depth>
struct GaussFactor {
  double re[2 * depth], difference[2 * depth], negative_sum[2 * depth];

  __device__ void read(const TsmmBoxes<double>& p, int first_row, int first_column, int lane) {
    const Factor alpha = p.alpha.read();
    unrolled<depth, 2>([&](int d, int half) {
      const int row = 2 * (first_row + 4 * d + lane % 4);
      const int column = 2 * (first_column + 8 * half + lane / 4);
      double c_re = 0;
      double c_im = 0;
      if (row < p.m && column < p.out.n) {
        c_re = p.small.scaled(row, column, alpha);
        c_im = p.small.scaled(row, column + 1, alpha);
      }
      const int i = 2 * d + half;
      re[i] = c_re;
      difference[i] = c_im - c_re;
      negative_sum[i] = -(c_re + c_im);
      // The compiler must keep these values rather than compute them again from one another.
      asm volatile("" : "+d"(re[i]), "+d"(difference[i]), "+d"(negative_sum[i]));
    });
  }
};

/// Where a lane's numbers of A lie in a stage, and its results in B. In a row-major operand, products number the 8 rows
/// as they are. In a column-major one, neighbouring rows belong to lanes that write side by side.
template <bool rows>
struct GaussPlaces {
  int first_a;           ///< the lane's row, at depth lane % 4
  int depth_step;        ///< numbers to the fourth column of A after it
  int set_step;          ///< numbers to the eighth row after it
  int row;               ///< the first row of the lane's results in a set
  int column;            ///< the lane's first column, in scalars; its second one is 8 further
  std::int64_t first_b;  ///< numbers from the chunk's first row

  __device__ GaussPlaces(const TsmmBoxes<double>& p, int first_depth, int first_column, int lane) {
    const int group = lane / 4;
    const int q = lane % 4;
    first_a = rows ? group * p.a.pitch + 2 * (first_depth + q)
                   : 2 * (group / 2 + 4 * (group % 2)) + (first_depth + q) * p.a.pitch;
    depth_step = rows ? 8 : 4 * p.a.pitch;
    set_step = rows ? 8 * p.a.pitch : 16;
    row = rows ? 2 * q : q;
    column = first_column + group;
    first_b = p.out.b.offset(row, 2 * column);
  }

  /// Calls f(v, place) for a lane's results that lie in B. The set begins at `first_row` of a chunk, with `left` rows
  /// in B.
  template <class F>
  __device__ void visit(const TsmmBoxes<double>& p, double* chunk, int first_row, int left, const F& f) const {
    double* const first = chunk + first_b + first_row * p.out.b.row_stride;
    unrolled<4>([&](int v) {
      constexpr int second_row = rows ? 1 : 4;
      const std::int64_t to_row = rows ? p.out.b.row_stride : 2 * second_row;
      const std::int64_t to_column = rows ? 16 : 8 * p.out.b.column_stride;
      if (row + v % 2 * second_row < left && 2 * (column + v / 2 * 8) < p.out.n) {
        f(v, first + v % 2 * to_row + v / 2 * to_column);
      }
    });
  }
};

/// Two buffers for a chunk's results, where B is tight: whole rows lie side by side. Rows may begin within sectors of
/// memory. The buffers make sure that no part of a sector is written alone.
struct StagedBarriers {
  Barrier full[2], empty[2];
  std::uint32_t chunk[2];

  __device__ void initialize(unsigned warps) {
    for (int i = 0; i < 2; ++i) {
      full[i].initialize(warps * warp_size);
      empty[i].initialize(warp_size);
    }
  }
};
struct StagedChunks {
  StagedBarriers& barriers;
  unsigned char* memory;
  int numbers;  ///< numbers in a buffer
  unsigned turn = 0;

  /// The computing warps call take() for the place of a chunk's results, and give() when all of these are there.
  __device__ double* take(std::uint32_t chunk) {
    barriers.empty[turn % 2].wait(turn / 2 % 2 ^ 1);
    if (threadIdx.x == 0) barriers.chunk[turn % 2] = chunk;
    return reinterpret_cast<double*>(memory) + turn % 2 * numbers;
  }
  __device__ void give() {
    publish_to_bulk_copies();
    barriers.full[turn % 2].arrive();
    ++turn;
  }

  /// One warp stores chunks until it finds no_chunk.
  __device__ void store(const Results<double>& out) {
    for (;; ++turn) {
      barriers.full[turn % 2].wait(turn / 2 % 2);
      const std::uint32_t chunk = barriers.chunk[turn % 2];
      if (chunk == no_chunk) break;
      if (elected()) {
        const std::int64_t first = std::int64_t{chunk} * numbers;
        const std::int64_t count = min(out.k * out.n - first, std::int64_t{numbers});
        bulk_store(out.b.data + first, reinterpret_cast<const double*>(memory) + turn % 2 * numbers,
                   static_cast<unsigned>(count * static_cast<int>(sizeof(double))));
        bulk_stores_have_read();
      }
      __syncwarp();
      barriers.empty[turn % 2].arrive();  // all lanes have read the chunk's number, too
    }
    bulk_stores_are_done();
  }
};

/// A warp brings B's old numbers of a chunk's rows into the L2 cache.
__device__ inline void fetch_old(const Results<double>& out, std::uint32_t chunk) {
  const std::int64_t first_row = std::int64_t{chunk} * out.box_rows;
  const auto rows = static_cast<int>(min(out.k - first_row, std::int64_t{out.box_rows}));
  const int lines = out.b.row_major ? rows : out.n / 2;
  const int bytes = (out.b.row_major ? out.n : 2 * rows) * static_cast<int>(sizeof(double));
  for (int i = static_cast<int>(threadIdx.x) % warp_size; i < lines; i += warp_size) {
    const std::int64_t place = out.b.row_major ? out.b.offset(first_row + i, 0) : out.b.offset(first_row, 2 * i);
    const auto begin = reinterpret_cast<std::uintptr_t>(out.b.data + place);
    const std::uintptr_t whole = begin / 16 * 16;  // whole units of 16 bytes, which bulk copies move
    bulk_prefetch(reinterpret_cast<const void*>(whole), static_cast<unsigned>((begin + bytes + 15) / 16 * 16 - whole));
  }
}

/// How many pairs of warps share out the rows of a box.
template <int pieces>
inline constexpr int gauss_row_pairs = dispatch::gauss_row_pairs(pieces);

/// A block takes 4 `fours` rows of C and 16 `pieces` complex columns. An odd `fours` gives the second half fewer rows.
template <int fours, int pieces, bool by_columns>
__global__ void __launch_bounds__(dispatch::gauss_register_warps(pieces) * warp_size + loading_threads, 1)
    tsmm_gauss_registers_kernel(const __grid_constant__ TsmmBoxes<double> p) {
#if __CUDA_ARCH__ >= 900
  constexpr int row_pairs = gauss_row_pairs<pieces>;
  constexpr int pairs = pieces * row_pairs;
  constexpr int warps = 2 * pairs;
  constexpr bool many = warps > computing_warps;
  constexpr bool early = pieces <= 2;  // B's old numbers have registers of their own while sums are computed
  constexpr bool fetches = !many;      // the loading warp has registers to prefetch them
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ Barrier handed_over[pairs][2][2];  // two for either half, since one may be a turn ahead
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  __shared__ StagedBarriers staged_barriers;
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const Items<double, false> items(p);
  const BoxStages<double> stages{barriers, chunk_of, memory, p.a.numbers() * static_cast<int>(sizeof(double)), 0};
  if (threadIdx.x == 0) {
    for (int i = 0; i < pairs; ++i) {
      for (int j = 0; j < 4; ++j) handed_over[i][j / 2][j % 2].initialize(warp_size);
    }
    staged_barriers.initialize(warps);
    barriers.initialize(p.stages, warps);
  }
  await_previous_kernel();
  if (!p.condition.holds()) return;
  __syncthreads();
  const bool reads_a = !p.alpha.read().is_zero();

  const bool staged = p.out.staged_pitch != 0;
  StagedChunks results{staged_barriers, memory + p.stages * stages.bytes() + pairs * dispatch::gauss_pair_bytes,
                       p.out.box_rows * p.out.n};
  if (warp >= warps) {
    give_registers<many ? 32 : 40>();
    const bool adds = !p.beta.read().is_zero();
    const auto fetch = [&](std::uint32_t chunk) {
      if (fetches && adds) fetch_old(p.out, chunk);
    };
    if (reads_a && warp == warps) load_chunks<1, false>(p, stages, items, tickets, fetch);
    if (reads_a && staged && warp == warps + 1) results.store(p.out);
    return;
  }

  take_registers<many ? 160 : 232>();
  const int half = warp / pairs;
  // The two warps of a pair use different tensor cores, and wait less for either.
  const int pair = (warp + half) % pairs;
  const int piece = pair % pieces;
  const int first_column = 16 * piece;
  constexpr int more = (fours + 1) / 2;
  const int first_depth = 4 * more * half;
  const GaussPlaces<!by_columns> places(p, first_depth, first_column, lane);
  const bool adds = !p.beta.read().is_zero();
  const int rows = p.out.box_rows;
  const int first_set = 2 * (pair / pieces) + half;  // begun first; this warp finishes its neighbour
  const auto of_chunk = [&](std::uint32_t chunk) {
    return p.out.b.data + std::int64_t{chunk} * rows * p.out.b.row_stride;
  };
  const auto left_of = [&](std::uint32_t chunk) {
    return static_cast<int>(min(p.out.k - std::int64_t{chunk} * rows, std::int64_t{rows}));
  };
  const auto write = [&](double* to, int first_row, int left, const double(&re)[4], const double(&im)[4]) {
    if (p.out.in_pairs) {
      places.visit(p, to, first_row, left, [&](int v, double* at) { write_pair(at, re[v], im[v]); });
    } else {
      places.visit(p, to, first_row, left, [&](int v, double* at) {
        at[0] = re[v];
        at[1] = im[v];
      });
    }
  };
  const auto add_old = [&](std::uint32_t chunk, int first_row, int left, double(&re)[4], double(&im)[4]) {
    const Factor beta = p.beta.read();
    constexpr int at_once = many ? 2 : 4;  // as many as registers can hold
#pragma unroll
    for (int first = 0; first < 4; first += at_once) {
      Factor old[4] = {};
      places.visit(p, of_chunk(chunk), first_row, left, [&](int v, const double* at) {
        if (v / at_once == first / at_once) old[v] = {at[0], at[1]};
      });
#pragma unroll
      for (int v = first; v < first + at_once; ++v) cuda::add_old(re[v], im[v], old[v].re, old[v].im, beta);
    }
  };
  if (!reads_a) {
    for (std::uint32_t chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
      for (int set = first_set; set < rows / 8; set += 2 * row_pairs) {
        const int left = left_of(chunk) - 8 * set;
        double re[4] = {}, im[4] = {};
        if (adds) add_old(chunk, 8 * set, left, re, im);
        write(of_chunk(chunk), 8 * set, left, re, im);
      }
    }
    return;
  }

  const auto compute = [&]<int depth>() {
    GaussFactor<depth> c;
    c.read(p, first_depth, first_column, lane);
    const HandedOver<pairs> handed(memory + p.stages * stages.bytes(), handed_over, pair, half, lane);
    RingPosition at{0, 0};
    unsigned turns_done = 0;
    for (;;) {
      barriers.full[at.stage].wait(at.parity);
      const std::uint32_t chunk = chunk_of[at.stage];
      if (chunk == no_chunk) break;
      const double* const stage = reinterpret_cast<const double*>(memory + at.stage * stages.bytes());
      double* const to = staged ? results.take(chunk) : of_chunk(chunk);
      const int left = left_of(chunk);
      double2 both[depth];
      const auto load = [&](int set) {
        const double* const a = stage + places.first_a + set * places.set_step;
        unrolled<depth>([&](int d) { both[d] = *reinterpret_cast<const double2*>(a + d * places.depth_step); });
      };
      load(first_set);
#pragma unroll 1
      for (int set = first_set; set < rows / 8; set += 2 * row_pairs, ++turns_done) {
#pragma unroll
        for (int role = 0; role < 2; ++role, set ^= 1) {
          double re_a[depth], im_a[depth], sum_a[depth];
          unrolled<depth>([&](int d) {
            re_a[d] = both[d].x;
            im_a[d] = both[d].y;
            sum_a[d] = both[d].x + both[d].y;
          });
          [[maybe_unused]] Factor old[4] = {};
          if constexpr (early) {
            if (adds && role == 1) {
              places.visit(p, of_chunk(chunk), 8 * set, left - 8 * set, [&](int v, const double* at) {
                old[v] = {at[0], at[1]};
              });
            }
          }
          if constexpr (!early && !fetches) {
            if (adds && role == 0) {
              places.visit(p, of_chunk(chunk), 8 * (set ^ 1), left - 8 * (set ^ 1),
                           [](int, const double* at) { prefetch_line(at); });
            }
          }
          double re[4] = {};
          multiply_deep<depth>(re, c.re, sum_a);
          double im[4];
          unrolled<4>([&](int v) { im[v] = re[v]; });
          if (role == 1) handed.add_begun(turns_done, re, im);
          multiply_deep<depth>(im, c.difference, re_a);
          multiply_deep<depth>(re, c.negative_sum, im_a);
          // The next numbers come while these are multiplied.
          if (role == 0) {
            load(set ^ 1);
            handed.give(turns_done, re, im);
            continue;
          }
          const int next = (set ^ 1) + 2 * row_pairs;
          if (next < rows / 8) load(next);
          // Takes exponents without signs; integer instructions leave the double-precision pipe to the tensor cores.
          unsigned largest = 0;
          unrolled<4>([&](int v) {
            largest = max(largest, static_cast<unsigned>(__double2hiint(re[v])) << 1);
            largest = max(largest, static_cast<unsigned>(__double2hiint(im[v])) << 1);
          });
          if (__all_sync(0xffffffffU, largest < 0xffe00000U)) {
            if constexpr (early) {
              const Factor beta = p.beta.read();
#pragma unroll
              for (int v = 0; v < 4 && adds; ++v) cuda::add_old(re[v], im[v], old[v].re, old[v].im, beta);
            } else if (adds) {
              add_old(chunk, 8 * set, left - 8 * set, re, im);
            }
            write(to, 8 * set, left - 8 * set, re, im);
          } else {
#pragma unroll 1
            for (int row = 8 * set; row < min(8 * set + 8, left); ++row) {
              row_in_double<32>(p, stage + row * (by_columns ? 2 : p.a.pitch), by_columns ? p.a.pitch : 2,
                                std::int64_t{chunk} * rows + row, 2 * first_column,
                                [&](int column, double value) { to[p.out.b.offset(row, column)] = value; });
            }
          }
        }
      }
      barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
      if (staged) results.give();
    }
    if (staged) {
      results.take(no_chunk);
      results.give();
    }
  };
  if (fours % 2 == 0 || half == 0) {
    compute.template operator()<more>();
  } else {
    compute.template operator()<fours / 2>();
  }
#endif
}

}  // namespace blockvec::kernels::cuda
