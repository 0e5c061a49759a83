#include <blockvec/orth/dense.hpp>

#include "blockvec/instantiate.hpp"
#include "orth/host_dense.hpp"
#include "orth/dense/loops.hpp"

// What is done entry by entry or column by column: wherever the matrices lie, without the host.
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
struct MultiplyUpper {
  Entries<Scalar> upper, columns;
  std::int64_t n;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    for (std::int64_t i = 0; i < n; ++i) {  // row i needs only rows i and below, not yet overwritten
      Scalar sum = Scalar(0);
      for (std::int64_t l = i; l < n; ++l) sum += upper(i, l) * columns(l, j);
      columns(i, j) = sum;
    }
  }
};

template <class Scalar>
struct Diagonal {
  Entries<Scalar> from;
  Entries<RealOf<Scalar>> to;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const { to(0, j) = real_part(from(j, j)); }
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

template <class Scalar>
struct DivideByRows {
  Entries<RealOf<Scalar>> squares;
  Entries<Scalar> r;
  Entries<RealOf<Scalar>> quotients;
  std::int64_t columns;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    RealOf<Scalar> smallest = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      const RealOf<Scalar> entry = magnitude(r(j, i));
      if (!(entry > 0) || !(squares(0, i) > 0)) continue;
      const RealOf<Scalar> quotient = squares(0, i) / entry / entry;
      if (!(smallest > 0) || quotient < smallest) smallest = quotient;
    }
    quotients(0, j) = smallest;
  }
};

template <class Real>
struct Reciprocals {
  Entries<Real> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const { x(i, j) = 1 / x(i, j); }
};

template <class Scalar>
struct Defect {
  Entries<Scalar> high, low, to;
  std::int64_t first;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t column) const {
    const std::int64_t j = first + column;
    if (i > j) return;
    const Scalar value = (high(i, column) - Scalar(i == j ? 1 : 0)) + low(i, column);
    to(i, j) = value;
    to(j, i) = conjugate(value);
  }
};

template <class Scalar>
struct Subtract {
  Entries<Scalar> from;
  Entries<Scalar> high, low;
  KOKKOS_FUNCTION static void subtract(RealOf<Scalar> x, RealOf<Scalar>& y_high, RealOf<Scalar>& y_low) {
    split(extend(y_high, y_low) - extend(x, RealOf<Scalar>(0)), y_high, y_low);
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      subtract(from(i, j).real(), high(i, j).real(), low(i, j).real());
      subtract(from(i, j).imag(), high(i, j).imag(), low(i, j).imag());
    } else {
      subtract(from(i, j), high(i, j), low(i, j));
    }
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
void multiply_upper(const SmallMatrix<Scalar, Space>& u, const SmallMatrix<Scalar, Space>& b) {
  require_square("multiply_upper", "U", u);
  require_shape("multiply_upper", "B", b, u.rows(), b.columns());
  for_each_column<Space>(u.context(), b.columns(), MultiplyUpper<Scalar>{entries(u), entries(b), u.rows()});
}

template <class Scalar, class Space>
void diagonal(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares) {
  require_square("diagonal", "A", a);
  require_shape("diagonal", "squares", squares, 1, a.columns());
  for_each_column<Space>(a.context(), a.columns(), Diagonal<Scalar>{entries(a), entries(squares)});
}

template <class Scalar, class Space>
void column_squares(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares) {
  require_shape("column_squares", "squares", squares, 1, a.columns());
  for_each_column<Space>(a.context(), a.columns(), ColumnSquares<Scalar>{entries(a), entries(squares), a.rows()});
}

template <class Scalar, class Space>
void divide_by_rows(const SmallMatrix<RealOf<Scalar>, Space>& squares, const SmallMatrix<Scalar, Space>& r,
                    const SmallMatrix<RealOf<Scalar>, Space>& quotients) {
  require_square("divide_by_rows", "R", r);
  require_shape("divide_by_rows", "squares", squares, 1, r.columns());
  require_shape("divide_by_rows", "quotients", quotients, 1, r.columns());
  for_each_column<Space>(r.context(), r.columns(),
                         DivideByRows<Scalar>{entries(squares), entries(r), entries(quotients), r.columns()});
}

template <class Real, class Space>
void reciprocals(const SmallMatrix<Real, Space>& a) {
  for_each_entry<Space>(a.context(), a.rows(), a.columns(), Reciprocals<Real>{entries(a)});
}

template <class Scalar, class Space>
void defect_from_identity(const DoubleDoubleMatrix<Scalar, Space>& t, const SmallMatrix<Scalar, Space>& d,
                          std::int64_t first) {
  require_square("defect_from_identity", "D", d);
  require_shape("defect_from_identity", "T", t, d.rows(), d.columns() - first);
  for_each_entry<Space>(d.context(), t.rows(), t.columns(),
                        Defect<Scalar>{entries(t.high), entries(t.low), entries(d), first});
}

template <class Scalar, class Space>
void subtract(const SmallMatrix<Scalar, Space>& a, const DoubleDoubleMatrix<Scalar, Space>& b) {
  require_shape("subtract", "B", b, a.rows(), a.columns());
  for_each_entry<Space>(a.context(), a.rows(), a.columns(),
                        Subtract<Scalar>{entries(a), entries(b.high), entries(b.low)});
}

#define BLOCKVEC_DENSE_ENTRIES(Scalar, Space)                                                                     \
  template void copy(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&);                       \
  template void defect_from_identity(const DoubleDoubleMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&, \
                                     std::int64_t);                                                               \
  template void subtract(const SmallMatrix<Scalar, Space>&, const DoubleDoubleMatrix<Scalar, Space>&);            \
  template void fill(const SmallMatrix<Scalar, Space>&, Scalar);                                                  \
  template void set_identity(const SmallMatrix<Scalar, Space>&);                                                  \
  template void axpby(Scalar, const SmallMatrix<Scalar, Space>&, Scalar, const SmallMatrix<Scalar, Space>&);      \
  template void scale_columns(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&,       \
                              const SmallMatrix<Scalar, Space>&);                                                 \
  template void multiply_upper(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&);             \
  template void diagonal(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&);           \
  template void column_squares(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&);     \
  template void divide_by_rows(const SmallMatrix<RealOf<Scalar>, Space>&, const SmallMatrix<Scalar, Space>&,      \
                               const SmallMatrix<RealOf<Scalar>, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_ENTRIES)

#define BLOCKVEC_DENSE_REAL_ENTRIES(Real, Space) template void reciprocals(const SmallMatrix<Real, Space>&);
BLOCKVEC_WITH_SPACES(BLOCKVEC_DENSE_REAL_ENTRIES, float)
BLOCKVEC_WITH_SPACES(BLOCKVEC_DENSE_REAL_ENTRIES, double)

}  // namespace blockvec::orth::dense
