#include "solvers/chebyshev/chebyshev.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_CHEBYSHEV, double)

}  // namespace blockvec::solvers
