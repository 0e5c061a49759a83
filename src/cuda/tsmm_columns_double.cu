#include "src/cuda/tsmm_columns_instances.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmmColumnsKernels<double> tsmm_columns_kernels_of<double>(int parts, int tile_m, int tile_n, bool) {
  return columns_kernels_of<double, false>(parts, tile_m, tile_n);
}

}  // namespace blockvec::kernels::cuda
