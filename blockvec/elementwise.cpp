#include <algorithm>
#include <bit>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/operations.hpp>
#include <cmath>

#include "blockvec/checks.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

template <class Layout>
constexpr bool is_row_major = std::is_same_v<Layout, RowMajor>;

// Where entry (row, column) stands.
template <class Scalar, class Layout, class Space>
Scalar* at(const BlockVector<Scalar, Layout, Space>& v, std::int64_t row, std::int64_t column) {
  return v.data() + (is_row_major<Layout> ? row * v.ld() + column : row + column * v.ld());
}

template <class V>
bool gapless(const V& v) {
  return v.ld() == v.width();
}

// Calls body(row, column, length) for stretches of entries that are adjacent in memory and cover the block, in threads.
// Where all operands are row-major without gaps, stretches run over many rows.
template <class Layout, class Body>
void for_stretches(const Context& context, std::int64_t rows, std::int64_t width, bool no_gaps, Body body) {
  if (rows == 0 || width == 0) return;
  if constexpr (is_row_major<Layout>) {
    const std::int64_t chunk = std::max<std::int64_t>(1, 16384 / width);
    kernels::parallel_for(context.threads(), (rows + chunk - 1) / chunk, [&](std::int64_t item, int) {
      const std::int64_t begin = item * chunk;
      const std::int64_t end = std::min(rows, begin + chunk);
      if (no_gaps) {
        body(begin, 0, (end - begin) * width);
      } else {
        for (std::int64_t row = begin; row < end; ++row) body(row, 0, width);
      }
    });
  } else {
    constexpr std::int64_t chunk = 16384;
    const std::int64_t chunks = (rows + chunk - 1) / chunk;
    kernels::parallel_for(context.threads(), chunks * width, [&](std::int64_t item, int) {
      const std::int64_t begin = item % chunks * chunk;
      body(begin, item / chunks, std::min(rows, begin + chunk) - begin);
    });
  }
}

template <class Scalar>
Scalar conjugate(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return Kokkos::conj(value);
  } else {
    return value;
  }
}

template <class V>
void require_same_width(const char* operation, const V& v, const V& w) {
  require_same_rows(operation, v, w);
  if (v.width() != w.width()) {
    throw ShapeError(std::string(operation) + ": V = " + v.describe() + " and W = " + w.describe() +
                     ": expected the same width");
  }
}

