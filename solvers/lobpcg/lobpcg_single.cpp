#include "solvers/lobpcg/lobpcg.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_LOBPCG, float)

}  // namespace blockvec::solvers
