#pragma once

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// TMA tiles (boxes) of A, for all kernels of tsmm that load A in K slices (panels): any stride, either layout.
namespace blockvec::kernels::dispatch {

/// The number of classes of lines. Lines of a class are multiples of 16 bytes apart (src/cuda/operands/load_tma.cuh).
int box_classes(const CudaTsmmProblem& p);
/// Whether results go through shared memory, so that whole sectors of memory are written.
bool stages_results(const CudaTsmmProblem& p);
/// Whether tensor maps can describe A.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Whether pairs of neighbours in a row can be read at once, for 3xTF32.
bool boxes_split_serve(const CudaDevice& device, const CudaTsmmProblem& p);

/// The columns of B in a CTA tile (section) of `wide`. In place, the blocks of a cluster divide all of B's columns.
inline constexpr std::int64_t section_columns = 128;
inline constexpr int most_sections_in_place = 8;  ///< cluster size that every device supports
inline constexpr std::int64_t section_columns_in_place = 256;
inline constexpr std::int64_t most_columns_in_place = most_sections_in_place * section_columns_in_place;
/// Whether `wide` multiplies in place for all layouts and strides of these extents.
bool wide_serves_in_place(const CudaDevice& device, std::int64_t k, std::int64_t n);

/// Divides a block's shared memory among stages of `stage` bytes, at most `most` if the rules choose, and `beside`
/// bytes that stay besides them. Returns false if they do not fit.
bool fit_stages(const CudaDevice& device, std::int64_t beside, std::int64_t stage, std::int64_t most, Strided& c);
/// Sets the blocks and the workspace of a configuration that is complete otherwise.
void set_blocks(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c, int chunks_per_ticket = 1);
/// What all these kernels tell the model. They reach this share of the bandwidth of copies.
CudaWork work_of(const CudaDevice& device, const CudaTsmmProblem& p, const Strided& c, double share);

}  // namespace blockvec::kernels::dispatch
