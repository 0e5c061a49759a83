#include <algorithm>
#include <array>

#include "src/dispatch/cuda/dense.hpp"

namespace blockvec::kernels::dispatch {
namespace {

/// What a block keeps in shared memory besides its stages: barriers, and room for the alignment of swizzled pieces.
constexpr int other_bytes = 1024 + 2 * (max_stages + hemm_exchanges) * 8;

int stages_in(const CudaDevice& device, int taken, int bytes) {
  return std::clamp((device.shared_bytes - other_bytes - taken) / bytes, 1, max_stages);
}

/// The compiled kernels.
int column_tiles(int columns) {
  constexpr std::array compiled{1, 2, 3, 4, 6, 8};
  return *std::find_if(compiled.begin(), compiled.end() - 1, [&](int tiles) { return 8 * tiles >= columns; });
}

}  // namespace

GemmConfiguration configure_gemm(const CudaDevice& device, const DenseLines& lines, bool by_rows, int columns) {
  const int piece = dense_piece(lines.real_bytes);
  GemmConfiguration c{};
  c.by_rows = by_rows;
  c.column_tiles = column_tiles(columns);
  c.tiles = ceil_div(by_rows ? lines.count : lines.length, gemm_rows);
  c.steps = ceil_div(by_rows ? lines.length : lines.count, piece);
  c.blocks = std::min<std::int64_t>(device.multiprocessors, c.tiles * c.steps);
  c.stage_bytes = gemm_rows * line_bytes;
  c.packed_bytes = piece * c.columns() * static_cast<int>(sizeof(double));
  c.stages = stages_in(device, 0, c.stage_bytes + c.packed_bytes);
  return c;
}

HemmConfiguration configure_hemm(const CudaDevice& device, const DenseLines& lines, int parts, bool lower,
                                 int columns) {
  HemmConfiguration c{};
  c.units = {lower, ceil_div(lines.count, hemm_lines), ceil_div(lines.length, hemm_panel),
             hemm_panel / parts / hemm_lines};
  c.column_tiles = columns <= 8 ? 1 : 2;
  c.blocks = std::min<std::int64_t>(device.multiprocessors, c.units.count());
  c.stage_bytes = hemm_lines * hemm_panel * lines.real_bytes;
  c.packed_bytes = hemm_lines * c.columns() * static_cast<int>(sizeof(double));
  c.exchange_bytes = computing_warps * c.packed_bytes;
  const auto stages_beside = [&](int exchanges) {
    return stages_in(device, exchanges * c.exchange_bytes, c.stage_bytes + c.packed_bytes);
  };
  // A strip that waits keeps the computing warps busy. It is worth more than a third stage, and less than a second one.
  c.exchanges = stages_beside(hemm_exchanges) >= 2 ? hemm_exchanges : 1;
  c.stages = stages_beside(c.exchanges);
  return c;
}

}  // namespace blockvec::kernels::dispatch
