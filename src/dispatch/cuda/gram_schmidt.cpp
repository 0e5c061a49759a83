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

/// Widths of V's matrices, then of W.
struct Widths {
  std::array<std::int64_t, most_sweep_pieces + 1> of{};
  std::size_t count = 0;

  void add(std::int64_t width) { of[count++] = width; }
  /// Of the matrices from one number up to another.
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
      bytes = std::max({bytes, cuda_tsmttsm_workspace(device, k, m, n),
                        cuda_tsmm_workspace(device, k, m, n, real_bytes<T>)});
    }
  }
  if (n > most_sweep_columns) return bytes;
  const auto entries = static_cast<std::size_t>(parts<T> * widths.sum(0, count) * n);
  return std::max(bytes, workspace_alignment + device.multiprocessors * entries * sizeof(double));
}

/// Whether tensor maps can describe the rows of a matrix.
template <class T>
bool has_aligned_rows(const Matrix<const T>& a) {
  constexpr std::int64_t unit = 16;
  return a.layout == Layout::row_major && reinterpret_cast<std::uintptr_t>(a.data) % unit == 0 &&
         a.ld * static_cast<std::int64_t>(sizeof(T)) % unit == 0;
}

template <class T>
std::optional<CudaSweep> configuration_of(const CudaDevice& device, const SweepCall<T>& call) {
  std::array<std::int64_t, most_sweep_pieces> m{};
  bool aligned = has_aligned_rows<T>(call.w) && (call.image.columns == 0 || has_aligned_rows(call.image));
  for (std::size_t i = 0; i < call.v.size(); ++i) {
    m[i] = parts<T> * call.v[i].columns;
    aligned = aligned && (m[i] == 0 || has_aligned_rows(call.v[i]));
  }
  if (!aligned) return {};
  return configure_sweep(device, {call.w.rows, {m.data(), call.v.size()}, parts<T> * call.w.columns, real_bytes<T>,
                                  call.c.columns > 0, call.image.columns > 0});
}

template <class T>
Matrix<T> rows_of(const Matrix<T>& a, std::int64_t first, std::int64_t count) {
  return {a.data + (a.layout == Layout::row_major ? first * a.ld : first), count, a.columns, a.ld, a.layout};
}

/// Matrices that stand side by side in memory, as one: `matrix` has the columns of [V W] from `first` on.
template <class T>
struct Neighbours {
  Matrix<T> matrix;
  std::int64_t first;
};

/// V's matrices and W, neighbours joined; calls visit for one after the other. The last one ends with W's columns.
template <class T, class Visit>
void for_neighbours(const SweepCall<T>& call, const Visit& visit) {
  Neighbours<T> all{{nullptr, call.w.rows, 0, 0, call.w.layout}, 0};
  const auto append = [&](const Matrix<const T>& next) {
    if (next.columns == 0) return;
    const std::int64_t step = next.layout == Layout::row_major ? 1 : next.ld;
    if (all.matrix.columns > 0 && next.ld == all.matrix.ld &&
        next.data == all.matrix.data + all.matrix.columns * step) {
      all.matrix.columns += next.columns;
      return;
    }
    const std::int64_t first = all.first + all.matrix.columns;
    if (all.matrix.columns > 0) visit(all);
    all = {{const_cast<T*>(next.data), next.rows, next.columns, next.ld, next.layout}, first};
  };
  for (const auto& piece : call.v) append(piece);
  append(call.w);
  visit(all);
}

/// The sweep as one product after the other.
template <class T>
void run_products(const SweepCall<T>& call, CudaExecution execution) {
  if (call.c.columns > 0) {
    execution.condition = call.conditions.change;
    // W's own columns come first, for W alone or with what stands before it.
    for_neighbours(call, [&](const Neighbours<T>& some) {
      const std::int64_t before = some.first + some.matrix.columns;
      if (before < call.c.rows) return;
      tsmm_inplace<T>(some.matrix, rows_of(call.c, some.first, some.matrix.columns), Triangle::general, execution,
                      some.matrix.columns - call.w.columns);
    });
    for_neighbours(call, [&](const Neighbours<T>& some) {
      if (some.first + some.matrix.columns == call.c.rows) return;
      tsmm<T>(T(1), some.matrix, rows_of(call.c, some.first, some.matrix.columns), T(1), call.w, Triangle::general,
              execution);
    });
  }
  if (call.p.columns == 0) return;
  execution.condition = call.conditions.products;
  const Matrix<const T> right = call.image.columns > 0 ? call.image : call.w;
  for_neighbours(call, [&](const Neighbours<T>& some) {
    tsmttsm<T>(Op::conjugate_transpose, T(1), some.matrix, right, T(0),
               rows_of(call.p, some.first, some.matrix.columns), execution);
  });
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
  if (const auto configuration = configuration_of(device, call)) {
    cuda::launch_sweep(call, *configuration, execution);
  } else {
    run_products(call, execution);
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

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct CudaSweeps {
  static constexpr auto all = std::tuple{
      static_cast<void (*)(std::span<const Matrix<const T>>, Matrix<const T>, Matrix<T>, Matrix<T>,
                           const CudaExecution&, const SweepConditions&)>(&gram_schmidt_sweep<T>),
      &gram_schmidt_products<T>, &cuda_gram_schmidt_sweep_workspace<T>};
};
template struct CudaSweeps<float>;
template struct CudaSweeps<double>;
template struct CudaSweeps<std::complex<float>>;
template struct CudaSweeps<std::complex<double>>;

}  // namespace blockvec::kernels
