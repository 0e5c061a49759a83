#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/layout.hpp>
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

/// Where the entries of a block stand: what loops on any space carry.
template <class Scalar, class Layout>
struct Entries {
  Scalar* data;
  std::int64_t ld;
  KOKKOS_FUNCTION Scalar* at(std::int64_t row, std::int64_t column) const {
    return data + (is_row_major<Layout> ? row * ld + column : row + column * ld);
  }
};
template <class Scalar, class Layout, class Space>
Entries<Scalar, Layout> entries(const BlockVector<Scalar, Layout, Space>& v) {
  return {v.data(), v.ld()};
}

struct Position {
  std::int64_t row, column;
};

/// Multiplies each column by a factor of its own; the factors lie `step` apart.
template <class Scalar>
struct TimesOfColumn {
  const Scalar* factor;
  std::int64_t step;
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& x) const {
    return factor[position.column * step] * x;
  }
};

template <class Scalar>
struct Constant {
  Scalar value;
  KOKKOS_FUNCTION Scalar operator()() const { return value; }
};

namespace detail {

/// body(i) for i in [0, count), as a kernel of Space's execution space.
template <class Space, class Body>
void launch(const Context& context, std::int64_t count, Body body) {
  using Policy = Kokkos::RangePolicy<ExecutionSpaceOf<Space>, Kokkos::IndexType<std::int64_t>>;
  static const std::string label("BlockVec::entries");  // kept: a call allocates nothing
  Kokkos::parallel_for(label, Policy(context.execution_space<Space>(), 0, count), body);
}

/// What is to be done for every entry. The function's arguments say what is read: see assign.
template <class Function, class Scalar_, class Layout_, bool reads_other_>
struct Assignment {
  using Scalar = Scalar_;
  using Layout = Layout_;
  static constexpr bool reads_other = reads_other_;
  static constexpr bool takes_position = std::is_invocable_v<const Function&, Position> ||
                                         std::is_invocable_v<const Function&, Position, Scalar> ||
                                         std::is_invocable_v<const Function&, Position, Scalar, Scalar>;
  static constexpr bool reads_old = reads_other ? std::is_invocable_v<const Function&, Scalar, Scalar> ||
                                                      std::is_invocable_v<const Function&, Position, Scalar, Scalar>
                                                : std::is_invocable_v<const Function&, Scalar> ||
                                                      std::is_invocable_v<const Function&, Position, Scalar>;

  Function function;
  Entries<Scalar, Layout> to, from;

  KOKKOS_FUNCTION Scalar value(Position position, const Scalar& old, const Scalar& other) const {
    if constexpr (reads_other && takes_position && reads_old) {
      return function(position, other, old);
    } else if constexpr (reads_other && takes_position) {
      return function(position, other);
    } else if constexpr (reads_other && reads_old) {
      return function(other, old);
    } else if constexpr (reads_other) {
      return function(other);
    } else if constexpr (takes_position && reads_old) {
      return function(position, old);
    } else if constexpr (takes_position) {
      return function(position);
    } else if constexpr (reads_old) {
      return function(old);
    } else {
      return function();
    }
  }

