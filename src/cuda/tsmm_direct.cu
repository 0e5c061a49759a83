#include <array>
#include <iterator>
#include <utility>

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tsmm_direct.cuh"
#include "src/dispatch/cuda_configuration.hpp"

namespace blockvec::kernels::cuda {
namespace {

constexpr auto& shapes = dispatch::tsmm_direct_shapes;
constexpr std::size_t count = std::size(shapes);

template <class Real, int parts, std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmmDirectKernel<Real>, count>{
      tsmm_direct_kernel<Real, parts, shapes[i].columns, shapes[i].rows, shapes[i].panel>...};
}

}  // namespace

template <class Real>
TsmmDirectKernel<Real> tsmm_direct_kernel_of(int parts, int columns, int rows, int panel) {
  static constexpr auto of_reals = all_kernels<Real, 1>(std::make_index_sequence<count>());
  static constexpr auto of_complex = all_kernels<Real, 2>(std::make_index_sequence<count>());
  for (std::size_t i = 0; i < count; ++i) {
    if (shapes[i].columns == columns && shapes[i].rows == rows && shapes[i].panel == panel) {
      return parts == 1 ? of_reals[i] : of_complex[i];
    }
  }
  return nullptr;
}

template TsmmDirectKernel<float> tsmm_direct_kernel_of(int, int, int, int);
template TsmmDirectKernel<double> tsmm_direct_kernel_of(int, int, int, int);

}  // namespace blockvec::kernels::cuda
