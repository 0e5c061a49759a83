#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

#include "src/cuda/check.cuh"
#include "src/cuda/kernels.hpp"
#include "src/cuda/operands/views.cuh"
#include "src/cuda/tsmm/column_f64.cuh"
#include "src/cuda/tsmm/column_fma.cuh"
#include "src/cuda/tsmm/column_tf32.cuh"
#include "src/cuda/tsmm/direct.cuh"
#include "src/cuda/tsmm/in_parts.cuh"
#include "src/cuda/tsmm/per_warp.cuh"
#include "src/cuda/tsmm/row_ring.cuh"
#include "src/cuda/tsmm/short_k.cuh"
#include "src/cuda/tsmm/strided.cuh"
#include "src/cuda/tsmm/strided_3m.cuh"
#include "src/cuda/tsmm/strided_tf32.cuh"
#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/launch.hpp"

namespace blockvec::kernels::cuda {
namespace {

using dispatch::CudaKernel;
using dispatch::Policy;

__global__ void zero_tickets(unsigned* tickets) {
  release_next_kernel();
  await_previous_kernel();
  *tickets = 0;
}

struct TsmmLauncher : Launcher {
  const CudaExecution& execution;

  /// The tile scheduler's counter: the caller's, or else the first number of the workspace.
  unsigned* tickets() const {
    return execution.ticket != nullptr ? execution.ticket : workspace_start<unsigned>(execution);
  }
  void reset_ticket() const {
    if (execution.ticket == nullptr) launch_early(zero_tickets, {1}, 1, 0, tickets());
  }
  /// The rest of the workspace, where a kernel leaves packed C for the next one.
  double* packed() const { return reinterpret_cast<double*>(workspace_start<unsigned>(execution) + 4); }
};

template <class T>
TsmmTerms<real_t<T>> terms(const TsmmCall<T>& call, const TsmmLauncher& launcher) {
  const Condition condition{launcher.execution.condition};
  return {small(call.c, call.triangle), coefficient(call.alpha), coefficient(call.beta), condition};
}

/// `takers`: blocks or warps that take tickets.
template <class T>
void set_task(TsmmTask<real_t<T>>& p, const TsmmCall<T>& call, const dispatch::TsmmCommon& x, std::int64_t chunks,
              std::int64_t takers, const TsmmLauncher& launcher) {
  const auto count = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  const std::int64_t draws = ceil_div(chunks, x.chunks_per_ticket) + takers;
  p = {terms(call, launcher), launcher.tickets(), count(chunks), count(x.chunks_per_ticket), count(draws)};
}

/// How a row-major operand comes, `rows` rows at a time: as flat row tiles, gaps included, or in TMA tiles (boxes).
template <class T>
Staged<real_t<T>> staged_rows(const Matrix<const T>& a, bool boxed, int rows, const Product& operation) {
  using Real = real_t<T>;
  Staged<Real> s{};
  s.boxed = boxed;
  s.panels = 1;
  if (boxed) {
    const Lines<Real> of = lines(a);
    s.row_step = static_cast<int>(round_up(of.length, 16 / sizeof(Real)));
    s.boxes = boxes(of, 1, s.row_step, rows, operation);
  } else {
    s.stream = stream(a, 1);
    s.row_step = s.stream.pitch;
    s.segment[0] = stage_shift(s.stream);
  }
  return s;
}

/// The parameters of the kernels that bring whole rows.
template <class T>
TsmmRing<real_t<T>> row_tiles(const TsmmCall<T>& call, const dispatch::RowRing& x, const TsmmLauncher& launcher) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  TsmmRing<Real> p{};
  set_task(p, call, x, ceil_div(call.a.rows, x.rows), x.blocks, launcher);
  p.a = staged_rows(call.a, x.boxes_a, x.rows, launcher.operation);
  p.old = staged_rows(Matrix<const T>(call.b), x.boxes_b, x.rows, launcher.operation);
  p.b = real_data(call.b);
  p.pitch_b = parts * call.b.ld;
  p.pitch_out = x.boxes_b ? p.old.row_step : static_cast<int>(parts * call.b.columns);
  p.stage_bytes_b = x.output_in_ring ? stage_bytes<Real>(x.rows, p.old.row_step) : 0;
  p.m = static_cast<int>(parts * call.a.columns);
  p.n = static_cast<int>(parts * call.b.columns);
  p.k = call.a.rows;
  p.rows = x.rows;
  p.stages = x.stages;
  p.full_barriers = dispatch::full_barriers(x.stages, x.groups);
  p.groups = x.groups;
  p.warps = x.warps;
  p.map = dispatch::row_map(p.a.row_step);
  return p;
}

template <class Real>
Kernel<TsmmRing<Real>> kernel_of(const dispatch::RowRing& x) {
  if (x.policy == Policy::fma) return tsmm_row_ring_fma_kernel_of<Real>(x.blocks_n);
  if constexpr (sizeof(Real) == 4) {
    if (x.policy == Policy::tf32) return tsmm_row_ring_tf32_kernel_of<Real>(x.tile_n, x.blocks_n);
  }
  return tsmm_row_ring_kernel_of<Real>(x.tile_n, x.blocks_n);
}

template <class T>
void launch_kernel(const TsmmCall<T>& call, const dispatch::RowRing& x, const TsmmLauncher& launcher) {
  launcher.reset_ticket();
  const TsmmRing<real_t<T>> p = row_tiles(call, x, launcher);
  const int warps = x.policy == Policy::tf32 ? dispatch::split_warps({x.tile_n, x.blocks_n}) : computing_warps;
  launcher.launch_early(kernel_of<real_t<T>>(x), {x.blocks}, warps * warp_size + loading_threads, x.shared_bytes, p);
}

template <class T>
void launch_kernel(const TsmmCall<T>& call, const dispatch::Tf32Warpgroup& x, const TsmmLauncher& launcher) {
  if constexpr (sizeof(real_t<T>) == 4) {
    launcher.reset_ticket();
    constexpr int groups = dispatch::tsmm_warpgroups;
    constexpr int warps = dispatch::warpgroup_warps;
    const dispatch::RowRing rows{x, x.tile_n, 0, warps, groups, x.output_in_ring, false, false};
    TsmmRing<float> p = row_tiles(call, rows, launcher);
    const bool paired = p.a.row_step % 2 == 0;  // rows begin a multiple of two numbers apart
    p.map = paired ? dispatch::row_map(p.a.row_step / 2) : dispatch::RowMap{1, 4, 8};
    launcher.launch_early(tsmm_tf32_warpgroup_kernel_of<float>(x.tile_n, paired, x.output_in_ring, parts_of<T>),
                          {x.blocks}, groups * warps * warp_size + loading_threads, x.shared_bytes, p);
  }
}

/// Lines that plain copies bring, `numbers` numbers of a line at a time.
template <class Real>
PlainLines<Real> plain_lines(const Lines<Real>& a, int numbers) {
  PlainLines<Real> made{a.data, a.distance, a.length, a.count, 16, 1};
  const auto fits = [&](int bytes) {
    return reinterpret_cast<std::uintptr_t>(a.data) % bytes == 0 &&
           (a.count == 1 || a.distance * static_cast<std::int64_t>(sizeof(Real)) % bytes == 0);
  };
  while (!fits(made.copy_bytes)) made.copy_bytes /= 2;
  const int at_a_time = made.copy_bytes / static_cast<int>(sizeof(Real));
  while (made.sharing_lanes < warp_size && made.sharing_lanes * at_a_time < numbers) made.sharing_lanes *= 2;
  return made;
}

/// Where results lie, and how they go there. The caller sets which lanes share a line.
template <class T>
Results<real_t<T>> results(const Matrix<T>& b, int box_rows, int staged_pitch) {
  Results<real_t<T>> out{};
  out.b = tall(b);
  out.n = static_cast<int>(parts_of<T> * b.columns);
  out.k = b.rows;
  out.in_pairs = (b.layout == Layout::row_major || parts_of<T> == 2) && parts_of<T> * b.ld % 2 == 0 &&
                 reinterpret_cast<std::uintptr_t>(b.data) % (2 * sizeof(real_t<T>)) == 0;
  out.neighbours = out.in_pairs || parts_of<T> == 2;
  out.box_rows = box_rows;
  out.map = {1, 4, 8};
  out.staged_pitch = staged_pitch;
  return out;
}

template <class Real>
Kernel<TsmmBoxes<Real>> kernel_of(const dispatch::Strided& x, int parts, bool by_columns) {
  if (x.kernel == CudaKernel::wide) return tsmm_wide_kernel_of<Real>(x.blocks_n, x.tile_n);
  if constexpr (sizeof(Real) == 8) {
    if (x.kernel == CudaKernel::registers_3m) {
      return tsmm_registers_3m_kernel_of<Real>(x.blocks_n, x.tile_n, by_columns);
    }
    if (x.policy == Policy::three_m) return tsmm_strided_3m_kernel_of<Real>(x.blocks_n, x.tile_n, by_columns);
  } else {
    if (x.policy == Policy::tf32) return tsmm_strided_tf32_kernel_of<Real>(x.blocks_n, x.tile_n, parts);
  }
  return tsmm_strided_kernel_of<Real>(x.blocks_n, x.tile_n);
}

/// The kernel that packs C where C comes in K slices.
template <class Real>
void (*pack_kernel_of(const dispatch::Strided& x))(TsmmBoxes<Real>, double*) {
  if constexpr (sizeof(Real) == 4) {
    if (x.policy == Policy::tf32) return pack_kernel<WarpgroupPack<>>;
  } else {
    if (x.policy == Policy::three_m) return pack_kernel<GaussPack<false>>;
  }
  return pack_kernel<Fp64Pack<Real>>;
}

/// Blocks of `wide` compute CTA tiles of B's columns, those of a cluster the same rows of them.
template <class T, std::derived_from<dispatch::Strided> Configuration>
void launch_kernel(const TsmmCall<T>& call, const Configuration& x, const TsmmLauncher& launcher) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  const bool row_major = call.a.layout == Layout::row_major;
  TsmmBoxes<Real> p{};
  p.sections = 1;
  if constexpr (std::is_same_v<Configuration, dispatch::Wide>) {
    p.sections = x.sections;
    p.clustered = x.in_cluster;
  }
  set_task(p, call, x, ceil_div(call.a.rows, x.rows) * (p.clustered ? 1 : p.sections), x.blocks, launcher);
  const Lines<Real> a = lines(call.a);
  const int box_rows = 16 * x.row_warps;
  const int depth_classes = row_major ? 1 : parts * x.classes;
  const int of_line = row_major ? x.panel : parts * box_rows;  // numbers of a line in a box
  const int lines_of_class = row_major ? box_rows / x.classes : x.panel / depth_classes;
  const bool splits = x.policy == Policy::tf32;
  const bool by_3m = x.policy == Policy::three_m;
  const bool holds_c = x.kernel == CudaKernel::registers_3m;
  const bool plain = x.policy == Policy::plain;
  if (plain || splits || by_3m) p.lines = plain_lines(a, row_major ? x.panel : of_line);
  if (plain) {
    p.a.classes = 1;
    p.a.pitch = x.pitch;
    p.a.lines = lines_of_class;
  } else if (x.classes == 1 && of_line < a.length && reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0) {
    p.a = cut_boxes(a, of_line, x.pitch, lines_of_class, launcher.operation);
  } else {
    p.a = boxes(a, x.classes, x.pitch, lines_of_class, launcher.operation);
  }
  p.out = results(call.b, box_rows, x.staged_pitch);
  if (splits) p.out.neighbours = true;
  if (row_major && x.classes == 2) p.out.map = {2, 8, 1};  // rows that lanes read at a time are of one class
  if (row_major && x.classes > 2) p.out.map = {4, 1, 2};
  for (p.out.sharing_lanes = 4; p.out.sharing_lanes < warp_size;) {  // lanes enough for a line that starts anywhere
    if (row_major && p.out.n + 3 <= p.out.sharing_lanes) break;
    p.out.sharing_lanes *= 2;
  }
  p.m = static_cast<int>(parts * call.a.columns);
  p.row_warps = x.row_warps;
  p.column_warps = x.warps;
  p.panel = x.panel;
  p.panels = static_cast<int>(ceil_div(p.m, x.panel));
  p.sets = x.groups;
  p.stages = x.stages;
  p.depth_classes = depth_classes;
  for (int v = 0; v < 4; ++v) {
    const int turn = v % depth_classes;
    p.step[v] = row_major ? 4 * v
                          : turn % parts + turn / parts * x.panel / depth_classes * x.pitch + p.a.lead[turn / parts] +
                                4 * (v / depth_classes) * x.pitch;
  }
  p.depth_step = row_major ? 16 : 16 / depth_classes * x.pitch;
  p.section_pieces = x.warps * x.tile_n;
  if (!x.small_in_ring) {
    launcher.reset_ticket();
  } else {  // the kernel that packs C resets the ticket, too
    const std::int64_t numbers = std::int64_t{p.sections} * p.panels * p.panel_numbers();
    launcher.launch_early(pack_kernel_of<Real>(x), {ceil_div(numbers, splits || by_3m ? 128 : 512)}, 128, 0, p,
                          launcher.packed());
    p.packed = launcher.packed();
  }
  const int threads = holds_c ? dispatch::gauss_register_warps(x.tile_n) * warp_size + loading_threads : block_threads;
  launcher.launch_early(kernel_of<Real>(x, parts, !p.out.b.row_major), {x.blocks, p.clustered ? p.sections : 1},
                        threads, x.shared_bytes, p);
}

