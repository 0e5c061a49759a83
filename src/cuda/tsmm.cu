#include "src/cuda/check.cuh"
#include "src/cuda/general.cuh"
#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tsmm_ring.cuh"
#include "src/cuda/views.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <class T>
void launch_ring(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, unsigned* tickets,
                 cudaStream_t stream_of_call, const std::string& operation) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  const auto& x = configuration;
  TsmmRing<Real> p{};
  p.a = stream(call.a, 1);
  p.b = real_data(call.b);
  p.pitch_b = parts * call.b.ld;
  p.count_b = parts * ((call.b.rows - 1) * call.b.ld + call.b.columns);
  p.stage_bytes_b = x.output_in_ring ? stage_bytes<Real>(x.rows, static_cast<int>(p.pitch_b)) : 0;
  p.m = static_cast<int>(parts * call.a.columns);
  p.n = static_cast<int>(parts * call.b.columns);
  p.k = call.a.rows;
  p.chunks = static_cast<std::uint32_t>(ceil_div(p.k, x.rows));
  p.rows = x.rows;
  p.stages = x.stages;
  p.groups = x.groups;
  p.warps = x.warps;
  p.map = dispatch::row_map(p.a.pitch);
  p.small = small(call.c, call.triangle);
  p.alpha = coefficient(call.alpha);
  p.beta = coefficient(call.beta);
  p.tickets = tickets;
  p.chunks_per_ticket = static_cast<std::uint32_t>(x.chunks_per_ticket);
  check(cudaMemsetAsync(tickets, 0, sizeof *tickets, stream_of_call), operation);
  launch(tsmm_ring_kernel_of<Real>(x.tile_n, x.blocks_n), dim3(static_cast<unsigned>(x.parts)), block_threads,
         x.shared_bytes, stream_of_call, operation, p);
}

template <class T>
void launch_general(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, real_t<T>* copies,
                    cudaStream_t stream_of_call, const std::string& operation) {
  using Real = real_t<T>;
  constexpr int parts = parts_of<T>;
  TsmmGeneral<Real> p{};
  p.a = tall(call.a);
  p.b = tall(call.b);
  p.c = small(call.c, call.triangle);
  p.alpha = coefficient(call.alpha);
  p.beta = coefficient(call.beta);
  p.k = call.a.rows;
  p.m = parts * call.a.columns;
  p.n = parts * call.b.columns;
  p.copies = call.a.data == call.b.data ? copies : nullptr;
  launch(tsmm_general_kernel<Real>, dim3(static_cast<unsigned>(configuration.parts)), general_threads, 0,
         stream_of_call, operation, p);
}

}  // namespace

template <class T>
void launch_tsmm(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, const CudaExecution& execution) {
  const std::string operation = shape_of("tsmm", call.a.rows, call.a.columns, call.b.columns);
  if (configuration.kernel == dispatch::CudaKernel::ring) {
    launch_ring(call, configuration, workspace_start<unsigned>(execution), execution.stream, operation);
  } else {
    launch_general(call, configuration, workspace_start<real_t<T>>(execution), execution.stream, operation);
  }
}

template void launch_tsmm(const TsmmCall<float>&, const dispatch::CudaTsmm&, const CudaExecution&);
template void launch_tsmm(const TsmmCall<double>&, const dispatch::CudaTsmm&, const CudaExecution&);
template void launch_tsmm(const TsmmCall<std::complex<float>>&, const dispatch::CudaTsmm&, const CudaExecution&);
template void launch_tsmm(const TsmmCall<std::complex<double>>&, const dispatch::CudaTsmm&, const CudaExecution&);

}  // namespace blockvec::kernels::cuda
