#pragma once

#include "src/cuda/operands/load_columns.cuh"
#include "src/cuda/ptx/dependent_launch.cuh"
#include "src/cuda/tsmm/chunks.cuh"

/// The pipeline of tsmm/column_ring.cuh: row tiles (chunks) of a column-major A come into a ring of stages, and chunks
/// of B leave from it. Some warps load stages, others compute, and others store. Results take the place of what a stage
/// held. They leave as one piece of every column. Columns may begin within a line of memory. Then a chunk may hold a
/// few rows more than it stores: of every column it stores the same number of rows, in whole lines.
namespace blockvec::kernels::cuda {

inline constexpr int column_unroll = 2;
inline constexpr int column_loaders = 2;  ///< loading warps; as many warps store
inline constexpr int column_storers = 2;
static_assert(column_loaders + column_storers == loading_threads / warp_size);

#if __CUDA_ARCH__ >= 900
/// Starts one of several copies out of shared memory. `bytes` and both addresses are multiples of 16; see
/// commit_stores.
__device__ inline void start_bulk_store(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}
#endif

template <class Real>
struct TsmmColumns : TsmmTask<Real> {
  Columns<Real> a, b;
  Real* out;  ///< B
  std::int64_t k;
  int m, n;   ///< real columns
  int rows;   ///< rows that a chunk holds
  int early;  ///< overlap rows: numbers of a column that a chunk holds before those it stores; a line or none
  int row_warps, column_warps, groups;
  int stages;
  int stage_bytes;
  int offset_b;  ///< where B's numbers, the results, begin in a stage
  bool loads_b;  ///< B's old numbers come there before the product
  bool meets;    ///< the warps of a group wait for one another before results take the place of A's numbers
  int neighbours_a, neighbours_b;  ///< which columns lanes take: k of column_of_slot

  /// How many numbers of each column a chunk stores, and which one it holds first.
  __host__ __device__ int stored() const { return rows * b.parts - early; }
  __device__ std::int64_t first(std::uint32_t chunk) const {
    return static_cast<std::int64_t>(chunk) * stored() - early;
  }
  /// Where an operand's first column begins in a stage. Its misalignment is the same as in memory.
  __device__ int shift(const Columns<Real>& columns) const {
    constexpr int line = line_bytes / static_cast<int>(sizeof(Real));
    return (columns.shift(0) + line - early) % line;
  }
};

/// Barriers and messages that the warps of a block share.
struct ColumnStages {
  RingBarriers barriers;
  Barrier done[max_stages];
  std::uint32_t chunk_of[max_stages];
  std::uint32_t tickets[2];

  /// One thread calls this before the block's first barrier.
  __device__ void initialize(int stages, int group_threads) {
    for (int i = 0; i < stages; ++i) {
      barriers.full[i].initialize(column_loaders);
      barriers.empty[i].initialize(warp_size);
      done[i].initialize(static_cast<unsigned>(group_threads));
    }
    publish_barriers();
  }

  /// How many stages end the work as marks: the computing groups and the storing warps each need to see one.
  __device__ static int marks(int groups) { return max(groups, column_storers); }

  /// A group that has found its first mark passes all of its marks on.
  __device__ void pass_marks(RingPosition at, int group, int groups, int stages) {
    for (int i = group; i < marks(groups); i += groups, at.advance(groups, stages)) {
      barriers.full[at.stage].wait(at.parity);
      done[at.stage].arrive();
    }
  }
};

/// Returns the column of slot s of lane q. A lane has 2^k neighbouring columns, so that lanes meet different banks.
__device__ inline int column_of_slot(int k, int q, int s) {
  return (s >> k << (k + 2)) + (q << k) + (s & ((1 << k) - 1));
}

/// One of the loading warps loads its columns of a chunk into a stage. Bulk copies move whole multiples of 16 bytes: a
/// copy may bring numbers that lie before the piece.
template <class Real>
class PiecesIn {
 public:
  __device__ PiecesIn(const TsmmColumns<Real>& p, const Columns<Real>& columns, int own)
      : p_(p),
        columns_(columns),
        numbers_(p.rows * columns.parts),
        width_(columns.count),
        shift_(p.shift(columns)),
        own_(own) {}

