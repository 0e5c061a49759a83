#include "solvers/dense/dense_product.hpp"

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/packed.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <type_traits>

#include "solvers/sparse/device_entries.hpp"

namespace blockvec::solvers {
namespace {

template <class Scalar>
using KernelOf = typename ScalarTraits<Scalar>::Kernel;

template <class Scalar>
KernelOf<Scalar> kernel_value(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), value.imag()};
  } else {
    return value;
  }
}

template <class Scalar, class Space>
kernels::Matrix<const KernelOf<Scalar>> matrix(const DenseBlock<Scalar, Space>& a) {
  return {reinterpret_cast<const KernelOf<Scalar>*>(a.entries.data()), a.rows, a.columns, a.ld,
          kernels::Layout::row_major};
}

/// `rows` rows as wide as Y, in its layout.
template <class Layout, class To, class Scalar, class Space>
kernels::Matrix<To> block(Scalar* data, std::int64_t rows, std::int64_t ld,
                          const BlockVector<std::remove_const_t<Scalar>, Layout, Space>& y) {
  return {reinterpret_cast<To*>(data), rows, y.width(), ld, kernel_layout<Layout>};
}

/// f(0), ..., f(count - 1), on the host with the context's threads, on a device in the order of its instance.
template <class Space, class F>
void for_all([[maybe_unused]] const char* label, const Context& context, std::int64_t count, const F& f) {
  if constexpr (is_host_space<Space>) {
    constexpr std::int64_t together = 256;
    kernels::parallel_for(context.threads(), (count + together - 1) / together, [&](std::int64_t item, int) {
      for (std::int64_t at = item * together; at < std::min(count, (item + 1) * together); ++at) f(at);
    });
  } else {
    using Execution = ExecutionSpaceOf<Space>;
    Kokkos::parallel_for(label,
                         Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::int64_t>>(
                             context.template execution_space<Space>(), 0, count),
                         f);
  }
}

/// By columns without gaps what is by rows without gaps.
template <class Scalar>
struct Turn {
  const Scalar* from;
  Scalar* to;
  std::int64_t rows, width;

  KOKKOS_FUNCTION void operator()(std::int64_t at) const { to[at] = from[at % rows * width + at / rows]; }
};

template <class Scalar>
struct InOrder {
  /// Columns that lie together.
  struct Piece {
    const Scalar* a;
    std::int64_t ld, columns;
    DeviceEntries<Scalar> x;
    bool packed = false;

    KOKKOS_FUNCTION Scalar entry(std::int64_t row, std::int64_t k) const {
      if (!packed) return a[row * ld + k];
      const auto place = [&](std::int64_t i, std::int64_t j) {
        return kernels::packed_place<KernelOf<Scalar>>(columns, i, j);
      };
      return k <= row ? a[place(row, k)] : conjugate(a[place(k, row)]);
    }
  };
  /// Columns of X whose sums grow together.
  static constexpr int strip = 4;

  Piece pieces[3];
  Scalar alpha, beta;
  Scalar* y;
  std::int64_t row_step, column_step, width;

  KOKKOS_FUNCTION std::int64_t strips() const { return width / strip + width % strip; }
  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    const std::int64_t row = at / strips(), number = at % strips(), whole = width / strip;
    if (number < whole) return multiply<strip>(row, number * strip);
    multiply<1>(row, whole * strip + number - whole);
  }
  template <int columns>
  KOKKOS_FUNCTION void multiply(std::int64_t row, std::int64_t first) const {
    Scalar sums[columns] = {};
    for (const Piece& piece : pieces) {
      for (std::int64_t k = 0; k < piece.columns; ++k) {
        const Scalar entry = piece.entry(row, k);
        for (int j = 0; j < columns; ++j) sums[j] += entry * piece.x(k, first + j);
      }
    }
    for (int j = 0; j < columns; ++j) {
      Scalar& to = y[row * row_step + (first + j) * column_step];
      to = beta == Scalar(0) ? alpha * sums[j] : alpha * sums[j] + beta * to;
    }
  }
};

template <class Scalar, class Space>
kernels::PackedHermitian<const KernelOf<Scalar>> packed_matrix(const DenseBlock<Scalar, Space>& a) {
  return {reinterpret_cast<const KernelOf<Scalar>*>(a.entries.data()), a.rows};
}

#if BLOCKVEC_HAVE_CUDA_SPACE
template <class Space>
kernels::CudaExecution execution(WorkspaceScope<Space>& scope, std::size_t bytes) {
  return {.stream = scope.context().template execution_space<Space>().cuda_stream(),
          .workspace = {scope.template take<std::byte>(bytes), bytes}};
}
#endif

template <class Space, class T>
void run_gemm([[maybe_unused]] const Context& context, T alpha, const kernels::Matrix<const T>& a,
              const kernels::Matrix<const T>& x, T beta, const kernels::Matrix<T>& y) {
  if constexpr (is_host_space<Space>) {
    kernels::gemm<T>(alpha, a, x, beta, y);
  } else {
#if BLOCKVEC_HAVE_CUDA_SPACE
    WorkspaceScope<Space> scope(context);
    kernels::gemm<T>(alpha, a, x, beta, y,
                     execution(scope, kernels::cuda_gemm_workspace<T>(y.rows, x.rows, y.columns)));
#endif
  }
}

