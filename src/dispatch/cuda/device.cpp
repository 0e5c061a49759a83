#include <iterator>

#include "src/dispatch/cuda/configuration.hpp"

namespace blockvec::kernels::dispatch {
namespace {

struct ProductClocks {
  int capability;
  CudaProductClocks clocks;
};

// 2048 products by the products that a multiprocessor makes in a clock. These follow from the peak rates that NVIDIA's
// whitepapers and data sheets state, by multiprocessors and clock rate. Public benchmarks of RTX 3090 and RTX 4090
// measure 2 FMA of double precision a clock, too. Where there are 2, tensor instructions of double precision are taken
// to be as slow: they exist only for compatibility ("NVIDIA Ampere GA102 GPU Architecture"). TF32 is that of mma.sync,
// since wgmma runs on 9.0 only: it was measured on 9.0, and on 10.x it is taken to be as fast as on 8.0.
constexpr ProductClocks known_clocks[] = {
    //       products a clock: f64_fma, f64_tensor, f32_fma, tf32_tensor (3 of them a product)
    {80, {64, 32, 32, 12}},        // 32, 64, 64, 512: A100, 9.7, 19.5, 19.5 and 156 TF
    {86, {1024, 1024, 16, 48}},    // 2, 2, 128, 128: RTX 3090, 0.56, 0.56, 35.6 and 35.6 TF
    {87, {1024, 1024, 16, 24}},    // 2, 2, 128, 256: Orin
    {89, {1024, 1024, 16, 48}},    // 2, 2, 128, 128: RTX 4090, 1.3, 1.3, 82.6 and 82.6 TF
    {90, h200_product_clocks},     // 64, 128, 128, 614: H200, 34, 67, 67 TF
    {100, {32, 32, 16, 12}},       // 64, 64, 128, 512: B200, 40, 40 and 80 TF
    {103, {1024, 1024, 16, 12}},   // 2, 2, 128, 512: B300, 1.2, 1.2 and 77 TF
    {120, {1024, 1024, 16, 48}}};  // 2, 2, 128, 128: RTX 5090, 1.6, 1.6, 105 and 105 TF

}  // namespace

// Between known ones, and beyond the last, most devices are like the one before: 12.1 is like 12.0, 11.0 like 10.3.
const CudaProductClocks& product_clocks_of(int capability) {
  const ProductClocks* found = std::begin(known_clocks);
  for (const ProductClocks& known : known_clocks) {
    if (known.capability <= capability) found = &known;
  }
  return found->clocks;
}

void set_rates(CudaDevice& device, const CudaRates& rates) {
  const CudaDevice h200{132, 232448, true, "NVIDIA H200"};
  device.product_clocks = product_clocks_of(device.capability);
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
