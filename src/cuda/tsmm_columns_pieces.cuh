#pragma once

#include "src/cuda/tsmm_chunks.cuh"
#include "src/cuda/tsmm_columns_chunks.cuh"

/// Chunks of column-major operands in single precision on their way through a ring (tsmm_columns_split.cuh): a bulk
/// copy for every column, 32 at a time, both ways. Results take the place of A's numbers.
///
/// Bulk copies move whole units of 16 bytes, and memory is fastest with whole sectors. So a chunk holds a few rows more
/// than it stores: of every column it stores as many rows, from a whole sector on. What bulk copies cannot reach, at
/// both ends of a matrix, plain ones do.
namespace blockvec::kernels::cuda {

/// An operand's columns; lengths count real numbers.
struct PieceColumns {
  float* data;
  std::int64_t distance;  ///< from column to column
  int count;
  int pitch;   ///< from column to column in a stage: as `distance` modulo 16 bytes
  int shift;   ///< of the first column in a stage: as in memory
  int parts;   ///< real numbers of a scalar
  bool boxed;  ///< columns begin at multiples of 16 bytes: all of a chunk's come in one box, and go
  CUtensorMap map;
};

struct TsmmColumnPieces : TsmmTask<float> {
  PieceColumns a, b;
  std::int64_t length;  ///< of a column, in real numbers
  int m, n;             ///< columns
  int stored;           ///< real numbers of a column that a chunk stores
  int early;            ///< those that it holds before them, at most: a sector, or none
  int stages;
  int stage_bytes;
  int offset_b;  ///< of B's numbers in a stage: results
  bool loads_b;  ///< what B held comes along there
  bool turns;    ///< A's columns begin in the same bank
  bool plain;    ///< results leave by plain stores alone
};

inline constexpr int piece_storers = 2;  ///< warps
inline constexpr int unit = 4;           ///< numbers that bulk copies move

struct PieceStages {
  Barrier full[max_stages];
  Barrier done[max_stages];
  Barrier empty[max_stages];
  std::uint32_t chunk_of[max_stages];

  /// By one thread, before the block's first barrier; `warps` take part in a chunk.
  __device__ void initialize(int stages, int warps) {
    for (int i = 0; i < stages; ++i) {
      full[i].initialize(1);
      done[i].initialize(static_cast<unsigned>(warps * warp_size));
      empty[i].initialize(piece_storers * warp_size);
    }
    publish_barriers();
  }
};

#if __CUDA_ARCH__ >= 900
/// Pieces of `numbers` real numbers, from number `first` of each column on, by a warp.
class PiecesOf {
 public:
  __device__ PiecesOf(const PieceColumns& columns, int numbers) : columns_(columns), numbers_(numbers) {
    for (int j = lane(); j < columns.count; j += warp_size) bytes_ += bytes_of(place(j));
    bytes_ = __reduce_add_sync(0xffffffffU, bytes_);
  }
  __device__ unsigned bytes() const { return bytes_; }

