#include "solvers/lanczos/block_lanczos.hpp"

namespace blockvec::solvers {

BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_BLOCK_LANCZOS, Complex<float>)

}  // namespace blockvec::solvers
