#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <string>

/// Loops over small matrices wherever they lie: at once on the host, as one kernel in the order of the context's
/// instance on a device. Bodies are objects of named types with a KOKKOS_FUNCTION operator(), as in
/// blockvec/entries.hpp.
namespace blockvec::orth::dense {

/// How a loop sees a small matrix.
template <class Scalar>
struct Entries {
  Scalar* data;
  std::int64_t ld;
  KOKKOS_FUNCTION Scalar& operator()(std::int64_t i, std::int64_t j) const { return data[i + j * ld]; }
};
template <class Scalar, class Space>
Entries<Scalar> entries(const SmallMatrix<Scalar, Space>& a) {
  return {a.data(), a.ld()};
}

/// body(j) for j in [0, count).
template <class Space, class Body>
void for_each_column(const Context& context, std::int64_t count, Body body) {
  if constexpr (is_host_space<Space>) {
    for (std::int64_t j = 0; j < count; ++j) body(j);
  } else {
    using Policy = Kokkos::RangePolicy<ExecutionSpaceOf<Space>, Kokkos::IndexType<std::int64_t>>;
    static const std::string label("BlockVec::orth::dense");  // kept: a call allocates nothing
    Kokkos::parallel_for(label, Policy(context.execution_space<Space>(), 0, count), body);
  }
}

/// body(i, j) for the index-th entry.
template <class Body>
struct AtEntry {
  Body body;
  std::int64_t rows;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const { body(index % rows, index / rows); }
};

/// body(i, j) for every entry.
template <class Space, class Body>
void for_each_entry(const Context& context, std::int64_t rows, std::int64_t columns, Body body) {
  if constexpr (is_host_space<Space>) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) body(i, j);
    }
  } else {
    for_each_column<Space>(context, rows * columns, AtEntry<Body>{body, rows});
  }
}

}  // namespace blockvec::orth::dense
