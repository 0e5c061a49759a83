#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// How fast a device is, as far as its driver says.
namespace blockvec::kernels::dispatch {

/// Attributes of a device in CUDA's units. Drivers of virtual devices, and later ones, may say 0.
struct CudaRates {
  int clock_khz;  ///< of multiprocessors
  int memory_clock_khz;
  int bus_bits;
};

/// Sets the clock and the bandwidths that kernels reach. What is not known is taken from an H200: its clock, and of its
/// bandwidth as much for each multiprocessor.
void set_rates(CudaDevice& device, const CudaRates& rates);

}  // namespace blockvec::kernels::dispatch
