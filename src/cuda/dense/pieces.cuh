#pragma once

#include <cstdint>

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/dispatch/cuda/dense_units.hpp"

/// Pieces of a large dense matrix: 128 bytes of each of some lines, in shared memory in the order that TMA's swizzle
/// makes, and how lanes read them as left factors of 16 x 16 (mma_f64.cuh, with g = lane / 4 and q = lane % 4).
///
/// The numbers of a line are the depth of a product for `lines_as_results`, and its lines are the depth for
/// `numbers_as_results`. A sum may take its terms in any order: lanes take neighbours, 16 bytes at a time, and no two
/// lanes of a quarter of a warp meet in one bank. `depth_by_lines` and `depth_by_numbers` say which terms these are.
namespace blockvec::kernels::cuda {

using dispatch::dense_piece;
using dispatch::line_bytes;

template <class Real>
inline constexpr int piece = dense_piece(sizeof(Real));
/// Left factors side by side in a piece.
template <class Real>
inline constexpr int piece_tiles = piece<Real> / 16;

/// The number of a piece's lines that is term (q, j) of product `step` of a piece; j = 0..3.
template <class Real>
__host__ __device__ constexpr int depth_by_lines(int step, int q, int j) {
  return piece<Real> / 4 * q + 4 * step + j;
}
/// The line that is term (q, j) of product `step`.
__host__ __device__ constexpr int depth_by_numbers(int step, int q, int j) {
  return 16 * step + 2 * q + j % 2 + 8 * (j / 2);
}

/// Where unit `unit` of 16 bytes of a line stands.
__device__ inline int place_of_unit(int line, int unit) { return line * line_bytes + ((unit ^ (line & 7)) << 4); }

__device__ inline void read_unit(double (&to)[2], const unsigned char* from) {
  const double2 x = *reinterpret_cast<const double2*>(from);
  to[0] = x.x;
  to[1] = x.y;
}
__device__ inline void read_unit(double (&to)[4], const unsigned char* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x;
  to[1] = x.y;
  to[2] = x.z;
  to[3] = x.w;
}

/// Results g and g + 8 belong to these lines of 16 lines at `lines`, which begin at a multiple of 8 lines.
template <class Real>
__device__ inline void lines_as_results(double (&left)[8], const unsigned char* lines, int step, int lane) {
  constexpr int numbers = 16 / static_cast<int>(sizeof(Real));
  const int g = lane / 4, q = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int unit = 0; unit < 4 / numbers; ++unit) {
      double x[numbers];
      read_unit(x, lines + half * 8 * line_bytes + place_of_unit(g, 2 * q + step + unit));
#pragma unroll
      for (int j = 0; j < numbers; ++j) left[2 * (unit * numbers + j) + half] = x[j];
    }
  }
}

/// Result g + 8 half of factor m is this number of a piece's lines.
template <class Real>
__host__ __device__ constexpr int number_of_result(int m, int g, int half) {
  return 2 * piece_tiles<Real> * g + 2 * m + half;
}
template <class Real>
__device__ inline void numbers_as_results(double (*left)[8], const unsigned char* lines, int step, int lane) {
  constexpr int numbers = 16 / static_cast<int>(sizeof(Real));
  const int g = lane / 4, q = lane % 4;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    double x[numbers];
    read_unit(x, lines + place_of_unit(depth_by_numbers(step, q, j), g));
#pragma unroll
    for (int i = 0; i < numbers; ++i) left[i / 2][2 * j + i % 2] = x[i];
  }
}

/// Right factors of 16 x 8 as `packed` has them: [factor][half of the terms][lane][2].
__device__ inline void read_right(double (&right)[4], const double* packed, int factor, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const double2 x = reinterpret_cast<const double2*>(packed)[(2 * factor + half) * warp_size + lane];
    right[2 * half] = x.x;
    right[2 * half + 1] = x.y;
  }
}

/// A matrix as lines, from which pieces come.
template <class Real>
struct PieceSource {
  CUtensorMap map;  ///< where `bulk`: TMA tiles of one piece
  const Real* data;
  std::int64_t distance, length, count;
  int copy_bytes;  ///< 16, 8 or 4: what all lines are aligned to
  bool bulk;
};

