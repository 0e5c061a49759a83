// Products of NumPy arrays and their orthogonalisation. Arrays have been checked by _dense.py.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

#include <blockvec/kernels/explain.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/input_error.hpp>

#include "module.hpp"
#include "operators.hpp"
#include "runtime.hpp"

namespace blockvec::python {
namespace {

void inner_product_of(char type, bool by_rows, int threads, const Array& v, const Array& w, const Writable& c) {
  with_types(type, by_rows, [&]<class Scalar, class Layout>() {
    const nb::gil_scoped_release unlocked;
    const Lease context(threads);
    inner_product(tall<Scalar, Layout>(*context, v, "V"), tall<Scalar, Layout>(*context, w, "W"),
                  small<Scalar>(*context, c));
  });
}

void update_of(char type, bool by_rows, int threads, std::complex<double> alpha, const Array& v, const Array& c,
               std::complex<double> beta, const Writable& w) {
  with_types(type, by_rows, [&]<class Scalar, class Layout>() {
    const nb::gil_scoped_release unlocked;
    const Lease context(threads);
    update(scalar_from<Scalar>(alpha), tall<Scalar, Layout>(*context, v, "V"), small<Scalar>(*context, c),
           scalar_from<Scalar>(beta), tall<Scalar, Layout>(*context, w, "W"));
  });
}

void multiply_in_place_of(char type, bool by_rows, int threads, const Writable& v, const Array& c, int triangle) {
  with_types(type, by_rows, [&]<class Scalar, class Layout>() {
    const nb::gil_scoped_release unlocked;
    const Lease context(threads);
    multiply_in_place(tall<Scalar, Layout>(*context, v, "V"), small<Scalar>(*context, c),
                      static_cast<kernels::Triangle>(triangle));
  });
}

std::string explain_product(const std::string& kernel, char type, bool by_rows, std::int64_t k, std::int64_t m,
                            std::int64_t n) {
  const auto layout = by_rows ? kernels::Layout::row_major : kernels::Layout::column_major;
  return with_scalar(type, [&]<class Scalar>() {
    using Kernel = typename ScalarTraits<Scalar>::Kernel;
    return kernel == "tsmttsm" ? kernels::explain_tsmttsm<Kernel>(k, m, n, layout)
                               : kernels::explain_tsmm<Kernel>(k, m, n, layout);
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

/// X becomes its projection, or orthonormal; S (where there is a basis) and R are written.
nb::dict orthogonalize(Verb verb, char type, bool by_rows, int threads, nb::list basis, const Writable& x, nb::object s,
                       nb::object r, nb::object metric, const std::string& method, int deficiency, std::uint64_t seed) {
  orth::Options options;
  try {
    options = orth::parse_options(method);
  } catch (const Error& error) {
    throw solvers::InputError(error.what());
  }
  options.deficiency = static_cast<orth::Deficiency>(deficiency);
  options.seed = seed;
  orth::Result result;
  with_types(type, by_rows, [&]<class Scalar, class Layout>() {
    using Vector = BlockVector<Scalar, Layout>;
    const Lease context(threads);
    Conduct conduct;
    const Vector w = tall<Scalar, Layout>(*context, x, "X");
    orth::Basis<Scalar, Layout, DefaultSpace> v;
    for (nb::handle piece : basis) v = v.with(tall<Scalar, Layout>(*context, nb::cast<Array>(piece), "basis"));
    const auto optional_small = [&](const nb::object& given) {
      return given.is_none() ? SmallMatrix<Scalar>() : small<Scalar>(*context, nb::cast<Writable>(given));
    };
    const SmallMatrix<Scalar> s_matrix = optional_small(s), r_matrix = optional_small(r);
    orth::Metric<Scalar, Layout, DefaultSpace> b;
    std::optional<solvers::AnyOperator<Vector>> b_operator;
    if (!metric.is_none()) {
      b_operator.emplace(operator_from<Vector>(*context, w.rows(), metric, conduct));
      b.apply = [&](const Vector& from, const Vector& to) {
        b_operator->apply(Scalar(1), Scalar(0), from, Scalar(0), to);
      };
    }
    auto* const s_given = s.is_none() ? nullptr : &s_matrix;
    auto* const r_given = r.is_none() ? nullptr : &r_matrix;
    auto* const b_given = metric.is_none() ? nullptr : &b;
    conduct.without_lock([&] {
      orth::Orthogonalizer orthogonalizer(*context, options);
      if (verb == Verb::project) {
        result = orthogonalizer.project(v, w, s_given, b_given);
      } else if (v.width() == 0) {
        result = orthogonalizer.normalize(w, r_given, b_given);
      } else {
        result = orthogonalizer.project_and_normalize(v, w, s_given, r_given, b_given);
      }
    });
  });
  return as_dict(result);
}

}  // namespace

void bind_dense(nb::module_& module) {
  using namespace nb::literals;
  module.def("inner_product", &inner_product_of, "type"_a, "by_rows"_a, "threads"_a, "v"_a.noconvert(),
             "w"_a.noconvert(), "c"_a.noconvert());
  module.def("update", &update_of, "type"_a, "by_rows"_a, "threads"_a, "alpha"_a, "v"_a.noconvert(), "c"_a.noconvert(),
             "beta"_a, "w"_a.noconvert());
  module.def("multiply_in_place", &multiply_in_place_of, "type"_a, "by_rows"_a, "threads"_a, "v"_a.noconvert(),
             "c"_a.noconvert(), "triangle"_a);
  module.def("explain_product", &explain_product);
  const auto bind = [&](const char* name, Verb verb) {
    module.def(
        name,
        [verb](char type, bool by_rows, int threads, nb::list basis, const Writable& x, nb::object s, nb::object r,
               nb::object metric, const std::string& method, int deficiency, std::uint64_t seed) {
          return orthogonalize(verb, type, by_rows, threads, std::move(basis), x, std::move(s), std::move(r),
                               std::move(metric), method, deficiency, seed);
        },
        "type"_a, "by_rows"_a, "threads"_a, "basis"_a, "x"_a.noconvert(), "s"_a.none(), "r"_a.none(), "metric"_a.none(),
        "method"_a, "deficiency"_a, "seed"_a);
  };
  bind("project", Verb::project);
  bind("normalize", Verb::normalize);
}

}  // namespace blockvec::python
