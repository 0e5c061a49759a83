#include <complex>

#include "src/cuda/check.cuh"
#include "src/cuda/gram_schmidt/sweep.cuh"
#include "src/cuda/operands/views.cuh"
#include "src/cuda/tsmttsm/launch_sum.cuh"
#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/gram_schmidt/call.hpp"

namespace blockvec::kernels::cuda {
namespace {

template <class Real>
auto kernel_of(int tiles_n) {
  return tiles_n == 1 ? sweep_kernel<Real, 1> : tiles_n == 2 ? sweep_kernel<Real, 2> : sweep_kernel<Real, 4>;
}

/// The tensor map of a part of a matrix: TMA tiles of a row tile.
template <class T>
CUtensorMap map_of(const Matrix<const T>& a, const SweepPart& part, int rows, const Product& operation) {
  Lines<real_t<T>> all = lines(a);
  all.data += part.first;
  all.length = part.width;
  return boxes(all, 1, part.pitch, rows, operation).map[0];
}

}  // namespace

template <class T>
void launch_sweep(const SweepCall<T>& call, const SweepMatrices<T>& all, const dispatch::CudaSweep& x,
                  const CudaExecution& execution) {
  using Real = real_t<T>;
  const Product operation = product_of(call);
  const Launcher launcher{operation, execution.stream, current_device(operation)};
  GramSchmidtSweep<Real> p{};
  for (int i = 0; i < x.loaded; ++i) {
    p.part[i] = x.part[i];
    p.map[i] = map_of<T>(i < x.parts ? all.of[x.part[i].matrix] : call.image, x.part[i], x.rows, operation);
  }
  p.parts = x.parts;
  p.loaded = x.loaded;
  p.m = static_cast<int>(parts_of<T> * (operation.m + operation.n));
  p.n = static_cast<int>(parts_of<T> * operation.n);
  p.w = real_data(call.w);
  p.pitch_w = parts_of<T> * call.w.ld;
  p.pairs = reinterpret_cast<std::uintptr_t>(p.w) % (2 * sizeof(Real)) == 0 && p.pitch_w % 2 == 0;
  p.k = call.w.rows;
  p.chunks = static_cast<std::uint32_t>(x.chunks);
  p.rows = x.rows;
  p.stages = x.stages;
  p.stage_bytes = x.stage_bytes;
  p.stage_step = x.stage_step;
  p.barriers = x.barriers;
  p.sharing = x.sharing;
  p.blocks = x.blocks;
  p.steps = x.steps;
  p.packed_bytes = x.packed_bytes;
  p.changes = call.c.columns > 0;
  p.multiplies = call.p.columns > 0;
  p.change_condition = {call.conditions.change};
  p.products_condition = {call.conditions.products};
  p.c = small(call.c, Triangle::general);
  p.partial = workspace_start<double>(execution);
  launcher.launch_early(kernel_of<Real>(x.tiles_n), {x.thread_blocks}, sweep_threads, x.shared_bytes, p);
  if (!p.multiplies) return;
  TsmttsmSum<Real> sum{};
  sum.partial = p.partial;
  sum.parts = sum.parts_above = x.thread_blocks;
  sum.fold = 1;
  sum.m = p.m;
  sum.n = p.n;
  sum.alpha = {{1, 0}, nullptr, parts_of<T>};
  sum.beta = {{0, 0}, nullptr, parts_of<T>};
  sum.condition = p.products_condition;
  launch_sum(sum, call.p, Op::conjugate_transpose, Start::early, launcher);
}

template void launch_sweep(const SweepCall<float>&, const SweepMatrices<float>&, const dispatch::CudaSweep&,
                           const CudaExecution&);
template void launch_sweep(const SweepCall<double>&, const SweepMatrices<double>&, const dispatch::CudaSweep&,
                           const CudaExecution&);
template void launch_sweep(const SweepCall<std::complex<float>>&, const SweepMatrices<std::complex<float>>&,
                           const dispatch::CudaSweep&, const CudaExecution&);
template void launch_sweep(const SweepCall<std::complex<double>>&, const SweepMatrices<std::complex<double>>&,
                           const dispatch::CudaSweep&, const CudaExecution&);

}  // namespace blockvec::kernels::cuda
