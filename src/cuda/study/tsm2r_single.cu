#include "src/cuda/study/tsm2.cuh"

namespace blockvec::kernels::cuda::study {

template void tsm2r<float>(Tsm2rStep, const Tsm2Tiles&, const Tsm2Arguments<float>&, CUstream_st*);

}  // namespace blockvec::kernels::cuda::study
