#include "src/cuda/tsmm_columns_instances.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmmColumnsKernels<float> tsmm_columns_kernels_of<float>(int parts, int tile_m, int tile_n, bool tf32) {
  return tf32 ? columns_kernels_of<float, true>(parts, tile_m, tile_n)
              : columns_kernels_of<float, false>(parts, tile_m, tile_n);
}

}  // namespace blockvec::kernels::cuda
