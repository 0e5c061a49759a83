#include "src/cuda/study/tsm2.cuh"

namespace blockvec::kernels::cuda::study {

template void tsm2l<float>(Tsm2lOrder, const Tsm2Tiles&, std::int64_t, const Tsm2Arguments<float>&, CUstream_st*);

}  // namespace blockvec::kernels::cuda::study
