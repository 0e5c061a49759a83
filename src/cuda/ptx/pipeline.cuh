#pragma once

#include <cuda.h>

#include <cstdint>

/// Asynchronous copies into shared memory and the barriers that say when they have arrived: thin wrappers of PTX.
namespace blockvec::kernels::cuda {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A number there.
__device__ inline float read_shared(std::uint32_t from) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
  return x;
}

/// For barriers whose addresses are kept: arrival, and the wait for the end of the phase of a parity.
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

/// Whether it has ended, as the warp's first lane sees it.
__device__ inline bool is_over(std::uint32_t barrier, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred done; mbarrier.test_wait.parity.shared.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return __shfl_sync(0xffffffffU, done, 0) != 0;
}

/// A barrier in shared memory whose phases alternate: a phase ends when all arrivals and all bytes announced are in.
class Barrier {
 public:
  __device__ void initialize(unsigned arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }

  __device__ void arrive() { arrive_at(address()); }

  /// One more arrival is awaited in this phase: that of all asynchronous copies that this thread has issued so far.
  __device__ void await_copies() {
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(address()) : "memory");
  }

  /// Waits for the end of the phase of this parity.
  __device__ void wait(unsigned parity) { wait_at(address(), parity); }

#if __CUDA_ARCH__ >= 900
  __device__ void arrive_and_expect(unsigned bytes) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }
#endif

 private:
  __device__ std::uint32_t address() const { return shared_address(&word_); }
  std::uint64_t word_;
};

/// Threads of one block that share `name` (1 to 15) wait for one another.
__device__ inline void meet(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

/// Shared memory that was written by plain stores, or is being read, may now be read or overwritten by bulk copies.
__device__ inline void publish_to_bulk_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Barriers that were initialised are visible to bulk copies.
__device__ inline void publish_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
/// Copies `bytes` (a multiple of 16, both addresses too) into shared memory; the barrier counts them.
__device__ inline void bulk_load(void* to, const void* from, unsigned bytes, Barrier& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}

/// Brings the same into the cache that all multiprocessors share.
__device__ inline void bulk_prefetch(const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

/// Copies a box of a matrix that a tensor map describes into shared memory (at a multiple of 128 bytes): numbers
/// `first` and on of lines `line` and on, zeros beyond the matrix; the barrier counts the bytes of the whole box.
__device__ inline void tensor_load(void* to, const CUtensorMap& map, int first, int line, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(&map), "r"(first), "r"(line), "r"(shared_address(&barrier))
      : "memory");
}
__device__ inline void tensor_prefetch(const CUtensorMap& map, int first, int line) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&map), "r"(first), "r"(line)
               : "memory");
}
#endif

/// Compute capability 8.0 has none: there, nothing comes of what follows.
#if __CUDA_ARCH__ >= 900
inline constexpr bool has_bulk_copies = true;
#else
inline constexpr bool has_bulk_copies = false;
#endif

/// The same of a matrix whose lines are cut into pieces: numbers of piece `piece` of lines `line` and on.
__device__ inline void tensor_load_piece(void* to, const CUtensorMap& map, int piece, int line, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(0), "r"(piece), "r"(line), "r"(shared_address(&barrier))
      : "memory");
}

/// Copies `bytes` (a multiple of 16, both addresses too) out of shared memory; see bulk_stores_have_read.
__device__ inline void bulk_store([[maybe_unused]] void* to, [[maybe_unused]] const void* from,
                                  [[maybe_unused]] unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/// Copies boxes of matrices that tensor maps describe out of shared memory, nothing beyond the matrix; they belong
/// together once commit_stores has followed.
__device__ inline void tensor_store(const CUtensorMap& map, int first, int line, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(first),
               "r"(line), "r"(shared_address(from))
               : "memory");
}
/// The same of one box by itself.
__device__ inline void store_box([[maybe_unused]] const CUtensorMap& map, [[maybe_unused]] int first,
                                 [[maybe_unused]] int line, [[maybe_unused]] const void* from) {
#if __CUDA_ARCH__ >= 900
  tensor_store(map, first, line, from);
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Waits until this thread's bulk stores have read shared memory, all but the last `pending`.
template <int pending>
__device__ inline void bulk_stores_have_read() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
#endif
}

/// Waits until this thread's bulk stores have reached memory.
__device__ inline void bulk_stores_are_done() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

/// Copies 4, 8 or 16 bytes into shared memory asynchronously, zeros after the first `from_bytes`.
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

/// The same of all bytes, or of none.
template <int bytes>
__device__ inline void async_copy(void* to, const void* from, bool valid) {
  async_copy_part<bytes>(to, from, valid ? bytes : 0);
}

/// This thread's copies so far are a group; waits for all groups but the last `pending`.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Registers per thread from here on: those of the loading warps go to the computing ones (sm_90a, sm_100a).
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
