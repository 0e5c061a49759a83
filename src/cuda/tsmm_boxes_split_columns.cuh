#pragma once

#include "src/cuda/tsmm_boxes_split.cuh"

/// tsmm in single precision by split products (split.cuh) of whole warpgroups, of many columns of A and few of B,
/// column-major: A comes in boxes of columns, panel by panel (tsmm_boxes.cuh), while the sums of a chunk of rows stay
/// in registers, from where they go to memory.
///
/// Two warpgroups share 128 rows: one box of real numbers, two of complex ones. Lanes have two neighbours of each
/// column, which they read and write at once.
namespace blockvec::kernels::cuda {

inline constexpr int column_rows = 16 * computing_warps;  ///< of the block's warpgroups, of each set of boxes

/// A lane's two neighbouring rows of the columns q + 4 i of a panel.
template <int parts>
struct NeighbouringRows {
  const float* row;  ///< of the lane's first column
  int pitch;
  int columns;  ///< of scalars, from the lane's first one on

  __device__ void read(int step, float (&x)[2][2][4]) const {
    constexpr int slots = 8 / parts;
    const float* const first = row + step / 2 * slots * 4 * pitch;
    const int left = columns - step / 2 * slots * 4;
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const float* const from = first + slot * 4 * pitch;
      const bool there = 4 * slot < left;
      if constexpr (parts == 2) {
        const float4 both = there ? *reinterpret_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
        x[0][0][slot] = both.x;
        x[1][0][slot] = both.y;
        x[0][1][slot] = both.z;
        x[1][1][slot] = both.w;
      } else {
        const float2 both = there ? *reinterpret_cast<const float2*>(from) : make_float2(0, 0);
        x[slot % 2][0][slot / 2] = both.x;
        x[slot % 2][1][slot / 2] = both.y;
      }
    }
  }
  __device__ void arrange(float (&)[2][2][4]) const {}
};

/// A lane's results of two neighbouring rows of B.
template <int parts, int columns>
class NeighbouringResults {
 public:
  static constexpr int count = columns / 4;  ///< columns of scalars
  struct alignas(2 * parts * sizeof(float)) Both {
    float number[2][parts];
  };

  __device__ NeighbouringResults(const Results<float>& out, int lane)
      : out_(out),
        q_(lane % 4),
        at_once_(reinterpret_cast<std::uintptr_t>(out.b.data) % sizeof(Both) == 0 &&
                 out.b.offset(0, parts) * static_cast<std::int64_t>(sizeof(float)) % sizeof(Both) == 0) {}

  __device__ void read(std::int64_t row, Both (&old)[count]) const {
    visit(row, [&](int i, float* place, bool both) {
      if (at_once_ && both) {
        old[i] = *reinterpret_cast<const Both*>(place);
        return;
      }
#pragma unroll
      for (int number = 0; number < 2 * parts; ++number) {
        if (number < parts || both) old[i].number[number / parts][number % parts] = place[number];
      }
    });
  }

  /// `add(value, i)` adds what stood there.
  template <class Add>
  __device__ void write(std::int64_t row, const WarpgroupSums<parts, columns>& sums, const Add& add) const {
    visit(row, [&](int i, float* place, bool both) {
      Both value;
#pragma unroll
      for (int number = 0; number < 2 * parts; ++number) {
        value.number[number / parts][number % parts] = sums.sum[number % parts][i / 2 * 4 + number / parts * 2 + i % 2];
      }
      add(value, i);
      if (at_once_ && both) {
        *reinterpret_cast<Both*>(place) = value;
        return;
      }
#pragma unroll
      for (int number = 0; number < 2 * parts; ++number) {
        if (number < parts || both) place[number] = value.number[number / parts][number % parts];
      }
    });
  }

 private:
  /// Calls f(i, place, whether the row below is there too) for what lies in B.
  template <class F>
  __device__ void visit(std::int64_t row, const F& f) const {
    if (row >= out_.k) return;
    const bool both = row + 1 < out_.k;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      // As the entries of C are packed.
      const int column = i / 2 * 8 + (parts == 2 ? q_ + i % 2 * 4 : 2 * q_ + i % 2);
      if (parts * column < out_.n) f(i, out_.b.data + out_.b.offset(row, parts * column), both);
    }
  }

  const Results<float>& out_;
  int q_;
  bool at_once_;
};

