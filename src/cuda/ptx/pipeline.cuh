#pragma once

#include <cuda.h>

#include <cstdint>

/// Thin wrappers of PTX: asynchronous copies into shared memory, the barriers that tell when they have arrived, and
/// programmatic dependent launch, by which the next kernel starts while this one ends.
namespace blockvec::kernels::cuda {

inline constexpr int warp_size = 32;

/// Compute capability 8.0 has no bulk copies and no dependent launch. There, functions that need them do nothing, or
/// nobody calls them.
#if __CUDA_ARCH__ >= 900
inline constexpr bool has_bulk_copies = true;
#else
inline constexpr bool has_bulk_copies = false;
#endif

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Reads a number at an address in shared memory.
__device__ inline float read_shared(std::uint32_t from) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
  return x;
}

/// arrive_at and wait_at serve barriers whose addresses the caller keeps. wait_at waits for the end of the phase of
/// this parity.
__device__ inline void arrive_at(std::uint32_t barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier) : "memory");
}
__device__ inline void wait_at(std::uint32_t barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
#if __CUDA_ARCH__ >= 900
      "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
#else
      "mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
#endif
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Whether the phase has ended, as the warp's first lane sees it.
__device__ inline bool is_over(std::uint32_t barrier, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred done; mbarrier.test_wait.parity.shared.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return __shfl_sync(0xffffffffU, done, 0) != 0;
}

/// Allows the next kernel to start now if it was launched to start early.
__device__ inline void release_next_kernel() {
  if constexpr (has_bulk_copies) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Waits until the previous kernel has ended and all that it wrote can be read.
__device__ inline void await_previous_kernel() {
  if constexpr (has_bulk_copies) asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// True in one lane of the warp, always the same one. The instruction is cheaper than to remember which lane it is.
__device__ inline bool elected() {
#if __CUDA_ARCH__ >= 900
  unsigned chosen = 0;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
  return chosen != 0;
#else
  return threadIdx.x % warp_size == 0;
#endif
}

/// After this, bulk copies may read or overwrite shared memory that plain stores wrote or that threads were reading.
__device__ inline void publish_to_bulk_copies() {
  if constexpr (has_bulk_copies) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// One lane arrives for its warp, once all lanes are done.
__device__ inline void arrive_as_warp(std::uint32_t barrier) {
  __syncwarp();
  if (elected()) arrive_at(barrier);
}

/// A barrier in shared memory with alternating phases: a phase ends when all arrivals and all announced bytes are in.
class Barrier {
 public:
  __device__ void initialize(unsigned arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }

  __device__ void arrive() { arrive_at(address()); }
  __device__ void arrive_as_warp() { cuda::arrive_as_warp(address()); }

  /// Every thread of a ring, or one lane for its warp, gives a stage back to bulk copies. An arrival alone lets the
  /// next copy overtake reads of the stage that are still under way.
  __device__ void give_back() {
    publish_to_bulk_copies();
    arrive();
  }
  __device__ void give_back_as_warp() {
    publish_to_bulk_copies();
    arrive_as_warp();
  }

  /// Adds an arrival to this phase: it comes when all asynchronous copies of this thread so far have arrived.
  __device__ void await_copies() {
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(address()) : "memory");
  }

  /// Waits until the phase of this parity ends.
  __device__ void wait(unsigned parity) { wait_at(address(), parity); }

  __device__ void arrive_and_expect(unsigned bytes) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }

 private:
  __device__ std::uint32_t address() const { return shared_address(&word_); }
  std::uint64_t word_;
};

/// Waits until `threads` threads of the block have called meet with the same `name` (1 to 15).
__device__ inline void meet(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

/// After this, bulk copies see the barriers that were initialised.
__device__ inline void publish_barriers() {
  if constexpr (has_bulk_copies) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Copies `bytes` bytes into shared memory. They and both addresses are multiples of 16; the barrier counts the bytes.
__device__ inline void bulk_load(void* to, const void* from, unsigned bytes, Barrier& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}

/// A cache policy for what is read once: it displaces nothing else from the L2 cache.
__device__ inline std::uint64_t evict_first() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// Brings `bytes` bytes into the L2 cache, which all multiprocessors share.
__device__ inline void bulk_prefetch(const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

/// Copies a TMA tile into shared memory, to a multiple of 128 bytes: numbers `first` and on of lines `line` and on.
/// What lies beyond the matrix becomes zero. The barrier counts the bytes of the whole TMA tile.
__device__ inline void tensor_load(void* to, const CUtensorMap& map, int first, int line, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(&map), "r"(first), "r"(line), "r"(shared_address(&barrier))
      : "memory");
}
/// The same with a cache policy.
__device__ inline void tensor_load(void* to, const CUtensorMap& map, int first, int line, Barrier& barrier,
                                   std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, "
      "%3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(&map), "r"(first), "r"(line), "r"(shared_address(&barrier)), "l"(policy)
      : "memory");
}
__device__ inline void tensor_prefetch(const CUtensorMap& map, int first, int line) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&map), "r"(first), "r"(line)
               : "memory");
}

/// Copies a TMA tile of a matrix whose lines are cut into pieces: the numbers of piece `piece` of lines `line` and on.
__device__ inline void tensor_load_piece(void* to, const CUtensorMap& map, int piece, int line, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(0), "r"(piece), "r"(line), "r"(shared_address(&barrier))
      : "memory");
}

/// Copies `bytes` bytes out of shared memory; they and both addresses are multiples of 16. See bulk_stores_have_read.
__device__ inline void bulk_store(void* to, const void* from, unsigned bytes) {
  if constexpr (!has_bulk_copies) return;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Copies a TMA tile out of shared memory and writes nothing beyond the matrix.
__device__ inline void store_box(const CUtensorMap& map, int first, int line, const void* from) {
  if constexpr (!has_bulk_copies) return;
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(first),
               "r"(line), "r"(shared_address(from))
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all bulk stores of this thread have read shared memory.
__device__ inline void bulk_stores_have_read() {
  if constexpr (has_bulk_copies) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/// Waits until this thread's bulk stores have reached memory.
__device__ inline void bulk_stores_are_done() {
  if constexpr (has_bulk_copies) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Copies 4, 8 or 16 bytes into shared memory asynchronously; bytes after the first `from_bytes` become zero.
template <int bytes>
__device__ inline void async_copy_part(void* to, const void* from, int from_bytes) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(from_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(bytes),
                 "r"(from_bytes)
                 : "memory");
  }
}

/// Copies all bytes if `valid`, else writes zeros.
template <int bytes>
__device__ inline void async_copy(void* to, const void* from, bool valid) {
  async_copy_part<bytes>(to, from, valid ? bytes : 0);
}

/// commit_copies makes a group of this thread's copies so far; await_copies waits for all groups except the last
/// `pending`.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Sets the registers per thread from here on. The loading warps give theirs to the computing warps (sm_90a, sm_100a).
template <int count>
__device__ inline void take_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
#endif
}
template <int count>
__device__ inline void give_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
#endif
}

}  // namespace blockvec::kernels::cuda
