#include "src/dispatch/cuda/dense.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <tuple>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/host/dense_checks.hpp"

namespace blockvec::kernels {
namespace dispatch {
namespace {

static_assert(hemm_lines == packed_rows && hemm_panel == packed_panel<double> &&
                  hemm_panel == 2 * packed_panel<std::complex<double>>,
              "the units of a packed matrix follow one another");

template <class T>
DenseLines lines_of(std::int64_t rows, std::int64_t columns, Layout layout) {
  const bool by_rows = layout == Layout::row_major;
  return {by_rows ? rows : columns, parts<T> * (by_rows ? columns : rows), real_bytes<T>};
}

/// Calls f(first, count) for equal shares of `columns` columns of scalars, of at most `most` real columns each.
template <class T, class F>
void by_slabs(std::int64_t columns, int most, F&& f) {
  const std::int64_t slabs = ceil_div(parts<T> * columns, most);
  for (std::int64_t i = 0; i < slabs; ++i) {
    const std::int64_t first = columns * i / slabs;
    f(first, columns * (i + 1) / slabs - first);
  }
}

/// The real columns of the widest slab.
template <class T>
int widest_slab(std::int64_t columns, int most) {
  const std::int64_t slabs = ceil_div(parts<T> * columns, most);
  return static_cast<int>(parts<T> * ceil_div(columns, slabs));
}

template <class T>
GemmConfiguration configure(const CudaDevice& device, const cuda::GemmCall<T>& call) {
  return configure_gemm(device, lines_of<T>(call.a.rows, call.a.columns, call.a.layout), call.by_rows(),
                        static_cast<int>(parts<T> * call.y.columns));
}
template <class T>
HemmConfiguration configure(const CudaDevice& device, const cuda::HemmCall<T>& call) {
  return configure_hemm(device, lines_of<T>(call.n, call.n, call.a.layout), parts<T>, call.lower(),
                        static_cast<int>(parts<T> * call.y.columns));
}

/// Without products the kernels for them are not launched, and need no workspace.
template <class T>
bool multiplies(T alpha, const Matrix<const T>& a) {
  return alpha != T(0) && a.rows > 0 && a.columns > 0;
}

template <class T>
void run_gemm(const cuda::GemmCall<T>& call, const CudaExecution& execution) {
  const Operand a = operand("A", call.a), x = operand("X", call.x), y = operand("Y", call.y);
  check_gemm(a, call.transposed, x, y);
  check_device_memory("gemm", y, std::array{a, x}, execution.workspace);
  if (call.y.rows == 0 || call.y.columns == 0) return;
  const CudaDevice& device = cuda::current_device({"gemm", call.y.rows, call.x.rows, call.y.columns});
  if (multiplies(call.alpha, call.a)) {
    check_workspace_size("gemm", execution.workspace, cuda_gemm_workspace<T>(call.y.rows, call.x.rows, call.y.columns));
  }
  by_slabs<T>(call.y.columns, gemm_columns, [&](std::int64_t first, std::int64_t count) {
    cuda::GemmCall<T> slab = call;
    slab.x = columns_of(call.x, first, count);
    slab.y = columns_of(call.y, first, count);
    cuda::launch_gemm(slab, configure(device, slab), execution);
  });
}

template <class T>
void run_hemm(const cuda::HemmCall<T>& call, const CudaExecution& execution) {
  const Operand a = operand(call.packed ? "packed A" : "A", call.a), x = operand("X", call.x), y = operand("Y", call.y);
  if (call.packed) {
    check_packed_hemm(call.n, a, x, y);
  } else {
    check_hemm(a, call.triangle, x, y);
  }
  check_device_memory("hemm", y, std::array{a, x}, execution.workspace);
  if (call.y.rows == 0 || call.y.columns == 0) return;
  const CudaDevice& device = cuda::current_device({"hemm", call.y.rows, call.x.rows, call.y.columns});
  if (multiplies(call.alpha, call.a)) {
    check_workspace_size("hemm", execution.workspace, cuda_hemm_workspace<T>(call.y.rows, call.y.columns));
  }
  by_slabs<T>(call.y.columns, hemm_columns, [&](std::int64_t first, std::int64_t count) {
    cuda::HemmCall<T> slab = call;
    slab.x = columns_of(call.x, first, count);
    slab.y = columns_of(call.y, first, count);
    cuda::launch_hemm(slab, configure(device, slab), execution);
  });
}

}  // namespace
}  // namespace dispatch

template <class T>
void gemm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y, const CudaExecution& execution) {
  dispatch::run_gemm<T>({alpha, beta, a, x, y, false, false}, execution);
}

template <class T>
void gemm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y, const CudaExecution& execution) {
  dispatch::run_gemm<T>({alpha, beta, a, x, y, true, op == Op::conjugate_transpose}, execution);
}

template <class T>
void hemm(Triangle triangle, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x,
          T beta, Matrix<T> y, const CudaExecution& execution) {
  dispatch::run_hemm<T>({alpha, beta, a.rows, a, x, y, triangle, false}, execution);
}

template <class T>
void hemm(T alpha, std::type_identity_t<PackedHermitian<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y, const CudaExecution& execution) {
  dispatch::run_hemm<T>({alpha, beta, a.n, dispatch::panels("hemm", a), x, y, Triangle::lower, true}, execution);
}

template <class T>
std::size_t cuda_gemm_workspace(std::int64_t n, std::int64_t k, std::int64_t b) {
  if (n <= 0 || k <= 0 || b <= 0) return 0;
  const dispatch::CudaDevice& device = cuda::current_device({"gemm", n, k, b});
  const int columns = dispatch::widest_slab<T>(b, dispatch::gemm_columns);
  std::size_t bytes = 0;
  for (const bool by_rows : {true, false}) {
    const Layout layout = by_rows ? Layout::row_major : Layout::column_major;
    const auto c = dispatch::configure_gemm(device, dispatch::lines_of<T>(n, k, layout), by_rows, columns);
    bytes = std::max(bytes, c.workspace_bytes());
  }
  return bytes;
}

template <class T>
std::size_t cuda_hemm_workspace(std::int64_t n, std::int64_t b) {
  if (n <= 0 || b <= 0) return 0;
  const dispatch::CudaDevice& device = cuda::current_device({"hemm", n, n, b});
  const int columns = dispatch::widest_slab<T>(b, dispatch::hemm_columns);
  std::size_t bytes = 0;
  for (const bool lower : {true, false}) {
    const auto lines = dispatch::lines_of<T>(n, n, Layout::row_major);
    bytes =
        std::max(bytes, dispatch::configure_hemm(device, lines, dispatch::parts<T>, lower, columns).workspace_bytes());
  }
  return bytes;
}

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct DenseProducts {
  static constexpr std::tuple<
      void (*)(T, Matrix<const T>, Matrix<const T>, T, Matrix<T>, const CudaExecution&),
      void (*)(Op, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>, const CudaExecution&),
      void (*)(Triangle, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>, const CudaExecution&),
      void (*)(T, PackedHermitian<const T>, Matrix<const T>, T, Matrix<T>, const CudaExecution&)>
      functions{&gemm<T>, &gemm<T>, &hemm<T>, &hemm<T>};
  static constexpr auto workspaces = std::tuple{&cuda_gemm_workspace<T>, &cuda_hemm_workspace<T>};
};
template struct DenseProducts<float>;
template struct DenseProducts<double>;
template struct DenseProducts<std::complex<float>>;
template struct DenseProducts<std::complex<double>>;

}  // namespace blockvec::kernels
