#include "src/dispatch/host/configuration.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <complex>
#include <numeric>
#include <tuple>

#include "src/host/real.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t alignment = 64;

template <class R>
std::int64_t round_to_line(std::int64_t numbers) {
  constexpr auto line = static_cast<std::int64_t>(alignment / sizeof(R));
  return host::ceil_div(numbers, line) * line;
}

std::int64_t floor_to(std::int64_t x, std::int64_t step) { return x / step * step; }

/// Numbers of the buffers of a team's threads, of which no more work than there are items.
std::int64_t entries_of_threads(std::int64_t threads, std::int64_t items, std::int64_t entries_of_one) {
  return std::max<std::int64_t>(1, std::min(threads, items)) * entries_of_one;
}

}  // namespace

template <class T>
TsmttsmConfiguration configure_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout) {
  using R = host::real_t<T>;
  constexpr int parts = host::real_parts<T>;
  TsmttsmConfiguration c{};
  const std::int64_t row_bytes = host::bytes_of<T>(m + n);
  // Wide real columns are worth packing by rows: they would be read too often. Complex ones gain nothing.
  c.packed = layout == Layout::column_major && parts == 1 && m * n >= 4096;
  // A chunk is read by several register tiles: row-major it stays in the first-level cache, column-major its
  // columns want to be long and it stays in the second.
  const bool rows = layout == Layout::row_major || c.packed;
  const std::int64_t cache = rows ? 49152 : 524288;
  const std::int64_t step = host::min_chunk_rows;
  c.plan.rows = k;
  // Adding a chunk's m n sums must be little beside reading its rows.
  const std::int64_t least = 4 * parts * m * n / std::max<std::int64_t>(1, m + n);
  c.plan.chunk_rows = std::clamp(floor_to(std::max(cache / row_bytes, least), step), step, host::max_chunk_rows);
  c.plan.chunks = host::ceil_div(k, c.plan.chunk_rows);
  c.entries = round_to_line<R>(rows ? host::row_major_entries(parts * m, parts * n) : parts * m * n);
  c.result = rows ? parts * parts * m * n : parts * m * n;
  // A part is worth a thread's waking up and the addition of its result.
  const std::int64_t part_bytes = std::max<std::int64_t>(131072, 16 * host::bytes_of<R>(c.result));
  const std::int64_t part_rows = host::ceil_div(part_bytes, row_bytes);
  c.plan.parts = std::min(c.plan.chunks, std::clamp<std::int64_t>(k / part_rows, 1, host::max_parts));
  c.plan.levels = host::tree_levels(host::ceil_div(c.plan.chunks, std::max<std::int64_t>(c.plan.parts, 1)));
  c.packed_entries = c.packed ? round_to_line<R>(c.plan.chunk_rows * (m + n)) : 0;
  c.part_stride = c.plan.levels * c.entries + round_to_line<R>(c.result) + c.packed_entries;
  c.workspace_bytes = static_cast<std::size_t>(c.plan.parts * c.part_stride) * sizeof(R) + alignment;
  return c;
}

template <class T>
TsmttsmDdConfiguration configure_tsmttsm_dd(std::int64_t k, std::int64_t m, std::int64_t n, int threads) {
  constexpr std::int64_t parts = host::real_parts<T>;
  TsmttsmDdConfiguration c{};
  // A packed chunk stays in the second-level cache, next to what comes in from memory meanwhile.
  const std::int64_t packed_row = host::bytes_of<double>(parts * (m + n));
  c.plan.rows = k;
  c.plan.chunk_rows = std::clamp<std::int64_t>(floor_to(131072 / packed_row, 64), 64, host::max_chunk_rows);
  c.plan.chunks = host::ceil_div(k, c.plan.chunk_rows);
  const std::int64_t part_chunks = host::ceil_div(4096, c.plan.chunk_rows);  // worth a thread's waking up
  c.plan.parts = std::clamp<std::int64_t>(c.plan.chunks / part_chunks, 1, host::max_parts);
  c.threads = resolve_threads(threads);
  c.packed_ld = c.plan.chunk_rows + 8;  // columns a power of two apart would meet in the same sets of a cache
  c.packed_entries = parts * (m + n) * c.packed_ld;
  c.part_stride = round_to_line<double>(2 * parts * m * parts * n);
  c.workspace_bytes = static_cast<std::size_t>(c.plan.parts * c.part_stride +
                                               entries_of_threads(c.threads, c.plan.parts, c.packed_entries)) *
                          sizeof(double) +
                      alignment;
  return c;
}

