#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/timer.hpp>
#include <blockvec/transfer.hpp>
#include <cmath>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/local_dots.hpp"
#include "blockvec/reproducible.hpp"

namespace blockvec {
namespace {

template <class Scalar>
struct TakeEvery {
  const Scalar* from;
  std::int64_t from_step;
  Scalar* to;
  std::int64_t to_step;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const { to[j * to_step] = from[j * from_step]; }
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t j) const { (*this)(j); }
};

// Ranks that mean these dots send this, and the count.
std::uint64_t dots_tag(const RowDistribution& rows) { return 0x646f7473u ^ rows.fingerprint(); }

// The column dots of all ranks, for as long as the scope lives.
template <class Scalar, class Layout, class Space>
const Scalar* reduced_dots(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                           WorkspaceScope<Space>& scope) {
  const Context& context = v.context();
  const std::int64_t rows = v.local_rows();
  const std::int64_t width = v.width();
  const OperationTimer<Space> timer(context, Operation::column_dots,
                                    Cost<Scalar>::passes_bytes(rows, v.data() == w.data() ? width : 2 * width),
                                    Cost<Scalar>::product_flops(rows, width, 1));
  Scalar* const values = scope.template take<Scalar>(static_cast<std::size_t>(width));
  if (context.is_reproducible()) {
    const auto product = row_product(v, w, Wanted::diagonal);
    const std::span<const RowProduct<Scalar>> all(&product, 1);
    sum_reproducibly<Space>(context, v.rows(), all, dots_tag(v.rows()), values);
    return values;
  }
  local_dots(v, w, values);
  context.template sum_in<Space>(values, width, dots_tag(v.rows()));
  return values;
}

KOKKOS_INLINE_FUNCTION float real_part(float x) { return x; }
KOKKOS_INLINE_FUNCTION double real_part(double x) { return x; }
template <class Real>
KOKKOS_INLINE_FUNCTION Real real_part(const Complex<Real>& x) {
  return x.real();
}

template <class Scalar>
struct RootEvery {
  const Scalar* squares;
  RealOf<Scalar>* to;
  std::int64_t step;
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t j) const {
    to[j * step] = std::sqrt(real_part(squares[j]));
  }
};

template <class Scalar>
struct Same {
  KOKKOS_FUNCTION Scalar operator()(const Scalar& x) const { return x; }
};

template <class Scalar>
struct Times {
  Scalar alpha;
  KOKKOS_FUNCTION Scalar operator()(const Scalar& x) const { return alpha * x; }
};

template <class Scalar>
struct Combination {
  Scalar alpha, beta;
  KOKKOS_FUNCTION Scalar operator()(const Scalar& x, const Scalar& y) const { return alpha * x + beta * y; }
};

}  // namespace

template <class Scalar, class Layout, class Space>
void column_dots(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                 const SmallMatrix<Scalar, Space>& dots) {
  v.context().collective([&] {
    require_same_width("column_dots", v, w);
    require_small("column_dots", "dots", dots, 1, v.width(), v);
  });
  WorkspaceScope<Space> scope(v.context());
  const Scalar* const values = v.context().collective([&] { return reduced_dots(v, w, scope); });
  for_entries<Space, RowMajor>(v.context(), 1, v.width(), TakeEvery<Scalar>{values, 1, dots.data(), dots.ld()});
}

template <class Scalar, class Layout, class Space>
void column_norms(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<RealOf<Scalar>, Space>& norms) {
  v.context().collective([&] { require_small("column_norms", "norms", norms, 1, v.width(), v); });
  WorkspaceScope<Space> scope(v.context());
  const Scalar* const values = v.context().collective([&] { return reduced_dots(v, v, scope); });
  for_entries<Space, RowMajor>(v.context(), 1, v.width(), RootEvery<Scalar>{values, norms.data(), norms.ld()});
}

template <class Scalar, class Layout, class Space>
void scale(const BlockVector<Scalar, Layout, Space>& v, Scalar alpha) {
  if (alpha == Scalar(0)) return fill(v, alpha);
  const OperationTimer<Space> timer(v.context(), Operation::scale,
                                    Cost<Scalar>::passes_bytes(v.local_rows(), 2 * v.width()),
                                    Cost<Scalar>::passes_bytes(v.local_rows(), v.width()) / sizeof(Scalar));
  assign<Space>(v.context(), v.local_rows(), v.width(), entries(v), Times<Scalar>{alpha});
}

