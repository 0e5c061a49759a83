#pragma once

#include "src/cuda/tsmttsm_ring.cuh"

/// tsmttsm of complex columns in single precision whose result is a little wider than some pieces of 16 x 8:
///
///           4 n columns   extras
///         +-------------+------+    Eight warps have the pieces on tensor cores, in double precision. What is left
///   8 m   |   pieces    |  B's |    goes to four others without: of A's columns with B's extra ones and, where pieces
///         +-------------+      |    do not cover them, of A's extra ones with B's. Their lanes take rows; sums of so
///   extras|     A's     |      |    many rows are of single precision.
///         +-------------+------+
namespace blockvec::kernels::cuda {

using dispatch::border_warps;
inline constexpr int bordered_threads = computing_threads + border_warps * warp_size;
inline constexpr int border_rows = dispatch::rows_of_early_sums;  ///< of a lane, summed in single precision

/// Sums of `extras` columns with others, of which a lane has so many, as [extra][other].
template <int extras, int others, int shares>
struct BorderSums {
  static constexpr int lanes = warp_size / shares;  ///< that share sums: each has other rows
  static constexpr int count = extras * others;
  static constexpr int own = (count + lanes - 1) / lanes;
  float early[count][2] = {};
  double2 sum[own] = {};  ///< of entries lane % lanes, + lanes, ...

  /// Products of one row.
  __device__ void add(const float2 (&extra)[extras], float2 other, int j) {
#pragma unroll
    for (int i = 0; i < extras; ++i) {
      float(&to)[2] = early[i * others + j];
      to[0] = fmaf(other.x, extra[i].x, fmaf(-other.y, extra[i].y, to[0]));
      to[1] = fmaf(other.x, extra[i].y, fmaf(other.y, extra[i].x, to[1]));
    }
  }

  /// Adds the sums of single precision to those of double precision, if all are finite, and clears them.
  __device__ bool join() {
    float zero = 0;
#pragma unroll
    for (int i = 0; i < 2 * count; ++i) {
      float& sum_of_lanes = (&early[0][0])[i];
#pragma unroll
      for (int apart = 1; apart < lanes; apart *= 2) {
        sum_of_lanes += __shfl_xor_sync(0xffffffffU, sum_of_lanes, apart);
      }
      zero = fmaf(sum_of_lanes, 0.0F, zero);
    }
    const bool finite = __all_sync(0xffffffffU, zero == 0);
    const int lane = static_cast<int>(threadIdx.x) % lanes;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (finite && lane == i % lanes) {
        sum[i / lanes].x += early[i][0];
        sum[i / lanes].y += early[i][1];
      }
      early[i][0] = early[i][1] = 0;
    }
    return finite;
  }
};

/// A warp's share of what pieces leave.
template <int m, int n, int extras>
class Border {
 public:
  static constexpr int covered_a = 8 * m;
  static constexpr int covered_b = 4 * n;
  static constexpr int width = covered_b + extras;
  static constexpr bool both = covered_a < width;  ///< operands have extra columns
  static constexpr int sums = 2 * extras * width;
  static constexpr int shares = sums <= 80 ? 1 : sums <= 128 ? 2 : 8;
  static constexpr int others = (width + shares - 1) / shares;
  static constexpr int roles = both ? 2 : 1;
  static constexpr int sharing = border_warps / roles;  ///< warps of a role, which take rows in turn
  using Sums = BorderSums<extras, others, shares>;

