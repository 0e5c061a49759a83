#include "src/host/sweep.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <complex>

#include "src/host/pack.hpp"
#include "src/host/results.hpp"

namespace blockvec::kernels::host {
namespace {

template <class T>
Matrix<T> rows_of(const Matrix<T>& a, std::int64_t first, std::int64_t rows) {
  return {a.data + (a.layout == Layout::row_major ? first * a.ld : first), rows, a.columns, a.ld, a.layout};
}

/// Adds A^H B over one slab to `sum`, or writes it there; nothing if there is no product.
template <class T>
real_t<T>* add_slab(const Matrix<const T>& a, const Matrix<const T>& b, const dispatch::TsmttsmConfiguration& x,
                    real_t<T>* levels, real_t<T>* sum, bool add) {
  if (x.result == 0) return sum;
  SumPlan plan = x.plan;
  plan.rows = a.rows;
  plan.chunks = ceil_div(plan.rows, plan.chunk_rows);
  part_of_sum(Op::conjugate_transpose, a, b, plan, 0, x, levels);
  const real_t<T>* const part = levels + plan.levels * x.entries;
  for (std::int64_t i = 0; i < x.result; ++i) sum[i] = add ? sum[i] + part[i] : part[i];
  return sum + x.result;
}

}  // namespace

template <class T>
void gram_schmidt_sweep(const Sweep<T>& sweep, const dispatch::SweepConfiguration& c, real_t<T>* scratch) {
  const Matrix<T>& w = sweep.w;
  const Matrix<const T> w_read = w;
  Product<real_t<T>> projection[dispatch::SweepConfiguration::most_pieces];
  std::int64_t above = 0;  // rows of S, and of P
  for (std::size_t i = 0; i < sweep.v.size() && sweep.s.columns > 0; above += sweep.v[i].columns, ++i) {
    const auto s = rows_of(sweep.s, above, sweep.v[i].columns);
    projection[i] = packed_product(T(-1), sweep.v[i], s, T(1), w, Triangle::general, c.piece[i].projection, scratch);
    scratch += c.piece[i].projection.packed_entries;
  }
  const auto factor = packed_product(T(1), w_read, sweep.x, T(0), w, sweep.triangle, c.factor, scratch);
  scratch += c.factor.packed_entries;
  real_t<T>* const sums = scratch;
  real_t<T>* const of_threads = first_page(scratch + c.plan.parts * c.part_stride);
  parallel_for(static_cast<int>(c.threads), c.plan.parts, [&](std::int64_t part, int thread) {
    real_t<T>* const buffer = of_threads + thread * c.thread_entries;
    real_t<T>* const levels = buffer + c.buffer_entries;
    sum_part(c.plan, part, c.results, sums + part * c.part_stride, [&](std::int64_t slab, real_t<T>* sum, bool add) {
      const std::int64_t first = slab * c.plan.chunk_rows;
      const std::int64_t rows = std::min(c.plan.chunk_rows, w.rows - first);
      for (std::size_t i = 0; i < sweep.v.size() && sweep.s.columns > 0; ++i) {
        product_rows(projection[i], w.layout, first, rows, buffer);
      }
      if (sweep.x.columns > 0) product_rows(factor, w.layout, first, rows, buffer);
      // Now the slab is in the second-level cache.
      const auto w_slab = rows_of(w_read, first, rows);
      for (std::size_t i = 0; i < sweep.v.size(); ++i) {
        sum = add_slab(rows_of(sweep.v[i], first, rows), w_slab, c.piece[i].p, levels, sum, add);
      }
      add_slab(w_slab, w_slab, c.g, levels, sum, add);
    });
  });
  add_parts(sums, c.plan.parts, c.part_stride, c.results, static_cast<int>(c.threads));
  const real_t<T>* sum = sums;
  const auto write = [&](const dispatch::TsmttsmConfiguration& x, const Matrix<T>& result) {
    const bool by_rows = w.layout == Layout::row_major || x.packed;
    if (x.result > 0) write_result(Op::conjugate_transpose, T(1), sum, by_rows, T(0), result);
    sum += x.result;
  };
  above = 0;
  for (std::size_t i = 0; i < sweep.v.size() && sweep.p.columns > 0; above += sweep.v[i].columns, ++i) {
    write(c.piece[i].p, rows_of(sweep.p, above, sweep.v[i].columns));
  }
  write(c.g, sweep.g);
}

template void gram_schmidt_sweep(const Sweep<float>&, const dispatch::SweepConfiguration&, float*);
template void gram_schmidt_sweep(const Sweep<double>&, const dispatch::SweepConfiguration&, double*);
template void gram_schmidt_sweep(const Sweep<std::complex<float>>&, const dispatch::SweepConfiguration&, float*);
template void gram_schmidt_sweep(const Sweep<std::complex<double>>&, const dispatch::SweepConfiguration&, double*);

}  // namespace blockvec::kernels::host
