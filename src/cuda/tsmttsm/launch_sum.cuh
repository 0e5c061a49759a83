#pragma once

#include "src/cuda/check.cuh"
#include "src/cuda/operands/views.cuh"
#include "src/cuda/tsmttsm/final_sum.cuh"

namespace blockvec::kernels::cuda {

/// Launches the second kernel of a product: C = alpha times the partial sums + beta C. The caller has set what `sum`
/// says of the partial sums, alpha and beta.
template <class T>
void launch_sum(TsmttsmSum<real_t<T>> sum, const Matrix<T>& c, Op op, Start start, const Launcher& launcher) {
  constexpr int parts = parts_of<T>;
  sum.conjugate = op == Op::conjugate_transpose;
  sum.c = real_data(c);
  const bool rows = c.layout == Layout::row_major;
  sum.row_stride = parts * (rows ? c.ld : 1);
  sum.column_stride = parts * (rows ? 1 : c.ld);
  const std::int64_t entries = c.rows * c.columns;
  sum.lanes = sum_lanes(entries);
  launcher.launch(start, tsmttsm_sum_kernel<parts == 2, real_t<T>>, {ceil_div(entries, sum.lanes)},
                  sum_threads(sum.lanes, sum.parts * sum.fold), 0, sum);
}

}  // namespace blockvec::kernels::cuda
