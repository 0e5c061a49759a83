#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/load_tma.cuh"

/// Loads column-major operands into the stages of a pipeline. A row tile (chunk) is a piece of every column. Each piece
/// comes by a bulk copy of its own, or one TMA tile (box, load_tma.cuh) brings many pieces, which makes short pieces as
/// fast. In both cases a column may begin anywhere: in a stage it keeps its offset to a multiple of 16 bytes.
namespace blockvec::kernels::cuda {

/// A column-major operand. Lengths and distances count real numbers.
template <class Real>
struct Columns {
  const Real* data;
  std::int64_t distance;  ///< from column to column in memory
  std::int64_t length;    ///< of a column, the numbers of `before` included
  int before;             ///< numbers ahead of the first row, which are loaded as zeros
  int count;              ///< of columns of scalars
  int at_once;            ///< columns that a thread block takes
  int parts;              ///< real numbers per scalar
  int pitch;              ///< from column to column in a stage; equal to `distance` modulo 16 bytes
  bool even;              ///< all columns begin at multiples of 16 bytes
  int box;                ///< columns of a class in a TMA tile; 0: columns come one by one
  int classes;            ///< of columns in TMA tiles (load_tma.cuh), else 1
  int class_step;         ///< numbers from a class's first column to the next one's in a stage

  __host__ __device__ const Real* column(int j) const { return data + j * distance; }
  /// Numbers between the start of a stage and column j, where j is the first column in the stage.
  __device__ int shift(int j) const {
    if (box != 0) return 0;
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(column(j)) % line_bytes / sizeof(Real));
  }
  /// Numbers from the first column in a stage to column j there.
  __device__ int place(int j) const { return j % classes * class_step + j / classes * pitch; }
};

/// What one loading warp loads of such an operand, from column `first` on. The warp takes the column or TMA tile
/// numbered `own` and every `loading_warps`-th one after it.
template <class Real>
class ColumnFeeder {
 public:
  __device__ ColumnFeeder(const Columns<Real>& columns, const Boxes& boxes, int rows, int first, int own)
      : columns_(columns),
        boxes_(boxes),
        from_(columns.column(first)),
        first_(first),
        numbers_(rows * columns.parts),
        width_(min(columns.at_once, columns.count - first)),
        shift_(columns.shift(first)),
        own_(own) {
    if (columns.box != 0) {
      const int boxes_of_warp = (box_count() - own + loading_warps - 1) / loading_warps;
      bytes_ = static_cast<unsigned>(boxes_of_warp * columns.box * columns.pitch) * sizeof(Real);
    } else {
      for (int j = own; j < width_; j += loading_warps) bytes_ += bytes_of(lead(j));
    }
  }

  /// A bulk copy moves a multiple of 16 bytes. Where that would reach beyond the matrix, plain copies load the row
  /// tile.
  __device__ bool in_bulk(std::uint32_t chunk) const {
    if (chunk == 0 && columns_.before != 0) return false;
    const bool begins = chunk != 0 || shift_ % unit == 0;
    return columns_.box != 0 ||
           (begins && (chunk + std::int64_t{1}) * numbers_ + (columns_.even ? 0 : unit) <= columns_.length);
  }

  /// Bytes of the row tile that this warp loads by bulk copies.
  __device__ unsigned bytes() const { return bytes_; }

  /// One lane calls this.
  __device__ void start_bulk(std::uint32_t chunk, unsigned char* stage, Barrier& full) const {
    if (columns_.box != 0) {
      const int class_shift = boxes_.classes >> 1;  // log2 of 1, 2 or 4
      const int count = box_count();
      for (int i = own_; i < count; i += loading_warps) {
        const int c = i & (boxes_.classes - 1);
        const int line = (i >> class_shift) * columns_.box;
        Real* const to = reinterpret_cast<Real*>(stage) + c * columns_.class_step + line * columns_.pitch;
        tensor_load(to, boxes_.map[c], static_cast<int>(chunk) * numbers_, (first_ >> class_shift) + line, full);
      }
      return;
    }
    const Real* from = from_ + own_ * columns_.distance + static_cast<std::int64_t>(chunk) * numbers_;
    Real* to = reinterpret_cast<Real*>(stage) + shift_ + own_ * columns_.pitch;
#pragma unroll 1
    for (int j = own_; j < width_; j += loading_warps) {
      const int before = lead(j);
      bulk_load(to - before, from - before, bytes_of(before), full);
      from += loading_warps * columns_.distance;
      to += loading_warps * columns_.pitch;
    }
  }

  /// All lanes of the warp call this.
  __device__ void start_plain(std::uint32_t chunk, unsigned char* stage) const {
    const std::int64_t first = static_cast<std::int64_t>(chunk) * numbers_;
    const int count = (width_ - own_ + loading_warps - 1) / loading_warps * numbers_;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) % warp_size; i < count; i += warp_size) {
      const int j = own_ + i / numbers_ * loading_warps;
      const std::int64_t row = first + i % numbers_;
      const bool valid = row >= columns_.before && row < columns_.length;  // else the copy writes a zero
      async_copy<sizeof(Real)>(reinterpret_cast<Real*>(stage) + shift_ + j * columns_.pitch + i % numbers_,
                               valid ? from_ + j * columns_.distance + row : from_ + columns_.before, valid);
    }
  }

 private:
  static constexpr int unit = 16 / static_cast<int>(sizeof(Real));
  static constexpr int loading_warps = loading_threads / warp_size;

  /// TMA tiles of a row tile.
  __device__ int box_count() const {
    const int together = boxes_.classes * columns_.box;
    return (columns_.at_once + together - 1) / together * boxes_.classes;
  }
  /// Numbers from the last multiple of 16 bytes to column j.
  __device__ int lead(int j) const { return (shift_ + j * columns_.pitch) % unit; }
  __device__ unsigned bytes_of(int lead) const {
    return static_cast<unsigned>((lead + numbers_ + unit - 1) / unit * 16);
  }

  const Columns<Real>& columns_;
  const Boxes& boxes_;
  const Real* from_;
  int first_;
  int numbers_;  ///< of a column in a row tile
  int width_;    ///< columns in a stage
  int shift_;    ///< numbers from the start of a stage to its first column
  int own_;
  unsigned bytes_ = 0;
};

}  // namespace blockvec::kernels::cuda
