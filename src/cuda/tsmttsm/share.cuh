#pragma once

#include "src/cuda/operands/staged.cuh"

/// What the kernels of tsmttsm's ring (tsmttsm/ring.cuh) are told, and which part of the product a block takes.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmRing {
  Staged<Real> a, b;
  bool same;  ///< B is A, and `b` as `a`: a stage holds its rows once
  int m, n;
  int sections_m, sections_n;  ///< of P, which blocks share out
  std::uint32_t chunks;
  int rows;  ///< of a chunk
  int segments;
  int stages;
  int stage_bytes;
  int offset_b;  ///< bytes from the start of a stage to B's part
  int warps_m, warps_n;
  int groups;
  int copies;     ///< of P in shared memory at the end
  int sum_pitch;  ///< numbers from row to row of these
  int split;
  int groups_in_turn;  ///< groups / split
  int steps;           ///< of 16 rows in a segment
  RowMap map;
  bool turned;  ///< half of the lanes turn (math/f64_tiles.cuh)
  // Of column-major operands alone.
  bool wide;          ///< columns are read 16 bytes at a time
  bool swizzled;      ///< or as SwizzledLane does
  std::uint32_t run;  ///< of chunks that a block takes one after the other
  Coefficient<Real> alpha;
  double* partial;  ///< [block][m][n]
  double sign;      ///< of tsmttsm/ring_3m.cuh
  int flips;        ///< there: which bit of its number flips a lane (math/f64_tiles.cuh)
  // Of whole warpgroups alone: the operands in memory.
  Tall<const Real> whole_a, whole_b;
  std::int64_t k;
};

/// A block's share of the product: a section of P, and every so many chunks of rows, or runs of them.
struct Share {
  std::uint32_t part, parts;
  int row0, column0;

  template <class Real>
  __device__ Share(const TsmttsmRing<Real>& p, int rows, int columns) {
    const auto sections = static_cast<std::uint32_t>(p.sections_m * p.sections_n);
    part = blockIdx.x / sections;
    parts = gridDim.x / sections;
    const int section = static_cast<int>(blockIdx.x % sections);
    row0 = section / p.sections_n * rows;
    column0 = section % p.sections_n * columns;
  }

  /// Such chunks there are; and the one of a turn.
  template <bool by_columns, class Real>
  __device__ int turns(const TsmttsmRing<Real>& p) const {
    if constexpr (!by_columns) return static_cast<int>((p.chunks - part + parts - 1) / parts);
    const std::uint32_t rounds = p.chunks / (parts * p.run);
    const auto left = static_cast<int>(p.chunks - (rounds * parts + part) * p.run);
    return static_cast<int>(rounds * p.run) + min(max(left, 0), static_cast<int>(p.run));
  }
  template <bool by_columns, class Real>
  __device__ std::uint32_t chunk(const TsmttsmRing<Real>& p, int turn) const {
    const auto t = static_cast<std::uint32_t>(turn);
    if constexpr (!by_columns) return part + t * parts;
    return (t / p.run * parts + part) * p.run + t % p.run;
  }
};

}  // namespace blockvec::kernels::cuda
