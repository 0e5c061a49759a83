#pragma once

#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstdint>
#include <string>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/launch.hpp"

namespace blockvec::kernels::cuda {

/// Throws CudaError with the product and its shape if a CUDA call failed.
inline void check(cudaError_t error, const Product& product) {
  if (error == cudaSuccess) return;
  throw CudaError(words(product) + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error));
}

/// Throws Error with the product and the configuration if the configuration's kernel is not compiled for the problem.
template <class Problem, class Configuration>
void require_kernel(const Problem& problem, const Configuration& configuration, const Product& product) {
  if (dispatch::is_compiled(problem, configuration)) return;
  throw Error(words(product) + ": no kernel of this type for \"" + dispatch::name_of(configuration->kernel) + ' ' +
              dispatch::words(configuration) + '"');
}

/// Whether a kernel may begin while the previous one on the stream still runs. If so, it must wait
/// (await_previous_kernel) before it reads what that kernel writes. Code for compute capability 8.0 has no such wait:
/// where it runs, on newer devices too, kernels begin after the previous ones.
enum class Start : std::uint8_t { after_previous, early };

/// The thread blocks of a kernel, and the number of blocks in each cluster.
struct Grid {
  std::int64_t blocks;
  int of_cluster = 1;
};

/// Lets a kernel have as much dynamic shared memory as `device`, the current one, allows. A thread asks CUDA once for
/// each kernel and device: cudaDeviceReset would undo it unseen. All threads set the same limit. A graph that is being
/// captured does not record it.
void allow_shared_memory(const void* kernel, const dispatch::CudaDevice& device, const Product& product);

/// Launches the kernels of a call, one after the other, with any amount of shared memory. `device` is the current one.
struct Launcher {
  const Product& operation;
  cudaStream_t stream;
  const dispatch::CudaDevice& device;

  template <class... Arguments>
  void launch(Start start, void (*kernel)(Arguments...), const Grid& grid, int threads, int shared_bytes,
              Arguments... arguments) const {
    const auto* const function = reinterpret_cast<const void*>(kernel);
    // 48 KB need no permission, but a kernel's static shared memory counts, too.
    if (shared_bytes > 40 * 1024) allow_shared_memory(function, device, operation);
    cudaLaunchAttribute attributes[2]{};
    cudaLaunchConfig_t configuration{};
    configuration.attrs = attributes;
    if (start == Start::early && device.bulk_copies) {
      cudaLaunchAttribute& early = attributes[configuration.numAttrs++];
      early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      early.val.programmaticStreamSerializationAllowed = 1;
    }
    if (grid.of_cluster > 1) {
      cudaLaunchAttribute& cluster = attributes[configuration.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {static_cast<unsigned>(grid.of_cluster), 1, 1};
    }
    configuration.gridDim = dim3(static_cast<unsigned>(grid.blocks));
    configuration.blockDim = dim3(static_cast<unsigned>(threads));
    configuration.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    configuration.stream = stream;
    void* pointers[] = {&arguments...};
    check(cudaLaunchKernelExC(&configuration, function, pointers), operation);
  }

  template <class... Arguments>
  void launch_early(void (*kernel)(Arguments...), const Grid& grid, int threads, int shared_bytes,
                    Arguments... arguments) const {
    launch(Start::early, kernel, grid, threads, shared_bytes, arguments...);
  }
};

/// The first place of a workspace that is aligned to 16 bytes.
template <class T>
T* workspace_start(const CudaExecution& execution) {
  const auto start = reinterpret_cast<std::uintptr_t>(execution.workspace.data());
  return reinterpret_cast<T*>((start + 15) / 16 * 16);
}

}  // namespace blockvec::kernels::cuda