/// `tb` times 128 rows, `columns` columns of scalars.
template <int parts, int tb, int columns>
__global__ void __launch_bounds__(block_threads, 1)
    tsmm_column_boxes_split_kernel(const __grid_constant__ TsmmBoxes<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  // The compiler must see that all lanes of a warp go the same way: products that run beside others need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int box = p.a.numbers();
  const bool resident = p.packed == nullptr;
  const BoxStages<float> stages{barriers, chunk_of, memory, tb * p.sets * box * static_cast<int>(sizeof(float)),
                                resident ? 0 : p.panel_numbers(columns / 8)};
  const int bytes = stages.bytes();
  float* const packed = reinterpret_cast<float*>(memory + p.stages * bytes);
  if (threadIdx.x == 0) barriers.initialize(p.stages, computing_warps);
  await_previous_kernel();
  __syncthreads();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (warp == computing_warps) load_chunks<tb, false>(p, stages, tickets);
    return;
  }

  take_registers<232>();
  constexpr int width_of_step = 2 * pairs_of_step;  // real columns
  if (resident) {
    pack_steps((p.m + width_of_step - 1) / width_of_step, columns, packed, static_cast<int>(threadIdx.x),
               computing_threads, ColumnEntries<TsmmBoxes<float>>{p, p.m, p.out.n, p.alpha.read()});
    publish_to_bulk_copies();  // products read shared memory as these do
    meet(1, computing_threads);
  }
  const int q = lane % 4;
  const int row0 = 16 * warp + lane / 4 * 2;
  const int start = row0 / p.out.box_rows * box + parts * (row0 % p.out.box_rows) + q * p.a.pitch;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  const NeighbouringResults<parts, columns> results(p.out, lane);
  using Both = typename NeighbouringResults<parts, columns>::Both;
  constexpr int count = NeighbouringResults<parts, columns>::count;

  RingPosition at{0, 0};
  for (;;) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = __shfl_sync(0xffffffffU, chunk_of[at.stage], 0);
    if (chunk == no_chunk) break;
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * column_rows * tb;
    WarpgroupSums<parts, columns> sums[tb];
    constexpr bool early = parts * tb * columns <= 64;  // old results have registers while the new ones are computed
    Both old[early ? tb : 1][count];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
      sums[t].clear();
      if (early && adds) results.read(first_row + t * column_rows + row0, old[early ? t : 0]);
    }
#pragma unroll 1
    for (int panel = 0; panel < p.panels; ++panel) {
      if (panel > 0) barriers.full[at.stage].wait(at.parity);
      const float* const a = reinterpret_cast<const float*>(memory + at.stage * bytes);
      const int width = min(p.panel, p.m - panel * p.panel);
      const float* const c = resident ? packed + panel * (p.panel / width_of_step) * step_numbers(columns)
                                      : a + stages.bytes_a / static_cast<int>(sizeof(float));
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        const NeighbouringRows<parts> fragments{a + t * p.sets * box + start, p.a.pitch, width / parts - q};
        multiply_steps(sums[t], fragments, shared_address(c), (width + width_of_step - 1) / width_of_step);
      }
      barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
    }
    bool finite = true;
#pragma unroll
    for (int t = 0; t < tb; ++t) finite = finite && sums[t].finite();
    if (__all_sync(0xffffffffU, finite)) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        if (!early && adds) results.read(first_row + t * column_rows + row0, old[0]);
        results.write(first_row + t * column_rows + row0, sums[t], [&](Both& value, int i) {
          if (!adds) return;
#pragma unroll
          for (int row = 0; row < 2; ++row) {
            float(&sum)[parts] = value.number[row];
            const float(&was)[parts] = old[early ? t : 0][i].number[row];
            float none = 0;
            add_pair(sum[0], parts == 2 ? sum[parts - 1] : none, make_float2(was[0], parts == 2 ? was[parts - 1] : 0),
                     beta);
          }
        });
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < 16 * tb; ++i) {
        const std::int64_t row = first_row + i / 16 * column_rows + 16 * warp + i % 16;
        if (row >= p.out.k) continue;
        multiply_row_plainly<parts * columns>(
            p, row, lane, [&](int column, float value) { p.out.b.data[p.out.b.offset(row, column)] = value; });
      }
    }
  }
#endif
}

}  // namespace blockvec::kernels::cuda