template <class T>
TsmmConfiguration configure_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, int threads) {
  using R = host::real_t<T>;
  constexpr int parts = host::real_parts<T>;
  const bool rows = layout == Layout::row_major;
  TsmmConfiguration c{};
  // Whole blocks and whole lines of every width; enough work to wake a thread up for, and few stops in a long product.
  const std::int64_t row_bytes = host::bytes_of<T>(m + n);
  const std::int64_t item_bytes = std::clamp<std::int64_t>(k / 64 * row_bytes, 131072, 2097152);
  c.item_rows = host::ceil_div(std::max<std::int64_t>(item_bytes / row_bytes, 1), 512) * 512;
  c.items = host::ceil_div(k, c.item_rows);
  c.threads = resolve_threads(threads);
  c.packed_ld = round_to_line<R>(rows ? parts * n : n);
  c.packed_entries = parts * m * c.packed_ld + 2048;
  // Threads keep to pages of their own: a processor reads ahead within a page, into what another one writes.
  constexpr auto page = static_cast<std::int64_t>(host::page_bytes / sizeof(R));
  const std::int64_t buffer =
      rows ? host::row_major_blocks<R>(parts * m, parts * n).buffer : host::column_major_buffer<R>(n);
  c.buffer_entries = host::ceil_div(buffer, page) * page;
  c.workspace_bytes =
      static_cast<std::size_t>(c.packed_entries + entries_of_threads(c.threads, c.items, c.buffer_entries) + page) *
          sizeof(R) +
      alignment;
  return c;
}

template <class T>
SweepConfiguration configure_sweep(std::int64_t k, std::span<const std::int64_t> m, std::int64_t n, bool with_p,
                                   bool with_g, Layout layout, int threads) {
  using R = host::real_t<T>;
  SweepConfiguration c{};
  // Half of a second-level cache, and enough slabs for the threads.
  constexpr std::int64_t slab_bytes = 1048576;
  constexpr std::int64_t step = 512;  // whole blocks and whole lines of every width
  const std::int64_t slab =
      std::max<std::int64_t>(slab_bytes / host::bytes_of<T>(std::accumulate(m.begin(), m.end(), n)), 1);
  c.plan.rows = k;
  c.plan.chunk_rows = std::clamp(floor_to(std::min(slab, k / host::max_parts), step), step, 8 * step);
  c.plan.chunks = host::ceil_div(k, c.plan.chunk_rows);
  c.plan.parts = std::clamp<std::int64_t>(c.plan.chunks, 1, host::max_parts);
  c.plan.levels = host::tree_levels(host::ceil_div(c.plan.chunks, c.plan.parts));
  const auto of_slab = [&](std::int64_t columns, bool wanted) {
    TsmttsmConfiguration x{};
    if (!wanted || columns == 0) return x;
    x = configure_tsmttsm<T>(c.plan.chunk_rows, columns, n, layout);
    x.plan.parts = 1;
    x.plan.levels = host::tree_levels(x.plan.chunks);
    x.part_stride = x.plan.levels * x.entries + round_to_line<R>(x.result) + x.packed_entries;
    return x;
  };
  std::int64_t sum_entries = 0,
               packed_entries = 0;  // scratch of any one product with a slab; all small matrices packed
  const auto add_product = [&](const TsmttsmConfiguration& x) {
    c.results += x.result;
    sum_entries = std::max(sum_entries, x.part_stride);
  };
  const auto add_step = [&](const TsmmConfiguration& x) {
    packed_entries += x.packed_entries;
    c.buffer_entries = std::max(c.buffer_entries, x.buffer_entries);
  };
  for (std::size_t i = 0; i < m.size(); ++i) {
    add_step(c.piece[i].projection = configure_tsmm<T>(k, m[i], n, layout, 1));
    add_product(c.piece[i].p = of_slab(m[i], with_p));
  }
  add_step(c.factor = configure_tsmm<T>(k, n, n, layout, 1));
  add_product(c.g = of_slab(n, with_g));
  c.part_stride = c.plan.levels * round_to_line<R>(c.results);
  constexpr auto page = static_cast<std::int64_t>(host::page_bytes / sizeof(R));
  c.thread_entries = host::ceil_div(c.buffer_entries + sum_entries, page) * page;
  c.threads = resolve_threads(threads);
  c.workspace_bytes = static_cast<std::size_t>(packed_entries + c.plan.parts * c.part_stride + page +
                                               entries_of_threads(c.threads, c.plan.parts, c.thread_entries)) *
                          sizeof(R) +
                      alignment;
  return c;
}

/// Instantiates the functions: an explicit instantiation of this struct defines a constant that holds their addresses.
template <class T>
struct HostConfigurations {
  static constexpr auto all =
      std::tuple{&configure_tsmttsm<T>, &configure_tsmttsm_dd<T>, &configure_tsmm<T>, &configure_sweep<T>};
};
template struct HostConfigurations<float>;
template struct HostConfigurations<double>;
template struct HostConfigurations<std::complex<float>>;
template struct HostConfigurations<std::complex<double>>;

}  // namespace blockvec::kernels::dispatch