template <class T>
void launch_kernel(const TsmmCall<T>& call, const dispatch::PerWarp& x, const TsmmLauncher& launcher) {
  launcher.reset_ticket();
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  TsmmWarps<Real> p{};
  set_task(p, call, x, ceil_div(call.a.rows, x.rows), x.blocks * (sharing_threads / warp_size), launcher);
  p.m = static_cast<int>(parts * call.a.columns);
  p.lines = plain_lines(lines(call.a), std::min(x.panel, p.m));
  p.out = results(call.b, 16, x.pitch);
  for (p.out.sharing_lanes = 1; p.out.sharing_lanes < std::min(p.out.n, warp_size);) p.out.sharing_lanes *= 2;
  p.staged = x.staged != 0;
  p.panel = x.panel;
  p.stages = x.stages;
  launcher.launch_early(tsmm_per_warp_kernel_of<Real>(x.blocks_n, x.tile_n), {x.blocks}, sharing_threads,
                        x.shared_bytes, p);
}

/// An operand's columns, `pitch` real numbers apart in a stage, and its first one as far into `lead` bytes as in
/// memory. They begin `before` rows ahead of the matrix; a chunk holds `rows` rows of them.
template <class T>
ColumnOperand<real_t<T>> column_operand(const Matrix<T>& a, int pitch, int rows, int before, int lead,
                                        const Product& operation) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  using Number = std::conditional_t<parts * sizeof(Real) == 4, float, double>;  // as large as a scalar of 4 or 8 bytes
  ColumnOperand<Real> p{};
  p.data = real_data(a) - parts * before;
  p.distance = parts * a.ld;
  p.count = static_cast<int>(a.columns);
  p.pitch = pitch;
  p.parts = parts;
  p.shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.data) % lead / sizeof(Real));
  // Tensor maps count rows in 32 bits and strides in 40 bits; a TMA tile has at most 256 rows and columns.
  p.boxed = sizeof(T) <= 8 && rows <= 256 && p.shift == 0 && p.distance % bulk_unit<Real> == 0 &&
            pitch == rows * parts && a.columns <= 256 && a.rows < std::numeric_limits<std::int32_t>::max() - 4096 &&
            p.distance < (std::int64_t{1} << 40) / static_cast<std::int64_t>(sizeof(Real));
  if (p.boxed) {
    const Lines<Number> columns{reinterpret_cast<const Number*>(p.data), a.rows, a.columns, a.ld};
    p.map = boxes(columns, 1, rows, p.count, operation).map[0];
  }
  return p;
}

