#include "src/cuda/check.cuh"
#include "src/cuda/general.cuh"
#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tsmttsm_ring.cuh"
#include "src/cuda/tsmttsm_sum.cuh"
#include "src/cuda/views.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <class T>
void launch_ring(const TsmttsmCall<T>& call, const dispatch::CudaTsmttsm& configuration, double* partial,
                 cudaStream_t stream_of_call, const std::string& operation) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  const auto& x = configuration;
  TsmttsmRing<Real> p{};
  p.a = stream(call.a, x.fold);
  p.b = stream(call.b, x.fold);
  p.same = call.a.data == call.b.data && call.a.ld == call.b.ld && call.a.columns == call.b.columns;
  p.m = static_cast<int>(x.fold * parts * call.a.columns);
  p.n = static_cast<int>(x.fold * parts * call.b.columns);
  p.chunks = static_cast<std::uint32_t>(ceil_div(ceil_div(call.a.rows, x.fold), x.rows));
  p.rows = x.rows;
  p.stages = x.stages;
  p.warps_m = x.warps_m;
  p.warps_n = x.warps_n;
  p.groups = x.groups;
  p.map = dispatch::row_map_of(x, p.a.pitch, p.b.pitch);
  p.alpha = coefficient(call.alpha);
  p.partial = partial;
  launch(tsmttsm_ring_kernel_of<Real>(x.tile_m, x.tile_n), dim3(static_cast<unsigned>(x.parts)), block_threads,
         x.shared_bytes, stream_of_call, operation, p);
}

template <class T>
void launch_general(const TsmttsmCall<T>& call, const dispatch::CudaTsmttsm& configuration, double* partial,
                    cudaStream_t stream_of_call, const std::string& operation) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  TsmttsmGeneral<Real> p{};
  p.a = tall(call.a);
  p.b = tall(call.b);
  p.alpha = coefficient(call.alpha);
  p.k = call.a.rows;
  p.m = parts * call.a.columns;
  p.n = parts * call.b.columns;
  p.part_rows = configuration.part_rows;
  p.partial = partial;
  const dim3 grid(static_cast<unsigned>(configuration.parts),
                  static_cast<unsigned>(ceil_div(p.m, piece_size) * ceil_div(p.n, piece_size)));
  launch(tsmttsm_general_kernel<Real>, grid, general_threads, 0, stream_of_call, operation, p);
}

}  // namespace

template <class T>
void launch_tsmttsm(const TsmttsmCall<T>& call, const dispatch::CudaTsmttsm& configuration,
                    const CudaExecution& execution) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  const std::string operation = shape_of("tsmttsm", call.a.rows, call.a.columns, call.b.columns);
  double* const partial = workspace_start<double>(execution);
  if (configuration.kernel == dispatch::CudaKernel::ring) {
    launch_ring(call, configuration, partial, execution.stream, operation);
  } else if (configuration.kernel == dispatch::CudaKernel::general) {
    launch_general(call, configuration, partial, execution.stream, operation);
  }
  TsmttsmSum<Real> sum{};
  sum.partial = partial;
  sum.parts = configuration.kernel == dispatch::CudaKernel::none ? 0 : configuration.parts;
  sum.fold = configuration.fold;
  sum.m = parts * call.a.columns;
  sum.n = parts * call.b.columns;
  sum.conjugate = call.op == Op::conjugate_transpose;
  sum.alpha = coefficient(call.alpha);
  sum.beta = coefficient(call.beta);
  sum.c = real_data(call.c);
  const bool rows = call.c.layout == Layout::row_major;
  sum.row_stride = parts * (rows ? call.c.ld : 1);
  sum.column_stride = parts * (rows ? 1 : call.c.ld);
  const std::int64_t entries = call.c.rows * call.c.columns;
  sum.lanes = sum_lanes(entries);
  const auto blocks = static_cast<unsigned>(ceil_div(entries, sum.lanes));
  // Code for compute capability 9.0 runs where the ring does; older code does not know how to wait.
  const Start start = configuration.kernel == dispatch::CudaKernel::ring ? Start::early : Start::after_previous;
  launch(tsmttsm_sum_kernel<parts == 2, Real>, dim3(blocks), sum_threads, 0, execution.stream, operation, start, sum);
}

template void launch_tsmttsm(const TsmttsmCall<float>&, const dispatch::CudaTsmttsm&, const CudaExecution&);
template void launch_tsmttsm(const TsmttsmCall<double>&, const dispatch::CudaTsmttsm&, const CudaExecution&);
template void launch_tsmttsm(const TsmttsmCall<std::complex<float>>&, const dispatch::CudaTsmttsm&,
                             const CudaExecution&);
template void launch_tsmttsm(const TsmttsmCall<std::complex<double>>&, const dispatch::CudaTsmttsm&,
                             const CudaExecution&);

}  // namespace blockvec::kernels::cuda
