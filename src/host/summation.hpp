#pragma once

#include <algorithm>
#include <cstdint>

/// How a long sum over rows is cut, whatever the number of threads: rows into chunks, chunks into parts.
/// Each part sums its chunks in a tree of fan-out `fan_out`; the parts are then summed in a binary tree.
namespace blockvec::kernels::host {

inline constexpr std::int64_t fan_out = 16;
inline constexpr std::int64_t max_parts = 64;
inline constexpr std::int64_t min_chunk_rows = 32;
inline constexpr std::int64_t max_chunk_rows = 512;

inline constexpr std::int64_t line_bytes = 64;
inline constexpr std::int64_t page_bytes = 4096;
inline constexpr std::int64_t stream_distance_bytes = 2048;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Where the i-th of `parts` near-equal pieces of `total` begins.
constexpr std::int64_t piece(std::int64_t total, std::int64_t parts, std::int64_t i) {
  return total / parts * i + std::min(i, total % parts);
}

/// Bytes of `count` numbers, at least one.
template <class T>
constexpr std::int64_t bytes_of(std::int64_t count) {
  return std::max<std::int64_t>(count, 1) * static_cast<std::int64_t>(sizeof(T));
}

/// Levels of the tree of one part of so many chunks: the least with fan_out^levels >= chunks.
constexpr int tree_levels(std::int64_t chunks) {
  int levels = 1;
  for (std::int64_t reach = fan_out; reach < chunks; ++levels)
    reach = reach > chunks / fan_out ? chunks : reach * fan_out;
  return levels;
}

struct SumPlan {
  std::int64_t rows = 0;
  std::int64_t chunk_rows = 1;
  std::int64_t chunks = 0;
  std::int64_t parts = 0;
  int levels = 0;

  std::int64_t first_chunk(std::int64_t part) const { return piece(chunks, parts, part); }
};

/// Sums what `chunk(index, out, add)` computes for the chunks of one part: it writes (add = false) or adds `entries`
/// numbers to out. `levels` has room for plan.levels times `entries`; the result is in its first `entries`.
template <class T, class Chunk>
void sum_part(const SumPlan& plan, std::int64_t part, std::int64_t entries, T* levels, Chunk&& chunk) {
  const std::int64_t begin = plan.first_chunk(part);
  const std::int64_t count = plan.first_chunk(part + 1) - begin;
  // Level l holds `held[l]` terms, each the sum of fan_out^l chunks; a full level is added to the next.
  auto move_up = [&](int level, bool add) {
    T* const from = levels + level * entries;
    T* const to = from + entries;
    for (std::int64_t i = 0; i < entries; ++i) to[i] = add ? to[i] + from[i] : from[i];
  };
  for (std::int64_t done = 0; done < count;) {
    chunk(begin + done, levels, done % fan_out != 0);
    ++done;
    std::int64_t size = fan_out;
    for (int level = 0; done % size == 0 && level + 1 < plan.levels; ++level, size *= fan_out) {
      move_up(level, done / size % fan_out != 1);
    }
  }
  // What is left in the levels, smallest sums first.
  std::int64_t size = 1;
  bool below = false;
  T* sum = levels;
  for (int level = 0; level < plan.levels; ++level, size *= fan_out) {
    const bool top = level + 1 == plan.levels;
    const std::int64_t held = top ? count / size : count / size % fan_out;
    if (held == 0) continue;
    T* const here = levels + level * entries;
    if (below) {
      for (std::int64_t i = 0; i < entries; ++i) here[i] += sum[i];
    }
    sum = here;
    below = true;
  }
  if (sum != levels) std::copy(sum, sum + entries, levels);
}

}  // namespace blockvec::kernels::host