// sums[j] = sum over rows [begin, end) of v_j^H w_j, by halving down to short runs: the error grows with the log of the
// rows, and the order depends on the rows alone. `spare` holds width words a level.
template <class Scalar, class Layout, class Space>
void dots_of_rows(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                  std::int64_t begin, std::int64_t end, Scalar* sums, Scalar* spare) {
  constexpr std::int64_t run = 128;
  const std::int64_t width = v.width();
  if (end - begin > run) {
    const std::int64_t middle = begin + (end - begin) / 2;
    dots_of_rows(v, w, begin, middle, sums, spare + width);
    dots_of_rows(v, w, middle, end, spare, spare + width);
    for (std::int64_t j = 0; j < width; ++j) sums[j] += spare[j];
    return;
  }
  std::fill_n(sums, width, Scalar(0));
  const std::int64_t v_step = is_row_major<Layout> ? v.ld() : 1;
  const std::int64_t w_step = is_row_major<Layout> ? w.ld() : 1;
  if (is_row_major<Layout> && width > 1) {
    const Scalar* x = at(v, begin, 0);
    const Scalar* y = at(w, begin, 0);
    for (std::int64_t row = begin; row < end; ++row, x += v_step, y += w_step) {
      for (std::int64_t j = 0; j < width; ++j) sums[j] += conjugate(x[j]) * y[j];
    }
    return;
  }
  for (std::int64_t j = 0; j < width; ++j) {
    const Scalar* const x = at(v, 0, j);
    const Scalar* const y = at(w, 0, j);
    Scalar lanes[4] = {};
    std::int64_t row = begin;
    for (; row + 4 <= end; row += 4) {
      for (int lane = 0; lane < 4; ++lane)
        lanes[lane] += conjugate(x[(row + lane) * v_step]) * y[(row + lane) * w_step];
    }
    for (; row < end; ++row) lanes[0] += conjugate(x[row * v_step]) * y[row * w_step];
    sums[j] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
}

// This rank's column dots, then the sum over ranks; `values` holds width words.
template <class Scalar, class Layout, class Space>
void reduced_dots(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                  WorkspaceScope& scope, Scalar* values) {
  const Context& context = v.context();
  const std::int64_t rows = v.local_rows();
  const std::int64_t width = v.width();
  const Profile::Timer timer(context.profile(), Operation::column_dots,
                             Cost<Scalar>::passes_bytes(rows, v.data() == w.data() ? width : 2 * width),
                             Cost<Scalar>::product_flops(rows, width, 1));
  // A fixed number of pieces, whatever the threads: the same bits for any number of them.
  constexpr std::int64_t pieces = 64;
  const std::int64_t levels = std::bit_width(static_cast<std::uint64_t>(rows));
  const std::int64_t stride = width * (levels + 1);
  Scalar* const partial = scope.take<Scalar>(static_cast<std::size_t>(pieces * stride));
  kernels::parallel_for(rows * width < 4096 ? 1 : context.threads(), pieces, [&](std::int64_t piece, int) {
    Scalar* const sums = partial + piece * stride;
    dots_of_rows(v, w, rows * piece / pieces, rows * (piece + 1) / pieces, sums, sums + width);
  });
  for (std::int64_t half = pieces / 2; half > 0; half /= 2) {
    for (std::int64_t piece = 0; piece < half; ++piece) {
      for (std::int64_t j = 0; j < width; ++j) partial[piece * stride + j] += partial[(piece + half) * stride + j];
    }
  }
  std::copy_n(partial, width, values);
  context.sum(values, width, 0x646f7473u + static_cast<std::uint64_t>(width));
}

}  // namespace

template <class Scalar, class Layout, class Space>
void column_dots(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                 const SmallMatrix<Scalar, Space>& dots) {
  require_same_width("column_dots", v, w);
  require_small("column_dots", "dots", dots, 1, v.width(), v);
  WorkspaceScope scope(v.context().workspace());
  Scalar* const values = scope.take<Scalar>(static_cast<std::size_t>(v.width()));
  reduced_dots(v, w, scope, values);
  for (std::int64_t j = 0; j < v.width(); ++j) dots.data()[j * dots.ld()] = values[j];
}

template <class Scalar, class Layout, class Space>
void column_norms(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<RealOf<Scalar>, Space>& norms) {
  require_small("column_norms", "norms", norms, 1, v.width(), v);
  WorkspaceScope scope(v.context().workspace());
  Scalar* const values = scope.take<Scalar>(static_cast<std::size_t>(v.width()));
  reduced_dots(v, v, scope, values);
  for (std::int64_t j = 0; j < v.width(); ++j) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      norms.data()[j * norms.ld()] = std::sqrt(values[j].real());
    } else {
      norms.data()[j * norms.ld()] = std::sqrt(values[j]);
    }
  }
}

template <class Scalar, class Layout, class Space>
void scale(const BlockVector<Scalar, Layout, Space>& v, Scalar alpha) {
  if (alpha == Scalar(0)) return fill(v, alpha);
  const Profile::Timer timer(v.context().profile(), Operation::scale,
                             Cost<Scalar>::passes_bytes(v.local_rows(), 2 * v.width()),
                             Cost<Scalar>::passes_bytes(v.local_rows(), v.width()) / sizeof(Scalar));
  for_stretches<Layout>(v.context(), v.local_rows(), v.width(), gapless(v),
                        [&](std::int64_t row, std::int64_t column, std::int64_t n) {
                          Scalar* const x = at(v, row, column);
                          for (std::int64_t i = 0; i < n; ++i) x[i] = alpha * x[i];
                        });
}

