#include "src/cuda/check.cuh"
#include "src/cuda/kernels.hpp"
#include "src/cuda/operands/views.cuh"
#include "src/cuda/tsmttsm/direct_tf32.cuh"
#include "src/cuda/tsmttsm/launch_sum.cuh"
#include "src/cuda/tsmttsm/ring.cuh"
#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"

namespace blockvec::kernels::cuda {
namespace {

/// Describes an operand to the kernel, in the load mode of the configuration. Its row tiles have x.rows / x.segment
/// segments. A column-major operand begins `before` rows early.
template <class T>
Staged<real_t<T>> staged(const Matrix<const T>& a, const dispatch::CudaFeed& feed, const dispatch::RingTsmttsm& x,
                         int before, const Product& operation) {
  const int segments = x.rows / x.segment;
  constexpr int parts = parts_of<T>;
  Staged<real_t<T>> s{};
  s.stream.pitch = 1;
  if (a.layout == Layout::column_major) {
    s.columns = columns(a, feed.lines, feed.pitch, before);
    auto& whole = s.columns;
    if (feed.boxed) {
      whole.box = feed.panel;
      whole.classes = feed.classes;
      whole.class_step = feed.class_step;
      s.boxes = boxes(lines(a, before), feed.classes, feed.pitch, feed.panel, operation);
    }
    s.row_step = parts;
    s.eight_columns = 8 / parts / feed.classes * feed.pitch;
    return s;
  }
  s.boxed = feed.boxed;
  s.panels = feed.panels;
  s.panel = feed.panel;
  s.row_step = feed.pitch;
  if (!feed.boxed) {
    s.stream = stream(a, x.fold);
    s.row_step *= segments;
    for (int i = 0; i < segments; ++i) s.segment[i] = stage_shift(s.stream) + i * feed.pitch;
    return s;
  }
  s.boxes = boxes(lines(a), feed.classes, feed.pitch, feed.lines, operation);
  s.panel_places = s.boxes.numbers();
  for (int i = 0; i < segments; ++i) s.segment[i] = i * s.boxes.class_numbers() + s.boxes.lead[i];
  return s;
}

/// Row tiles that a block takes one after the other. Where columns do not begin at cache lines, adjacent row tiles
/// share lines: a block that takes the next row tile soon finds them in the cache. Runs are short beside all the work
/// of a block.
template <class T>
std::uint32_t run_of(const TsmttsmCall<T>& call, std::uint32_t chunks, std::int64_t parts) {
  const auto whole_lines = [](const Matrix<const T>& a) { return a.ld * sizeof(T) % line_bytes == 0; };
  if (whole_lines(call.a) && whole_lines(call.b)) return 1;
  std::uint32_t run = 16;
  while (run > 1 && chunks / parts < 128 * run) run /= 2;
  return run;
}

/// Whether each pair of neighbours in a row of a stage is aligned to its size.
template <class Real>
bool has_aligned_pairs(const Staged<Real>& a) {
  return a.row_step % 2 == 0 && a.segment[0] % 2 == 0;
}

/// `aligned`: in both operands, lanes can read pairs of neighbours in a row at once.
template <class Real>
Kernel<TsmttsmRing<Real>> kernel_of(const dispatch::RingTsmttsm& x, bool by_columns, bool aligned) {
  if (x.gram()) return tsmttsm_gram_kernel_of<Real>(x.tile_m, by_columns, takes_pairs(x));
  if constexpr (sizeof(Real) == 4) {
    if (x.warpgroup_3m()) return tsmttsm_tf32_warpgroup_3m_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
    if (x.whole_warpgroups()) {
      return tsmttsm_tf32_warpgroup_kernel_of<Real>(x.tile_m, x.tile_n, by_columns || aligned, by_columns);
    }
  } else {
    if (x.square()) return tsmttsm_ring_square_3m_kernel_of<Real>(x.tile_m, by_columns);
    if (x.ring_3m()) return tsmttsm_ring_3m_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
  }
  return tsmttsm_ring_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
}

/// Sets what the parameters of all kernels have.
template <class T, class Configuration, class Parameters>
void set_common(const TsmttsmCall<T>& call, const Configuration& x, double* partial, Condition condition,
                Parameters& p) {
  p.k = call.a.rows;
  p.m = static_cast<int>(x.fold * parts_of<T> * call.a.columns);
  p.n = static_cast<int>(x.fold * parts_of<T> * call.b.columns);
  p.warps_m = x.warps_m;
  p.warps_n = x.warps_n;
  p.groups = x.groups;
  p.sections_m = x.sections_m;
  p.sections_n = x.sections_n;
  p.partial = partial;
  p.alpha = coefficient(call.alpha);
  p.condition = condition;
}

template <class T>
void launch_kernel(const TsmttsmCall<T>& call, const dispatch::RingTsmttsm& x, double* partial, Condition condition,
                   const Launcher& launcher) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  const bool by_columns = call.a.layout == Layout::column_major;
  TsmttsmRing<Real> p{};
  set_common(call, x, partial, condition, p);
  p.same = x.b.stage_bytes == 0;
  // In stages, TMA tiles of several classes have a layout that plain copies do not write. Kernels with 3xTF32 or 3M
  // count rows from the first one on.
  const bool may_begin_before =
      by_columns && x.a.classes == 1 && x.b.classes <= 1 && !x.whole_warpgroups() && !x.ring_3m();
  const int before = may_begin_before ? rows_before(call.a, call.b) : 0;
  p.a = staged(call.a, x.a, x, before, launcher.operation);
  p.b = p.same ? p.a : staged(call.b, x.b, x, before, launcher.operation);
  p.chunks = static_cast<std::uint32_t>(ceil_div(ceil_div(before + call.a.rows, x.fold), x.rows));
  p.rows = x.rows;
  p.segments = x.rows / x.segment;
  p.stages = x.stages;
  p.stage_bytes = x.a.stage_bytes + x.b.stage_bytes;
  p.offset_b = p.same ? 0 : x.a.stage_bytes;
  // A warp writes pairs of entries of eight rows at once. Rows that are half of the banks apart then do not conflict.
  const auto copies = [&](int pitch) {
    return std::min(x.groups, x.shared_bytes / (x.reached_m() * pitch * static_cast<int>(sizeof(double))));
  };
  const int apart = x.reached_n() / 8 % 2 != 0 ? x.reached_n() : x.reached_n() + 8;
  p.sum_pitch = copies(apart) == copies(x.reached_n()) ? apart : x.reached_n();
  p.copies = copies(p.sum_pitch);
  p.split = x.split;
  p.groups_in_turn = x.groups / x.split;
  p.steps = x.segment / 16;
  const bool turned = by_columns && x.whole_warpgroups();  // complex columns
  const bool complex = x.ring_3m() || (parts == 2 && sizeof(Real) == sizeof(double));
  p.wide = by_columns && (parts == 1 || turned) && p.a.columns.even && (p.same || p.b.columns.even);
  p.run = by_columns ? run_of(call, p.chunks, x.partials) : 1;
  p.map = turned                                      ? dispatch::column_map(x.a.pitch / parts)
          : by_columns && complex                     ? dispatch::complex_column_map(x.a.pitch)
          : p.wide || (by_columns && x.a.classes > 1) ? dispatch::wide_column_map(parts * sizeof(Real))
          : by_columns                                ? dispatch::column_map(x.a.pitch)
                       : dispatch::row_map_of(x, p.a.row_step, p.b.row_step, sizeof(Real));
  p.turned = x.turned != 0;
  p.sign = call.op == Op::conjugate_transpose ? -1 : 1;
  if (p.sign < 0 && sizeof(Real) == sizeof(double))
    p.flips = dispatch::flipping_bit(by_columns ? x.a.pitch : p.a.row_step, !by_columns);
  p.whole_a = tall(call.a);
  p.whole_b = tall(call.b);
  p.parts = static_cast<int>(x.partials);
  const bool aligned = by_columns ? p.wide : has_aligned_pairs(p.a) && has_aligned_pairs(p.b);
  launcher.launch_early(kernel_of<Real>(x, by_columns, aligned), {block_count(x, x.partials)},
                        dispatch::ring_warps(x) * warp_size + loading_threads, x.shared_bytes, p);
}

template <class Real>
Kernel<TsmttsmDirect<Real>> kernel_of(const dispatch::DirectTsmttsm& x) {
  const dispatch::Neighbours neighbours = dispatch::loaded_neighbours(x.neighbours, x.tile_m, x.tile_n);
  if constexpr (sizeof(Real) == 4) {
    if (x.policy == dispatch::Policy::tf32) {
      return tsmttsm_direct_tf32_kernel_of<Real>(x.tile_m, x.tile_n, neighbours);
    }
  }
  return tsmttsm_direct_kernel_of<Real>(x.tile_m, x.tile_n, neighbours);
}

template <class T>
void launch_kernel(const TsmttsmCall<T>& call, const dispatch::DirectTsmttsm& x, double* partial, Condition condition,
                   const Launcher& launcher) {
  TsmttsmDirect<real_t<T>> p{};
  set_common(call, x, partial, condition, p);
  p.a = tall(call.a);
  p.b = tall(call.b);
  p.fold = x.fold;
  p.symmetric = dispatch::are_same(call.a, call.b);
  launcher.launch_early(kernel_of<real_t<T>>(x), {x.partials * x.sections_m * x.sections_n}, x.threads, x.shared_bytes,
                        p);
}

}  // namespace

