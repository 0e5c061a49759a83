#include <algorithm>
#include <blockvec/orth/dense.hpp>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"
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

#define BLOCKVEC_DENSE_MULTIPLY(Scalar, Space)                                                                     \
  template void multiply(Scalar, const SmallMatrix<Scalar, Space>&, bool, const SmallMatrix<Scalar, Space>&, bool, \
                         Scalar, const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_MULTIPLY)

}  // namespace blockvec::orth::dense
