#include <algorithm>
#include <array>
#include <blockvec/kernels/cuda.hpp>
#include <complex>
#include <cstdint>
#include <optional>
#include <tuple>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/gram_schmidt/call.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels {
namespace dispatch {
namespace {

using cuda::SweepCall;
using cuda::SweepMatrices;

/// Widths of V's matrices, then of W.
struct Widths {
  std::array<std::int64_t, most_sweep_pieces + 1> of{};
  std::size_t count = 0;

  void add(std::int64_t width) { of[count++] = width; }
  /// Returns the columns of the matrices begin, ..., end - 1.
  std::int64_t sum(std::size_t begin, std::size_t end) const {
    std::int64_t total = 0;
    for (std::size_t i = begin; i < end; ++i) total += of[i];
    return total;
  }
};

void require_pieces(std::size_t pieces) {
  if (pieces > most_sweep_pieces) {
    throw ShapeError("gram_schmidt_sweep: V is " + std::to_string(pieces) + " matrices: expected at most four");
  }
}

/// Workspace for any strides and layout: that of the kernel, and of products of any matrices that follow one another in
/// memory.
template <class T>
std::size_t workspace(const CudaDevice& device, std::int64_t k, const Widths& widths) {
  if (k <= 0) return 0;
  const std::size_t count = widths.count;
  const std::int64_t n = parts<T> * widths.of[count - 1];
  std::size_t bytes = 0;
  for (std::size_t begin = 0; begin < count; ++begin) {
    for (std::size_t end = begin + 1; end <= count; ++end) {
      const std::int64_t m = parts<T> * widths.sum(begin, end);
      bytes = std::max(
          {bytes, cuda_tsmttsm_workspace(device, k, m, n), cuda_tsmm_workspace(device, k, m, n, real_bytes<T>)});
    }
  }
  if (n > most_sweep_columns) return bytes;
  const auto entries = static_cast<std::size_t>(parts<T> * widths.sum(0, count) * n);
  return std::max(bytes, workspace_alignment + device.multiprocessors * entries * sizeof(double));
}

template <class T>
Matrix<T> rows_of(const Matrix<T>& a, std::int64_t first, std::int64_t count) {
  return {a.data + (a.layout == Layout::row_major ? first * a.ld : first), count, a.columns, a.ld, a.layout};
}

/// The sweep as one product after the other.
template <class T>
void run_products(const SweepCall<T>& call, const SweepMatrices<T>& all, CudaExecution execution) {
  const std::size_t last = all.count - 1;
  if (call.c.columns > 0) {
    execution.condition = call.conditions.change;
    // W's own columns come first, for W alone or with what stands before it.
    const Matrix<T>& own = all.of[last];
    const std::int64_t before = call.c.rows - own.columns;
    tsmm_inplace<T>(own, rows_of(call.c, before, own.columns), Triangle::general, execution,
                    own.columns - call.w.columns);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < last; first += all.of[i++].columns) {
      tsmm<T>(T(1), all.of[i], rows_of(call.c, first, all.of[i].columns), T(1), call.w, Triangle::general, execution);
    }
  }
  if (call.p.columns == 0) return;
  execution.condition = call.conditions.products;
  const Matrix<const T> right = call.image.columns > 0 ? call.image : call.w;
  std::int64_t first = 0;
  for (std::size_t i = 0; i <= last; first += all.of[i++].columns) {
    tsmttsm<T>(Op::conjugate_transpose, T(1), all.of[i], right, T(0), rows_of(call.p, first, all.of[i].columns),
               execution);
  }
}

/// Whether all is one product of matrices in one allocation, which its own kernels form a little faster.
template <class T>
bool is_one_product(const SweepCall<T>& call, const SweepMatrices<T>& all) {
  return all.count == 1 && (call.c.columns == 0 || call.p.columns == 0);
}

/// By one kernel, if there is a configuration.
template <class T>
std::optional<CudaSweep> choose_sweep(const SweepCall<T>& call, const SweepMatrices<T>& all) {
  if (is_one_product(call, all)) return {};
  return configure_sweep(cuda::current_device(cuda::product_of(call)), call, all);
}

template <class T>
void run_sweep(const SweepCall<T>& call, const CudaExecution& execution) {
  constexpr const char* name = "gram_schmidt_sweep";
  require_pieces(call.v.size());
  std::array<Operand, most_sweep_pieces + 3> operands;  // V, then C, the image and W
  std::size_t count = 0;
  Widths widths;
  for (const auto& piece : call.v) {
    operands[count++] = operand("V", piece);
    widths.add(piece.columns);
  }
  widths.add(call.w.columns);
  const Operand c = operand("C", call.c), image = operand("R", call.image), w = operand("W", call.w),
                p = operand("P", call.p);
  check_device_sweep({operands.data(), count}, c, w, image, p);
  operands[count++] = c;
  operands[count++] = image;
  check_device_memory(name, w, {operands.data(), count}, execution.workspace);
  operands[count++] = w;
  check_device_memory(name, p, {operands.data(), count}, execution.workspace);
  if (call.w.columns == 0 || call.c.columns + call.p.columns == 0) return;
  const CudaDevice& device = cuda::current_device(cuda::product_of(call));
  check_workspace_size(name, execution.workspace, workspace<T>(device, call.w.rows, widths));
  const SweepMatrices<T> all(call);
  if (const auto configuration = choose_sweep(call, all)) {
    cuda::launch_sweep(call, all, *configuration, execution);
  } else {
    run_products(call, all, execution);
  }
}

}  // namespace
}  // namespace dispatch

