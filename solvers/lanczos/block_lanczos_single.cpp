#include <blockvec/instantiate.hpp>

#include "solvers/lanczos/block_lanczos.hpp"

namespace blockvec::solvers {

#define BLOCKVEC_BLOCK_LANCZOS(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> block_lanczos( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const LanczosOptions&, const Observer&);
BLOCKVEC_WITH_LAYOUTS(BLOCKVEC_BLOCK_LANCZOS, float)

}  // namespace blockvec::solvers
