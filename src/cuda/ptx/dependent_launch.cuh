#pragma once

/// Kernels that follow one another closely: the second one starts while the first one ends.
namespace blockvec::kernels::cuda {

/// A kernel that was launched to start early may start now.
__device__ inline void release_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the kernel before this one has ended and all that it wrote can be read.
__device__ inline void await_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace blockvec::kernels::cuda
