#include "solvers/jacobi_davidson/jacobi_davidson.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_JACOBI_DAVIDSON, Complex<double>)

}  // namespace blockvec::solvers
