#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <limits>

#include "blockvec/instantiate.hpp"
#include "orth/host_dense.hpp"
#include "orth/dense/loops.hpp"

namespace blockvec::orth::dense {
namespace {

struct FirstFactor {};

// C += A B(:, j) for column j of alpha op(B), whose entries are at(l, j). Four columns of A and two of C at a time,
// rows by strips that stay in the first cache; each entry adds its products one by one, in the order of A's columns.
template <class Scalar, class Factor>
void add_product(const Scalar* a, std::int64_t lda, std::int64_t inner, const Factor& factor, Scalar* c,
                 std::int64_t ldc, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t strip = 512;
  for (std::int64_t first = 0; first < m; first += strip) {
    const std::int64_t rows = std::min(strip, m - first);
    for (std::int64_t j = 0; j < n; j += 2) {
      const bool two = j + 1 < n;
      Scalar* const __restrict c0 = c + first + j * ldc;
      Scalar* const __restrict c1 = two ? c0 + ldc : nullptr;
      std::int64_t l = 0;
      for (; two && l + 4 <= inner; l += 4) {
        const Scalar* const a0 = a + first + l * lda;
        const Scalar* const a1 = a0 + lda;
        const Scalar* const a2 = a1 + lda;
        const Scalar* const a3 = a2 + lda;
        const Scalar f0 = factor(l, j), f1 = factor(l + 1, j), f2 = factor(l + 2, j), f3 = factor(l + 3, j);
        const Scalar g0 = factor(l, j + 1), g1 = factor(l + 1, j + 1), g2 = factor(l + 2, j + 1),
                     g3 = factor(l + 3, j + 1);
        for (std::int64_t i = 0; i < rows; ++i) {
          c0[i] = c0[i] + a0[i] * f0 + a1[i] * f1 + a2[i] * f2 + a3[i] * f3;
          c1[i] = c1[i] + a0[i] * g0 + a1[i] * g1 + a2[i] * g2 + a3[i] * g3;
        }
      }
      for (; l < inner; ++l) {
        const Scalar* const a0 = a + first + l * lda;
        const Scalar f0 = factor(l, j);
        for (std::int64_t i = 0; i < rows; ++i) c0[i] += a0[i] * f0;
        if (!two) continue;
        const Scalar g0 = factor(l, j + 1);
        for (std::int64_t i = 0; i < rows; ++i) c1[i] += a0[i] * g0;
      }
    }
  }
}

// The loops are this file's own: a BLAS chooses its kernels by the processor, so that ranks might differ in bits.
template <class Scalar, class Space>
void multiply_by_loops(Scalar alpha, const SmallMatrix<Scalar, Space>& a, bool conjugate_a,
                       const SmallMatrix<Scalar, Space>& b, bool conjugate_b, const SmallMatrix<Scalar, Space>& c) {
  const std::int64_t m = c.rows(), inner = conjugate_a ? a.rows() : a.columns();
  const Scalar* first = a.data();
  std::int64_t ld = a.ld();
  if (conjugate_a) {
    Scalar* const turned = work_array<Scalar, FirstFactor>(m * inner);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t l = 0; l < inner; ++l) turned[i + l * m] = conjugate(at(a, l, i));
    }
    first = turned;
    ld = m;
  }
  const auto add = [&](const auto& factor) { add_product(first, ld, inner, factor, c.data(), c.ld(), m, c.columns()); };
  if (conjugate_b) {
    add([&](std::int64_t l, std::int64_t j) { return alpha * conjugate(at(b, j, l)); });
  } else {
    add([&](std::int64_t l, std::int64_t j) { return alpha * at(b, l, j); });
  }
}

// One entry of alpha op(A) op(B) + beta C.
template <class Scalar>
struct EntryOfProduct {
  Scalar alpha, beta;
  Entries<Scalar> a, b, c;
  std::int64_t inner;
  bool conjugate_a, conjugate_b, reads_c;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    Scalar sum = Scalar(0);
    for (std::int64_t l = 0; l < inner; ++l) {
      sum += (conjugate_a ? conjugate(a(l, i)) : a(i, l)) * (conjugate_b ? conjugate(b(j, l)) : b(l, j));
    }
    c(i, j) = reads_c ? alpha * sum + beta * c(i, j) : alpha * sum;
  }
};

}  // namespace

