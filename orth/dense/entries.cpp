#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <cmath>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/dense/loops.hpp"

// What is done entry by entry or column by column: wherever the matrices lie, without the host but for norms.
namespace blockvec::orth::dense {
namespace {

template <class Scalar>
struct Copy {
  Entries<Scalar> from, to;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const { to(i, j) = from(i, j); }
};

template <class Scalar>
struct Fill {
  Entries<Scalar> to;
  Scalar value, diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const { to(i, j) = i == j ? diagonal : value; }
};

template <class Scalar>
struct Axpby {
  Scalar alpha, beta;
  Entries<Scalar> x, y;
  bool reads;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    y(i, j) = reads ? alpha * x(i, j) + beta * y(i, j) : alpha * x(i, j);
  }
};

template <class Scalar>
struct ScaleColumns {
  Entries<Scalar> from;
  Entries<RealOf<Scalar>> factor;
  Entries<Scalar> to;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const { to(i, j) = from(i, j) * factor(0, j); }
};

template <class Scalar>
struct ColumnSquares {
  Entries<Scalar> from;
  Entries<RealOf<Scalar>> to;
  std::int64_t rows;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    RealOf<Scalar> sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += square(from(i, j));
    to(0, j) = sum;
  }
};

}  // namespace

template <class Scalar, class Space>
void copy(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b) {
  require_shape("copy", "B", b, a.rows(), a.columns());
  for_each_entry<Space>(a.context(), a.rows(), a.columns(), Copy<Scalar>{entries(a), entries(b)});
}

template <class Scalar, class Space>
void fill(const SmallMatrix<Scalar, Space>& a, Scalar value) {
  for_each_entry<Space>(a.context(), a.rows(), a.columns(), Fill<Scalar>{entries(a), value, value});
}

template <class Scalar, class Space>
void set_identity(const SmallMatrix<Scalar, Space>& a) {
  for_each_entry<Space>(a.context(), a.rows(), a.columns(), Fill<Scalar>{entries(a), Scalar(0), Scalar(1)});
}

template <class Scalar, class Space>
void axpby(Scalar alpha, const SmallMatrix<Scalar, Space>& a, Scalar beta, const SmallMatrix<Scalar, Space>& b) {
  require_shape("axpby", "B", b, a.rows(), a.columns());
  for_each_entry<Space>(a.context(), a.rows(), a.columns(),
                        Axpby<Scalar>{alpha, beta, entries(a), entries(b), beta != Scalar(0)});
}

template <class Scalar, class Space>
void scale_columns(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& factors,
                   const SmallMatrix<Scalar, Space>& b) {
  require_shape("scale_columns", "factors", factors, 1, a.columns());
  require_shape("scale_columns", "B", b, a.rows(), a.columns());
  for_each_entry<Space>(a.context(), a.rows(), a.columns(),
                        ScaleColumns<Scalar>{entries(a), entries(factors), entries(b)});
}

template <class Scalar, class Space>
void column_squares(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares) {
  require_shape("column_squares", "squares", squares, 1, a.columns());
  for_each_column<Space>(a.context(), a.columns(), ColumnSquares<Scalar>{entries(a), entries(squares), a.rows()});
}

template <class Scalar, class Space>
RealOf<Scalar> frobenius_norm(const SmallMatrix<Scalar, Space>& a) {
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x) { return frobenius_norm(x); }, reads(a));
  }
  const RealOf<Scalar> largest = max_norm(a);
  if (!(largest > 0) || !std::isfinite(largest)) return largest;
  RealOf<Scalar> sum = 0;
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) sum += square(at(a, i, j) / largest);
  }
  return largest * std::sqrt(sum);
}

template <class Scalar, class Space>
RealOf<Scalar> max_norm(const SmallMatrix<Scalar, Space>& a) {
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x) { return max_norm(x); }, reads(a));
  }
  RealOf<Scalar> largest = 0;
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      const RealOf<Scalar> size = magnitude(at(a, i, j));
      if (std::isnan(size)) return size;
      largest = std::max(largest, size);
    }
  }
  return largest;
}

#define BLOCKVEC_DENSE_ENTRIES(Scalar, Space)                                                                 \
  template void copy(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&);                   \
  template void fill(const SmallMatrix<Scalar, Space>&, Scalar);                                              \
  template void set_identity(const SmallMatrix<Scalar, Space>&);                                              \
  template void axpby(Scalar, const SmallMatrix<Scalar, Space>&, Scalar, const SmallMatrix<Scalar, Space>&);  \
  template void scale_columns(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&,   \
                              const SmallMatrix<Scalar, Space>&);                                             \
  template void column_squares(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&); \
  template RealOf<Scalar> frobenius_norm(const SmallMatrix<Scalar, Space>&);                                  \
  template RealOf<Scalar> max_norm(const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_ENTRIES)

}  // namespace blockvec::orth::dense
