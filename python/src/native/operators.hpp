#pragma once

#include <nanobind/stl/complex.h>
#include <nanobind/stl/vector.h>

#include <blockvec/operations.hpp>
#include <blockvec/precision.hpp>
#include <blockvec/solvers/operator.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "conduct.hpp"
#include "runtime.hpp"

namespace blockvec::python {

/// Y = f(X) for a Python function f of blocks, which _operators.py has wrapped: it returns an array of X's shape, dtype
/// and layout. X is a copy, which f may keep or change: memory of the library is never shown to Python. On the host the
/// copy's memory is used again where f has not kept it. On a device the caller's library has a pool for that, and f
/// works in the order of the caller's stream.
template <class Vector>
class PythonProduct {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;

  PythonProduct(nb::object function, const Lease& lease, Conduct& conduct)
      : parts_(new Parts{std::move(function), {}}), lease_(&lease), conduct_(&conduct) {}

  void operator()(const Vector& x, const Vector& y) const {
    if (x.width() == 0) return;
    x.context().collective([&] { multiply(x, y); });  // so that other ranks hear of an exception
  }

 private:
  void multiply(const Vector& x, const Vector& y) const {
    conduct_->in_python([&] {
      const nb::object block = block_like(x);
      write(x, parts_->function.attr("hand")(block));
      read(parts_->function(block, order), y);
    });
  }

  struct Parts {
    nb::object function, block;
    ~Parts() {
      const nb::gil_scoped_acquire lock;
      function.reset();
      block.reset();
    }
  };

  static constexpr const char* order = std::is_same_v<Layout, RowMajor> ? "C" : "F";

  // nanobind's array keeps the memory until work on it is ordered.
  void write(const Vector& x, const nb::object& block) const {
    const auto array = nb::cast<Array>(block);
    lease_->in_callers_order([&] { copy(x, tall<Scalar, Layout>(x.context(), x.rows(), array, "X")); });
  }
  void read(const nb::object& product, const Vector& y) const {
    const auto array = nb::cast<Array>(product);
    lease_->in_callers_order([&] { copy(tall<Scalar, Layout>(y.context(), y.rows(), array, "A X"), y); });
  }

  nb::object block_like(const Vector& x) const {
    nb::object& kept = parts_->block;
    const bool is_free = kept.is_valid() && Py_REFCNT(kept.ptr()) == 1;
    if (is_free && nb::cast<std::int64_t>(kept.attr("shape")[nb::int_(1)]) == x.width()) return kept;
    const nb::object made = parts_->function.attr("empty_block")(x.width(), order);
    if constexpr (is_host_space<typename Vector::Space>) kept = made;
    return made;
  }

  std::shared_ptr<Parts> parts_;
  const Lease* lease_;
  Conduct* conduct_;
};

/// A sparse matrix. Ctrl-C ends a search between two of its products.
template <class Vector>
class SparseProduct {
 public:
  using Scalar = typename Vector::Scalar;
  using Sparse = solvers::SparseOperator<Scalar, typename Vector::Space>;

  SparseProduct(Sparse matrix, Conduct& conduct) : matrix_(new Sparse(std::move(matrix))), conduct_(&conduct) {}

  const Context& context() const { return matrix_->context(); }
  const RowDistribution& rows() const { return matrix_->rows(); }
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) const {
    context().collective([&] {  // so that other ranks hear of Ctrl-C
      conduct_->look();
      matrix_->apply(alpha, shift, x, beta, y);
    });
  }

 private:
  std::shared_ptr<Sparse> matrix_;
  Conduct* conduct_;
};

/// This rank's compressed rows, whose arrays the caller keeps.
template <class Scalar>
struct Compressed {
  const std::int64_t* begins;
  const std::int32_t* columns;
  const Scalar* values;

  /// As _operators.py hands them over.
  static Compressed from(nb::handle given) {
    using Begins = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>;
    using Columns = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::device::cpu>;
    return {nb::cast<Begins>(given[0]).data(), nb::cast<Columns>(given[1]).data(),
            entries_of<Scalar>(nb::cast<Array>(given[2]))};
  }
  solvers::RowFunction<Scalar> source(const RowDistribution& rows) const {
    const auto append = [arrays = *this, first = rows.begin()](std::int64_t row, solvers::RowEntries<Scalar>& entries) {
      for (std::int64_t i = arrays.begins[row - first]; i < arrays.begins[row - first + 1]; ++i)
        entries.add(arrays.columns[i], arrays.values[i]);
    };
    return solvers::RowFunction<Scalar>(rows.global_rows(), append);
  }
};