template <class T>
void gram_schmidt_sweep(std::span<const std::type_identity_t<Matrix<const T>>> v,
                        std::type_identity_t<Matrix<const T>> c, Matrix<T> w, std::type_identity_t<Matrix<T>> p,
                        const CudaExecution& execution, const SweepConditions& conditions) {
  dispatch::run_sweep<T>({v, w, {}, c, p, conditions}, execution);
}

template <class T>
void gram_schmidt_products(std::span<const std::type_identity_t<Matrix<const T>>> v,
                           std::type_identity_t<Matrix<const T>> w, std::type_identity_t<Matrix<const T>> image,
                           Matrix<T> p, const CudaExecution& execution, const unsigned* condition) {
  const Matrix<T> unchanged{const_cast<T*>(w.data), w.rows, w.columns, w.ld, w.layout};
  dispatch::run_sweep<T>({v, unchanged, image, {}, p, {nullptr, condition}}, execution);
}

template <class T>
std::size_t cuda_gram_schmidt_sweep_workspace(std::int64_t k, std::span<const std::int64_t> m, std::int64_t n) {
  dispatch::require_pieces(m.size());
  dispatch::Widths widths;
  for (const std::int64_t width : m) widths.add(width);
  widths.add(n);
  return dispatch::workspace<T>(
      cuda::current_device({"cuda_gram_schmidt_sweep_workspace", k, widths.sum(0, m.size()), n}), k, widths);
}

template <class T>
bool cuda_sweeps_in_one_pass(std::span<const std::type_identity_t<Matrix<const T>>> v,
                             std::type_identity_t<Matrix<const T>> w, bool changes, bool multiplies) {
  if (v.size() > dispatch::most_sweep_pieces) return false;
  const Matrix<const T> small{nullptr, 0, w.columns, 1, Layout::column_major};  // its entries do not matter
  const Matrix<T> products{nullptr, 0, multiplies ? w.columns : 0, 1, Layout::column_major};
  const cuda::SweepCall<T> call{v,        {const_cast<T*>(w.data), w.rows, w.columns, w.ld, w.layout},
                                {},       changes ? small : Matrix<const T>{},
                                products, {}};
  const cuda::SweepMatrices<T> all(call);
  return dispatch::is_one_product(call, all) || dispatch::choose_sweep(call, all).has_value();
}

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct CudaSweeps {
  static constexpr auto all =
      std::tuple{static_cast<void (*)(std::span<const Matrix<const T>>, Matrix<const T>, Matrix<T>, Matrix<T>,
                                      const CudaExecution&, const SweepConditions&)>(&gram_schmidt_sweep<T>),
                 &gram_schmidt_products<T>, &cuda_sweeps_in_one_pass<T>, &cuda_gram_schmidt_sweep_workspace<T>};
};
template struct CudaSweeps<float>;
template struct CudaSweeps<double>;
template struct CudaSweeps<std::complex<float>>;
template struct CudaSweeps<std::complex<double>>;

}  // namespace blockvec::kernels
