#pragma once

#include <blockvec/operations.hpp>
#include <blockvec/solvers/operator.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "arrays.hpp"
#include "conduct.hpp"

namespace blockvec::python {

/// Y = f(X) for a Python function f of blocks, which _operators.py has wrapped: it returns an array of X's shape, dtype
/// and layout. X is a copy, which f may keep or change: memory of the library is never shown to Python. The copy's
/// memory is used again where f has not kept it.
template <class Vector>
class PythonProduct {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;

  PythonProduct(nb::object function, Conduct& conduct)
      : parts_(new Parts{std::move(function), {}}), conduct_(&conduct) {}

  void operator()(const Vector& x, const Vector& y) const {
    if (x.width() == 0) return;
    conduct_->in_python([&] {
      const nb::object& block = block_like(x);
      copy(x, tall<Scalar, Layout>(x.context(), nb::cast<Array>(block), "X"));
      const nb::object product = parts_->function(block);
      copy(tall<Scalar, Layout>(x.context(), nb::cast<Array>(product), "A X"), y);
    });
  }

 private:
  struct Parts {
    nb::object function, block;
    ~Parts() {
      const nb::gil_scoped_acquire lock;
      function.reset();
      block.reset();
    }
  };

  const nb::object& block_like(const Vector& x) const {
    nb::object& block = parts_->block;
    const bool is_free = block.is_valid() && Py_REFCNT(block.ptr()) == 1;
    if (!is_free || nb::cast<std::int64_t>(block.attr("shape")[nb::int_(1)]) != x.width()) {
      block = parts_->function.attr("empty_block")(x.width(), std::is_same_v<Layout, RowMajor>);
    }
    return block;
  }

  std::shared_ptr<Parts> parts_;
  Conduct* conduct_;
};

/// A sparse matrix in SciPy's arrays, which are not copied. Ctrl-C ends a search between two of its products.
template <class Vector>
class SparseProduct {
 public:
  using Scalar = typename Vector::Scalar;

  SparseProduct(solvers::SparseOperator<Scalar> matrix, Conduct& conduct)
      : matrix_(new solvers::SparseOperator<Scalar>(std::move(matrix))), conduct_(&conduct) {}

  const Context& context() const { return matrix_->context(); }
  const RowDistribution& rows() const { return matrix_->rows(); }
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) const {
    conduct_->look();
    matrix_->apply(alpha, shift, x, beta, y);
  }

 private:
  std::shared_ptr<solvers::SparseOperator<Scalar>> matrix_;
  Conduct* conduct_;
};

/// What _operators.py prepares of a matrix: its compressed rows (begins, columns, values), or a function of blocks.
/// With the interpreter's lock; the arrays are kept by the caller.
template <class Vector>
solvers::AnyOperator<Vector> operator_from(const Context& context, const RowDistribution& rows, nb::handle given,
                                           Conduct& conduct) {
  using Scalar = typename Vector::Scalar;
  if (!nb::isinstance<nb::tuple>(given)) {
    return solvers::FunctionOperator<Vector>(context, rows,
                                             PythonProduct<Vector>(nb::borrow<nb::object>(given), conduct));
  }
  const auto begins = nb::cast<nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>>(given[0]);
  const auto columns = nb::cast<nb::ndarray<const std::int32_t, nb::ndim<1>, nb::device::cpu>>(given[1]);
  const auto values = nb::cast<Array>(given[2]);
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  const kernels::CsrMatrix<Kernel, std::int64_t> matrix{rows.global_rows(), rows.global_rows(), begins.data(),
                                                        columns.data(),
                                                        reinterpret_cast<const Kernel*>(entries_of<Scalar>(values))};
  return SparseProduct<Vector>(solvers::SparseOperator<Scalar>::wrap(context, rows, matrix), conduct);
}

}  // namespace blockvec::python