template <class Real>
Kernel<TsmmColumns<Real>> kernel_of(const dispatch::ColumnRing& x, int parts) {
  if (x.policy == Policy::fma) return tsmm_column_ring_fma_kernel_of<Real>(x.blocks_n, x.tile_n, parts);
  if constexpr (sizeof(Real) == 4) {
    return tsmm_column_ring_tf32_kernel_of<Real>(x.blocks_n, x.tile_n, parts);
  } else {
    return tsmm_column_ring_kernel_of<Real>(x.blocks_n, x.tile_n, parts);
  }
}

template <class T>
void launch_kernel(const TsmmCall<T>& call, const dispatch::ColumnRing& x, const TsmmLauncher& launcher) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  launcher.reset_ticket();
  const bool in_fp64 = x.policy == Policy::usual;
  const int before = in_fp64 && x.early == 0 ? rows_before(call.a, call.b) : 0;
  const int lead = in_fp64 ? line_bytes : dispatch::bulk_bytes;
  TsmmColumns<Real> p{};
  const Matrix<T> a{const_cast<T*>(call.a.data), call.a.rows, call.a.columns, call.a.ld, call.a.layout};
  p.a = column_operand(a, x.pitch, x.rows, before, lead, launcher.operation);
  p.b = column_operand(call.b, x.staged_pitch, x.rows, before, lead, launcher.operation);
  p.length = parts * (before + call.a.rows);
  p.before = parts * before;
  p.m = static_cast<int>(call.a.columns);
  p.n = static_cast<int>(call.b.columns);
  p.early = parts * x.early;
  p.stored = parts * x.rows - p.early;
  // A chunk may store up to `early` numbers before its own first one, and then ends as early.
  set_task(p, call, x, ceil_div(p.length + std::max(p.early - 1, 0), p.stored), x.blocks, launcher);
  p.stages = x.stages;
  const auto bytes_a = static_cast<int>(dispatch::column_bytes(p.m, x.pitch, sizeof(Real), lead));
  const auto bytes_b = static_cast<int>(dispatch::column_bytes(p.n, x.staged_pitch, sizeof(Real), lead));
  p.offset_b = x.apart ? bytes_a : 0;
  p.stage_bytes = x.apart ? bytes_a + bytes_b : std::max(bytes_a, bytes_b);
  p.loads_b = x.output_in_ring;
  p.row_warps = x.row_warps;
  p.column_warps = x.warps;
  p.groups = x.groups;
  const bool alike = p.a.pitch == p.b.pitch && p.a.shift == p.b.shift;
  p.meets = !p.loads_b && (p.column_warps > 1 || !alike);
  p.neighbours_a = dispatch::column_neighbours(p.a.pitch, sizeof(double));
  p.neighbours_b = dispatch::column_neighbours(p.b.pitch, sizeof(double));
  p.turns = p.a.pitch % 16 == 0;
  launcher.launch_early(kernel_of<Real>(x, parts), {x.blocks},
                        x.policy == Policy::tf32 ? warpgroup_block_threads : block_threads, x.shared_bytes, p);
}