  /// False where bulk copies would leave the matrix at its ends.
  __device__ bool in_bulk(std::uint32_t chunk) const {
    const std::int64_t first = p_.first(chunk);
    return first >= max(columns_.before, columns_.even ? 0 : shift_ % unit) &&
           first + numbers_ + (columns_.even ? 0 : unit) <= columns_.length;
  }
  __device__ unsigned bytes() const {
    unsigned sum = 0;
    for (int j = own_; j < width_; j += column_loaders) sum += bytes_of(shift_ + j * columns_.pitch);
    return sum;
  }

#if __CUDA_ARCH__ >= 900
  /// One lane calls this.
  __device__ void start_bulk(std::uint32_t chunk, unsigned char* stage, Barrier& full) const {
    const Real* from = columns_.column(own_) + p_.first(chunk);
    int place = shift_ + own_ * columns_.pitch;
    Real* const to = reinterpret_cast<Real*>(stage);
    // Unrolled, so that several copies start at a time: one after the other takes longer than their bytes.
#pragma unroll column_unroll
    for (int j = own_; j < width_; j += column_loaders) {
      const int early = place & (unit - 1);
      bulk_load(to + place - early, from - early, bytes_of(place), full);
      from += column_loaders * columns_.distance;
      place += column_loaders * columns_.pitch;
    }
  }
#endif

  /// The whole warp calls this. Zeros stand for what lies beyond the matrix.
  __device__ void start_plain(std::uint32_t chunk, unsigned char* stage) const {
    const std::int64_t first = p_.first(chunk);
    for (int j = own_; j < width_; j += column_loaders) {
      Real* const to = reinterpret_cast<Real*>(stage) + shift_ + j * columns_.pitch;
      const Real* const from = columns_.column(j) + first;
      for (int i = static_cast<int>(threadIdx.x) % warp_size; i < numbers_; i += warp_size) {
        const bool valid = first + i >= columns_.before && first + i < columns_.length;
        async_copy<sizeof(Real)>(to + i, valid ? from + i : columns_.data + columns_.before, valid);
      }
    }
  }

 private:
  static constexpr int unit = 16 / static_cast<int>(sizeof(Real));
  __device__ unsigned bytes_of(int place) const {
    return static_cast<unsigned>(((place & (unit - 1)) + numbers_ + unit - 1) / unit * 16);
  }

