#pragma once

#include "src/cuda/ptx/pipeline.cuh"

/// Thread blocks of a cluster. They run at the same time and can arrive at one another's barriers.
namespace blockvec::kernels::cuda {

__device__ inline unsigned rank_in_cluster() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Waits until all threads of the cluster that still run have called it. All lanes of a warp call it together.
__device__ inline void meet_in_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\n" ::
          : "memory");
}

/// Arrives at the barrier that stands at the same place in another block of the cluster.
__device__ inline void arrive_in_cluster(Barrier& barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(rank)
      : "memory");
}

/// Waits for the end of a phase in which other blocks of the cluster arrive.
__device__ inline void wait_for_cluster(Barrier& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

}  // namespace blockvec::kernels::cuda
