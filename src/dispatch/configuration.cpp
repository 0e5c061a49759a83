#include "src/dispatch/configuration.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <complex>

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

}  // namespace

template <class T>
TsmttsmConfiguration configure_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout) {
  using R = host::real_t<T>;
  TsmttsmConfiguration c{};
  const std::int64_t row_bytes = host::bytes_of<T>(m + n);
  // A chunk is read by several register tiles: row-major it stays in the first-level cache, column-major its
  // columns want to be long and it stays in the second.
  const bool rows = layout == Layout::row_major;
  const std::int64_t cache = rows ? 49152 : 524288;
  const std::int64_t step = host::min_chunk_rows;
  c.plan.rows = k;
  c.plan.chunk_rows = std::clamp(floor_to(cache / row_bytes, step), step, host::max_chunk_rows);
  c.plan.chunks = host::ceil_div(k, c.plan.chunk_rows);
  constexpr int parts = host::real_parts<T>;
  c.entries = round_to_line<R>(rows ? host::row_major_entries(parts * m, parts * n) : parts * m * n);
  c.result = rows ? parts * parts * m * n : parts * m * n;
  // A part is worth a thread's waking up and the addition of its result.
  const std::int64_t part_bytes = std::max<std::int64_t>(131072, 16 * host::bytes_of<R>(c.result));
  const std::int64_t part_rows = host::ceil_div(part_bytes, row_bytes);
  c.plan.parts = std::min(c.plan.chunks, std::clamp<std::int64_t>(k / part_rows, 1, host::max_parts));
  c.plan.levels = host::tree_levels(host::ceil_div(c.plan.chunks, std::max<std::int64_t>(c.plan.parts, 1)));
  c.part_stride = c.plan.levels * c.entries + round_to_line<R>(c.result);
  c.workspace_bytes = static_cast<std::size_t>(c.plan.parts * c.part_stride) * sizeof(R) + alignment;
  return c;
}

template <class T>
TsmmConfiguration configure_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, int threads) {
  using R = host::real_t<T>;
  constexpr int parts = host::real_parts<T>;
  const bool rows = layout == Layout::row_major;
  TsmmConfiguration c{};
  // Whole blocks and whole lines of every width; enough work to wake a thread up for.
  c.item_rows = host::ceil_div(std::max<std::int64_t>(131072 / host::bytes_of<T>(m + n), 1), 512) * 512;
  c.items = host::ceil_div(k, c.item_rows);
  c.threads = std::max<std::int64_t>(1, std::min<std::int64_t>(resolve_threads(threads), c.items));
  c.packed_ld = round_to_line<R>(rows ? parts * n : n);
  c.packed_entries = parts * m * c.packed_ld;
  c.buffer_entries = round_to_line<R>(rows ? host::row_major_block_rows<R>(parts * n) * parts * n + 2 * alignment
                                           : host::column_major_buffer_stride<R>(m, parts == 2) * n + 2 * alignment);
  c.workspace_bytes = static_cast<std::size_t>(c.packed_entries + c.threads * c.buffer_entries) * sizeof(R) + alignment;
  return c;
}

template TsmttsmConfiguration configure_tsmttsm<float>(std::int64_t, std::int64_t, std::int64_t, Layout);
template TsmttsmConfiguration configure_tsmttsm<double>(std::int64_t, std::int64_t, std::int64_t, Layout);
template TsmttsmConfiguration configure_tsmttsm<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template TsmttsmConfiguration configure_tsmttsm<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template TsmmConfiguration configure_tsmm<float>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template TsmmConfiguration configure_tsmm<double>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template TsmmConfiguration configure_tsmm<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template TsmmConfiguration configure_tsmm<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, Layout, int);

}  // namespace blockvec::kernels::dispatch
