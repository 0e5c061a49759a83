#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/pipeline.cuh"

/// Loads lines of an operand by cp.async. Lines are the rows of a row-major matrix or the columns of a column-major
/// one. Alignment and distance are free, and where lines are short this is faster than TMA tiles.
namespace blockvec::kernels::cuda {

/// Brings a cache line into L2, which all multiprocessors share: it stays valid there whatever is written meanwhile.
__device__ inline void prefetch_line(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

template <class Real>
struct PlainLines {
  const Real* data;
  std::int64_t distance;
  std::int64_t length;  ///< real numbers of a line
  std::int64_t count;
  int copy_bytes;     ///< 16, 8 or 4: the largest copy for which all lines are aligned
  int sharing_lanes;  ///< lanes that copy a line together
};

/// Copies `width` numbers of each of `lines` lines to `to`, from number `first` and line `line` on. Lines in `to` are
/// `pitch` numbers apart; what lies beyond the matrix becomes zero. `threads` threads call this.
template <int copy_bytes, int threads, class Real>
__device__ inline void copy_lines(const PlainLines<Real>& from, std::int64_t line, int lines, std::int64_t first,
                                  int width, Real* to, int pitch, int thread) {
  constexpr int at_a_time = copy_bytes / static_cast<int>(sizeof(Real));
  const int lanes = from.sharing_lanes;
  const int step = threads / lanes;
  const int place = thread % lanes * at_a_time;
  const int valid_lines = static_cast<int>(min(from.count - line, static_cast<std::int64_t>(lines)));
  const int valid = static_cast<int>(min(from.length - first, static_cast<std::int64_t>(width)));
  int i = thread / lanes;
  const Real* source = from.data + (line + i) * from.distance + first + place;
  const std::int64_t source_step = step * from.distance;
  Real* target = to + i * pitch + place;
  if (valid_lines == lines && width <= lanes * at_a_time) {  // then a thread copies as many numbers of every line
    const int numbers = min(max(valid - place, 0), at_a_time);
    if (place >= width) return;
    if (numbers == 0) source = from.data;
    const std::int64_t to_next = numbers == 0 ? 0 : source_step;
#pragma unroll 8
    for (; i < lines; i += step, source += to_next, target += step * pitch) {
      async_copy_part<copy_bytes>(target, source, numbers * static_cast<int>(sizeof(Real)));
    }
    return;
  }
#pragma unroll 4
  for (; i < lines; i += step, source += source_step, target += step * pitch) {
    for (int j = 0; place + j < width; j += lanes * at_a_time) {
      const int numbers = i < valid_lines ? min(max(valid - place - j, 0), at_a_time) : 0;
      async_copy_part<copy_bytes>(target + j, numbers > 0 ? source + j : from.data,
                                  numbers * static_cast<int>(sizeof(Real)));
    }
  }
}

template <int threads, class Real>
__device__ inline void copy_lines(const PlainLines<Real>& from, std::int64_t line, int lines, std::int64_t first,
                                  int width, Real* to, int pitch, int thread) {
  if (from.copy_bytes == 16) {
    copy_lines<16, threads>(from, line, lines, first, width, to, pitch, thread);
  } else if (sizeof(Real) == 8 || from.copy_bytes == 8) {
    copy_lines<8, threads>(from, line, lines, first, width, to, pitch, thread);
  } else {
    copy_lines<static_cast<int>(sizeof(Real)), threads>(from, line, lines, first, width, to, pitch, thread);
  }
}

}  // namespace blockvec::kernels::cuda