  __device__ Border(const TsmttsmRing<float>& p, int warp)
      : p_(p),
        lane_(static_cast<int>(threadIdx.x) % warp_size),
        turn_(warp / roles),
        of_a_(both && warp % roles == 1),
        first_other_(lane_ / Sums::lanes * others),
        count_((of_a_ ? covered_b : width) - first_other_) {
    const Staged<float>& extra = of_a_ ? p.a : p.b;
    const Staged<float>& other = of_a_ ? p.b : p.a;
    const int offset_b = p.offset_b / static_cast<int>(sizeof(float));
    const int row = 2 * (lane_ % Sums::lanes);
    first_extra_ = of_a_ ? covered_a : covered_b;
    extra_ = extra.place_of_column<true>(0, 2 * first_extra_) + (of_a_ ? 0 : offset_b) + row;
    other_ = other.place_of_column<true>(0, 2 * first_other_) + (of_a_ ? offset_b : 0) + row;
    pitch_extra_ = extra.columns.pitch;
    pitch_other_ = other.columns.pitch;
  }

  /// All chunks of the block.
  __device__ void add_chunks(const Share& share, RingBarriers& barriers, const unsigned char* ring) {
    const float sign_extra = of_a_ ? static_cast<float>(p_.sign) : 1;  // of imaginary parts: of A's
    const float sign_other = of_a_ ? 1 : static_cast<float>(p_.sign);
    const int turns = share.turns<true>(p_);
    RingPosition at{0, 0};
    int rows = 0;  // of a lane, whose sums are of single precision so far
    int first_turn = 0;
    for (int turn = 0; turn < turns; ++turn) {
      barriers.full[at.stage].wait(at.parity);
      const float* stage = reinterpret_cast<const float*>(ring + at.stage * p_.stage_bytes);
#pragma unroll 1
      for (int row = turn_ * Sums::lanes; row < p_.rows; row += sharing * Sums::lanes, ++rows) {
        float2 extra[extras];
#pragma unroll
        for (int i = 0; i < extras; ++i) {
          extra[i] = *reinterpret_cast<const float2*>(stage + extra_ + i * pitch_extra_ + 2 * row);
          extra[i].y *= sign_extra;
        }
        const float* next = stage + other_ + 2 * row;
        int pitch = pitch_other_;
        asm volatile("" : "+r"(pitch));  // addresses are not to stay in registers
#pragma unroll
        for (int j = 0; j < others; ++j) {
          float2 other = *reinterpret_cast<const float2*>(next);
          other.y *= sign_other;
          sums_.add(extra, other, j);
          // Beyond the operand, the last one is read again; such sums are dropped.
          if (shares * others == width || j + 1 < count_) next += pitch;
        }
      }
      barriers.empty[at.stage].arrive();
      at.advance(1, p_.stages);
      if (rows + p_.rows / (sharing * Sums::lanes) < border_rows && turn + 1 < turns) continue;
      if (!sums_.join()) add_plainly(share, first_turn, turn + 1);
      rows = 0;
      first_turn = turn + 1;
    }
  }

  /// The sums of the warps of a role, in fixed order, to the block's; `memory` holds them meanwhile.
  __device__ void store(const Share& share, double2* memory, int warp) const {
    constexpr int of_warp = Sums::own * warp_size;
#pragma unroll
    for (int i = 0; i < Sums::own; ++i) memory[warp * of_warp + i * warp_size + lane_] = sums_.sum[i];
    meet(4, border_warps * warp_size);
    if (turn_ != 0) return;
    double* const partial = p_.partial + static_cast<std::int64_t>(share.part) * p_.m * p_.n;
#pragma unroll 1
    for (int i = 0; i < Sums::own; ++i) {
      const int entry = i * Sums::lanes + lane_ % Sums::lanes;
      if (!counts(entry)) continue;
      double2 sum = sums_.sum[0];
      for (int other = 0; other < sharing; ++other) {
        const double2 more = memory[(warp + other * roles) * of_warp + i * warp_size + lane_];
        sum = other == 0 ? more : make_double2(sum.x + more.x, sum.y + more.y);
      }
      double* const to = partial + 2 * column_a(entry) * p_.n + 2 * column_b(entry);
      to[0] = sum.x;
      to[1] = sum.y;
      to[p_.n] = 0;
      to[p_.n + 1] = 0;
    }
  }

