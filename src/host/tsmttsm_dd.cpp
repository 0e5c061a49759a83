#include "src/host/tsmttsm_dd.hpp"

#include <algorithm>
#include <blockvec/kernels/double_double.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <complex>

#include "src/host/real.hpp"
#include "src/host/summation.hpp"

namespace blockvec::kernels::host {
namespace {

// Rows [first, first + count) of a tall matrix as columns of real numbers (a complex one makes two), with zeros up to
// `length`.
template <class T>
void pack(const Matrix<const T>& source, std::int64_t first, std::int64_t count, std::int64_t length, std::int64_t ld,
          double* packed) {
  constexpr std::int64_t parts = real_parts<T>;
  constexpr std::int64_t together = 8;
  const real_t<T>* const data = real_view(source.data);
  const bool by_rows = source.layout == Layout::row_major;
  const std::int64_t row_step = parts * (by_rows ? source.ld : 1), column_step = parts * (by_rows ? 1 : source.ld);
  for (std::int64_t k = 0; k < count; k += together) {
    const std::int64_t rows = std::min(together, count - k);
    const real_t<T>* const from = data + (first + k) * row_step;
    for (std::int64_t j = 0; j < source.columns; ++j) {
      for (std::int64_t part = 0; part < parts; ++part) {
        double* const to = packed + (j * parts + part) * ld + k;
        const real_t<T>* const x = from + j * column_step + part;
        if (rows == together) {
#pragma GCC unroll 8
          for (std::int64_t row = 0; row < together; ++row) to[row] = x[row * row_step];
        } else {
          for (std::int64_t row = 0; row < rows; ++row) to[row] = x[row * row_step];
        }
      }
    }
  }
  for (std::int64_t j = 0; j < parts * source.columns; ++j) {
    std::fill(packed + j * ld + count, packed + j * ld + length, 0.0);
  }
}

// The real m x n product of real columns that the parts summed, an entry as high + low.
struct RealProduct {
  const double* sums;
  std::int64_t n;
  bool symmetric;
  DoubleDouble operator()(std::int64_t i, std::int64_t j) const {
    if (symmetric && j < i) std::swap(i, j);
    const double* const pair = sums + 2 * (i * n + j);
    return two_sum(pair[0], pair[1]);
  }
};

// x rounded to R, and what is left of it.
template <class R>
void split(const DoubleDouble& x, R& high, R& low) {
  high = static_cast<R>(x.high + x.low);
  low = static_cast<R>((x.high - static_cast<double>(high)) + x.low);
}

template <class T>
T& entry(const Matrix<T>& c, std::int64_t i, std::int64_t j) {
  return c.layout == Layout::row_major ? c.data[i * c.ld + j] : c.data[i + j * c.ld];
}

}  // namespace

template <class T>
void tsmttsm_dd(Op op, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& high, const Matrix<T>& low,
                const dispatch::TsmttsmDdConfiguration& configuration, double* scratch) {
  using R = real_t<T>;
  constexpr std::int64_t parts = real_parts<T>;
  const SumPlan& plan = configuration.plan;
  const bool same = a.data == b.data && a.ld == b.ld && a.columns == b.columns;
  const std::int64_t m = parts * a.columns, n = parts * b.columns;
  double* const packed = scratch + plan.parts * configuration.part_stride;
  parallel_for(configuration.threads, plan.parts, [&](std::int64_t part, int thread) {
    double* const sums = scratch + part * configuration.part_stride;
    double* const packed_a = packed + thread * configuration.packed_entries;
    double* const packed_b = same ? packed_a : packed_a + m * configuration.packed_ld;
    std::fill_n(sums, 2 * m * n, 0.0);
    for (std::int64_t chunk = plan.first_chunk(part); chunk < plan.first_chunk(part + 1); ++chunk) {
      const std::int64_t first = chunk * plan.chunk_rows;
      const std::int64_t rows = std::min(plan.chunk_rows, plan.rows - first);
      const std::int64_t length = ceil_div(rows, 8) * 8;
      pack(a, first, rows, length, configuration.packed_ld, packed_a);
      if (!same) pack(b, first, rows, length, configuration.packed_ld, packed_b);
      add_packed_products({packed_a, m, packed_b, n, length, configuration.packed_ld, same, std::is_same_v<R, float>},
                          sums);
    }
  });
  for (std::int64_t part = 1; part < plan.parts; ++part) {
    const double* const from = scratch + part * configuration.part_stride;
    for (std::int64_t i = 0; i < 2 * m * n; i += 2) {
      const DoubleDouble both = two_sum(scratch[i], from[i]);
      scratch[i] = both.high;
      scratch[i + 1] += both.low + from[i + 1];
    }
  }
  const RealProduct p{scratch, n, same};
  for (std::int64_t i = 0; i < high.rows; ++i) {
    for (std::int64_t j = 0; j < high.columns; ++j) {
      if constexpr (parts == 1) {
        split(p(i, j), entry(high, i, j), entry(low, i, j));
      } else {
        const DoubleDouble rr = p(2 * i, 2 * j), ii = p(2 * i + 1, 2 * j + 1);
        const DoubleDouble ri = p(2 * i, 2 * j + 1), ir = p(2 * i + 1, 2 * j);
        const bool conjugate = op == Op::conjugate_transpose;
        const DoubleDouble re = conjugate ? rr + ii : rr - ii, im = conjugate ? ri - ir : ri + ir;
        R* const to_high = real_view(&entry(high, i, j));
        R* const to_low = real_view(&entry(low, i, j));
        split(re, to_high[0], to_low[0]);
        split(im, to_high[1], to_low[1]);
      }
    }
  }
}

template void tsmttsm_dd(Op, const Matrix<const float>&, const Matrix<const float>&, const Matrix<float>&,
                         const Matrix<float>&, const dispatch::TsmttsmDdConfiguration&, double*);
template void tsmttsm_dd(Op, const Matrix<const double>&, const Matrix<const double>&, const Matrix<double>&,
                         const Matrix<double>&, const dispatch::TsmttsmDdConfiguration&, double*);
template void tsmttsm_dd(Op, const Matrix<const std::complex<float>>&, const Matrix<const std::complex<float>>&,
                         const Matrix<std::complex<float>>&, const Matrix<std::complex<float>>&,
                         const dispatch::TsmttsmDdConfiguration&, double*);
template void tsmttsm_dd(Op, const Matrix<const std::complex<double>>&, const Matrix<const std::complex<double>>&,
                         const Matrix<std::complex<double>>&, const Matrix<std::complex<double>>&,
                         const dispatch::TsmttsmDdConfiguration&, double*);

}  // namespace blockvec::kernels::host
