#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// TMA tiles (boxes) of A, for all kernels of tsmm that load A in K slices (panels): any stride, either layout.
namespace blockvec::kernels::dispatch {

/// The fields of Strided and StridedTf32.
template <class C>
inline constexpr Field<C> strided_fields[] = {{"tile", &C::blocks_n, &C::tile_n},
                                              {"warps", &C::row_warps, &C::warps},
                                              {"groups", &C::groups},
                                              {"panel", &C::panel},
                                              {"staged", &C::staged},
                                              {"stages", &C::stages},
                                              {"ticket", &C::chunks_per_ticket}};

/// The number of classes of lines. Lines of a class are multiples of 16 bytes apart (src/cuda/operands/load_tma.cuh).
int box_classes(const CudaTsmmProblem& p);
/// Whether results go through shared memory, so that whole sectors of memory are written.
bool stages_results(const CudaTsmmProblem& p);
/// Whether tensor maps can describe A.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Sets the pitch of lines for panels of this width. Returns false if tensor maps cannot make such TMA tiles.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, Strided& c);
/// Bytes of a stage: its TMA tiles, and its K slice of C if C comes along.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const Strided& c);

}  // namespace blockvec::kernels::dispatch
