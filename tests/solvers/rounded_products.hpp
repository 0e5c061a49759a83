#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/precision.hpp>
#include <blockvec/solvers/operator.hpp>

namespace blockvec::solvers {

/// A's products in single precision, made by A itself.
template <class Vector>
FunctionOperator<InSingle<Vector>> rounded_products(const AnyOperator<Vector>& a) {
  using Scalar = typename Vector::Scalar;
  return {a.context(), a.rows(), [a](const InSingle<Vector>& x, const InSingle<Vector>& y) {
            const Vector exact(a.context(), a.rows(), x.width()), image(a.context(), a.rows(), x.width());
            convert(x, exact);
            a.apply(Scalar(1), Scalar(0), exact, Scalar(0), image);
            convert(image, y);
          }};
}

}  // namespace blockvec::solvers
