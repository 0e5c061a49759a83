#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "src/cuda/check.cuh"
#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/launch.hpp"

namespace blockvec::kernels::cuda {
namespace {

// The version of the probe's code tells which of the compiled variants the driver takes on a device. Its launch bound
// tells whether that variant has the instructions that only 9.0 has (sm_90a).
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr int probe_threads = 64;
#else
constexpr int probe_threads = 32;
#endif
__global__ void __launch_bounds__(probe_threads) probe() {}
constexpr int threads_of_warpgroup_code = 64;

dispatch::CudaDevice query(int device, const Product& product) {
  const auto value = [&](cudaDeviceAttr which) {
    int found = 0;
    check(cudaDeviceGetAttribute(&found, which, device), product);
    return found;
  };
  const int major = value(cudaDevAttrComputeCapabilityMajor);
  const int minor = value(cudaDevAttrComputeCapabilityMinor);
  check_capability(device, major, minor, product);
  cudaFuncAttributes code{};
  check(cudaFuncGetAttributes(&code, probe), product);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), product);
  dispatch::CudaDevice found{value(cudaDevAttrMultiProcessorCount), value(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                             code.ptxVersion >= 90, properties.name, 10 * major + minor};
  found.warpgroups = code.maxThreadsPerBlock == threads_of_warpgroup_code;
  dispatch::set_rates(
      found, {value(cudaDevAttrClockRate), value(cudaDevAttrMemoryClockRate), value(cudaDevAttrGlobalMemoryBusWidth)});
  return found;
}

}  // namespace

std::string words(const Product& product) {
  return std::string(product.name) + " with K = " + std::to_string(product.k) + ", M = " + std::to_string(product.m) +
         ", N = " + std::to_string(product.n);
}

void check_capability(int device, int major, int minor, const Product& product) {
  if (major >= 8) return;
  throw CudaError(words(product) + ": device " + std::to_string(device) + " has compute capability " +
                  std::to_string(major) + "." + std::to_string(minor) + ": expected at least 8.0");
}

const dispatch::CudaDevice& current_device(const Product& product) {
  int device = 0;
  check(cudaGetDevice(&device), product);
  // Queries cost more than a short product, so each device is asked once.
  static std::mutex mutex;
  static std::map<int, dispatch::CudaDevice> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device);
  return found != known.end() ? found->second : known.emplace(device, query(device, product)).first->second;
}

void allow_shared_memory(const void* kernel, const dispatch::CudaDevice& device, const Product& product) {
  thread_local std::set<std::pair<const void*, int>> allowed;
  std::pair<const void*, int> on_device{kernel, 0};
  check(cudaGetDevice(&on_device.second), product);
  if (allowed.contains(on_device)) return;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), product);
  const int most = device.shared_bytes - static_cast<int>(attributes.sharedSizeBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most), product);
  allowed.insert(on_device);
}

}  // namespace blockvec::kernels::cuda