template <class Scalar, class Space>
Scalar entry(const SmallMatrix<Scalar, Space>& a, std::int64_t row, std::int64_t column) {
  if (row < 0 || row >= a.rows() || column < 0 || column >= a.columns()) {
    throw ShapeError("dense::entry: (" + std::to_string(row) + ", " + std::to_string(column) + ") of a " + shape(a) +
                     " matrix");
  }
  return on_host([](const auto& x) { return at(x, 0, 0); }, reads(a.block(row, row + 1, column, column + 1)));
}

template <class Scalar, class Space>
RealOf<Scalar> real_entry(const SmallMatrix<Scalar, Space>& a, std::int64_t row, std::int64_t column) {
  return real_part(entry(a, row, column));
}

template <class Scalar, class Space>
void multiply(Scalar alpha, const SmallMatrix<Scalar, Space>& a, bool conjugate_a, const SmallMatrix<Scalar, Space>& b,
              bool conjugate_b, Scalar beta, const SmallMatrix<Scalar, Space>& c) {
  const std::int64_t m = conjugate_a ? a.columns() : a.rows();
  const std::int64_t inner = conjugate_a ? a.rows() : a.columns();
  const std::int64_t n = conjugate_b ? b.rows() : b.columns();
  if (inner != (conjugate_b ? b.columns() : b.rows())) {
    throw ShapeError("dense::multiply: A is " + shape(a) + (conjugate_a ? " (conjugated)" : "") + ", B is " + shape(b) +
                     (conjugate_b ? " (conjugated)" : "") + ", expected inner extents that agree");
  }
  require_shape("multiply", "C", c, m, n);
  if constexpr (!is_host_space<Space>) {
    return for_each_entry<Space>(c.context(), m, n,
                                 EntryOfProduct<Scalar>{alpha, beta, entries(a), entries(b), entries(c), inner,
                                                        conjugate_a, conjugate_b, beta != Scalar(0)});
  }
  if (beta == Scalar(0)) {
    fill(c, Scalar(0));
  } else if (beta != Scalar(1)) {
    axpby(Scalar(0), c, beta, c);
  }
  multiply_by_loops(alpha, a, conjugate_a, b, conjugate_b, c);
}

template <class Real, class Space>
bool within(const SmallMatrix<Real, Space>& squares, Real low, Real high) {
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x) { return within(x, low, high); }, reads(squares));
  }
  for (std::int64_t j = 0; j < squares.columns(); ++j) {
    if (!(at(squares, 0, j) >= low && at(squares, 0, j) <= high)) return false;
  }
  return true;
}

template <class Real, class Space>
Real smallest_share(const SmallMatrix<Real, Space>& whole, const SmallMatrix<Real, Space>& part) {
  require_shape("smallest_share", "part", part, 1, whole.columns());
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x, const auto& y) { return smallest_share(x, y); }, reads(whole), reads(part));
  }
  Real share = 1;
  for (std::int64_t j = 0; j < whole.columns(); ++j) {
    if (at(whole, 0, j) > 0) share = std::min(share, 1 - at(part, 0, j) / at(whole, 0, j));
  }
  return share;
}

template <class Real, class Space>
Real smallest_quotient(const SmallMatrix<Real, Space>& part, const SmallMatrix<Real, Space>& whole) {
  require_shape("smallest_quotient", "whole", whole, 1, part.columns());
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x, const auto& y) { return smallest_quotient(x, y); }, reads(part), reads(whole));
  }
  Real least = std::numeric_limits<Real>::infinity();
  for (std::int64_t j = 0; j < part.columns(); ++j) {
    if (!(at(whole, 0, j) > 0)) continue;
    const Real quotient = at(part, 0, j) / at(whole, 0, j);
    if (std::isnan(quotient)) return quotient;
    least = std::min(least, quotient);
  }
  return least;
}