void launch_kernel(const TsmmCall<double>& call, const dispatch::ShortK& x, const TsmmLauncher& launcher) {
  const TsmmPanels p{terms(call, launcher), plain_lines(lines(call.a), dispatch::panels_panel),
                     results(call.b, x.rows, 0), static_cast<int>(call.a.columns), x.panel};
  launcher.launch_early(tsmm_short_k_kernel_of<double>(x.blocks_n, x.tile_n), {x.blocks}, x.blocks_n * warp_size,
                        x.shared_bytes, p);
}

template <class T>
void launch_direct(const TsmmCall<T>& call, const dispatch::TsmmCommon& x, Kernel<TsmmDirect<real_t<T>>> kernel,
                   const TsmmLauncher& launcher) {
  const int m = static_cast<int>(call.a.columns), n = static_cast<int>(call.b.columns);
  const TsmmDirect<real_t<T>> p{terms(call, launcher), tall(call.a), tall(call.b), call.a.rows, m, n};
  launcher.launch(Start::after_previous, kernel, {x.blocks}, direct_threads, x.shared_bytes, p);
}

template <class T>
void launch_kernel(const TsmmCall<T>& call, const dispatch::DirectTsmm& x, const TsmmLauncher& launcher) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  if constexpr (sizeof(Real) == 4) {
    if (x.policy == dispatch::Policy::f32) {
      return launch_direct<T>(call, x, tsmm_direct_f32_kernel_of<Real>(x.blocks_n, x.tile_n, x.panel, parts), launcher);
    }
  }
  launch_direct<T>(call, x, tsmm_direct_kernel_of<Real>(x.blocks_n, x.tile_n, x.panel, parts), launcher);
}

