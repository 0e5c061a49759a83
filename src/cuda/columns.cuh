#pragma once

#include "src/cuda/pipeline.cuh"
#include "src/cuda/ring.cuh"

/// Column-major operands on their way into the stages of a ring: a chunk of rows is a piece of every column, and each
/// piece comes by a bulk copy of its own, whatever the columns' alignment.
namespace blockvec::kernels::cuda {

/// An operand; lengths and distances count real numbers.
template <class Real>
struct Columns {
  const Real* data;
  std::int64_t distance;  ///< from column to column
  std::int64_t length;    ///< of a column
  int count;              ///< columns of scalars
  int at_once;            ///< of them that a block takes
  int parts;              ///< real numbers of a scalar
  int pitch;              ///< from column to column in a stage: as `distance` modulo 16 bytes
  bool even;              ///< all columns begin at multiples of 16 bytes

  __host__ __device__ const Real* column(int j) const { return data + j * distance; }
  /// Numbers between the start of a stage and its first column, if that is column j.
  __device__ int shift(int j) const {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(column(j)) % line_bytes / sizeof(Real));
  }
};

/// A loading warp's view of it, from one column on.
template <class Real>
class ColumnFeeder {
 public:
  __device__ ColumnFeeder(const Columns<Real>& columns, int rows, int first)
      : columns_(columns),
        from_(columns.column(first)),
        numbers_(rows * columns.parts),
        width_(min(columns.at_once, columns.count - first)),
        shift_(columns.shift(first)) {
    bytes_ = 0;
    int lead = shift_ % unit;
    for (int j = 0; j < width_; ++j) bytes_ += bytes_of(next(lead));
  }

  /// By a warp: the chunk's pieces.
  __device__ void fill(std::uint32_t chunk, unsigned char* stage, Barrier& full) const {
    const std::int64_t first = static_cast<std::int64_t>(chunk) * numbers_;
#if __CUDA_ARCH__ >= 900
    // Bulk copies move whole multiples of 16 bytes; those that would leave the matrix are left to plain copies.
    const bool begins = chunk != 0 || shift_ % unit == 0;
    if (begins && first + numbers_ + (columns_.even ? 0 : unit) <= columns_.length) {
      if (elected()) {
        full.arrive_and_expect(bytes_);
        const Real* from = from_ + first;
        Real* to = reinterpret_cast<Real*>(stage) + shift_;
        int lead = shift_ % unit;
#pragma unroll 1
        for (int j = 0; j < width_; ++j) {
          const int own = next(lead);
          bulk_load(to - own, from - own, bytes_of(own), full);
          from += columns_.distance;
          to += columns_.pitch;
        }
      }
      __syncwarp();
      return;
    }
#endif
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) % warp_size; i < width_ * numbers_; i += warp_size) {
      const int j = i / numbers_;
      const std::int64_t row = first + i % numbers_;
      const bool valid = row < columns_.length;  // zeros come of what lies beyond
      async_copy<sizeof(Real)>(reinterpret_cast<Real*>(stage) + shift_ + j * columns_.pitch + i % numbers_,
                               valid ? from_ + j * columns_.distance + row : from_, valid);
    }
    full.await_copies();
    __syncwarp();
    if (elected()) full.arrive();
    __syncwarp();
  }

 private:
  static constexpr int unit = 16 / static_cast<int>(sizeof(Real));

  /// Numbers from the last multiple of 16 bytes to a column, whose place is taken by that of the next one.
  __device__ int next(int& lead) const {
    const int own = lead;
    lead = (lead + static_cast<int>(columns_.distance % unit)) % unit;
    return own;
  }
  __device__ unsigned bytes_of(int lead) const {
    return static_cast<unsigned>((lead + numbers_ + unit - 1) / unit * 16);
  }

  const Columns<Real>& columns_;
  const Real* from_;
  int numbers_;  ///< of a column in a chunk
  int width_;    ///< columns
  int shift_;    ///< numbers from the start of a stage
  unsigned bytes_;
};

}  // namespace blockvec::kernels::cuda
