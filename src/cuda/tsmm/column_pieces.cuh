#pragma once

#include "src/cuda/tsmm/chunks.cuh"
#include "src/cuda/tsmm/column_chunks.cuh"

/// Row tiles (chunks) of column-major operands on their way through a ring, for tsmm/column_tf32.cuh and
/// tsmm/column_fma.cuh. Each column comes and goes by a bulk copy of its own; the 32 lanes of a warp start them.
/// Results take the place of A's numbers.
///
/// Bulk copies move whole units of 16 bytes, and memory is fastest with whole lines. So a chunk holds a few rows more
/// than it stores: of every column it stores the same number of rows, from a whole line or sector on. Plain copies move
/// what bulk copies cannot reach: both ends of a matrix, and of columns in place.
namespace blockvec::kernels::cuda {

/// The columns of an operand; lengths count real numbers.
template <class Real>
struct PieceColumns {
  Real* data;
  std::int64_t distance;  ///< numbers from column to column
  int count;
  int pitch;   ///< numbers from column to column in a stage; equals `distance` modulo 16 bytes
  int shift;   ///< where the first column begins in a stage; its misalignment is as in memory
  int parts;   ///< real numbers of a scalar
  bool boxed;  ///< columns begin at multiples of 16 bytes: one TMA tile brings, or takes, all columns of a chunk
  CUtensorMap map;
};

template <class Real>
struct TsmmColumnPieces : TsmmTask<Real> {
  PieceColumns<Real> a, b;
  std::int64_t length;  ///< real numbers of a column
  int m, n;             ///< columns
  int stored;           ///< real numbers of a column that a chunk stores
  int early;            ///< overlap rows: numbers that a chunk holds before those, at most; a line, a sector, or none
  int stages;
  int stage_bytes;
  int offset_b;  ///< where B's numbers, the results, begin in a stage
  /// B's old numbers come there. Otherwise they come into the L2 cache, from where threads read them.
  bool loads_b;
  bool turns;  ///< A's columns begin in the same bank, and lanes read in different orders
};

inline constexpr int piece_storers = 2;  ///< storing warps
template <class Real>
inline constexpr int bulk_unit = 16 / static_cast<int>(sizeof(Real));  ///< numbers in 16 bytes, the unit of bulk copies
template <class Real>
inline constexpr int line = line_bytes / static_cast<int>(sizeof(Real));

struct PieceStages {
  Barrier full[max_stages];
  Barrier done[max_stages];
  Barrier empty[max_stages];
  std::uint32_t chunk_of[max_stages];

  /// One thread calls this before the block's first barrier. `warps` warps compute a chunk.
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
/// A warp copies `numbers` real numbers of each column, from number `first` on.
template <class Real>
class PiecesOf {
 public:
  __device__ PiecesOf(const PieceColumns<Real>& columns, int numbers) : columns_(columns), numbers_(numbers) {
    for (int j = lane(); j < columns.count; j += warp_size) bytes_ += bytes_of(place(j));
    bytes_ = __reduce_add_sync(0xffffffffU, bytes_);
  }
  __device__ unsigned bytes() const { return bytes_; }

