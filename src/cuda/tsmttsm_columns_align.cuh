#pragma once

#include "src/cuda/boxes.cuh"
#include "src/cuda/ring.cuh"
#include "src/cuda/split.cuh"
#include "src/cuda/warpgroup.cuh"
#include "src/dispatch/cuda_split_columns.hpp"

/// Column-major operands of tsmttsm_columns_warpgroup.cuh on their way into stages, and of B from there to where the
/// tensor cores find it.
namespace blockvec::kernels::cuda {

using dispatch::aligning_warps;
using dispatch::piece_bytes;
using dispatch::piece_rows;
using dispatch::split_rows;

/// An operand in boxes, class by class in a stage. Columns have positions, which are rows or columns of the products:
/// those of a class follow one another.
struct SplitColumns {
  Boxes boxes;
  int class_numbers;    ///< from class to class in a stage
  int class_positions;  ///< from class to class among positions
  int first_byte;       ///< in a stage
  const float* data;
  std::int64_t distance;  ///< from column to column in memory
  int count;

  /// Of a position; where no column has it, of the last one before it: lanes that read the same do not wait for one
  /// another.
  struct Place {
    int of_class, line;
    bool exists;
  };
  __device__ Place find(int position) const {
    int of = 0;
#pragma unroll
    for (int c = 1; c < most_classes; ++c) of += c < boxes.classes && position >= c * class_positions ? 1 : 0;
    const int line = position - of * class_positions;
    return {of, min(line, boxes.lines - 1), line < boxes.lines};
  }
  /// Where boxes begin with column `first`; `count` or more where there is none.
  __device__ int column(int position, int first) const {
    const Place at = find(position);
    return at.exists ? first + at.line * boxes.classes + at.of_class : count;
  }
  __device__ int lead(int position) const { return boxes.lead[find(position).of_class]; }
  /// Numbers from the start of the operand's part of a stage to a column's box.
  __device__ int place(int position) const {
    const Place at = find(position);
    return at.of_class * class_numbers + at.line * boxes.pitch;
  }
};

struct TsmttsmColumnsWarpgroup {
  SplitColumns a, b;
  std::int64_t k;
  int sections;  ///< of A's columns, which blocks share out
  std::uint32_t chunks, run;
  int pieces;  ///< of a chunk: 1, 2 or 4
  int stages;
  int stage_bytes;
  int pieces_in_sum;  ///< that a warpgroup sums in single precision
  Coefficient<float> alpha;
  double* partial;  ///< [part][column of A][column of B]
};

inline constexpr int split_groups = 2;
inline constexpr int split_multiplying_threads = split_groups * warpgroup_threads;
inline constexpr int split_block_threads = split_multiplying_threads + aligning_warps * warp_size + loading_threads;

/// What the tensor cores do not read of a number.
__device__ inline float low_part(float x) { return __uint_as_float(split(x).low); }

/// 32 numbers of B's columns as the tensor cores take them: [high, low][column][number], sixteens of bytes of column c
/// each in another's place, by c % 8 (exclusive or).
template <int columns>
struct AlignedColumns {
  static constexpr int part = columns * piece_bytes;
  static constexpr int bytes = 2 * part;
  static constexpr int buffers = dispatch::aligned_pieces(columns);
  static_assert(part % 1024 == 0);
};

struct SplitBarriers {
  Barrier full[max_stages], empty[max_stages];
  Barrier aligned_full[dispatch::most_aligned_pieces], aligned_empty[dispatch::most_aligned_pieces];
};

/// A section of a block, and its chunks: runs of them.
struct ColumnShare {
  std::uint32_t run, part, parts;
  int first_column;  ///< of A
  int turns;

  __device__ explicit ColumnShare(const TsmttsmColumnsWarpgroup& p)
      : run(p.run),
        part(blockIdx.x / static_cast<std::uint32_t>(p.sections)),
        parts(gridDim.x / static_cast<std::uint32_t>(p.sections)),
        first_column(static_cast<int>(blockIdx.x % static_cast<std::uint32_t>(p.sections)) * split_rows) {
    const std::uint32_t rounds = p.chunks / (parts * run);
    const auto left = static_cast<int>(p.chunks - (rounds * parts + part) * run);
    turns = __shfl_sync(0xffffffffU, static_cast<int>(rounds * run) + min(max(left, 0), static_cast<int>(run)), 0);
  }
  __device__ std::uint32_t chunk(int turn) const {
    const auto t = static_cast<std::uint32_t>(turn);
    return (t / run * parts + part) * run + t % run;
  }
};

/// Where a warp reads the ring, which takes some pieces only. It must come back to the same stages: whoever leaves one
/// out might take an old phase of its barrier for the one that it awaits.
class PiecePlace {
 public:
  RingPosition at{0, 0};
  int piece = 0;  ///< of its chunk

  __device__ PiecePlace(const TsmttsmColumnsWarpgroup& p, SplitBarriers& barriers, int first)
      : barriers_(barriers), pieces_(p.pieces), stages_(p.stages) {
    go_on(first);
  }
  /// So many pieces, to one that is there then.
  __device__ void go_on(int by) {
    for (piece += by; piece >= pieces_; piece -= pieces_) at.advance(1, stages_);
    barriers_.full[at.stage].wait(at.parity);
  }