template <class Scalar, class Layout, class Space>
void scale_columns(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& factors) {
  require_small("scale_columns", "factors", factors, 1, v.width(), v);
  const Profile::Timer timer(v.context().profile(), Operation::scale,
                             Cost<Scalar>::passes_bytes(v.local_rows(), 2 * v.width()),
                             Cost<Scalar>::passes_bytes(v.local_rows(), v.width()) / sizeof(Scalar));
  const auto factor = [&](std::int64_t j) { return factors.data()[j * factors.ld()]; };
  for_stretches<Layout>(v.context(), v.local_rows(), v.width(), false,
                        [&](std::int64_t row, std::int64_t column, std::int64_t n) {
                          Scalar* const x = at(v, row, column);
                          if constexpr (is_row_major<Layout>) {
                            for (std::int64_t j = 0; j < n; ++j) x[j] = factor(j) * x[j];
                          } else {
                            for (std::int64_t i = 0; i < n; ++i) x[i] = factor(column) * x[i];
                          }
                        });
}

template <class Scalar, class Layout, class Space>
void axpby(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, Scalar beta,
           const BlockVector<Scalar, Layout, Space>& w) {
  require_same_width("axpby", v, w);
  if (alpha == Scalar(0)) return scale(w, beta);
  const bool reads = beta != Scalar(0);
  const Profile::Timer timer(v.context().profile(), Operation::axpby,
                             Cost<Scalar>::passes_bytes(v.local_rows(), (reads ? 3 : 2) * v.width()),
                             3 * Cost<Scalar>::passes_bytes(v.local_rows(), v.width()) / sizeof(Scalar));
  for_stretches<Layout>(v.context(), v.local_rows(), v.width(), gapless(v) && gapless(w),
                        [&](std::int64_t row, std::int64_t column, std::int64_t n) {
                          const Scalar* const x = at(v, row, column);
                          Scalar* const y = at(w, row, column);
                          if (reads) {
                            for (std::int64_t i = 0; i < n; ++i) y[i] = alpha * x[i] + beta * y[i];
                          } else {
                            for (std::int64_t i = 0; i < n; ++i) y[i] = alpha * x[i];
                          }
                        });
}

template <class Scalar, class Layout, class Space>
void copy(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w) {
  require_same_width("copy", v, w);
  if (v.data() == w.data() && v.ld() == w.ld()) return;
  const Profile::Timer timer(v.context().profile(), Operation::copy,
                             Cost<Scalar>::passes_bytes(v.local_rows(), 2 * v.width()), 0);
  for_stretches<Layout>(v.context(), v.local_rows(), v.width(), gapless(v) && gapless(w),
                        [&](std::int64_t row, std::int64_t column, std::int64_t n) {
                          std::copy_n(at(v, row, column), n, at(w, row, column));
                        });
}

template <class Scalar, class Layout, class Space>
void fill(const BlockVector<Scalar, Layout, Space>& v, Scalar value) {
  const Profile::Timer timer(v.context().profile(), Operation::fill,
                             Cost<Scalar>::passes_bytes(v.local_rows(), v.width()), 0);
  for_stretches<Layout>(
      v.context(), v.local_rows(), v.width(), gapless(v),
      [&](std::int64_t row, std::int64_t column, std::int64_t n) { std::fill_n(at(v, row, column), n, value); });
}

#define BLOCKVEC_ELEMENTWISE(Scalar, Layout)                                                                   \
  template void column_dots(const BlockVector<Scalar, Layout>&, const BlockVector<Scalar, Layout>&,            \
                            const SmallMatrix<Scalar>&);                                                       \
  template void column_norms(const BlockVector<Scalar, Layout>&, const SmallMatrix<RealOf<Scalar>>&);          \
  template void scale(const BlockVector<Scalar, Layout>&, Scalar);                                             \
  template void scale_columns(const BlockVector<Scalar, Layout>&, const SmallMatrix<Scalar>&);                 \
  template void axpby(Scalar, const BlockVector<Scalar, Layout>&, Scalar, const BlockVector<Scalar, Layout>&); \
  template void copy(const BlockVector<Scalar, Layout>&, const BlockVector<Scalar, Layout>&);                  \
  template void fill(const BlockVector<Scalar, Layout>&, Scalar);
BLOCKVEC_FOR_SCALARS_AND_LAYOUTS(BLOCKVEC_ELEMENTWISE)

}  // namespace blockvec
