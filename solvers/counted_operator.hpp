#pragma once

#include <blockvec/scalar.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cstdint>
#include <utility>

namespace blockvec::solvers {

/// sign * A, and the columns that it was applied to.
template <class Vector>
class CountedOperator {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;

  CountedOperator(AnyOperator<Vector> a, Real sign, std::int64_t& applications)
      : a_(std::move(a)), sign_(sign), applications_(applications) {}
  void operator()(const Vector& x, const Vector& y) const {
    a_.apply(Scalar(sign_), Scalar(0), x, Scalar(0), y);
    applications_ += x.width();
  }

 private:
  AnyOperator<Vector> a_;
  Real sign_;
  std::int64_t& applications_;
};

}  // namespace blockvec::solvers
