#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <limits>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"

namespace blockvec::orth::dense {
namespace {

template <class Scalar, class Space>
bool upper_triangle_is_finite(const SmallMatrix<Scalar, Space>& a) {
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      if (!finite(at(a, i, j))) return false;
    }
  }
  return true;
}

}  // namespace

template <class Scalar, class Space>
CholeskyResult<Scalar> cholesky(const SmallMatrix<Scalar, Space>& g, RealOf<Scalar> tolerance,
                                const SmallMatrix<Scalar, Space>& r,
                                const SmallMatrix<RealOf<Scalar>, Space>* reference, bool skip_zeros) {
  using Real = RealOf<Scalar>;
  require_square("cholesky", "G", g);
  require_shape("cholesky", "R", r, g.rows(), g.columns());
  if (reference != nullptr) require_shape("cholesky", "reference", *reference, 1, g.columns());
  if constexpr (!is_host_space<Space>) {
    const SmallMatrix<Real, Space> none(g.context(), {});
    return on_host(
        [&](const auto& from, const auto& to, const auto& lengths) {
          return cholesky(from, tolerance, to, reference != nullptr ? &lengths : nullptr, skip_zeros);
        },
        reads(g), updates(r), reads(reference != nullptr ? *reference : none));
  }
  const std::int64_t n = g.columns();
  CholeskyResult<Scalar> result;
  result.finite = upper_triangle_is_finite(g);
  if (!result.finite) return result;
  Real largest = 0;
  Real smallest = std::numeric_limits<Real>::infinity();
  for (std::int64_t j = 0; j < n; ++j) {
    const Real length = real_part(at(g, j, j));
    const Real threshold = tolerance * (reference != nullptr ? at(*reference, 0, j) : length);
    if (skip_zeros && reference != nullptr && !(at(*reference, 0, j) > 0)) {
      for (std::int64_t i = 0; i < n; ++i) at(r, i, j) = Scalar(i == j ? 1 : 0);
      result.rank = j + 1;
      continue;
    }
    Real pivot = length;
    for (std::int64_t i = 0; i < j; ++i) {
      Scalar sum = at(g, i, j);
      for (std::int64_t l = 0; l < i; ++l) sum -= conjugate(at(r, l, i)) * at(r, l, j);
      at(r, i, j) = sum / real_part(at(r, i, i));
      pivot -= square(at(r, i, j));
    }
    if (!(pivot > std::max(threshold, Real(0)))) break;
    const Real root = std::sqrt(pivot);
    at(r, j, j) = Scalar(root);
    for (std::int64_t i = j + 1; i < n; ++i) at(r, i, j) = Scalar(0);
    const Real share = root / std::sqrt(length);
    largest = std::max(largest, share);
    smallest = std::min(smallest, share);
    result.rank = j + 1;
  }
  if (largest > 0) result.condition_estimate = largest / smallest;
  return result;
}

template <class Scalar, class Space>
void triangular_inverse(const SmallMatrix<Scalar, Space>& r, const SmallMatrix<Scalar, Space>& x) {
  require_square("triangular_inverse", "R", r);
  require_shape("triangular_inverse", "X", x, r.rows(), r.columns());
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& from, const auto& y) { return triangular_inverse(from, y); }, reads(r), writes(x));
  }
  const std::int64_t n = r.columns();
  for (std::int64_t j = 0; j < n; ++j) {
    if (at(r, j, j) == Scalar(0)) {
      throw Error("dense::triangular_inverse: the diagonal entry of column " + std::to_string(j) + " of R is zero");
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    // Column j of X solves R x = e_j; where X is R, columns after j are still R's, columns before it X's: x_j = -X r_j
    // / r_jj.
    const Scalar pivot = Scalar(1) / at(r, j, j);
    for (std::int64_t i = 0; i < j; ++i) {
      Scalar sum = Scalar(0);
      for (std::int64_t l = i; l < j; ++l) sum += at(x, i, l) * at(r, l, j);
      at(x, i, j) = -(sum * pivot);  // row i of X r_j needs r's rows i and below, not yet overwritten
    }
    at(x, j, j) = pivot;
    for (std::int64_t i = j + 1; i < n; ++i) at(x, i, j) = Scalar(0);
  }
}

template <class Scalar, class Space>
void triangular_solve(Side side, kernels::Triangle triangle, const SmallMatrix<Scalar, Space>& t, bool conjugate_t,
                      const SmallMatrix<Scalar, Space>& b) {
  require_square("triangular_solve", "T", t);
  const std::int64_t n = t.columns();
  const bool left = side == Side::left;
  if ((left ? b.rows() : b.columns()) != n) {
    throw ShapeError("dense::triangular_solve: T is " + shape(t) + ", B is " + shape(b) + ", expected " +
                     std::to_string(n) + (left ? " rows" : " columns"));
  }
  if (triangle == kernels::Triangle::general) {
    throw ShapeError("dense::triangular_solve: Triangle::general given for T (" + shape(t) +
                     "), expected upper or lower");
  }
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& from, const auto& to) { triangular_solve(side, triangle, from, conjugate_t, to); },
                   reads(t), updates(b));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    if (at(t, j, j) == Scalar(0)) {
      throw Error("dense::triangular_solve: the diagonal entry of column " + std::to_string(j) + " of T is zero");
    }
  }
  const auto factor = [&](std::int64_t i, std::int64_t j) {
    return conjugate_t ? conjugate(at(t, j, i)) : at(t, i, j);
  };
  // Unknown k, a row or a column of B, is known once the others that stand beside it in op(T) are taken from it.
  const bool upper = (triangle == kernels::Triangle::upper) != conjugate_t;
  const bool from_first = left != upper;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = from_first ? step : n - 1 - step;
    const Scalar pivot = factor(k, k);
    const std::int64_t begin = from_first ? k + 1 : 0, end = from_first ? n : k;  // those that are not known yet
    if (left) {
      for (std::int64_t j = 0; j < b.columns(); ++j) {
        const Scalar x = at(b, k, j) / pivot;
        at(b, k, j) = x;
        for (std::int64_t i = begin; i < end; ++i) at(b, i, j) -= factor(i, k) * x;
      }
    } else {
      for (std::int64_t i = 0; i < b.rows(); ++i) at(b, i, k) = at(b, i, k) / pivot;
      for (std::int64_t j = begin; j < end; ++j) {
        const Scalar entry = factor(k, j);
        for (std::int64_t i = 0; i < b.rows(); ++i) at(b, i, j) -= at(b, i, k) * entry;
      }
    }
  }
}

#define BLOCKVEC_DENSE_FACTOR(Scalar, Space)                                                              \
  template CholeskyResult<Scalar> cholesky(const SmallMatrix<Scalar, Space>&, RealOf<Scalar>,             \
                                           const SmallMatrix<Scalar, Space>&,                             \
                                           const SmallMatrix<RealOf<Scalar>, Space>*, bool);              \
  template void triangular_inverse(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&); \
  template void triangular_solve(Side, kernels::Triangle, const SmallMatrix<Scalar, Space>&, bool,        \
                                 const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_FACTOR)

}  // namespace blockvec::orth::dense