  /// Bulk copies would leave the matrix at its ends.
  __device__ bool in_bulk(std::int64_t first, std::int64_t length) const {
    return columns_.boxed || (first >= columns_.shift % unit && first + numbers_ + unit - 1 <= length);
  }
  __device__ void start_bulk(std::int64_t first, unsigned char* stage, Barrier& full) const {
    float* const to = reinterpret_cast<float*>(stage);
    if (columns_.boxed) {
      if (elected()) tensor_load(to, columns_.map, static_cast<int>(first / columns_.parts), 0, full);
      return;
    }
    for (int j = lane(); j < columns_.count; j += warp_size) {
      const int before = place(j) % unit;
      bulk_load(to + place(j) - before, columns_.data + j * columns_.distance + first - before, bytes_of(place(j)),
                full);
    }
  }
  /// Zeros beyond the matrix.
  __device__ void start_plain(std::int64_t first, std::int64_t length, unsigned char* stage) const {
    for (int j = 0; j < columns_.count; ++j) {
      float* const to = reinterpret_cast<float*>(stage) + place(j);
      const float* const from = columns_.data + j * columns_.distance;
      for (int i = lane(); i < numbers_; i += warp_size) {
        const bool valid = first + i >= 0 && first + i < length;
        async_copy<sizeof(float)>(to + i, valid ? from + first + i : columns_.data, valid);
      }
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % warp_size; }
  __device__ int place(int j) const { return columns_.shift + j * columns_.pitch; }
  __device__ unsigned bytes_of(int place) const {
    return static_cast<unsigned>((place % unit + numbers_ + unit - 1) / unit * 16);
  }

  const PieceColumns& columns_;
  int numbers_;
  unsigned bytes_ = 0;
};

/// The warp that loads: as load_chunks (tsmm_chunks.cuh). A chunk holds so many real numbers of a column.
__device__ inline void load_pieces(const TsmmColumnPieces& p, PieceStages& shared, unsigned char* ring, int numbers,
                                   int marks) {
  const bool reads_a = !p.alpha.read().is_zero();
  const bool reads_b = p.loads_b && !p.beta.read().is_zero();
  const PiecesOf a(p.a, numbers);
  const PiecesOf b(p.b, numbers);
  RingPosition at{0, 1};
  for_each_chunk(p, [&](std::uint32_t chunk) {
    shared.empty[at.stage].wait(at.parity);
    Barrier& full = shared.full[at.stage];
    unsigned char* const stage = ring + at.stage * p.stage_bytes;
    const std::int64_t first = static_cast<std::int64_t>(chunk) * p.stored - p.early;
    const bool bulk_a = reads_a && a.in_bulk(first, p.length);
    const bool bulk_b = reads_b && b.in_bulk(first, p.length);
    if (reads_a && !bulk_a) a.start_plain(first, p.length, stage);
    if (reads_b && !bulk_b) b.start_plain(first, p.length, stage + p.offset_b);
    if ((reads_a && !bulk_a) || (reads_b && !bulk_b)) full.await_copies();
    __syncwarp();
    if (elected()) {
      shared.chunk_of[at.stage] = chunk;
      full.arrive_and_expect((bulk_a ? a.bytes() : 0) + (bulk_b ? b.bytes() : 0));
    }
    __syncwarp();
    if (bulk_a) a.start_bulk(first, stage, full);
    if (bulk_b) b.start_bulk(first, stage + p.offset_b, full);
    __syncwarp();
    at.advance(1, p.stages);
  });
  for (int i = 0; i < marks; ++i, at.advance(1, p.stages)) {
    shared.empty[at.stage].wait(at.parity);
    if (elected()) {
      shared.chunk_of[at.stage] = no_chunk;
      shared.full[at.stage].arrive();
    }
    __syncwarp();
  }
}

/// The warps that store, each every so many stages.
__device__ inline void store_pieces(const TsmmColumnPieces& p, PieceStages& shared, unsigned char* ring, int own) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int sector = max(p.early, unit);
  const auto first_number = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.b.data) / sizeof(float) % sector);
  const auto step = static_cast<int>(p.b.distance % sector);
  int turn = own;
  for (RingPosition at{0, 0};; at.advance(1, p.stages)) {
    shared.full[at.stage].wait(at.parity);  // all chunks in turn, so that no stage seems full from its last one
    const std::uint32_t chunk = shared.chunk_of[at.stage];
    if (chunk == no_chunk) break;
    turn = (turn + 1) % piece_storers;
    if (turn != 1) {
      shared.empty[at.stage].arrive();  // so that nobody overtakes a warp that has not seen a chunk of others yet
      continue;
    }
    shared.done[at.stage].wait(at.parity);
    const float* const stage = reinterpret_cast<const float*>(ring + at.stage * p.stage_bytes + p.offset_b) + p.b.shift;
    const std::int64_t first = static_cast<std::int64_t>(chunk) * p.stored;
    const bool bulk = !p.plain && (chunk != 0 || p.early == 0) && first + p.stored <= p.length;
    if (bulk && p.b.boxed) {
      if (elected()) {
        tensor_store(p.b.map, static_cast<int>(first / p.b.parts), 0, stage);
        commit_stores();
        bulk_stores_have_read<0>();
      }
    } else if (bulk) {
      for (int j = lane; j < p.n; j += warp_size) {
        const int late = p.plain ? 0 : (first_number + j * step) % sector;
        start_bulk_store(p.b.data + j * p.b.distance + first - late, stage + j * p.b.pitch + p.early - late,
                         static_cast<unsigned>(p.stored * sizeof(float)));
      }
      commit_stores();
      bulk_stores_have_read<0>();
    } else {
      for (int j = 0; j < p.n; ++j) {
        const int late = p.plain ? 0 : (first_number + j * step) % sector;
        float* const to = p.b.data + j * p.b.distance + first - late;
        const float* const from = stage + j * p.b.pitch + p.early - late;
#pragma unroll 4
        for (int i = lane; i < p.stored; i += warp_size) {
          if (first - late + i >= 0 && first - late + i < p.length) to[i] = from[i];
        }
      }
    }
    __syncwarp();
    shared.empty[at.stage].arrive();
  }
  bulk_stores_are_done();
}
#endif

}  // namespace blockvec::kernels::cuda
