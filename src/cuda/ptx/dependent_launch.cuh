#pragma once

/// Programmatic dependent launch: the next kernel starts while this one ends.
namespace blockvec::kernels::cuda {

/// Allows the next kernel to start now if it was launched to start early.
__device__ inline void release_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the previous kernel has ended and all that it wrote can be read.
__device__ inline void await_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace blockvec::kernels::cuda
