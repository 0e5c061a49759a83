#include "solvers/jacobi_davidson/jacobi_davidson.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_JACOBI_DAVIDSON, double)

}  // namespace blockvec::solvers
