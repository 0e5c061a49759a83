#include <blockvec/orth/dense.hpp>

#include "blockvec/instantiate.hpp"
#include "orth/host_dense.hpp"
#include "orth/loops.hpp"

// What is done entry by entry or column by column: wherever the matrices lie, without the host.
namespace blockvec::orth::dense {

template <class Scalar, class Space>
void copy(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b) {
  require_shape("copy", "B", b, a.rows(), a.columns());
  const auto x = entries(a), y = entries(b);
  for_each_entry<Space>(
      a.context(), a.rows(), a.columns(), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { y(i, j) = x(i, j); });
}

template <class Scalar, class Space>
void fill(const SmallMatrix<Scalar, Space>& a, Scalar value) {
  const auto x = entries(a);
  for_each_entry<Space>(
      a.context(), a.rows(), a.columns(), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { x(i, j) = value; });
}

template <class Scalar, class Space>
void set_identity(const SmallMatrix<Scalar, Space>& a) {
  const auto x = entries(a);
  for_each_entry<Space>(
      a.context(), a.rows(), a.columns(),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { x(i, j) = Scalar(i == j ? 1 : 0); });
}

template <class Scalar, class Space>
void axpby(Scalar alpha, const SmallMatrix<Scalar, Space>& a, Scalar beta, const SmallMatrix<Scalar, Space>& b) {
  require_shape("axpby", "B", b, a.rows(), a.columns());
  const bool reads = beta != Scalar(0);
  const auto x = entries(a), y = entries(b);
  for_each_entry<Space>(
      a.context(), a.rows(), a.columns(), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        y(i, j) = reads ? alpha * x(i, j) + beta * y(i, j) : alpha * x(i, j);
      });
}

template <class Scalar, class Space>
void scale_columns(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& factors,
                   const SmallMatrix<Scalar, Space>& b) {
  require_shape("scale_columns", "factors", factors, 1, a.columns());
  require_shape("scale_columns", "B", b, a.rows(), a.columns());
  const auto x = entries(a), y = entries(b);
  const auto factor = entries(factors);
  for_each_entry<Space>(
      a.context(), a.rows(), a.columns(),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { y(i, j) = x(i, j) * factor(0, j); });
}

template <class Scalar, class Space>
void multiply_upper(const SmallMatrix<Scalar, Space>& u, const SmallMatrix<Scalar, Space>& b) {
  require_square("multiply_upper", "U", u);
  require_shape("multiply_upper", "B", b, u.rows(), b.columns());
  const std::int64_t n = u.rows();
  const auto x = entries(u), y = entries(b);
  for_each_column<Space>(
      u.context(), b.columns(), KOKKOS_LAMBDA(std::int64_t j) {
        for (std::int64_t i = 0; i < n; ++i) {  // row i needs only rows i and below, not yet overwritten
          Scalar sum = Scalar(0);
          for (std::int64_t l = i; l < n; ++l) sum += x(i, l) * y(l, j);
          y(i, j) = sum;
        }
      });
}

template <class Scalar, class Space>
void diagonal(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares) {
  require_square("diagonal", "A", a);
  require_shape("diagonal", "squares", squares, 1, a.columns());
  const auto x = entries(a);
  const auto y = entries(squares);
  for_each_column<Space>(
      a.context(), a.columns(), KOKKOS_LAMBDA(std::int64_t j) { y(0, j) = real_part(x(j, j)); });
}

template <class Scalar, class Space>
void column_squares(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares) {
  require_shape("column_squares", "squares", squares, 1, a.columns());
  const std::int64_t rows = a.rows();
  const auto x = entries(a);
  const auto y = entries(squares);
  for_each_column<Space>(
      a.context(), a.columns(), KOKKOS_LAMBDA(std::int64_t j) {
        RealOf<Scalar> sum = 0;
        for (std::int64_t i = 0; i < rows; ++i) sum += square(x(i, j));
        y(0, j) = sum;
      });
}

template <class Scalar, class Space>
void divide_by_pivots(const SmallMatrix<RealOf<Scalar>, Space>& squares, const SmallMatrix<Scalar, Space>& r,
                      const SmallMatrix<RealOf<Scalar>, Space>& quotients) {
  require_square("divide_by_pivots", "R", r);
  require_shape("divide_by_pivots", "squares", squares, 1, r.columns());
  require_shape("divide_by_pivots", "quotients", quotients, 1, r.columns());
  const auto x = entries(squares), y = entries(quotients);
  const auto factor = entries(r);
  for_each_column<Space>(
      r.context(), r.columns(), KOKKOS_LAMBDA(std::int64_t j) {
        const RealOf<Scalar> pivot = magnitude(factor(j, j));
        y(0, j) = pivot > 0 ? x(0, j) / pivot / pivot : RealOf<Scalar>(0);
      });
}

template <class Real, class Space>
void reciprocals(const SmallMatrix<Real, Space>& a) {
  const auto x = entries(a);
  for_each_entry<Space>(
      a.context(), a.rows(), a.columns(), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { x(i, j) = 1 / x(i, j); });
}

#define BLOCKVEC_DENSE_ENTRIES(Scalar, Space)                                                                  \
  template void copy(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&);                    \
  template void fill(const SmallMatrix<Scalar, Space>&, Scalar);                                               \
  template void set_identity(const SmallMatrix<Scalar, Space>&);                                               \
  template void axpby(Scalar, const SmallMatrix<Scalar, Space>&, Scalar, const SmallMatrix<Scalar, Space>&);   \
  template void scale_columns(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&,    \
                              const SmallMatrix<Scalar, Space>&);                                              \
  template void multiply_upper(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&);          \
  template void diagonal(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&);        \
  template void column_squares(const SmallMatrix<Scalar, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&);  \
  template void divide_by_pivots(const SmallMatrix<RealOf<Scalar>, Space>&, const SmallMatrix<Scalar, Space>&, \
                                 const SmallMatrix<RealOf<Scalar>, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_ENTRIES)

#define BLOCKVEC_DENSE_REAL_ENTRIES(Real, Space) template void reciprocals(const SmallMatrix<Real, Space>&);
BLOCKVEC_WITH_SPACES(BLOCKVEC_DENSE_REAL_ENTRIES, float)
BLOCKVEC_WITH_SPACES(BLOCKVEC_DENSE_REAL_ENTRIES, double)

}  // namespace blockvec::orth::dense
