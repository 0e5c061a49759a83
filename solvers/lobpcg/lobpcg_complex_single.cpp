#include "solvers/lobpcg/lobpcg.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_LOBPCG, Complex<float>)

}  // namespace blockvec::solvers
