// Products of arrays and their orthogonalisation. Arrays have been checked by _dense.py.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <blockvec/kernels/explain.hpp>
#ifdef BLOCKVEC_PYTHON_DEVICE
#include <blockvec/kernels/cuda.hpp>
#endif
#include <blockvec/operations.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <tuple>

#include "module.hpp"
#include "operators.hpp"
#include "orth_options.hpp"
#include "runtime.hpp"

namespace blockvec::python {
namespace {

void inner_product_of(const nb::tuple& given, const Array& v, const Array& w, const Writable& c) {
  const Call call = call_from(given);
  with_types(call.type, call.by_rows, [&]<class Scalar, class Layout>() {
    const nb::gil_scoped_release unlocked;
    const Lease context(call);
    const RowDistribution rows = rows_of(*context, v);
    inner_product(tall<Scalar, Layout>(*context, rows, v, "V"), tall<Scalar, Layout>(*context, rows, w, "W"),
                  small<Scalar>(*context, c));
  });
}

void update_of(const nb::tuple& given, std::complex<double> alpha, const Array& v, const Array& c,
               std::complex<double> beta, const Writable& w) {
  const Call call = call_from(given);
  with_types(call.type, call.by_rows, [&]<class Scalar, class Layout>() {
    const nb::gil_scoped_release unlocked;
    const Lease context(call);
    const RowDistribution rows = rows_of(*context, v);
    update(scalar_from<Scalar>(alpha), tall<Scalar, Layout>(*context, rows, v, "V"), small<Scalar>(*context, c),
           scalar_from<Scalar>(beta), tall<Scalar, Layout>(*context, rows, w, "W"));
  });
}

void multiply_in_place_of(const nb::tuple& given, const Writable& v, const Array& c, int triangle) {
  const Call call = call_from(given);
  with_types(call.type, call.by_rows, [&]<class Scalar, class Layout>() {
    const nb::gil_scoped_release unlocked;
    const Lease context(call);
    multiply_in_place(tall<Scalar, Layout>(*context, rows_of(*context, v), v, "V"), small<Scalar>(*context, c),
                      static_cast<kernels::Triangle>(triangle));
  });
}

// `is_gram`: of an inner product, that both operands are one.
std::string explain_product(const std::string& kernel, char type, bool by_rows, std::int64_t k, std::int64_t m,
                            std::int64_t n, [[maybe_unused]] bool is_gram) {
  const auto layout = by_rows ? kernels::Layout::row_major : kernels::Layout::column_major;
  const bool is_inner_product = kernel == "tsmttsm";
  return with_scalar(type, [&]<class Scalar>() -> std::string {
    using Kernel = typename ScalarTraits<Scalar>::Kernel;
#ifdef BLOCKVEC_PYTHON_DEVICE
    // Of matrices without gaps, aligned as allocations are and far apart.
    const auto matrix = [](std::uintptr_t place, std::int64_t rows, std::int64_t columns, kernels::Layout order) {
      const bool is_by_rows = order == kernels::Layout::row_major;
      return kernels::Matrix<Kernel>{reinterpret_cast<Kernel*>(place << 44), rows, columns, is_by_rows ? columns : rows,
                                     order};
    };
    const auto tall = matrix(1, k, m, layout), other = matrix(is_gram ? 1 : 2, k, n, layout);
    const auto small = matrix(3, m, n, kernels::Layout::column_major);
    if (is_inner_product) {
      return kernels::explain_cuda_tsmttsm<Kernel>(kernels::Op::conjugate_transpose, Kernel(1), tall, other, Kernel(0),
                                                   small, {})
          .text();
    }
    return kernels::explain_cuda_tsmm<Kernel>(Kernel(1), tall, small, Kernel(0), other, kernels::Triangle::general, {})
        .text();
#else
    return is_inner_product ? kernels::explain_tsmttsm<Kernel>(k, m, n, layout)
                            : kernels::explain_tsmm<Kernel>(k, m, n, layout);
#endif
  });
}

enum class Verb { project, normalize };

nb::dict as_dict(const orth::Result& result) {
  nb::dict found;
  found["rank"] = result.rank;
  found["condition"] = result.condition_estimate;
  found["orthonormal"] = result.orthonormal;
  found["sweeps"] = result.sweeps;
  found["reductions"] = result.reductions;
  found["passes"] = result.passes;
  found["method"] = orth::to_string(result.method);
  found["reason"] = orth::to_string(result.reason);
  nb::list lost;
  for (const std::int64_t column : result.lost) lost.append(column);
  found["lost"] = lost;
  return found;
}

/// X becomes its projection, or orthonormal. R and, from `begin_of_s` on, S are written to `small`, by columns.
/// `source`: X is to be what this becomes, which stays as it is; without a basis and a metric.
nb::dict orthogonalize(Verb verb, const nb::tuple& given, const std::vector<Array>& basis,
                       const std::optional<Array>& source, const Writable& x, const Writable& small,
                       std::int64_t begin_of_s, const nb::object& metric, const nb::object& judge,
                       const std::string& method, int deficiency, std::uint64_t seed) {
  orth::Options options = orth_options(method);
  options.deficiency = static_cast<orth::Deficiency>(deficiency);
  options.seed = seed;
  const Call call = call_from(given);
  orth::Result result;
  with_types(call.type, call.by_rows, [&]<class Scalar, class Layout>() {
    using Vector = Tall<Scalar, Layout>;
    const Lease context(call);
    Conduct conduct;
    RowDistribution rows;
    conduct.without_lock([&] { rows = rows_of(*context, x); });
    Vector w = tall<Scalar, Layout>(*context, rows, x, "X");
    orth::Basis<Scalar, Layout, Space> v;
    for (const Array& piece : basis) {
      Vector columns = tall<Scalar, Layout>(*context, rows, piece, "basis");
      if (basis.size() == 1) std::tie(columns, w) = as_neighbours<Scalar, Layout>(columns, w);
      v = v.with(columns);
    }
    using View = typename Small<Scalar>::View;
    auto* const entries = entries_of<Scalar>(small);
    const Small<Scalar> r_matrix(*context, View(entries, w.width(), w.width()));
    const Small<Scalar> s_matrix(*context, View(entries + begin_of_s, v.width(), w.width()));
    auto* const s_given = basis.empty() ? nullptr : &s_matrix;
    orth::Metric<Scalar, Layout, Space> b;
    std::optional<solvers::AnyOperator<Vector>> b_operator;
    if (!metric.is_none()) {
      b_operator.emplace(operator_from<Vector>(context, rows, metric, conduct));
      if (rows.global_rows() > 0) judged(judge, "metric", *b_operator, conduct);
      b.apply = [&](const Vector& from, const Vector& to) {
        b_operator->apply(Scalar(1), Scalar(0), from, Scalar(0), to);
      };
    }
    auto* const b_given = metric.is_none() ? nullptr : &b;
    conduct.without_lock([&] {
      orth::Orthogonalizer orthogonalizer(*context, options);
      if (source) {
        result = orthogonalizer.normalize_into(tall<Scalar, Layout>(*context, rows, *source, "X"), w, &r_matrix);
      } else if (verb == Verb::project) {
        result = orthogonalizer.project(v, w, s_given, b_given);
      } else if (v.width() == 0) {
        result = orthogonalizer.normalize(w, &r_matrix, b_given);
      } else {
        result = orthogonalizer.project_and_normalize(v, w, s_given, &r_matrix, b_given);
      }
    });
  });
  return as_dict(result);
}

}  // namespace

void bind_dense(nb::module_& api) {
  using namespace nb::literals;
  api.def("inner_product", &inner_product_of, "call"_a, "v"_a.noconvert(), "w"_a.noconvert(), "c"_a.noconvert());
  api.def("update", &update_of, "call"_a, "alpha"_a, "v"_a.noconvert(), "c"_a.noconvert(), "beta"_a, "w"_a.noconvert());
  api.def("multiply_in_place", &multiply_in_place_of, "call"_a, "v"_a.noconvert(), "c"_a.noconvert(), "triangle"_a);
  api.def("explain_product", &explain_product);
  const auto bind = [&](const char* name, Verb verb) {
    api.def(
        name,
        [verb](const nb::tuple& call, const std::vector<Array>& basis, const std::optional<Array>& source,
               const Writable& x, const Writable& small, std::int64_t begin_of_s, const nb::object& metric,
               const nb::object& judge, const std::string& method, int deficiency, std::uint64_t seed) {
          return orthogonalize(verb, call, basis, source, x, small, begin_of_s, metric, judge, method, deficiency,
                               seed);
        },
        "call"_a, "basis"_a.noconvert(), "source"_a.noconvert().none(), "x"_a.noconvert(), "small"_a.noconvert(),
        "begin_of_s"_a, "metric"_a.none(), "judge"_a, "method"_a, "deficiency"_a, "seed"_a);
  };
  bind("project", Verb::project);
  bind("normalize", Verb::normalize);
}

}  // namespace blockvec::python
