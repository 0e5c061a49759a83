#include "src/dispatch/cuda/device.hpp"

namespace blockvec::kernels::dispatch {

void set_rates(CudaDevice& device, const CudaRates& rates) {
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