template <class Space, class T>
void run_hemm([[maybe_unused]] const Context& context, T alpha, const kernels::Matrix<const T>& a,
              const kernels::Matrix<const T>& x, T beta, const kernels::Matrix<T>& y) {
  constexpr auto triangle = kernels::Triangle::lower;
  if constexpr (is_host_space<Space>) {
    kernels::hemm<T>(triangle, alpha, a, x, beta, y);
  } else {
#if BLOCKVEC_HAVE_CUDA_SPACE
    WorkspaceScope<Space> scope(context);
    kernels::hemm<T>(triangle, alpha, a, x, beta, y,
                     execution(scope, kernels::cuda_hemm_workspace<T>(y.rows, y.columns)));
#endif
  }
}

template <class Space, class T>
void run_packed([[maybe_unused]] const Context& context, T alpha, const kernels::PackedHermitian<const T>& a,
                const kernels::Matrix<const T>& x, T beta, const kernels::Matrix<T>& y) {
  if constexpr (is_host_space<Space>) {
    kernels::hemm<T>(alpha, a, x, beta, y);
  } else {
#if BLOCKVEC_HAVE_CUDA_SPACE
    WorkspaceScope<Space> scope(context);
    kernels::hemm<T>(alpha, a, x, beta, y, execution(scope, kernels::cuda_hemm_workspace<T>(y.rows, y.columns)));
#endif
  }
}

}  // namespace

template <class Scalar, class Layout, class Space>
void multiply_own(Scalar alpha, const DenseBlock<Scalar, Space>& a, const BlockVector<Scalar, Layout, Space>& x,
                  Scalar beta, const BlockVector<Scalar, Layout, Space>& y) {
  using Kernel = KernelOf<Scalar>;
  const auto of_x = block<Layout, const Kernel>(x.data(), a.rows, x.ld(), y);
  const auto of_y = block<Layout, Kernel>(y.data(), a.rows, y.ld(), y);
  if (a.packed) {
    return run_packed<Space, Kernel>(y.context(), kernel_value(alpha), packed_matrix(a), of_x, kernel_value(beta),
                                     of_y);
  }
  const auto multiply =
      reads_one_triangle<Scalar, Space>(y.width()) ? &run_hemm<Space, Kernel> : &run_gemm<Space, Kernel>;
  multiply(y.context(), kernel_value(alpha), matrix(a), of_x, kernel_value(beta), of_y);
}

template <class Scalar, class Layout, class Space>
void add_ghosts(Scalar alpha, const DenseBlock<Scalar, Space>& a, const Scalar* ghosts,
                const BlockVector<Scalar, Layout, Space>& y) {
  using Kernel = KernelOf<Scalar>;
  WorkspaceScope<Space> scope(y.context());
  if constexpr (std::is_same_v<Layout, ColumnMajor>) {
    const std::int64_t count = a.columns * y.width();
    auto* const turned = scope.template take<Scalar>(static_cast<std::size_t>(count));
    for_all<Space>("BlockVec::solvers::turn_ghosts", y.context(), count,
                   Turn<Scalar>{ghosts, turned, a.columns, y.width()});
    ghosts = turned;
  }
  const std::int64_t ld = std::is_same_v<Layout, ColumnMajor> ? a.columns : y.width();
  run_gemm<Space, Kernel>(y.context(), kernel_value(alpha), matrix(a),
                          block<Layout, const Kernel>(ghosts, a.columns, ld, y), Kernel(1),
                          block<Layout, Kernel>(y.data(), a.rows, y.ld(), y));
}

template <class Scalar, class Layout, class Space>
void multiply_in_order(Scalar alpha, const DenseRows<Scalar, Space>& a, const BlockVector<Scalar, Layout, Space>& x,
                       const Scalar* ghosts, Scalar beta, const BlockVector<Scalar, Layout, Space>& y) {
  const std::int64_t width = y.width(), before = a.ghosts_before;
  const auto ghost_rows = [&](std::int64_t first, std::int64_t end) {
    return typename InOrder<Scalar>::Piece{
        a.ghost.entries.data() + first, a.ghost.ld, end - first, {ghosts + first * width, width, 1}};
  };
  constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  const InOrder<Scalar> product{{ghost_rows(0, before),
                                 {a.own.entries.data(), a.own.ld, a.own.columns, device_entries(x), a.own.packed},
                                 ghost_rows(before, a.ghost.columns)},
                                alpha,
                                beta,
                                y.data(),
                                by_rows ? y.ld() : 1,
                                by_rows ? 1 : y.ld(),
                                width};
  for_all<Space>("BlockVec::solvers::dense_in_order", y.context(), a.own.rows * product.strips(), product);
}

#define BLOCKVEC_DENSE_PRODUCTS(Scalar, Layout, Space)                                                                \
  template void multiply_own(Scalar, const DenseBlock<Scalar, Space>&, const BlockVector<Scalar, Layout, Space>&,     \
                             Scalar, const BlockVector<Scalar, Layout, Space>&);                                      \
  template void add_ghosts(Scalar, const DenseBlock<Scalar, Space>&, const Scalar*,                                   \
                           const BlockVector<Scalar, Layout, Space>&);                                                \
  template void multiply_in_order(Scalar, const DenseRows<Scalar, Space>&, const BlockVector<Scalar, Layout, Space>&, \
                                  const Scalar*, Scalar, const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_DENSE_PRODUCTS)

}  // namespace blockvec::solvers
