#pragma once

#include "src/cuda/operands/staged.cuh"

/// The arguments of tsmttsm's pipeline kernels (tsmttsm/ring.cuh), and the work range of a block.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmRing {
  Staged<Real> a, b;
  bool same;  ///< B is A, and `b` equals `a`: a stage holds the rows once
  int m, n;
  int sections_m, sections_n;  ///< CTA tiles (sections) of P, which blocks share out
  std::uint32_t chunks;
  int rows;  ///< of a row tile
  int segments;
  int stages;
  int stage_bytes;
  int offset_b;  ///< bytes from the start of a stage to B's part
  int warps_m, warps_n;
  int groups;
  int copies;     ///< copies of P in shared memory at the end
  int sum_pitch;  ///< numbers from row to row of a copy
  int split;
  int groups_in_turn;  ///< groups / split
  int steps;           ///< steps of 16 rows in a segment
  RowMap map;
  bool turned;  ///< half of the lanes read their blocks in the other order (math/f64_tiles.cuh)
  // Only for column-major operands:
  bool wide;          ///< lanes read columns 16 bytes at a time
  bool swizzled;      ///< lanes read columns as SwizzledLane does
  std::uint32_t run;  ///< adjacent row tiles that a block takes one after the other
  Coefficient<Real> alpha;
  double* partial;  ///< [block][m][n]
  double sign;      ///< s of tsmttsm/ring_3m.cuh
  int flips;        ///< 3M: which bit of a lane's number flips the lane (math/f64_tiles.cuh)
  // Only for the warpgroup kernels: the operands in memory.
  Tall<const Real> whole_a, whole_b;
  std::int64_t k;
};

/// The work range (share) of a block: a CTA tile of P, and every `parts`-th row tile or run of row tiles.
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

  /// turns() is the number of the block's row tiles; chunk() is the row tile of one turn.
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