template <class Real, class Space>
Real sum_of_shares(const SmallMatrix<Real, Space>& whole, const SmallMatrix<Real, Space>& part) {
  require_shape("sum_of_shares", "part", part, 1, whole.columns());
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x, const auto& y) { return sum_of_shares(x, y); }, reads(whole), reads(part));
  }
  Real sum = 0;
  for (std::int64_t j = 0; j < whole.columns(); ++j) {
    if (at(whole, 0, j) > 0) sum += at(part, 0, j) / at(whole, 0, j);
  }
  return sum;
}

template <class Real, class Space>
void power_of_two_scales(const SmallMatrix<Real, Space>& norms, const SmallMatrix<Real, Space>& factors) {
  require_shape("power_of_two_scales", "norms", norms, 3, factors.columns());
  require_shape("power_of_two_scales", "factors", factors, 1, norms.columns());
  using Safe = SafeNorms<Real>;
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x, const auto& y) { return power_of_two_scales(x, y); }, reads(norms),
                   writes(factors));
  }
  for (std::int64_t j = 0; j < norms.columns(); ++j) {
    const Real down = at(norms, 0, j), plain = at(norms, 1, j), up = at(norms, 2, j);
    int exponent = 0;
    if (down >= std::ldexp(Real(1), Safe::down + Safe::limit)) {
      exponent = std::ilogb(down) - Safe::down;
    } else if (plain >= std::ldexp(Real(1), -Safe::limit)) {
      exponent = std::ilogb(plain);
    } else if (up > 0) {
      exponent = std::ilogb(up) - Safe::up;
    }
    using Limits = std::numeric_limits<Real>;  // the factor and its inverse are both normal numbers
    at(factors, 0, j) = std::ldexp(Real(1), std::clamp(-exponent, Limits::min_exponent + 1, Limits::max_exponent - 2));
  }
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

template <class Scalar, class Space>
std::int64_t first_non_finite_column(const SmallMatrix<Scalar, Space>& a) {
  if constexpr (!is_host_space<Space>) {
    return on_host([&](const auto& x) { return first_non_finite_column(x); }, reads(a));
  }
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      if (!finite(at(a, i, j))) return j;
    }
  }
  return -1;
}

#define BLOCKVEC_DENSE(Scalar, Space)                                                                              \
  template Scalar entry(const SmallMatrix<Scalar, Space>&, std::int64_t, std::int64_t);                            \
  template RealOf<Scalar> real_entry(const SmallMatrix<Scalar, Space>&, std::int64_t, std::int64_t);               \
  template void multiply(Scalar, const SmallMatrix<Scalar, Space>&, bool, const SmallMatrix<Scalar, Space>&, bool, \
                         Scalar, const SmallMatrix<Scalar, Space>&);                                               \
  template RealOf<Scalar> frobenius_norm(const SmallMatrix<Scalar, Space>&);                                       \
  template RealOf<Scalar> max_norm(const SmallMatrix<Scalar, Space>&);                                             \
  template std::int64_t first_non_finite_column(const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE)

#define BLOCKVEC_DENSE_REAL(Real, Space)                                                             \
  template bool within(const SmallMatrix<Real, Space>&, Real, Real);                                 \
  template Real smallest_quotient(const SmallMatrix<Real, Space>&, const SmallMatrix<Real, Space>&); \
  template Real smallest_share(const SmallMatrix<Real, Space>&, const SmallMatrix<Real, Space>&);    \
  template Real sum_of_shares(const SmallMatrix<Real, Space>&, const SmallMatrix<Real, Space>&);     \
  template void power_of_two_scales(const SmallMatrix<Real, Space>&, const SmallMatrix<Real, Space>&);
BLOCKVEC_WITH_SPACES(BLOCKVEC_DENSE_REAL, float)
BLOCKVEC_WITH_SPACES(BLOCKVEC_DENSE_REAL, double)

}  // namespace blockvec::orth::dense
