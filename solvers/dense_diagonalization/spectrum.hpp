#pragma once

#include <algorithm>
#include <blockvec/orth/dense.hpp>
#include <blockvec/small_matrix.hpp>
#include <cmath>
#include <cstdint>

namespace blockvec::solvers {

/// All eigenpairs of a small matrix or pencil, ascending, the same bits on every rank; or those of what is left of it.
template <class Scalar>
class Spectrum {
 public:
  using Real = RealOf<Scalar>;

  Spectrum() = default;
  /// Of A, or of A and a B that has rows. A's memory holds the eigenvectors then.
  static Spectrum of(const SmallMatrix<Scalar>& a, const SmallMatrix<Scalar>& b) {
    Spectrum result;
    result.count_ = a.rows();
    result.vectors_ = a;
    result.values_ = SmallMatrix<Real>(a.context(), 1, a.rows());
    if (b.rows() == 0) {
      orth::dense::eigendecomposition(a, result.values_, a);
    } else {
      result.condition_of_b_ = orth::dense::generalized_eigendecomposition(a, b, result.values_, a);
      result.lengths_ = SmallMatrix<Real>(a.context(), 1, a.rows());
      result.measure();
    }
    return result;
  }

  std::int64_t count() const { return count_; }
  Real value(std::int64_t i) const { return values_.data()[i * values_.ld()]; }
  /// Of the vector, whose length in the inner product of B is 1.
  Real length(std::int64_t i) const { return lengths_.columns() == 0 ? Real(1) : lengths_.data()[i * lengths_.ld()]; }
  Real largest() const { return count_ == 0 ? Real(0) : std::max(std::abs(value(0)), std::abs(value(count_ - 1))); }
  const SmallMatrix<Scalar>& vectors() const { return vectors_; }
  Real condition_of_b() const { return condition_of_b_; }

  /// Leaves out the span of Q, with orthonormal columns in the inner product of B, of which `bq` is B Q. In the basis
  /// of the eigenvectors X, where Q is S = X^H B Q and A the diagonal matrix of the values, the rest is decomposed
  /// anew: (I - S S^H) A (I - S S^H) + tau S S^H, with tau above all values, so that Q's pairs become the last ones.
  void leave_out(const SmallMatrix<Scalar>& bq) {
    const std::int64_t n = vectors_.rows(), d = bq.columns();
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return SmallMatrix<Scalar>(bq.context(), rows, columns);
    };
    const Real tau = largest() > 0 ? 3 * largest() : Real(1);
    const auto s = matrix(n, d), as = matrix(n, d), inner = matrix(d, d), rest = matrix(n, n), turned = matrix(n, n);
    orth::dense::multiply(Scalar(1), vectors_, true, bq, false, Scalar(0), s);
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t i = 0; i < n; ++i) as.data()[i + j * as.ld()] = value(i) * s.data()[i + j * s.ld()];
    }
    // With M = S^H A S + tau I the rest is A + S T^H + T S^H for T = S M / 2 - A S.
    orth::dense::multiply(Scalar(1), s, true, as, false, Scalar(0), inner);
    for (std::int64_t j = 0; j < d; ++j) inner.data()[j + j * inner.ld()] += Scalar(tau);
    orth::dense::multiply(Scalar(Real(0.5)), s, false, inner, false, Scalar(-1), as);
    for (std::int64_t i = 0; i < n; ++i) rest.data()[i + i * rest.ld()] = Scalar(value(i));
    orth::dense::multiply(Scalar(1), s, false, as, true, Scalar(1), rest);
    orth::dense::multiply(Scalar(1), as, false, s, true, Scalar(1), rest);
    orth::dense::eigendecomposition(rest, values_, rest);
    orth::dense::multiply(Scalar(1), vectors_, false, rest, false, Scalar(0), turned);
    vectors_ = turned;
    count_ = n - d;
    if (lengths_.columns() > 0) measure();
  }

 private:
  void measure() {
    orth::dense::column_squares(vectors_, lengths_);
    for (std::int64_t i = 0; i < lengths_.columns(); ++i) {
      Real& length = lengths_.data()[i * lengths_.ld()];
      length = std::sqrt(length);
    }
  }

  std::int64_t count_ = 0;
  SmallMatrix<Scalar> vectors_;
  SmallMatrix<Real> values_, lengths_;
  Real condition_of_b_ = 1;
};

}  // namespace blockvec::solvers