template <class Scalar, class Layout, class Space>
void scale_columns(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& factors) {
  require_small("scale_columns", "factors", factors, 1, v.width(), v);
  const OperationTimer<Space> timer(v.context(), Operation::scale,
                                    Cost<Scalar>::passes_bytes(v.local_rows(), 2 * v.width()),
                                    Cost<Scalar>::passes_bytes(v.local_rows(), v.width()) / sizeof(Scalar));
  assign<Space>(v.context(), v.local_rows(), v.width(), entries(v),
                TimesOfColumn<Scalar>{factors.data(), factors.ld()});
}

template <class Scalar, class Layout, class Space>
void axpby(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, Scalar beta,
           const BlockVector<Scalar, Layout, Space>& w) {
  require_same_width("axpby", v, w);
  if (alpha == Scalar(0)) return scale(w, beta);
  const bool reads = beta != Scalar(0);
  const OperationTimer<Space> timer(v.context(), Operation::axpby,
                                    Cost<Scalar>::passes_bytes(v.local_rows(), (reads ? 3 : 2) * v.width()),
                                    3 * Cost<Scalar>::passes_bytes(v.local_rows(), v.width()) / sizeof(Scalar));
  const auto set = [&](auto function) {
    assign<Space>(v.context(), v.local_rows(), v.width(), entries(w), entries(v), function);
  };
  if (reads) {
    set(Combination<Scalar>{alpha, beta});
  } else {
    set(Times<Scalar>{alpha});
  }
}

template <class Scalar, class Layout, class From, class To>
void copy(const BlockVector<Scalar, Layout, From>& v, const BlockVector<Scalar, Layout, To>& w) {
  require_same_width("copy", v, w);
  const std::int64_t rows = v.local_rows(), width = v.width();
  const double bytes = Cost<Scalar>::passes_bytes(rows, 2 * width);
  if constexpr (std::is_same_v<From, To>) {
    if (v.data() == w.data() && v.ld() == w.ld()) return;
    const OperationTimer<To> timer(v.context(), Operation::copy, bytes, 0);
    assign<To>(v.context(), rows, width, entries(w), entries(v), Same<Scalar>{});
  } else {
    using Device = std::conditional_t<is_host_space<From>, To, From>;
    const OperationTimer<Device> timer(v.context(), Operation::copy, bytes, 0);
    const auto size = static_cast<std::int64_t>(sizeof(Scalar));
    const auto as_bytes = [&](std::int64_t extent) { return static_cast<std::size_t>(extent * size); };
    detail::copy_lines<Device>(v.context(), v.data(), as_bytes(v.ld()), w.data(), as_bytes(w.ld()),
                               as_bytes(is_row_major<Layout> ? width : rows),
                               static_cast<std::size_t>(is_row_major<Layout> ? rows : width));
    v.context().template fence<Device>();
  }
}

template <class Scalar, class Layout, class Space>
void fill(const BlockVector<Scalar, Layout, Space>& v, Scalar value) {
  const OperationTimer<Space> timer(v.context(), Operation::fill, Cost<Scalar>::passes_bytes(v.local_rows(), v.width()),
                                    0);
  assign<Space>(v.context(), v.local_rows(), v.width(), entries(v), Constant<Scalar>{value});
}

#define BLOCKVEC_ELEMENTWISE(Scalar, Layout, Space)                                                                 \
  template void column_dots(const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,   \
                            const SmallMatrix<Scalar, Space>&);                                                     \
  template void column_norms(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&); \
  template void scale(const BlockVector<Scalar, Layout, Space>&, Scalar);                                           \
  template void scale_columns(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&);        \
  template void axpby(Scalar, const BlockVector<Scalar, Layout, Space>&, Scalar,                                    \
                      const BlockVector<Scalar, Layout, Space>&);                                                   \
  template void copy(const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&);         \
  template void fill(const BlockVector<Scalar, Layout, Space>&, Scalar);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_ELEMENTWISE)

#if BLOCKVEC_HAVE_CUDA_SPACE
#define BLOCKVEC_COPY(Scalar, Layout)                                                                            \
  template void copy(const BlockVector<Scalar, Layout>&, const BlockVector<Scalar, Layout, Kokkos::CudaSpace>&); \
  template void copy(const BlockVector<Scalar, Layout, Kokkos::CudaSpace>&, const BlockVector<Scalar, Layout>&);
#define BLOCKVEC_COPY_LAYOUTS(Scalar) BLOCKVEC_COPY(Scalar, RowMajor) BLOCKVEC_COPY(Scalar, ColumnMajor)
BLOCKVEC_FOR_SCALARS(BLOCKVEC_COPY_LAYOUTS)
#endif

}  // namespace blockvec
