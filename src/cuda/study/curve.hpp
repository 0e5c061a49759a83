#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define BLOCKVEC_STUDY_BOTH __host__ __device__
#else
#define BLOCKVEC_STUDY_BOTH
#endif

/// In which order blocks take the tiles of C.
namespace blockvec::kernels::cuda::study {

struct Place {
  int i, j;
};

enum class Order : std::uint8_t {
  hilbert,  ///< along a Hilbert curve: any neighbours in time are neighbours in both directions
  rows,     ///< a row of tiles after the other
  columns
};

/// Tile number `index` of a Hilbert curve through rows x columns tiles, any numbers. The rectangle is halved, or cut
/// into three parts that a "U" passes through, until one row or column remains; one step may be diagonal where sides
/// are odd. Source: Cerveny 2018, "Generalized Hilbert space-filling curve".
BLOCKVEC_STUDY_BOTH inline Place on_hilbert_curve(int rows, int columns, std::int64_t index) {
  // The rectangle spans `length` tiles along `along`, where the curve ends, and `width` tiles along `aside`.
  struct Side {
    int i, j;  // a direction times a number of tiles

    BLOCKVEC_STUDY_BOTH int tiles() const { return i + j < 0 ? -(i + j) : i + j; }
    BLOCKVEC_STUDY_BOTH Side unit() const { return {(i > 0) - (i < 0), (j > 0) - (j < 0)}; }
    BLOCKVEC_STUDY_BOTH Side times(int factor) const { return {i * factor, j * factor}; }
    BLOCKVEC_STUDY_BOTH Side minus(Side other) const { return {i - other.i, j - other.j}; }
    /// About half of it: an even number of tiles, if there are more than two.
    BLOCKVEC_STUDY_BOTH Side half() const {
      const int part = tiles() / 2;
      return unit().times(part % 2 != 0 && tiles() > 2 ? part + 1 : part);
    }
  };
  Place at{0, 0};
  const auto go = [&](Side step) {
    at.i += step.i;
    at.j += step.j;
  };
  Side along{0, columns}, aside{rows, 0};
  if (rows > columns) {
    along = {rows, 0};
    aside = {0, columns};
  }
  while (true) {
    const int length = along.tiles(), width = aside.tiles();
    if (width == 1 || length == 1) {
      go((width == 1 ? along : aside).unit().times(static_cast<int>(index)));
      return at;
    }
    if (2 * length > 3 * width) {  // a long rectangle: two halves, one after the other
      const Side first = along.half();
      const std::int64_t tiles = static_cast<std::int64_t>(first.tiles()) * width;
      if (index < tiles) {
        along = first;
      } else {
        index -= tiles;
        go(first);
        along = along.minus(first);
      }
      continue;
    }
    const Side up = aside.half(), over = along.unit().times(length / 2);
    const std::int64_t first = static_cast<std::int64_t>(up.tiles()) * over.tiles();
    const std::int64_t second = static_cast<std::int64_t>(length) * (width - up.tiles());
    if (index < first) {  // up the near side
      along = up;
      aside = over;
    } else if (index < first + second) {  // across the top
      index -= first;
      go(up);
      aside = aside.minus(up);
    } else {  // down the far side
      index -= first + second;
      go(along.minus(along.unit()));
      go(up.minus(up.unit()));
      const Side rest = along.minus(over);
      along = up.times(-1);
      aside = rest.times(-1);
    }
  }
}

/// Tile number `index` of rows x columns tiles.
BLOCKVEC_STUDY_BOTH inline Place place_of(Order order, int rows, int columns, std::int64_t index) {
  switch (order) {
    case Order::rows:
      return {static_cast<int>(index / columns), static_cast<int>(index % columns)};
    case Order::columns:
      return {static_cast<int>(index % rows), static_cast<int>(index / rows)};
    default:
      return on_hilbert_curve(rows, columns, index);
  }
}

}  // namespace blockvec::kernels::cuda::study
#undef BLOCKVEC_STUDY_BOTH