/// From this rank's compressed rows: SciPy's arrays are not copied on one rank of the host. Collective.
template <class Vector>
solvers::SparseOperator<typename Vector::Scalar, typename Vector::Space> sparse_operator(
    const Context& context, const RowDistribution& rows, const Compressed<typename Vector::Scalar>& arrays) {
  using Scalar = typename Vector::Scalar;
  using Sparse = solvers::SparseOperator<Scalar, typename Vector::Space>;
  if constexpr (is_host_space<typename Vector::Space>) {
    if (rows.ranks() == 1) {
      using Kernel = typename ScalarTraits<Scalar>::Kernel;
      return Sparse::wrap(
          context, rows,
          kernels::CsrMatrix<Kernel, std::int64_t>{rows.global_rows(), rows.global_rows(), arrays.begins,
                                                   arrays.columns, reinterpret_cast<const Kernel*>(arrays.values)});
    }
  }
  return context.collective([&] { return Sparse(context, rows, arrays.source(rows)); });
}

/// What _operators.py prepares of a matrix: this rank's compressed rows (begins, columns, values), or a function of
/// blocks of its rows. With the interpreter's lock; the arrays are kept by the caller.
template <class Vector>
solvers::AnyOperator<Vector> operator_from(const Lease& lease, const RowDistribution& rows, nb::handle given,
                                           Conduct& conduct) {
  const Context& context = *lease;
  if (!nb::isinstance<nb::tuple>(given)) {
    return solvers::FunctionOperator<Vector>(context, rows,
                                             PythonProduct<Vector>(nb::borrow<nb::object>(given), lease, conduct));
  }
  const auto arrays = Compressed<typename Vector::Scalar>::from(given);
  const nb::gil_scoped_release unlocked;
  return SparseProduct<Vector>(sparse_operator<Vector>(context, rows, arrays), conduct);
}

/// The compressed rows that _operators.py prepares, in single precision.
template <class Vector>
solvers::AnyOperator<InSingle<Vector>> rounded_operator_from(const Lease& lease, const RowDistribution& rows,
                                                             nb::handle given, Conduct& conduct) {
  using Scalar = typename Vector::Scalar;
  using Sparse = solvers::SparseOperator<SingleOf<Scalar>, typename Vector::Space>;
  const auto source = Compressed<Scalar>::from(given).source(rows);
  const Context& context = *lease;
  const nb::gil_scoped_release unlocked;
  return SparseProduct<InSingle<Vector>>(
      context.collective([&] { return Sparse(context, rows, solvers::RoundedRows<Scalar>(source)); }), conduct);
}

/// A random pair of vectors V and their image, the same on any number of ranks: the four entries of V^H A V by columns,
/// then the lengths of V's columns and of A V's. Python judges by them whether A is Hermitian. Without the lock.
template <class Vector>
std::pair<std::vector<std::complex<double>>, std::vector<double>> probe(const solvers::AnyOperator<Vector>& a) {
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  const Context& context = a.context();
  const Vector pair(context, a.rows(), 2, "random vectors"), image(context, a.rows(), 2, "image");
  const SmallMatrix<Scalar, Space> products(context, 2, 2);
  const SmallMatrix<RealOf<Scalar>, Space> lengths(context, 1, 4);
  context.collective([&] {
    fill_normal(pair, 20260);
    a.apply(Scalar(1), Scalar(0), pair, Scalar(0), image);
    inner_product(pair, image, products);
    column_norms(pair, lengths.block(0, 1, 0, 2));
    column_norms(image, lengths.block(0, 1, 2, 4));
  });
  const auto product = products.to_host();
  const auto length = lengths.to_host();
  std::pair<std::vector<std::complex<double>>, std::vector<double>> found;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto entry = product(i % 2, i / 2);
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      found.first.emplace_back(entry.real(), entry.imag());
    } else {
      found.first.emplace_back(entry);
    }
    found.second.push_back(length(0, i));
  }
  return found;
}

/// Shows Python what probe() found of the matrix with this name: judge(name, products, lengths).
template <class Vector>
nb::object judged(const nb::object& judge, const char* name, const solvers::AnyOperator<Vector>& a, Conduct& conduct) {
  decltype(probe(a)) found;
  conduct.without_lock([&] { found = probe(a); });
  return judge(name, found.first, found.second);
}

}  // namespace blockvec::python
