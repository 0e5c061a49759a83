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

/// The clocks that products take on devices of a compute capability, in the form 90 for 9.0.
const CudaProductClocks& product_clocks_of(int capability);

/// Sets the clock rate, the bandwidths that kernels reach, and how fast products are made. Unknown values come from an
/// H200: its clock rate, and its bandwidth per multiprocessor.
void set_rates(CudaDevice& device, const CudaRates& rates);

}  // namespace blockvec::kernels::dispatch
