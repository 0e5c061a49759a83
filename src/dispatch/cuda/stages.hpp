#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/dispatch/cuda/configuration.hpp"

/// Multistage pipelines (rings of stages) in shared memory: what the configurations of both products have in common.
namespace blockvec::kernels::dispatch {

/// Warps of a block of tsmttsm's ring that do not load. Of three whole warpgroups, one transposes B's rows.
constexpr int ring_warps(const RingTsmttsm& c) {
  if (c.whole_warpgroups()) return 3 * warpgroup_warps;
  return c.ring_3m() && !c.square() ? gauss_warps({c.tile_m, c.tile_n}) : computing_warps;
}
inline constexpr int static_bytes = 2048;  // barriers and the like
inline constexpr std::int64_t largest_pitch = 8192;
inline constexpr std::size_t workspace_alignment = 16;

/// The fewest rows of a row tile (chunk): a chunk is whole lines of memory, whatever its width.
constexpr int least_rows(int real_bytes) { return real_bytes == 8 ? 16 : 32; }

/// Whether rows are read in one flat piece. The gaps between them are then read too; they must be a small part.
constexpr bool streams(std::int64_t width, std::int64_t pitch) {
  return pitch != 0 && pitch <= largest_pitch && 8 * pitch <= 9 * width;
}

/// Rows of a row tile (chunk) of at most `chunk_bytes`. Where these make fewer than `chunks` chunks, chunks get
/// shorter, until they have at most `least_bytes`.
constexpr int chunk_rows(std::int64_t row_bytes, std::int64_t chunk_bytes, int real_bytes, std::int64_t k,
                         std::int64_t chunks, std::int64_t least_bytes = 0) {
  int rows = 1024;
  const int least = least_rows(real_bytes);
  while (rows > least && rows * row_bytes > chunk_bytes) rows /= 2;
  while (rows > least && rows * row_bytes > least_bytes && ceil_div(k, rows) < chunks) rows /= 2;
  return rows;
}

/// Chunks per ticket: a block takes chunks of about `bytes` bytes at a time. The default was measured on an H200.
constexpr int chunks_of_ticket(std::int64_t chunk_bytes, std::int64_t bytes = 32768) {
  return static_cast<int>(std::clamp<std::int64_t>((bytes + chunk_bytes / 2) / chunk_bytes, 1, 16));
}

/// Sets what tsmm's kernels with tickets have in the end: the ticket's chunks unless they are chosen, the blocks, of
/// which some run on a multiprocessor at a time, and the workspace for the ticket.
inline void set_tickets(const CudaDevice& device, std::int64_t chunks, int chunks_per_ticket, TsmmCommon& c,
                        int blocks_at_a_time = 1) {
  if (c.chunks_per_ticket == 0) c.chunks_per_ticket = chunks_per_ticket;
  c.blocks = std::min<std::int64_t>(chunks, blocks_at_a_time * device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
}

/// A configuration of tsmm whose tile is known.
template <class Configuration>
Configuration start(const TileShape& tile) {
  Configuration c{};
  c.blocks_n = tile.m;
  c.tile_n = tile.n;
  return c;
}

/// `stages`, at most max_stages, rounded down to a multiple of `groups`.
constexpr int whole_groups(std::int64_t stages, int groups) {
  return static_cast<int>(std::min<std::int64_t>(stages, max_stages) / groups * groups);
}

// TMA tiles (boxes) of A, for all kernels of tsmm that load A in K slices (panels): any stride, either layout.

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