  /// Whether the lines of all operands, rows or columns of `length` entries, are one line without gaps.
  bool is_one_line(std::int64_t length) const { return !takes_position && to.ld == length && from.ld == length; }
};

/// A stretch of entries that are adjacent in memory, a few at a time: they are read before the first of them is
/// written, so that short stretches are vectorised, too. The assignment is a copy, which nothing that is written
/// overlaps.
template <class Assignment>
void assign_stretch(const Assignment assignment, std::int64_t row, std::int64_t column, std::int64_t n) {
  using Scalar = typename Assignment::Scalar;
  constexpr bool along_row = is_row_major<typename Assignment::Layout>;
  constexpr std::int64_t together = 4;
  Scalar* const to = assignment.to.at(row, column);
  const Scalar* const from = Assignment::reads_other ? assignment.from.at(row, column) : to;
  const auto value = [&](std::int64_t i, const Scalar& old, const Scalar& other) {
    return assignment.value({along_row ? row : row + i, along_row ? column + i : column}, old, other);
  };
  std::int64_t i = 0;
  for (; i + together <= n; i += together) {
    Scalar results[together];
    for (int k = 0; k < together; ++k) results[k] = value(i + k, to[i + k], from[i + k]);
    for (int k = 0; k < together; ++k) to[i + k] = results[k];
  }
  for (; i < n; ++i) to[i] = value(i, to[i], from[i]);
}

/// On the host: in stretches that cover the block. Where all operands are row-major without gaps, they run over many
/// rows.
template <class Assignment>
void assign_on_host(const Context& context, std::int64_t rows, std::int64_t width, const Assignment& assignment) {
  constexpr std::int64_t entries_at_once = 16384;
  if constexpr (is_row_major<typename Assignment::Layout>) {
    const std::int64_t chunk = std::max<std::int64_t>(1, entries_at_once / width);
    kernels::parallel_for(context.threads(), (rows + chunk - 1) / chunk, [&](std::int64_t item, int) {
      const std::int64_t begin = item * chunk;
      const std::int64_t end = std::min(rows, begin + chunk);
      if (assignment.is_one_line(width)) {
        assign_stretch(assignment, begin, 0, (end - begin) * width);
      } else {
        for (std::int64_t row = begin; row < end; ++row) assign_stretch(assignment, row, 0, width);
      }
    });
  } else {
    const std::int64_t chunks = (rows + entries_at_once - 1) / entries_at_once;
    kernels::parallel_for(context.threads(), chunks * width, [&](std::int64_t item, int) {
      const std::int64_t begin = item % chunks * entries_at_once;
      assign_stretch(assignment, begin, item / chunks, std::min(rows, begin + entries_at_once) - begin);
    });
  }
}

/// Entries that a thread of a device reads or writes at once.
template <class Scalar, int size>
struct alignas(size * sizeof(Scalar)) Pack {
  Scalar entry[size];

  KOKKOS_FUNCTION void load(const Scalar* from) { *this = *reinterpret_cast<const Pack*>(from); }
  KOKKOS_FUNCTION void store(Scalar* to) const {
    if constexpr (sizeof(Pack) == sizeof(Word)) {  // nvcc divides the stores of what it knows to have parts
      Word word;
      __builtin_memcpy(&word, this, sizeof word);
      *reinterpret_cast<Word*>(to) = word;
    } else {
      *reinterpret_cast<Pack*>(to) = *this;
    }
  }

 private:
  __extension__ typedef unsigned __int128 Word __attribute__((may_alias));
};

/// On a device: the block as lines, cut into packs of `size` entries that are numbered line by line; the last one of a
/// line may have fewer. A warp takes neighbouring packs, a thread every 32nd of them, all loads before the first store:
/// so they are under way together. A thread divides once at most, and steps on from there.
template <class Assignment, int size>
struct PackedAssignment {
  using Scalar = typename Assignment::Scalar;
  static constexpr bool along_row = is_row_major<typename Assignment::Layout>;
  static constexpr std::int64_t lanes = 32;
  static constexpr int packs = Assignment::reads_other || Assignment::reads_old ? 4 : 1;

  Assignment assignment;
  std::int64_t lines, length, packs_in_line;
  std::int64_t step_lines, step_packs;  // from a pack to the 32nd after it

  PackedAssignment(const Assignment& assignment_, std::int64_t lines_, std::int64_t length_)
      : assignment(assignment_),
        lines(lines_),
        length(length_),
        packs_in_line((length + size - 1) / size),
        step_lines(lanes / packs_in_line),
        step_packs(lanes % packs_in_line) {}

  std::int64_t threads() const { return (lines * packs_in_line + lanes * packs - 1) / (lanes * packs) * lanes; }

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const {
    std::int64_t line = 0, pack = thread / lanes * lanes * packs + thread % lanes;
    if (pack >= packs_in_line) {
      line = pack / packs_in_line;
      pack -= line * packs_in_line;
    }
    Position first[packs];
    bool whole = true;
    for (int k = 0; k < packs; ++k) {
      first[k] = along_row ? Position{line, pack * size} : Position{pack * size, line};
      whole = whole && line < lines && pack * size + size <= length;
      line += step_lines;
      pack += step_packs;
      if (pack >= packs_in_line) {
        ++line;
        pack -= packs_in_line;
      }
    }
    if (whole) {
      assign_packs(first);
    } else {
      for (int k = 0; k < packs; ++k) assign_entries(first[k]);
    }
  }

  KOKKOS_FUNCTION static Position after(Position first, int i) {
    return along_row ? Position{first.row, first.column + i} : Position{first.row + i, first.column};
  }