template <class T>
void launch_tsmttsm(const TsmttsmCall<T>& call, const dispatch::CudaTsmttsm& configuration,
                    const CudaExecution& execution) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  const Product operation = product_of(call);
  const bool multiplies = configuration->kernel != dispatch::CudaKernel::none;
  // Partial sums that no kernel wrote must not be summed.
  if (multiplies) require_kernel(dispatch::problem_of(call, execution.single_precision), configuration, operation);
  const Launcher launcher{operation, execution.stream, current_device(operation)};
  double* const partial = workspace_start<double>(execution);
  const Condition condition{execution.condition};
  TsmttsmSum<Real> sum{};
  sum.partial = partial;
  sum.parts = multiplies ? configuration->partials : 0;
  sum.fold = configuration->fold;
  sum.m = parts * call.a.columns;
  sum.n = parts * call.b.columns;
  sum.parts_above = sum.parts;
  std::visit(
      [&]<class Configuration>(const Configuration& x) {
        if constexpr (!std::is_same_v<Configuration, dispatch::NoTsmttsm>) {
          launch_kernel(call, x, partial, condition, launcher);
        }
        if constexpr (std::is_same_v<Configuration, dispatch::RingTsmttsm>) {
          if (takes_pairs(x)) {
            sum.square = dispatch::pair_side;
            sum.parts_above = dispatch::SquarePairs(x.sections_m, x.partials).parts_above;
          }
        }
      },
      configuration.of_kernel);
  sum.alpha = coefficient(call.alpha);
  sum.beta = coefficient(call.beta);
  sum.condition = condition;
  launch_sum(sum, call.c, call.op, multiplies ? Start::early : Start::after_previous, launcher);
}

template void launch_tsmttsm(const TsmttsmCall<float>&, const dispatch::CudaTsmttsm&, const CudaExecution&);
template void launch_tsmttsm(const TsmttsmCall<double>&, const dispatch::CudaTsmttsm&, const CudaExecution&);
template void launch_tsmttsm(const TsmttsmCall<std::complex<float>>&, const dispatch::CudaTsmttsm&,
                             const CudaExecution&);
template void launch_tsmttsm(const TsmttsmCall<std::complex<double>>&, const dispatch::CudaTsmttsm&,
                             const CudaExecution&);

}  // namespace blockvec::kernels::cuda
