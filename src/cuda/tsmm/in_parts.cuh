#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "src/cuda/check.cuh"
#include "src/cuda/operands/views.cuh"
#include "src/dispatch/cuda/calls.hpp"

/// Products of tsmm in parts: the host loop, and the kernel that copies what the parts need or leave.
namespace blockvec::kernels::cuda {

/// What copy_runs_kernel copies: rows of a row-major matrix, or columns of a column-major one (runs), in real numbers.
/// The entries of a triangle are copied, where `half` names one: upper means those at or behind the run's own number.
/// Zeros take the others' places.
template <class Real>
struct CopiedRuns {
  Real* to;
  const Real* from;
  std::int64_t to_distance, from_distance;  ///< numbers from run to run
  std::int64_t runs, length;
  Half half;
  int parts;  ///< real numbers of an entry, 1 or 2
  Condition condition;
};

constexpr int copying_threads = 256;
constexpr int copied_at_a_time = 1024;

/// A warp copies copied_at_a_time numbers of a run at a time.
template <class Real>
__global__ void __launch_bounds__(copying_threads) copy_runs_kernel(const CopiedRuns<Real> p) {
  if (!p.condition.holds()) return;
  constexpr int warps = copying_threads / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t sections = ceil_div(p.length, copied_at_a_time);
  for (std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; i < p.runs * sections;
       i += std::int64_t{gridDim.x} * warps) {
    const std::int64_t run = i / sections;
    const std::int64_t first = i % sections * copied_at_a_time;
    const int count = static_cast<int>(min(p.length - first, std::int64_t{copied_at_a_time}));
    Real* const to = p.to + run * p.to_distance + first;
    const Real* const from = p.from + run * p.from_distance + first;
#pragma unroll 8
    for (int j = lane; j < count; j += 32) {
      const std::int64_t entry = (first + j) >> (p.parts - 1);
      const bool counts = p.half == Half::none || (p.half == Half::upper ? run <= entry : run >= entry);
      to[j] = counts ? from[j] : Real(0);
    }
  }
}

template <class T>
void copy(const Matrix<const T>& from, const Matrix<T>& to, Triangle triangle, Condition condition,
          const Launcher& launcher) {
  constexpr int parts = parts_of<T>;
  const bool rows = from.layout == Layout::row_major;
  Half half = small(from, triangle).half;
  if (!rows && half != Half::none) half = half == Half::upper ? Half::lower : Half::upper;
  const std::int64_t runs = rows ? from.rows : from.columns, length = parts * (rows ? from.columns : from.rows);
  const CopiedRuns<real_t<T>> p{real_data(to), real_data(from), parts * to.ld, parts * from.ld, runs, length,
                                half,          parts,           condition};
  const std::int64_t warps = p.runs * ceil_div(p.length, copied_at_a_time);
  const Grid grid{std::min<std::int64_t>(ceil_div(warps, copying_threads / 32), 1 << 16)};
  launcher.launch(Start::after_previous, copy_runs_kernel<real_t<T>>, grid, copying_threads, 0, p);
}

template <class T>
Matrix<T> piece_of(const Matrix<T>& a, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  const bool by_rows = a.layout == Layout::row_major;
  return {a.data + (by_rows ? row * a.ld + column : row + column * a.ld), rows, columns, a.ld, a.layout};
}

/// Takes memory for a matrix from the beginning of the workspace.
template <class T>
Matrix<T> take(std::span<std::byte>& workspace, std::int64_t rows, std::int64_t columns, Layout layout) {
  constexpr std::uintptr_t sector = 32;
  const auto start = reinterpret_cast<std::uintptr_t>(workspace.data());
  const std::size_t gap = (start + sector - 1) / sector * sector - start;
  T* const taken = reinterpret_cast<T*>(workspace.data() + gap);
  workspace = workspace.subspan(gap + static_cast<std::size_t>(rows * columns) * sizeof(T));
  return {taken, rows, columns, layout == Layout::row_major ? columns : rows, layout};
}

/// Runs tsmm for more columns than a kernel takes: it cuts B's columns into parts. In place, where no kernel serves, it
/// also cuts the rows into slabs, computes each slab into the workspace, and copies it back.
template <class T>
void launch_in_parts(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, const CudaExecution& execution) {
  const std::int64_t k = call.a.rows;
  const std::int64_t m = call.a.columns;
  const std::int64_t n = call.b.columns;
  const std::int64_t columns = configuration.part_columns;
  const bool in_place = configuration.part_rows != 0;
  const std::int64_t rows = in_place ? configuration.part_rows : k;
  const Product operation{in_place ? "tsmm_inplace" : "tsmm", k, m, n};
  const Launcher launcher{operation, execution.stream, current_device(operation)};
  CudaExecution inner = execution;
  Matrix<const T> c = call.c;
  if (call.triangle != Triangle::general && columns < n) {
    const Matrix<T> whole = take<T>(inner.workspace, m, n, c.layout);
    copy(c, whole, call.triangle, {execution.condition}, launcher);
    c = whole;
  }
  const Matrix<T> results = in_place ? take<T>(inner.workspace, rows, n, call.b.layout) : call.b;
  for (std::int64_t row = 0; row < k; row += rows) {
    const std::int64_t some = std::min(rows, k - row);
    for (std::int64_t column = 0; column < n; column += columns) {
      TsmmCall<T> part = call;
      const std::int64_t end = std::min(n, column + columns);
      // A triangle has zeros in these columns of C: only the rows from `depth` to `depth_end` count.
      std::int64_t depth = 0;
      std::int64_t depth_end = m;
      if (columns < n && call.triangle == Triangle::upper) depth_end = std::min(m, end);
      if (columns < n && call.triangle == Triangle::lower) depth = std::min(m - 1, column);
      part.a = piece_of(call.a, row, some, depth, depth_end - depth);
      part.c = piece_of(c, depth, depth_end - depth, column, end - column);
      part.b = piece_of(results, in_place ? 0 : row, some, column, end - column);
      if (columns < n) part.triangle = Triangle::general;
      const auto problem = dispatch::problem_of(part, execution.single_precision);
      launch_tsmm(part, dispatch::choose(launcher.device, problem).configuration, inner);
    }
    if (in_place) {
      copy<T>(piece_of(results, 0, some, 0, n), piece_of(call.b, row, some, 0, n), Triangle::general,
              {execution.condition}, launcher);
    }
  }
}

}  // namespace blockvec::kernels::cuda