  KOKKOS_FUNCTION void assign_packs(const Position (&first)[packs]) const {
    Pack<Scalar, size> old[packs], other[packs];
    for (int k = 0; k < packs; ++k) {
      if constexpr (Assignment::reads_old) old[k].load(assignment.to.at(first[k].row, first[k].column));
      if constexpr (Assignment::reads_other) other[k].load(assignment.from.at(first[k].row, first[k].column));
    }
    for (int k = 0; k < packs; ++k) {
      Pack<Scalar, size> result;
      for (int i = 0; i < size; ++i) {
        result.entry[i] = assignment.value(after(first[k], i), old[k].entry[i], other[k].entry[i]);
      }
      result.store(assignment.to.at(first[k].row, first[k].column));
    }
  }

  KOKKOS_FUNCTION void assign_entries(Position first) const {
    for (int i = 0; i < size; ++i) {
      const Position place = after(first, i);
      if ((along_row ? place.row : place.column) >= lines || (along_row ? place.column : place.row) >= length) return;
      Scalar& to = *assignment.to.at(place.row, place.column);
      to = assignment.value(place, to, *assignment.from.at(place.row, place.column));
    }
  }
};

/// Packs have 16 bytes where all lines begin at multiples of them, else one entry: short lines must end there, too,
/// since a thread that meets an incomplete pack goes entry by entry.
template <class Space, class Assignment>
void assign_on_device(const Context& context, std::int64_t rows, std::int64_t width, const Assignment& assignment) {
  constexpr std::uintptr_t bytes = 16;
  constexpr int size = static_cast<int>(bytes / sizeof(typename Assignment::Scalar));
  std::int64_t lines = is_row_major<typename Assignment::Layout> ? rows : width;
  std::int64_t length = is_row_major<typename Assignment::Layout> ? width : rows;
  if (assignment.is_one_line(length)) {
    length *= lines;
    lines = 1;
  }
  constexpr std::int64_t long_line = 4096;
  const bool ends_well = length % size == 0 || length >= long_line;
  const auto is_aligned = [&](const auto& operand) {
    return reinterpret_cast<std::uintptr_t>(operand.data) % bytes == 0 && (lines == 1 || operand.ld % size == 0);
  };
  const auto launch_packs = [&](const auto& packed) { launch<Space>(context, packed.threads(), packed); };
  if (ends_well && is_aligned(assignment.to) && is_aligned(assignment.from)) {
    launch_packs(PackedAssignment<Assignment, size>(assignment, lines, length));
  } else {
    launch_packs(PackedAssignment<Assignment, 1>(assignment, lines, length));
  }
}

template <class Space, class Assignment>
void carry_out(const Context& context, std::int64_t rows, std::int64_t width, const Assignment& assignment) {
  if (rows == 0 || width == 0) return;
  if constexpr (is_host_space<Space>) {
    assign_on_host(context, rows, width, assignment);
  } else {
    assign_on_device<Space>(context, rows, width, assignment);
  }
}

/// Calls body for the index-th entry in a layout's order.
template <class Layout, class Body>
struct AtEntry {
  Body body;
  std::int64_t rows, width;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    if constexpr (is_row_major<Layout>) {
      body(index / width, index % width);
    } else {
      body(index % rows, index / rows);
    }
  }
};

}  // namespace detail

/// Every entry of `to` becomes the function's value. Its arguments are any of the entry's Position and its old value,
/// in this order; what is no argument is not read.
template <class Space, class Scalar, class Layout, class Function>
void assign(const Context& context, std::int64_t rows, std::int64_t width, Entries<Scalar, Layout> to,
            Function function) {
  detail::carry_out<Space>(context, rows, width, detail::Assignment<Function, Scalar, Layout, false>{function, to, to});
}

/// Every entry of `to` becomes the function's value for the entry of `from` at its place, and, where the function takes
/// another argument, its old value. Its Position comes before these where the function takes it. The two do not
/// overlap, or are the same.
template <class Space, class Scalar, class Layout, class Function>
void assign(const Context& context, std::int64_t rows, std::int64_t width, Entries<Scalar, Layout> to,
            Entries<Scalar, Layout> from, Function function) {
  detail::carry_out<Space>(context, rows, width,
                           detail::Assignment<Function, Scalar, Layout, true>{function, to, from});
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
