#include "src/cuda/study/tsm2.cuh"

namespace blockvec::kernels::cuda::study {

template void tsm2l<double>(Tsm2lOrder, const Tsm2Tiles&, std::int64_t, const Tsm2Arguments<double>&, CUstream_st*);

}  // namespace blockvec::kernels::cuda::study
