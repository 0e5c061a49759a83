#pragma once

#include <nanobind/nanobind.h>

namespace blockvec::python {

void bind_dense(nanobind::module_& api);  ///< products and orthogonalisation
void bind_solve(nanobind::module_& api);  ///< eigensolvers

}  // namespace blockvec::python