 private:
  SplitBarriers& barriers_;
  int pieces_, stages_;
};

/// One of the loading warps, with its share of every chunk's boxes.
__device__ inline void load_split(const TsmttsmColumnsWarpgroup& p, const ColumnShare& share, SplitBarriers& barriers,
                                  unsigned char* ring, int loader) {
#if __CUDA_ARCH__ >= 900
  constexpr int loaders = loading_threads / warp_size;
  if (!elected()) return;
  const auto own_boxes = [&](auto&& visit) {
    for (int box = loader; box < p.a.boxes.classes + p.b.boxes.classes; box += loaders) {
      const bool of_a = box < p.a.boxes.classes;
      visit(of_a ? p.a : p.b, of_a ? box : box - p.a.boxes.classes);
    }
  };
  unsigned bytes = 0;
  own_boxes([&](const SplitColumns& of, int) { bytes += static_cast<unsigned>(of.boxes.class_numbers()) * 4; });
  RingPosition at{0, 1};
  for (int turn = 0; turn < share.turns; ++turn) {
    const int first = static_cast<int>(share.chunk(turn)) * p.pieces * piece_rows;
    barriers.empty[at.stage].wait(at.parity);
    barriers.full[at.stage].arrive_and_expect(bytes);
    unsigned char* const stage = ring + at.stage * p.stage_bytes;
    own_boxes([&](const SplitColumns& of, int c) {
      unsigned char* const to = stage + of.first_byte + 4 * c * of.class_numbers;
      const int line = &of == &p.a ? share.first_column / of.boxes.classes : 0;
      if (of.boxes.cut != 0 && first < of.boxes.uncut) {
        tensor_load_piece(to, of.boxes.map[1], first / of.boxes.cut, line, barriers.full[at.stage]);
      } else {
        tensor_load(to, of.boxes.map[c], first, line, barriers.full[at.stage]);
      }
    });
    at.advance(1, p.stages);
  }
#endif
}

/// Numbers `lead` (0..3) to `lead` + 15 of twenty.
__device__ inline void shift(const float4 (&x)[5], int lead, float4 (&y)[4]) {
  const bool two = (lead & 2) != 0;
  const bool one = (lead & 1) != 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4& a = x[i];
    const float4& b = x[i + 1];
    const float4 even = make_float4(two ? a.z : a.x, two ? a.w : a.y, two ? b.x : a.z, two ? b.y : a.w);
    const float last = two ? b.z : b.x;
    y[i] = make_float4(one ? even.y : even.x, one ? even.z : even.y, one ? even.w : even.z, one ? last : even.w);
  }
}

/// B's columns in two parts, piece by piece, every fourth one by a warp: a lane has whole columns of it.
template <int columns>
__device__ inline void align_columns(const TsmttsmColumnsWarpgroup& p, const ColumnShare& share,
                                     SplitBarriers& barriers, const unsigned char* ring, unsigned char* aligned,
                                     int warp) {
  constexpr int rounds = (columns + warp_size - 1) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int pieces = share.turns * p.pieces;
  if (warp >= pieces) return;
  int from[rounds];
  int lead[rounds];
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    const int position = lane + r * warp_size;
    lead[r] = p.b.lead(position);
    from[r] = p.b.first_byte + 4 * p.b.place(position);
  }
  const int to = lane * piece_bytes + lane % 8 * 16;
  const auto takes = [&](int r) { return (r + 1) * warp_size <= columns || lane + r * warp_size < columns; };
  RingPosition buffer{warp, 1};
  PiecePlace next(p, barriers, warp);
#pragma unroll 1
  for (int piece = warp;;) {
    const unsigned char* const numbers = ring + next.at.stage * p.stage_bytes + next.piece * piece_bytes;
    // Of half a column, in turn; the second one begins where the first one ends.
    float4 x[2][5];
    const auto read = [&](int r, int half) {
      if (half != 0) x[half][0] = x[0][4];
      if (!takes(r)) return;
      const auto* const of_half = reinterpret_cast<const float4*>(numbers + from[r]) + 4 * half;
#pragma unroll
      for (int i = half; i < 5; ++i) x[half][i] = of_half[i];
    };
    read(0, 0);
    barriers.aligned_empty[buffer.stage].wait(buffer.parity);
    unsigned char* const own = aligned + buffer.stage * AlignedColumns<columns>::bytes;
    const auto write = [&](int r, int half) {
      float4 y[4];
      shift(x[half], lead[r], y);
      if (!takes(r)) return;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        auto* const high = reinterpret_cast<float4*>(own + r * warp_size * piece_bytes + (to ^ (4 * half + i) * 16));
        high[0] = y[i];
        high[AlignedColumns<columns>::part / 16] =
            make_float4(low_part(y[i].x), low_part(y[i].y), low_part(y[i].z), low_part(y[i].w));
      }
    };
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      read(r, 1);
      write(r, 0);
      if (r + 1 < rounds) read(r + 1, 0);
      write(r, 1);
    }
    publish_to_bulk_copies();
    __syncwarp();
    if (elected()) {
      barriers.aligned_full[buffer.stage].arrive();
      barriers.empty[next.at.stage].arrive();
    }
    buffer.advance(aligning_warps, AlignedColumns<columns>::buffers);
    piece += aligning_warps;
    if (piece >= pieces) break;
    next.go_on(aligning_warps);
  }
}

}  // namespace blockvec::kernels::cuda
