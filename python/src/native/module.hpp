#pragma once

#include <nanobind/nanobind.h>

namespace blockvec::python {

void bind_dense(nanobind::module_& module);  ///< products and orthogonalisation
void bind_solve(nanobind::module_& module);  ///< eigensolvers

}  // namespace blockvec::python