 private:
  __device__ bool counts(int entry) const { return entry < Sums::count && entry % others < count_; }
  __device__ int column_a(int entry) const {
    return of_a_ ? first_extra_ + entry / others : first_other_ + entry % others;
  }
  __device__ int column_b(int entry) const {
    return of_a_ ? first_other_ + entry % others : first_extra_ + entry / others;
  }

  /// Adds the warp's rows of some turns in double precision and from memory, as join could not.
  __device__ void add_plainly(const Share& share, int first_turn, int end_turn) {
#pragma unroll
    for (int i = 0; i < Sums::own; ++i) {
      const int entry = i * Sums::lanes + lane_ % Sums::lanes;
      if (!counts(entry)) continue;
      const float* const a = p_.whole_a.data + p_.whole_a.offset(0, 2 * column_a(entry));
      const float* const b = p_.whole_b.data + p_.whole_b.offset(0, 2 * column_b(entry));
      double2 sum = sums_.sum[i];
#pragma unroll 1
      for (int turn = first_turn; turn < end_turn; ++turn) {
        const std::int64_t start = std::int64_t{share.chunk<true>(p_, turn)} * p_.rows;
        const auto end = static_cast<int>(min(static_cast<std::int64_t>(p_.rows), p_.k - start));
#pragma unroll 1
        for (int row = 0; row < end; ++row) {
          if (row / Sums::lanes % sharing != turn_) continue;
          const float* const x = a + 2 * (start + row);
          const float* const y = b + 2 * (start + row);
          const double im = p_.sign * x[1];
          sum.x += static_cast<double>(x[0]) * y[0] - im * y[1];
          sum.y += static_cast<double>(x[0]) * y[1] + im * y[0];
        }
      }
      sums_.sum[i] = sum;
    }
  }

  const TsmttsmRing<float>& p_;
  int lane_;
  int turn_;
  bool of_a_;  ///< has extra columns of A, else of B
  int first_other_;
  int count_;  ///< other columns from there on
  int first_extra_;
  int extra_, other_;  ///< places of the lane's first numbers in a stage
  int pitch_extra_, pitch_other_;
  Sums sums_;
};

template <int m, int n, int extras>
__global__ void __launch_bounds__(bordered_threads + loading_threads, 1)
    tsmttsm_bordered_kernel(const __grid_constant__ TsmttsmRing<float> p) {
  if constexpr (!has_bulk_copies) return;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ Barrier stages_are_read, memory_is_free;
  release_next_kernel();
  const Share share(p, 0, 0);
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  if (threadIdx.x == 0) {
    barriers.initialize(p.stages, static_cast<unsigned>(p.split + border_warps), loading_threads / warp_size);
    for (Barrier* const barrier : {&stages_are_read, &memory_is_free}) barrier->initialize(bordered_threads);
  }
  const auto meet_others = [](Barrier& barrier) {
    barrier.arrive();
    barrier.wait(0);
  };
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  __syncthreads();
  if (warp >= computing_warps + border_warps) {
    give_registers<40>();
    load<true>(p, share, barriers, memory);
  } else if (warp >= computing_warps) {
    give_registers<120>();
    const int own = warp - computing_warps;
    Border<m, n, extras> border(p, own);
    border.add_chunks(share, barriers, memory);
    meet_others(stages_are_read);
    meet_others(memory_is_free);
    border.store(share, reinterpret_cast<double2*>(memory), own);
  } else {
    take_registers<176>();
    FullTiles<m, n> tiles;
    if (warp < p.groups)
      add_chunks<false, false, true, Reads::one_by_one>(p, share, barriers, memory, warp, 0, 0, tiles);
    meet_others(stages_are_read);
    if (warp < p.groups) add_groups<false>(p, share, memory, warp, 0, 0, tiles);
    meet_others(memory_is_free);
  }
}

}  // namespace blockvec::kernels::cuda
