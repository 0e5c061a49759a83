#pragma once

#include "src/cuda/math/recompute.cuh"
#include "src/cuda/tsmm/chunks.cuh"

/// tsmm for column-major operands: row tiles (chunks) go through a multistage pipeline (ring). Two warps load, two
/// store, and the others compute as a policy tells them (tsmm/column_f64.cuh, tsmm/column_tf32.cuh,
/// tsmm/column_fma.cuh). Each column comes and goes by a bulk copy of its own, whatever its stride; the 32 lanes of a
/// warp start them. Results take the place of what a stage held. All of a chunk is loaded before any of it is written,
/// so that B may be A.
///
/// Bulk copies move whole units of 16 bytes, and memory is fastest with whole lines. So a chunk may hold a few rows
/// more than it stores: of every column it then stores the same number of rows, from a whole line or sector on. Plain
/// copies move what bulk copies cannot reach: both ends of a matrix, and of columns without such rows.
namespace blockvec::kernels::cuda {

/// A column-major operand; lengths count real numbers.
template <class Real>
struct ColumnOperand {
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
struct TsmmColumns : TsmmTask<Real> {
  ColumnOperand<Real> a, b;
  std::int64_t length;  ///< real numbers of a column, those of `before` included
  int before;           ///< numbers ahead of the first row, which are loaded as zeros and not stored
  int m, n;             ///< columns
  int stored;           ///< real numbers of a column that a chunk stores
  int early;            ///< overlap rows: numbers that a chunk holds before those, at most; a line, a sector, or none
  int stages;
  int stage_bytes;
  int offset_b;  ///< where B's numbers, the results, begin in a stage
  /// B's old numbers come there. Otherwise they come into the L2 cache, from where threads read them.
  bool loads_b;
  int row_warps, column_warps;  ///< column_f64: warps of a consumer warp group, along the rows and along B's columns
  int groups;                   ///< column_f64: consumer warp groups
  bool meets;  ///< column_f64: the warps of a group wait for one another before results take the place of A's numbers
  int neighbours_a, neighbours_b;  ///< column_f64: which columns lanes take: k of column_of_slot
  bool turns;  ///< column_tf32: A's columns begin in the same bank, and lanes read in different orders

  __device__ int held() const { return stored + early; }
  /// The number of a column that comes first in a chunk.
  __device__ std::int64_t first(std::uint32_t chunk) const { return static_cast<std::int64_t>(chunk) * stored - early; }
};

inline constexpr int column_loaders = 2;
inline constexpr int column_storers = 2;
static_assert(column_loaders + column_storers == loading_threads / warp_size);
template <class Real>
inline constexpr int bulk_unit = dispatch::bulk_bytes / static_cast<int>(sizeof(Real));  ///< in numbers
template <class Real>
inline constexpr int line = line_bytes / static_cast<int>(sizeof(Real));

/// Barriers and messages that the warps of a block share.
struct ColumnStages {
  Barrier full[max_stages];
  Barrier done[max_stages];
  Barrier empty[max_stages];
  std::uint32_t chunk_of[max_stages];
  std::uint32_t tickets[2];

  /// One thread calls this before the block's first barrier. `threads` threads compute a chunk.
  __device__ void initialize(int stages, int threads) {
    for (int i = 0; i < stages; ++i) {
      full[i].initialize(column_loaders);
      done[i].initialize(static_cast<unsigned>(threads));
      empty[i].initialize(column_storers * warp_size);
    }
    publish_barriers();
  }
};

/// One result in double precision, from memory: `first` is the row's first number in a column, `column` a real column.
/// In overlap rows, which a chunk holds but does not store, another block may have written already.
template <int parts>
__device__ __noinline__ float number_in_double(const TsmmColumns<float>& p, std::int64_t first, int column) {
  if (first < 0 || first >= p.length) return 0;  // the row is not one of B's
  const int depth = p.alpha.read().is_zero() ? 0 : p.m * parts;
  const float* const old = p.b.data + column / parts * p.b.distance + first;
  return entry_in_double(p, p.a.data + first, p.a.distance, depth, old, column);
}

/// What one of the loading warps brings of an operand's chunks: every column_loaders-th column. The first warp brings
/// TMA tiles.
template <class Real>
class ColumnLoader {
 public:
  __device__ ColumnLoader(const TsmmColumns<Real>& p, const ColumnOperand<Real>& columns, int own)
      : p_(p), columns_(columns), own_(own) {
    for_each([&](int place, int) { bytes_ += bytes_of(place); });
    bytes_ = __reduce_add_sync(0xffffffffU, bytes_);
    if (columns.boxed) bytes_ = own == 0 ? columns.count * p.held() * static_cast<unsigned>(sizeof(Real)) : 0;
  }
  __device__ unsigned bytes() const { return bytes_; }