template <class T>
void launch_kernel(const TsmmCall<T>& call, const dispatch::GeneralTsmm& x, const TsmmLauncher& launcher) {
  launch_direct<T>(call, x, tsmm_general_kernel<real_t<T>>, launcher);
}

}  // namespace

template <class T>
void launch_tsmm(const TsmmCall<T>& call, const dispatch::CudaTsmm& x, const CudaExecution& execution) {
  if (x.in_parts()) return launch_in_parts(call, x, execution);
  const Product operation = product_of(call);
  require_kernel(dispatch::problem_of(call, execution.single_precision), x, operation);
  const TsmmLauncher launcher{{operation, execution.stream, current_device(operation)}, execution};
  std::visit(
      [&](const auto& of_kernel) {
        if constexpr (requires { launch_kernel(call, of_kernel, launcher); }) launch_kernel(call, of_kernel, launcher);
      },
      x.of_kernel);
}

template void launch_tsmm(const TsmmCall<float>&, const dispatch::CudaTsmm&, const CudaExecution&);
template void launch_tsmm(const TsmmCall<double>&, const dispatch::CudaTsmm&, const CudaExecution&);
template void launch_tsmm(const TsmmCall<std::complex<float>>&, const dispatch::CudaTsmm&, const CudaExecution&);
template void launch_tsmm(const TsmmCall<std::complex<double>>&, const dispatch::CudaTsmm&, const CudaExecution&);

}  // namespace blockvec::kernels::cuda
