#include "src/cuda/dense/gemm.cuh"

namespace blockvec::kernels::cuda {

template GemmKernel<float> gemm_kernel_of<float, true>(int);
template GemmKernel<double> gemm_kernel_of<double, true>(int);

}  // namespace blockvec::kernels::cuda