  /// False where bulk copies would leave the matrix at its ends. `first` is the chunk's first number of a column.
  __device__ bool in_bulk(std::int64_t first) const {
    const bool even = columns_.shift % unit == 0 && columns_.distance % unit == 0;
    return columns_.boxed ||
           (first >= max(p_.before, columns_.shift % unit) && first + p_.held() + (even ? 0 : unit - 1) <= p_.length);
  }
  __device__ void start_bulk(std::int64_t first, unsigned char* stage, Barrier& full) const {
    Real* const to = reinterpret_cast<Real*>(stage);
    if (columns_.boxed) {
      if (own_ == 0 && elected()) tensor_load(to, columns_.map, static_cast<int>(first / columns_.parts), 0, full);
      return;
    }
    for_each(
        [&](int place, int j) { bulk_load(to + place / unit * unit, from(first, place, j), bytes_of(place), full); });
  }
  /// Brings the numbers into the L2 cache.
  __device__ void prefetch(std::int64_t first) const {
    if (columns_.boxed) {
      if (own_ == 0 && elected()) tensor_prefetch(columns_.map, static_cast<int>(first / columns_.parts), 0);
      return;
    }
    for_each([&](int place, int j) { bulk_prefetch(from(first, place, j), bytes_of(place)); });
  }
  /// Zeros stand for what lies beyond the matrix.
  __device__ void start_plain(std::int64_t first, unsigned char* stage) const {
    for (int j = own_; j < columns_.count; j += column_loaders) {
      Real* const to = reinterpret_cast<Real*>(stage) + place(j);
      const Real* const from = columns_.data + j * columns_.distance;
      for (int i = lane(); i < p_.held(); i += warp_size) {
        const bool valid = first + i >= p_.before && first + i < p_.length;
        async_copy<sizeof(Real)>(to + i, from + (valid ? first + i : p_.before), valid);
      }
    }
  }

 private:
  static constexpr int unit = bulk_unit<Real>;
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % warp_size; }
  __device__ int place(int j) const { return columns_.shift + j * columns_.pitch; }
  /// Calls visit(place, j) for this lane's columns j and their places in a stage.
  template <class Visit>
  __device__ void for_each(const Visit& visit) const {
    for (int j = own_ + column_loaders * lane(); j < columns_.count; j += column_loaders * warp_size)
      visit(place(j), j);
  }
  /// Where a bulk copy of column j begins in memory: at a multiple of 16 bytes.
  __device__ const Real* from(std::int64_t first, int place, int j) const {
    return columns_.data + j * columns_.distance + first - place % unit;
  }
  __device__ unsigned bytes_of(int place) const {
    return static_cast<unsigned>((place % unit + p_.held() + unit - 1) / unit * 16);
  }