/// Copies pieces of `lines` lines by cp.async, one behind the other, from number `first` and line `line` on. What lies
/// beyond the matrix becomes zero. `threads` threads call it.
template <int copy_bytes, class Real>
__device__ inline void copy_pieces(const PieceSource<Real>& from, unsigned char* to, std::int64_t first,
                                   std::int64_t line, int pieces, int lines, int thread, int threads) {
  constexpr int copies = line_bytes / copy_bytes;
  constexpr int numbers = copy_bytes / static_cast<int>(sizeof(Real));
#pragma unroll 4
  for (int i = thread; i < pieces * lines * copies; i += threads) {
    const int byte = i % copies * copy_bytes;
    const int l = i / copies % lines;
    const std::int64_t at = first + i / copies / lines * piece<Real> + i % copies * numbers;
    const std::int64_t left = line + l < from.count ? from.length - at : 0;
    const int valid = left >= numbers ? numbers : left > 0 ? static_cast<int>(left) : 0;
    async_copy_part<copy_bytes>(to + i / copies / lines * lines * line_bytes + place_of_unit(l, byte / 16) + byte % 16,
                                valid > 0 ? from.data + (line + l) * from.distance + at : from.data,
                                valid * static_cast<int>(sizeof(Real)));
  }
}
template <class Real>
__device__ inline void copy_pieces(const PieceSource<Real>& from, unsigned char* to, std::int64_t first,
                                   std::int64_t line, int pieces, int lines, int thread, int threads) {
  if (from.copy_bytes == 16) {
    copy_pieces<16>(from, to, first, line, pieces, lines, thread, threads);
  } else if (sizeof(Real) == 8 || from.copy_bytes == 8) {
    copy_pieces<8>(from, to, first, line, pieces, lines, thread, threads);
  } else {
    copy_pieces<static_cast<int>(sizeof(Real))>(from, to, first, line, pieces, lines, thread, threads);
  }
}

/// Copies packed numbers by cp.async. `threads` threads call it.
__device__ inline void copy_packed(unsigned char* to, const double* from, int bytes, int thread, int threads) {
  for (int i = 16 * thread; i < bytes; i += 16 * threads) {
    async_copy_part<16>(to + i, reinterpret_cast<const unsigned char*>(from) + i, 16);
  }
}

/// The stages of a block: pieces of A, and the packed part of X behind them.
struct DenseStages {
  unsigned char* memory;
  Barrier* full;
  Barrier* empty;
  int count, stage_bytes, packed_bytes;
  int loaders;  ///< threads that load

  __device__ unsigned char* a(int stage) const { return memory + stage * (stage_bytes + packed_bytes); }
  __device__ unsigned char* x(int stage) const { return a(stage) + stage_bytes; }
  __device__ unsigned char* end() const { return a(count); }
};

/// Shared memory from a multiple of 1024 bytes on, where swizzled pieces begin.
__device__ inline unsigned char* aligned_memory(unsigned char* memory) {
  return memory + (1024 - shared_address(memory) % 1024) % 1024;
}

/// All threads of a block call this first.
__device__ inline void prepare(const DenseStages& stages, bool bulk) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages.count; ++s) {
      stages.full[s].initialize(bulk ? 2 : stages.loaders);  // bulk: of A and of X
      stages.empty[s].initialize(dispatch::computing_warps);
    }
    publish_barriers();
  }
  __syncthreads();
}

/// What the loading threads do for `units` units. load.begin() is the first of them and load.advance goes on to the
/// next one; load.copy_a, load.bulk_a and load.x take one. Where there are bulk copies, the first warp orders those of
/// A, so that its lanes share the work of the addresses, and the second one those of X. X is written by the previous
/// kernel, A is not: bulk copies of A begin before that kernel has ended.
template <class Load>
__device__ inline void fill_stages(const DenseStages& stages, bool bulk, int units, const Load& load) {
  const int thread = static_cast<int>(threadIdx.x) - computing_threads;
  const int warp = thread / warp_size, lane = thread % warp_size;
  auto unit = load.begin();
  RingPosition at{0, 1};
  const auto for_units = [&](const auto& fill) {
    for (int i = 0; i < units; ++i, at.advance(1, stages.count), load.advance(unit)) {
      stages.empty[at.stage].wait(at.parity);
      fill(stages.a(at.stage), stages.x(at.stage), stages.full[at.stage]);
    }
  };
  if (!bulk) {
    await_previous_kernel();
    for_units([&](unsigned char* a, unsigned char* x, Barrier& full) {
      load.copy_a(unit, a, thread, stages.loaders);
      copy_packed(x, load.x(unit), stages.packed_bytes, thread, stages.loaders);
      full.await_copies();
      full.arrive();
    });
    await_copies<0>();
  } else if (has_bulk_copies && warp == 0) {
    for_units([&](unsigned char* a, unsigned char*, Barrier& full) { load.bulk_a(unit, a, full, lane); });
  } else if (has_bulk_copies && warp == 1 && lane == 0) {
    await_previous_kernel();
    for_units([&](unsigned char*, unsigned char* x, Barrier& full) {
      full.arrive_and_expect(static_cast<unsigned>(stages.packed_bytes));
      bulk_load(x, load.x(unit), static_cast<unsigned>(stages.packed_bytes), full);
    });
  }
}

/// Registers of loading and computing threads.
inline constexpr int dense_loading_registers = 88;
inline constexpr int dense_computing_registers = 208;

}  // namespace blockvec::kernels::cuda
