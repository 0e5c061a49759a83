#pragma once

#include "src/cuda/ptx/cluster.cuh"
#include "src/cuda/tsmm/strided.cuh"

/// tsmm on tensor cores for many columns of A and of B. B's columns are cut into sections (CTA tiles). A block computes
/// a chunk of rows of one section at a time. Its sums stay in registers, while panels (K slices) of A and C pass
/// through shared memory. A warp holds so many sums that it reads little there for each product.
///
/// Blocks take items from a ticket. Sections of the same rows follow one another, so that A comes from memory once.
/// Where B may be A, the blocks of a cluster take one section each, compute the same chunks, and write when all have
/// read.
namespace blockvec::kernels::cuda {

/// Numbers the items of work: a chunk of rows in a section. A clustered block has a fixed section.
template <class Real>
class WideItems {
 public:
  __device__ explicit WideItems(const TsmmBoxes<Real>& p) : p_(p), rank_(0) {
#if __CUDA_ARCH__ >= 900
    if (p.clustered) rank_ = rank_in_cluster();
#endif
  }

  __device__ std::uint32_t count() const { return p_.clustered ? p_.chunks : p_.chunks * p_.sections; }
  __device__ std::uint32_t chunk(std::uint32_t item) const { return p_.clustered ? item : item / p_.sections; }
  __device__ int section(std::uint32_t item) const {
    return static_cast<int>(p_.clustered ? rank_ : item % p_.sections);
  }

  /// Items in fixed turns, where no ticket is needed.
  __device__ std::uint32_t first() const { return p_.clustered ? blockIdx.x / p_.sections : blockIdx.x; }
  __device__ std::uint32_t step() const { return p_.clustered ? gridDim.x / p_.sections : gridDim.x; }

  /// Which panels of A a section needs. It skips panels where a triangular C has only zeros, except in a cluster.
  __device__ int first_panel(int section) const {
    const int before = section * section_columns();
    return skips(Half::lower) ? min(before / p_.panel, p_.panels - 1) : 0;
  }
  __device__ int end_panel(int section) const {
    const int end = (section + 1) * section_columns();
    return skips(Half::upper) ? min((end + p_.panel - 1) / p_.panel, p_.panels) : p_.panels;
  }

 private:
  __device__ bool skips(Half half) const { return p_.small.half == half && !p_.clustered; }
  __device__ int section_columns() const { return 8 * p_.section_pieces; }

  const TsmmBoxes<Real>& p_;
  unsigned rank_;
};

/// One lane loads: it fills the stages item by item.
template <int tb, class Real>
__device__ inline void load_items(const TsmmBoxes<Real>& p, const BoxStages<Real>& stages,
                                  const WideItems<Real>& items) {
#if __CUDA_ARCH__ >= 900
  RingPosition at{0, 1};
  const auto take = [&](std::uint32_t item) { return p.clustered ? item + items.step() : atomicAdd(p.tickets, 1U); };
  std::uint32_t item = p.clustered ? items.first() : take(0);
  while (item < items.count()) {
    const std::uint32_t next = take(item);  // used only when the copies of this item are under way
    const int section = items.section(item);
    const int end = items.end_panel(section);
    for (int panel = items.first_panel(section); panel < end; ++panel) {
      stages.barriers.empty[at.stage].wait(at.parity);
      Barrier& full = stages.barriers.full[at.stage];
      unsigned char* const stage = stages.memory + at.stage * stages.bytes();
      stages.chunk_of[at.stage] = item;
      full.arrive_and_expect(static_cast<unsigned>(stages.bytes()));
      bulk_load(stage + stages.bytes_a, p.packed + (std::int64_t{section} * p.panels + panel) * stages.small_numbers,
                static_cast<unsigned>(stages.small_numbers) * sizeof(double), full);
      start_boxes(p, stages, tb, items.chunk(item), panel, reinterpret_cast<Real*>(stage), full);
      at.advance(1, p.stages);
    }
    item = next;
  }
  stages.barriers.empty[at.stage].wait(at.parity);
  stages.chunk_of[at.stage] = no_chunk;
  stages.barriers.full[at.stage].arrive();
#endif
}

/// A warp sees A's panels arrive. It tells the blocks of the cluster when all panels of a chunk have arrived. That is
/// well before these are multiplied, so that blocks hardly wait for one another. A chunk must have more panels than
/// there are stages: then every warp has been told of the chunk before.
template <class Real>
__device__ inline void tell_when_read(const TsmmBoxes<Real>& p, const BoxStages<Real>& stages,
                                      const WideItems<Real>& items, Barrier& all_read) {
#if __CUDA_ARCH__ >= 900
  const auto lane = static_cast<int>(threadIdx.x) % warp_size;
  RingPosition at{0, 0};
  for (std::uint32_t item = items.first(); item < items.count(); item += items.step()) {
    for (int panel = 0; panel < p.panels; ++panel) {
      stages.barriers.full[at.stage].wait(at.parity);
      stages.barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
    }
    __syncwarp();
    if (lane < p.sections) arrive_in_cluster(all_read, static_cast<unsigned>(lane));
  }
#endif
}

template <class Real, int tb, int tn>
__global__ void __launch_bounds__(block_threads, 1) tsmm_wide_kernel(const __grid_constant__ TsmmBoxes<Real> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ Barrier all_read;
  __shared__ std::uint32_t chunk_of[max_stages];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int box = p.a.numbers();
  const int pieces = p.section_pieces;
  const BoxStages<Real> stages{barriers, chunk_of, memory, tb * box * static_cast<int>(sizeof(Real)),
                               p.panel_numbers(pieces)};
  const int bytes = stages.bytes();
  const WideItems<Real> items(p);
  if (threadIdx.x == 0) {
    all_read.initialize(static_cast<unsigned>(p.sections));
    barriers.initialize(p.stages, computing_warps + (p.clustered ? 1 : 0));
  }
  await_previous_kernel();
  if (p.clustered) {
    meet_in_cluster();
  } else {
    __syncthreads();
  }
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (reads_a && warp == computing_warps && elected()) load_items<tb>(p, stages, items);
    if (reads_a && warp == computing_warps + 1 && p.clustered) tell_when_read(p, stages, items, all_read);
    __syncwarp();
    if (p.clustered) meet_in_cluster();  // barriers must exist as long as other blocks arrive there
    return;
  }