  const TsmmColumns<Real>& p_;
  const ColumnOperand<Real>& columns_;
  int own_;
  unsigned bytes_ = 0;
};

/// The loading warps fill stages, chunk by chunk, and end the work with stages marked no_chunk.
template <class Real>
__device__ inline void load_columns(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* ring, int marks,
                                    int own) {
  const bool reads_a = !p.alpha.read().is_zero();
  const bool adds = !p.beta.read().is_zero();
  const bool reads_b = p.loads_b && adds;
  const bool fetches_b = !p.loads_b && adds;
  const ColumnLoader<Real> a(p, p.a, own);
  const ColumnLoader<Real> b(p, p.b, own);
  RingPosition at{0, 1};
  const auto load = [&](std::uint32_t chunk) {
    shared.empty[at.stage].wait(at.parity);
    Barrier& full = shared.full[at.stage];
    unsigned char* const stage = ring + at.stage * p.stage_bytes;
    const std::int64_t first = p.first(chunk);
    const bool loads_a = reads_a && chunk != no_chunk;
    const bool loads_b = reads_b && chunk != no_chunk;
    const bool bulk_a = loads_a && a.in_bulk(first);
    const bool bulk_b = loads_b && b.in_bulk(first);
    if (loads_a && !bulk_a) a.start_plain(first, stage);
    if (loads_b && !bulk_b) b.start_plain(first, stage + p.offset_b);
    if (loads_a != bulk_a || loads_b != bulk_b) full.await_copies();
    __syncwarp();
    if (elected()) {
      if (own == 0) shared.chunk_of[at.stage] = chunk;
      full.arrive_and_expect((bulk_a ? a.bytes() : 0) + (bulk_b ? b.bytes() : 0));
    }
    __syncwarp();
    if (bulk_a) a.start_bulk(first, stage, full);
    if (bulk_b) b.start_bulk(first, stage + p.offset_b, full);
    if (fetches_b && chunk != no_chunk && b.in_bulk(first)) b.prefetch(first);
    __syncwarp();
    at.advance(1, p.stages);
  };
  for_each_chunk<column_loaders * warp_size>(p, load, own == 0, shared.tickets);
  for (int i = 0; i < marks; ++i) load(no_chunk);
}

/// A warp stores a chunk of B from a stage, and waits until the stores have read the stage.
template <class Real>
__device__ inline void store_chunk(const TsmmColumns<Real>& p, const Real* stage, std::uint32_t chunk) {
  constexpr int unit = bulk_unit<Real>;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::int64_t first = static_cast<std::int64_t>(chunk) * p.stored;
  if (p.b.boxed && first + p.stored <= p.length) {
    if (elected()) store_box(p.b.map, static_cast<int>(first / p.b.parts), 0, stage);
    bulk_stores_have_read();
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
  if ((chunk == 0 && (p.early != 0 || p.before != 0)) || first + p.stored > p.length) {
    for (int j = 0; j < p.n; ++j) {
      Real* const to = column(j);
      const Real* const from = piece(j);
      const std::int64_t begin = first - late(j);
#pragma unroll 4
      for (int i = lane; i < p.stored; i += warp_size) {
        if (begin + i >= p.before && begin + i < p.length) to[i] = from[i];
      }
    }
    return;
  }
  for (int j = lane; j < p.n; j += warp_size) {
    const int skip = skipped(j);
    bulk_store(column(j) + skip, piece(j) + skip, static_cast<unsigned>((p.stored - skip) / unit * 16));
  }
  if (p.early == 0 && (place % unit != 0 || step % unit != 0)) {  // plain stores write the remainder at both ends
    for (int i = lane; i < p.n * unit; i += warp_size) {
      const int j = i / unit;
      const int skip = skipped(j);
      if (skip == 0) continue;
      const int at = i % unit < skip ? i % unit : p.stored - unit + i % unit;
      column(j)[at] = piece(j)[at];
    }
  }
  bulk_stores_have_read();
}

/// The storing warps take stages in turn.
template <class Real>
__device__ inline void store_columns(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* ring, int own) {
  int turn = own;
  for (RingPosition at{0, 0};; at.advance(1, p.stages)) {
    shared.full[at.stage].wait(at.parity);  // waits for every chunk: no stage may seem full from an old one
    const std::uint32_t chunk = shared.chunk_of[at.stage];
    if (chunk == no_chunk) break;
    turn = (turn + 1) % column_storers;
    if (turn == 1) {
      shared.done[at.stage].wait(at.parity);
      store_chunk(p, reinterpret_cast<const Real*>(ring + at.stage * p.stage_bytes + p.offset_b) + p.b.shift, chunk);
      __syncwarp();
    }
    shared.empty[at.stage].arrive();  // nobody may overtake a warp that has not seen a chunk of others yet
  }
  bulk_stores_are_done();
}

/// `Math` says how consumer warps multiply. It packs alpha C behind the stages; multiply() is what a warp does until it
/// finds a stage marked no_chunk.
template <class Math>
__global__ void __launch_bounds__(Math::warps* warp_size + loading_threads, 1)
    tsmm_column_ring_kernel(const __grid_constant__ TsmmColumns<typename Math::Real> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ ColumnStages shared;
  release_next_kernel();
  // The compiler must see that all lanes of a warp take the same path: asynchronous products (wgmma) need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  if (threadIdx.x == 0) shared.initialize(p.stages, Math::warps_of_chunk(p) * warp_size);
  await_previous_kernel();
  if (!p.condition.holds()) return;
  __syncthreads();

  if (warp >= Math::warps) {
    if constexpr (Math::given_registers != 0) give_registers<Math::given_registers>();
    const int own = warp - Math::warps;
    if (own < column_loaders) {
      load_columns(p, shared, memory, Math::marks(p), own);
    } else {
      store_columns(p, shared, memory, own - column_loaders);
    }
    return;
  }
  // C is packed before take_registers: in the other order the compiler loses sight of that path, and products (wgmma)
  // wait for one another (ptxas warning C7520).
  auto* const packed = reinterpret_cast<typename Math::Real*>(memory + p.stages * p.stage_bytes);
  Math::pack(p, packed, static_cast<int>(threadIdx.x));
  if constexpr (Math::taken_registers != 0) take_registers<Math::taken_registers>();
  publish_to_bulk_copies();
  meet(1, Math::warps * warp_size);
  Math::multiply(p, shared, memory, packed, warp);
#endif
}

}  // namespace blockvec::kernels::cuda
