#include "src/dispatch/cuda/kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace blockvec::kernels::dispatch {
namespace {

#include "cuda_compiled.inc"

template <std::size_t count, class... Numbers>
bool is_among(const CompiledKernel (&compiled)[count], int real_bytes, Numbers... numbers) {
  const std::array<int, 4> key{static_cast<int>(numbers)...};
  return std::any_of(compiled, compiled + count, [&](const CompiledKernel& kernel) {
    return kernel.real_bytes == real_bytes && std::equal(key.begin(), key.end(), kernel.key);
  });
}

}  // namespace

bool has_kernel(const CudaTsmttsmProblem& p, const CudaTsmttsm& x) {
  const bool by_columns = !p.row_major;
  const auto is_in = [&](const auto& compiled, auto... numbers) {
    return is_among(compiled, p.real_bytes, numbers...);
  };
  if (p.parts == 1 && x.complex_tiles()) return false;
  switch (x.kernel) {
    case TsmttsmKernel::ring:
      return is_in(tsmttsm_ring_compiled, x.tile_m, x.tile_n, by_columns);
    case TsmttsmKernel::ring_3m:
      return is_in(tsmttsm_ring_3m_compiled, x.tile_m, x.tile_n, by_columns);
    case TsmttsmKernel::square_3m:
      return is_in(tsmttsm_square_3m_compiled, x.tile_m, by_columns);
    case TsmttsmKernel::gram:
      return p.same && is_in(tsmttsm_gram_compiled, x.tile_m, by_columns);
    case TsmttsmKernel::gram_wide:
      return p.same;
    case TsmttsmKernel::fma:
      return by_columns && !p.same && is_in(tsmttsm_fma_compiled, x.tile_n, p.parts);
    case TsmttsmKernel::gram_fma:
      return p.same && is_in(tsmttsm_gram_fma_compiled, x.tile_n, by_columns, p.parts);
    case TsmttsmKernel::tf32_warpgroup:
      return is_in(tsmttsm_tf32_warpgroup_compiled, x.tile_m, x.tile_n, by_columns, by_columns);
    case TsmttsmKernel::tf32_3m_warpgroup:
      return is_in(tsmttsm_tf32_3m_warpgroup_compiled, x.tile_m, x.tile_n, by_columns);
    case TsmttsmKernel::direct:  // all neighbours are there, or none
      return is_in(tsmttsm_direct_compiled, x.tile_m, x.tile_n, Neighbours::none);
    case TsmttsmKernel::none:
      break;
  }
  return false;
}

bool has_kernel(const CudaTsmmProblem& p, const CudaTsmm& x) {
  const bool by_columns = !p.row_major;
  const bool real_double = p.real_bytes == 8 && p.parts == 1;
  const bool complex_double = p.real_bytes == 8 && p.parts == 2;
  const auto is_in = [&](const auto& compiled, auto... numbers) {
    return is_among(compiled, p.real_bytes, numbers...);
  };
  switch (x.kernel) {
    case TsmmKernel::row_ring:
      return is_in(tsmm_row_ring_compiled, x.tile_n, x.blocks_n);
    case TsmmKernel::row_ring_tf32:
      return is_in(tsmm_row_ring_tf32_compiled, x.tile_n, x.blocks_n);
    case TsmmKernel::row_fma:
      return is_in(tsmm_row_fma_compiled, x.blocks_n);
    case TsmmKernel::row_deep:
      return is_in(tsmm_row_deep_compiled, x.tile_n, deep_columns(p.m));
    case TsmmKernel::column_ring:
      return is_in(tsmm_column_ring_compiled, x.blocks_n, x.tile_n, p.parts);
    case TsmmKernel::column_tf32:
      return is_in(tsmm_column_tf32_compiled, x.blocks_n, x.tile_n, p.parts);
    case TsmmKernel::column_fma:
      return is_in(tsmm_column_fma_compiled, x.blocks_n, x.tile_n, p.parts);
    case TsmmKernel::strided:
    case TsmmKernel::strided_plain:
      return is_in(tsmm_strided_compiled, x.blocks_n, x.tile_n);
    case TsmmKernel::strided_3m:
      return complex_double && is_in(tsmm_strided_3m_compiled, x.blocks_n, x.tile_n, by_columns);
    case TsmmKernel::strided_tf32:
      return is_in(tsmm_strided_tf32_compiled, x.blocks_n, x.tile_n, p.parts);
    case TsmmKernel::registers_3m:
      return complex_double && is_in(tsmm_registers_3m_compiled, x.blocks_n, x.tile_n, by_columns);
    case TsmmKernel::wide:
      return is_in(tsmm_wide_compiled, x.blocks_n, x.tile_n);
    case TsmmKernel::per_warp:
      return is_in(tsmm_per_warp_compiled, x.blocks_n, x.tile_n);
    case TsmmKernel::per_warp_tf32:
      return is_in(tsmm_per_warp_tf32_compiled, x.blocks_n, x.tile_n);
    case TsmmKernel::tf32_warpgroup:
      return is_in(tsmm_tf32_warpgroup_compiled, x.tile_n, p.pitch_a % 2 == 0, p.reads_output, p.parts);
    case TsmmKernel::short_k:
      return real_double && is_in(tsmm_short_k_compiled, x.blocks_n, x.tile_n);
    case TsmmKernel::direct:
      return is_in(tsmm_direct_compiled, x.blocks_n, x.tile_n, x.panel, p.parts);
    case TsmmKernel::general:
      return true;
    case TsmmKernel::none:
      break;
  }
  return false;
}

}  // namespace blockvec::kernels::dispatch
