#include "solvers/interior/interior.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_INTERIOR_LANCZOS, float)

}  // namespace blockvec::solvers
