#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/context.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <string>
#include <type_traits>

/// Loops over the entries of block vectors, for element-wise operations that are written once for every space. On the
/// host they run in the context's threads, on a device as one kernel on its instance. Bodies are objects of named types
/// with a KOKKOS_FUNCTION operator(): nvcc keeps what a lambda for host and device captures on the heap, and calls it
/// through a pointer.
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

/// Calls body for the index-th entry in a layout's order, as an entry or as a stretch of one.
template <class Layout, class Body>
struct AtEntry {
  Body body;
  std::int64_t rows, width;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = is_row_major<Layout> ? index / width : index % rows;
    const std::int64_t column = is_row_major<Layout> ? index % width : index / rows;
    if constexpr (std::is_invocable_v<const Body&, std::int64_t, std::int64_t>) {
      body(row, column);
    } else {
      body(row, column, 1);
    }
  }
};

/// The same where all entries are adjacent, row by row.
template <class Body>
struct AtAdjacentEntry {
  Body body;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const { body(0, index, 1); }
};

}  // namespace detail

/// Calls body(row, column, length) for stretches of entries that are adjacent in memory and cover the block. Where all
/// operands are row-major without gaps, stretches run over many rows.
template <class Space, class Layout, class Body>
void for_stretches(const Context& context, std::int64_t rows, std::int64_t width, bool no_gaps, Body body) {
  if (rows == 0 || width == 0) return;
  if constexpr (!is_host_space<Space>) {
    if (is_row_major<Layout> && no_gaps) {
      detail::launch<Space>(context, rows * width, detail::AtAdjacentEntry<Body>{body});
    } else {
      detail::launch<Space>(context, rows * width, detail::AtEntry<Layout, Body>{body, rows, width});
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
    detail::launch<Space>(context, rows * width, detail::AtEntry<Layout, Body>{body, rows, width});
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
