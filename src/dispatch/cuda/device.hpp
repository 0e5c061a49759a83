#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// How fast a device is, from what its driver reports.
namespace blockvec::kernels::dispatch {

/// Attributes of a device in CUDA's units. Later drivers, and drivers of virtual devices, may report 0.
struct CudaRates {
  int clock_khz;  ///< clock rate of the multiprocessors
  int memory_clock_khz;
  int bus_bits;
};

/// Sets the clock rate, and the bandwidths that kernels reach. Unknown values come from an H200: its clock rate, and
/// its bandwidth per multiprocessor.
inline void set_rates(CudaDevice& device, const CudaRates& rates) {
  const CudaDevice h200{132, 232448, true, "NVIDIA H200"};
  device.clock = rates.clock_khz > 0 ? 0.95e3 * rates.clock_khz : h200.clock;
  const double interface = 2e3 * rates.memory_clock_khz * rates.bus_bits / 8;
  if (interface > 0) {
    // Kernels reach about 94 % of the interface's bandwidth when they read, and 86 % when they write as much.
    device.read_bandwidth = 0.94 * interface;
    device.copy_bandwidth = 0.86 * interface;
  } else {
    const double share = static_cast<double>(device.multiprocessors) / h200.multiprocessors;
    device.read_bandwidth = share * h200.read_bandwidth;
    device.copy_bandwidth = share * h200.copy_bandwidth;
  }
}

}  // namespace blockvec::kernels::dispatch