  const TsmmColumns<Real>& p_;
  const Columns<Real>& columns_;
  int numbers_;  ///< numbers of a column in a chunk
  int width_;    ///< columns of the operand
  int shift_;    ///< numbers from the start of a stage to the first column
  int own_;
};

/// The loading warps fill stages chunk by chunk. Stages marked no_chunk end the work.
template <class Real>
__device__ inline void load_columns(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* memory, int own) {
#if __CUDA_ARCH__ >= 900
  const bool reads_a = !p.alpha.read().is_zero();
  const bool reads_b = p.loads_b && !p.beta.read().is_zero();
  const bool leads = own == 0 && elected();
  RingPosition at{0, 1};
  int turn = 0;
  const auto take_ticket = [&] { return leads ? atomicAdd(p.tickets, 1U) : 0U; };
  const auto share_ticket = [&](unsigned ticket) {
    if (leads) shared.tickets[turn] = ticket;
    meet(2, column_loaders * warp_size);
    const std::uint32_t first = shared.tickets[turn] * p.chunks_per_ticket;
    turn ^= 1;
    return first;
  };
  const PiecesIn<Real> a(p, p.a, own);
  const PiecesIn<Real> b(p, p.b, own);
  const unsigned bytes_a = a.bytes();
  const unsigned bytes_b = reads_b ? b.bytes() : 0;
  std::uint32_t first = share_ticket(take_ticket());
  while (first < p.chunks) {
    const unsigned next = take_ticket();  // used only when the copies of these chunks are under way
    const std::uint32_t end = min(first + p.chunks_per_ticket, p.chunks);
    for (std::uint32_t chunk = first; chunk < end; ++chunk, at.advance(1, p.stages)) {
      shared.barriers.empty[at.stage].wait(at.parity);
      Barrier& full = shared.barriers.full[at.stage];
      unsigned char* const stage = memory + at.stage * p.stage_bytes;
      if (leads) shared.chunk_of[at.stage] = chunk;
      const bool bulk_a = reads_a && a.in_bulk(chunk);
      const bool bulk_b = reads_b && b.in_bulk(chunk);
      if (reads_a && !bulk_a) a.start_plain(chunk, stage);
      if (reads_b && !bulk_b) b.start_plain(chunk, stage + p.offset_b);
      if ((reads_a && !bulk_a) || (reads_b && !bulk_b)) full.await_copies();
      __syncwarp();
      if (elected()) {
        full.arrive_and_expect((bulk_a ? bytes_a : 0) + (bulk_b ? bytes_b : 0));
        if (bulk_a) a.start_bulk(chunk, stage, full);
        if (bulk_b) b.start_bulk(chunk, stage + p.offset_b, full);
      }
      __syncwarp();
    }
    first = share_ticket(next);
  }
  for (int i = 0; i < ColumnStages::marks(p.groups); ++i, at.advance(1, p.stages)) {
    shared.barriers.empty[at.stage].wait(at.parity);
    if (leads) shared.chunk_of[at.stage] = no_chunk;
    if (elected()) shared.barriers.full[at.stage].arrive();
    __syncwarp();
  }
#endif
}

/// A warp stores a chunk of B from a stage. Its columns begin at `from`, as far from multiples of 16 bytes as in
/// memory.
template <class Real>
__device__ inline void store_chunk(const TsmmColumns<Real>& p, const Real* from, std::uint32_t chunk, int shift) {
#if __CUDA_ARCH__ >= 900
  constexpr int unit = 16 / static_cast<int>(sizeof(Real));
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int scalars = p.n / p.b.parts;
  const int numbers = p.stored();
  const std::int64_t first = static_cast<std::int64_t>(chunk) * numbers;
  constexpr int line = line_bytes / static_cast<int>(sizeof(Real));
  const bool lines = p.early != 0;
  // Where column j begins in a line. The chunk stores `late` numbers before `first`, or it skips numbers up to a
  // multiple of 16 bytes.
  const int step = static_cast<int>(p.b.distance % line);
  const auto late = [&](int j) { return lines ? (shift + j * step) & (line - 1) : 0; };
  const auto skipped = [&](int j) { return lines ? 0 : -(shift + j * step) & (unit - 1); };
  if ((chunk == 0 && (lines || p.b.before != 0)) || first + numbers > p.b.length) {
    for (int j = 0; j < scalars; ++j) {
      const std::int64_t begin = first - late(j);
      for (int i = lane; i < numbers; i += warp_size) {
        if (begin + i < p.b.before || begin + i >= p.b.length) continue;
        p.out[j * p.b.distance + begin + i] = from[j * p.b.pitch + p.early - late(j) + i];
      }
    }
    return;
  }
  if (elected()) {
    Real* column = p.out + first;
    const Real* piece = from + p.early;
#pragma unroll column_unroll
    for (int j = 0; j < scalars; ++j) {
      const int to = skipped(j) - late(j);
      start_bulk_store(column + to, piece + to, static_cast<unsigned>((numbers - skipped(j)) / unit * 16));
      column += p.b.distance;
      piece += p.b.pitch;
    }
    commit_stores();
  }
  if (!lines && !p.b.even) {  // plain stores write the remainder at both ends of a piece
    for (int i = lane; i < scalars * unit; i += warp_size) {
      const int j = i / unit;
      if (skipped(j) == 0) continue;
      const int place = i % unit < skipped(j) ? i % unit : numbers - unit + i % unit;
      p.out[first + j * p.b.distance + place] = from[j * p.b.pitch + place];
    }
  }
  if (elected()) bulk_stores_have_read<0>();
#endif
}

/// The storing warps take stages in turn.
template <class Real>
__device__ inline void store_columns(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* memory, int own) {
#if __CUDA_ARCH__ >= 900
  const int shift = p.shift(p.b);
  for (RingPosition at{own, 0};; at.advance(column_storers, p.stages)) {
    shared.done[at.stage].wait(at.parity);
    const std::uint32_t chunk = shared.chunk_of[at.stage];
    if (chunk == no_chunk) break;
    store_chunk(p, reinterpret_cast<const Real*>(memory + at.stage * p.stage_bytes + p.offset_b) + shift, chunk, shift);
    __syncwarp();
    shared.barriers.empty[at.stage].arrive();
  }
  if (elected()) bulk_stores_are_done();
#endif
}

}  // namespace blockvec::kernels::cuda
