#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "src/cuda/check.cuh"
#include "src/cuda/dense/gemm_product.cuh"
#include "src/cuda/dense/hemm.cuh"
#include "src/cuda/dense/vectors.cuh"
#include "src/cuda/operands/views.cuh"
#include "src/dispatch/cuda/dense.hpp"

namespace blockvec::kernels::cuda {
namespace {

using dispatch::ceil_div;

template <class T>
Factor factor_of(T x) {
  return {static_cast<double>(std::real(x)), static_cast<double>(std::imag(x))};
}

/// A's lines in pieces of `lines_of_piece` lines: by TMA where the device has it and all lines are aligned.
template <class T>
PieceSource<real_t<T>> pieces_of(const Matrix<const T>& a, int lines_of_piece, const Launcher& launcher) {
  const Lines<real_t<T>> all = lines(a);
  PieceSource<real_t<T>> from{};
  from.data = all.data;
  from.distance = all.distance;
  from.length = all.length;
  from.count = all.count;
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(all.data) |
                             (all.count > 1 ? static_cast<std::uint64_t>(all.distance) * sizeof(real_t<T>) : 0);
  from.copy_bytes = bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : 4;
  from.bulk = launcher.device.bulk_copies && bits % 16 == 0;
  if (from.bulk) from.map = piece_map(all, lines_of_piece, launcher.operation);
  return from;
}

template <class Real, class T>
DenseBlock<Real> block_of(const Matrix<T>& x) {
  constexpr int parts = parts_of<std::remove_const_t<T>>;
  const bool rows = x.layout == Layout::row_major;
  return {real_data(x), parts * (rows ? x.ld : 1),   parts * (rows ? 1 : x.ld),
          x.rows,       static_cast<int>(x.columns), parts};
}

template <class T>
DenseX<real_t<T>> x_of(const Matrix<const T>& x, bool conjugate) {
  return {block_of<const real_t<T>>(x), conjugate};
}

template <class Real>
void launch_pack(const PackedX<Real>& p, const Launcher& launcher) {
  launcher.launch_early(pack_kernel<Real>, {ceil_div(p.count, vector_threads)}, vector_threads, 0, p);
}

template <class T>
DenseResult<real_t<T>> result_of(T alpha, T beta, const Matrix<T>& y, bool multiplies) {
  return {block_of<real_t<T>>(y), y.layout == Layout::row_major, multiplies, factor_of(alpha), factor_of(beta)};
}

template <class Sum>
void launch_dense_sum(const Sum& sum, const Launcher& launcher) {
  const std::int64_t slices = ceil_div(sum_rows * sum.result.y.columns, Sum::most_entries);
  launcher.launch_early(dense_sum_kernel<Sum>, {ceil_div(sum.result.y.rows, sum_rows) * slices}, vector_threads, 0,
                        sum);
}

constexpr int shared_bytes(int stages, int bytes, int others) { return 1024 + stages * bytes + others; }

}  // namespace

template <class T>
void launch_gemm(const GemmCall<T>& call, const dispatch::GemmConfiguration& c, const CudaExecution& execution) {
  using Real = real_t<T>;
  const Product operation{"gemm", call.y.rows, call.x.rows, call.y.columns};
  const Launcher launcher{operation, execution.stream, current_device(operation)};
  const bool multiplies = call.alpha != T(0) && call.x.rows > 0;
  double* const packed = workspace_start<double>(execution);
  double* const partial = packed + c.packed();
  const std::int64_t units = c.tiles * c.steps;
  if (multiplies) {
    // Where results run along lines, they are those of A's parts, and the sum conjugates.
    launch_pack<Real>({x_of(call.x, call.conjugate), c.by_rows, c.column_tiles, packed, c.packed()}, launcher);
    GemmProduct<Real> p{pieces_of(call.a, c.by_rows ? dispatch::gemm_rows : piece<Real>, launcher),
                        packed,
                        partial,
                        c.steps,
                        units,
                        c.stages,
                        c.stage_bytes,
                        c.packed_bytes};
    const GemmKernel<Real> kernel =
        c.by_rows ? gemm_kernel_of<Real, true>(c.column_tiles) : gemm_kernel_of<Real, false>(c.column_tiles);
    if (kernel == nullptr)
      throw Error(words(operation) + ": no kernel for " + std::to_string(c.columns()) + " columns");
    launcher.launch_early(kernel, {c.blocks}, block_threads, shared_bytes(c.stages, c.stage_bytes + c.packed_bytes, 0),
                          p);
  }
  const GemmSum<Real> sum{result_of(call.alpha, call.beta, call.y, multiplies),
                          partial,
                          units,
                          c.steps,
                          c.blocks,
                          c.columns(),
                          c.by_rows,
                          call.conjugate};
  launch_dense_sum(sum, launcher);
}

template <class T>
void launch_hemm(const HemmCall<T>& call, const dispatch::HemmConfiguration& c, const CudaExecution& execution) {
  using Real = real_t<T>;
  const Product operation{"hemm", call.y.rows, call.x.rows, call.y.columns};
  const Launcher launcher{operation, execution.stream, current_device(operation)};
  const bool multiplies = call.alpha != T(0);
  const bool conjugate = call.a.layout == Layout::column_major;
  double* const left = workspace_start<double>(execution);
  double* const strip_sums = left + c.packed();
  double* const panel_sums = strip_sums + c.strip_sums();
  if (multiplies) {
    const DenseX<Real> x = x_of(call.x, conjugate);
    launch_pack<Real>({x, false, c.column_tiles, left, c.packed()}, launcher);
    HemmProduct<Real> p{pieces_of(call.a, hemm_lines, launcher),
                        c.units,
                        parts_of<T> * call.n,
                        call.n,
                        parts_of<T> - 1,
                        call.packed,
                        x,
                        left,
                        strip_sums,
                        panel_sums,
                        c.stages,
                        c.stage_bytes,
                        c.packed_bytes,
                        c.exchanges};
    launcher.launch_early(c.column_tiles == 1 ? hemm_kernel<Real, 1> : hemm_kernel<Real, 2>, {c.blocks}, block_threads,
                          shared_bytes(c.stages, c.stage_bytes + c.packed_bytes, c.exchanges * c.exchange_bytes), p);
  }
  const HemmSum<Real> sum{result_of(call.alpha, call.beta, call.y, multiplies),
                          strip_sums,
                          panel_sums,
                          c.units,
                          c.blocks,
                          c.columns(),
                          conjugate};
  launch_dense_sum(sum, launcher);
}

#define BLOCKVEC_DENSE(T)                                                                                  \
  template void launch_gemm(const GemmCall<T>&, const dispatch::GemmConfiguration&, const CudaExecution&); \
  template void launch_hemm(const HemmCall<T>&, const dispatch::HemmConfiguration&, const CudaExecution&);
BLOCKVEC_DENSE(float)
BLOCKVEC_DENSE(double)
BLOCKVEC_DENSE(std::complex<float>)
BLOCKVEC_DENSE(std::complex<double>)
#undef BLOCKVEC_DENSE

}  // namespace blockvec::kernels::cuda
