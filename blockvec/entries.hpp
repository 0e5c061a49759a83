#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/context.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <string>

/// Loops over the entries of block vectors, for element-wise operations that are written once for every space: the
/// bodies are KOKKOS_LAMBDAs. On the host they run in the context's threads, on a device as one kernel on its instance.
namespace blockvec {

template <class Layout>
inline constexpr bool is_row_major = std::is_same_v<Layout, RowMajor>;

namespace detail {

/// body(i) for i in [0, count), as a kernel of Space's execution space.
template <class Space, class Body>
void launch(const Context& context, std::int64_t count, Body body) {
  using Policy = Kokkos::RangePolicy<ExecutionSpaceOf<Space>, Kokkos::IndexType<std::int64_t>>;
  static const std::string label("BlockVec::entries");  // kept: a call allocates nothing
  Kokkos::parallel_for(label, Policy(context.execution_space<Space>(), 0, count), body);
}

/// Row and column of the index-th entry in a layout's order.
template <class Layout>
KOKKOS_INLINE_FUNCTION Kokkos::pair<std::int64_t, std::int64_t> place(std::int64_t index, std::int64_t rows,
                                                                      std::int64_t width) {
  if constexpr (is_row_major<Layout>) {
    return {index / width, index % width};
  } else {
    return {index % rows, index / rows};
  }
}

}  // namespace detail

/// Calls body(row, column, length) for stretches of entries that are adjacent in memory and cover the block. Where all
/// operands are row-major without gaps, stretches run over many rows.
template <class Space, class Layout, class Body>
void for_stretches(const Context& context, std::int64_t rows, std::int64_t width, bool no_gaps, Body body) {
  if (rows == 0 || width == 0) return;
  if constexpr (!is_host_space<Space>) {
    if (is_row_major<Layout> && no_gaps) {
      detail::launch<Space>(
          context, rows * width, KOKKOS_LAMBDA(std::int64_t i) { body(0, i, 1); });
    } else {
      detail::launch<Space>(
          context, rows * width, KOKKOS_LAMBDA(std::int64_t i) {
            const auto place = detail::place<Layout>(i, rows, width);
            body(place.first, place.second, 1);
          });
    }
  } else if constexpr (is_row_major<Layout>) {
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

/// Calls body(row, column) for every entry.
template <class Space, class Layout, class Body>
void for_entries(const Context& context, std::int64_t rows, std::int64_t width, Body body) {
  if (rows == 0 || width == 0) return;
  if constexpr (!is_host_space<Space>) {
    detail::launch<Space>(
        context, rows * width, KOKKOS_LAMBDA(std::int64_t i) {
          const auto place = detail::place<Layout>(i, rows, width);
          body(place.first, place.second);
        });
  } else {
    constexpr std::int64_t chunk = 512;
    kernels::parallel_for(context.threads(), (rows + chunk - 1) / chunk, [&](std::int64_t item, int) {
      for (std::int64_t row = item * chunk; row < std::min(rows, (item + 1) * chunk); ++row) {
        for (std::int64_t column = 0; column < width; ++column) body(row, column);
      }
    });
  }
}

}  // namespace blockvec