  take_registers<232>();
  const int warp_row = warp % p.row_warps;
  const int warp_column = warp / p.row_warps * 8 * tn;
  const int box_rows = 16 * p.row_warps;
  const Factor beta = p.beta.read();
  int start[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) start[half] = first_entry(p, warp_row, lane, half);
  const int first_c = stages.bytes_a + (8 * warp_column + 2 * lane) * static_cast<int>(sizeof(double));

  double sum[tb][tn][4];
  const auto clear = [&] {
#pragma unroll
    for (int i = 0; i < tb * tn * 4; ++i) sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0;
  };
  const auto finish = [&](std::uint32_t item) {
    const std::int64_t first_row = static_cast<std::int64_t>(items.chunk(item)) * tb * box_rows;
    const Places<Real> places(p.out, warp_row, items.section(item) * 8 * pieces + warp_column, lane);
    if (!beta.is_zero()) places.add(first_row, beta, sum);
    places.write(first_row, sum);
  };
  if (!reads_a) {
    for (std::uint32_t item = items.first(); item < items.count(); item += items.step()) {
      clear();
      finish(item);
    }
    if (p.clustered) meet_in_cluster();
    return;
  }

  const auto multiply = [&](const unsigned char* stage, int step) {
    const Real* const a = reinterpret_cast<const Real*>(stage) + step * p.depth_step;
    const double* const c = reinterpret_cast<const double*>(stage + first_c) + step * 128 * pieces;
    double left[tb][8];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 8; ++v) left[t][v] = a[start[v % 2] + t * box + p.step[v / 2]];
    }
    multiply_step(sum, left, c, pieces);
  };

  RingPosition at{0, 0};
  unsigned turn = 0;
  for (;;) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t item = chunk_of[at.stage];
    if (item == no_chunk) break;
    clear();
    const int section = items.section(item);
    const int first = items.first_panel(section);
    const int end = items.end_panel(section);
#pragma unroll 1
    for (int panel = first; panel < end; ++panel) {
      if (panel > first) barriers.full[at.stage].wait(at.parity);
      const int steps = (min(p.panel, p.m - panel * p.panel) + 15) / 16;
#pragma unroll 1
      for (int step = 0; step < steps; ++step) multiply(memory + at.stage * bytes, step);
      // Arrives behind the loop: by then, products that need all that was read have begun. Inside, reads could still be
      // under way.
      barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
    }
    if (p.clustered) {
      wait_for_cluster(all_read, turn);
      turn ^= 1;
    }
    finish(item);
  }
  __syncwarp();
  if (p.clustered) meet_in_cluster();
#endif
}

}  // namespace blockvec::kernels::cuda
