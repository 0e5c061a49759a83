#include "src/cuda/spmmv/launch.cuh"

namespace blockvec::kernels::cuda {

template void launch_spmmv(const SpmmvCall<double>&, const dispatch::SpmmvConfiguration&, CUstream_st*);

}  // namespace blockvec::kernels::cuda