  /// False where bulk copies would leave the matrix at its ends.
  __device__ bool in_bulk(std::int64_t first, std::int64_t length) const {
    return columns_.boxed || (first >= columns_.shift % unit && first + numbers_ + unit - 1 <= length);
  }
  __device__ void start_bulk(std::int64_t first, unsigned char* stage, Barrier& full) const {
    Real* const to = reinterpret_cast<Real*>(stage);
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
  /// Brings the numbers into the L2 cache.
  __device__ void prefetch(std::int64_t first) const {
    if (columns_.boxed) {
      if (elected()) tensor_prefetch(columns_.map, static_cast<int>(first / columns_.parts), 0);
      return;
    }
    for (int j = lane(); j < columns_.count; j += warp_size) {
      const int before = place(j) % unit;
      bulk_prefetch(columns_.data + j * columns_.distance + first - before, bytes_of(place(j)));
    }
  }
  /// Zeros stand for what lies beyond the matrix.
  __device__ void start_plain(std::int64_t first, std::int64_t length, unsigned char* stage) const {
    for (int j = 0; j < columns_.count; ++j) {
      Real* const to = reinterpret_cast<Real*>(stage) + place(j);
      const Real* const from = columns_.data + j * columns_.distance;
      for (int i = lane(); i < numbers_; i += warp_size) {
        const bool valid = first + i >= 0 && first + i < length;
        async_copy<sizeof(Real)>(to + i, valid ? from + first + i : columns_.data, valid);
      }
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % warp_size; }
  __device__ int place(int j) const { return columns_.shift + j * columns_.pitch; }
  __device__ unsigned bytes_of(int place) const {
    return static_cast<unsigned>((place % unit + numbers_ + unit - 1) / unit * 16);
  }

  static constexpr int unit = bulk_unit<Real>;
  const PieceColumns<Real>& columns_;
  int numbers_;
  unsigned bytes_ = 0;
};

/// The loading warp works as load_chunks (tsmm/chunks.cuh) does. A chunk holds `numbers` real numbers of each column.
template <class Real>
__device__ inline void load_pieces(const TsmmColumnPieces<Real>& p, PieceStages& shared, unsigned char* ring,
                                   int numbers, int marks) {
  const bool reads_a = !p.alpha.read().is_zero();
  const bool adds = !p.beta.read().is_zero();
  const bool reads_b = p.loads_b && adds;
  const bool fetches_b = !p.loads_b && adds;
  const PiecesOf<Real> a(p.a, numbers);
  const PiecesOf<Real> b(p.b, numbers);
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
    if (fetches_b && b.in_bulk(first, p.length)) b.prefetch(first);
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

/// A warp stores a chunk of B from a stage, and waits until the stores have read the stage.
template <class Real>
__device__ inline void store_piece(const TsmmColumnPieces<Real>& p, const Real* stage, std::uint32_t chunk) {
  constexpr int unit = bulk_unit<Real>;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::int64_t first = static_cast<std::int64_t>(chunk) * p.stored;
  if (p.b.boxed && first + p.stored <= p.length) {
    if (elected()) tensor_store(p.b.map, static_cast<int>(first / p.b.parts), 0, stage);
    commit_stores();
    bulk_stores_have_read<0>();
    return;
  }
  const auto place = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.b.data) / sizeof(Real) % line<Real>);
  const auto step = static_cast<int>(p.b.distance % line<Real>);
  // late: numbers from a line or sector to the chunk's own first one. skipped: numbers from there to a multiple of 16
  // bytes.
  const auto late = [&](int j) { return p.early == 0 ? 0 : (place + j * step) % p.early; };
  const auto skipped = [&](int j) { return p.early != 0 ? 0 : -(place + j * step) & (unit - 1); };
  const auto column = [&](int j) { return p.b.data + j * p.b.distance + first - late(j); };
  const auto piece = [&](int j) { return stage + j * p.b.pitch + p.early - late(j); };
  if ((chunk == 0 && p.early != 0) || first + p.stored > p.length) {
    for (int j = 0; j < p.n; ++j) {
      Real* const to = column(j);
      const Real* const from = piece(j);
      const std::int64_t begin = first - late(j);
#pragma unroll 4
      for (int i = lane; i < p.stored; i += warp_size) {
        if (begin + i >= 0 && begin + i < p.length) to[i] = from[i];
      }
    }
    return;
  }
  for (int j = lane; j < p.n; j += warp_size) {
    const int skip = skipped(j);
    start_bulk_store(column(j) + skip, piece(j) + skip,
                     static_cast<unsigned>((p.stored - skip) / unit * unit * sizeof(Real)));
  }
  commit_stores();
  if (p.early == 0 && (place % unit != 0 || step % unit != 0)) {  // plain stores write the remainder at both ends
    for (int i = lane; i < p.n * unit; i += warp_size) {
      const int j = i / unit;
      const int skip = skipped(j);
      if (skip == 0) continue;
      const int at = i % unit < skip ? i % unit : p.stored - unit + i % unit;
      column(j)[at] = piece(j)[at];
    }
  }
  bulk_stores_have_read<0>();
}

/// The storing warps take stages in turn.
template <class Real>
__device__ inline void store_pieces(const TsmmColumnPieces<Real>& p, PieceStages& shared, unsigned char* ring,
                                    int own) {
  int turn = own;
  for (RingPosition at{0, 0};; at.advance(1, p.stages)) {
    shared.full[at.stage].wait(at.parity);  // waits for every chunk: no stage may seem full from an old one
    const std::uint32_t chunk = shared.chunk_of[at.stage];
    if (chunk == no_chunk) break;
    turn = (turn + 1) % piece_storers;
    if (turn != 1) {
      shared.empty[at.stage].arrive();  // nobody may overtake a warp that has not seen a chunk of others yet
      continue;
    }
    shared.done[at.stage].wait(at.parity);
    store_piece(p, reinterpret_cast<const Real*>(ring + at.stage * p.stage_bytes + p.offset_b) + p.b.shift, chunk);
    __syncwarp();
    shared.empty[at.stage].arrive();
  }
  bulk_stores_are_done();
}
#endif

}  // namespace blockvec::kernels::cuda
