#pragma once

#include "src/cuda/tsmm_columns_chunks.cuh"
#include "src/cuda/tsmm_results.cuh"

/// Results of tsmm_columns.cuh on their way from registers to B.
namespace blockvec::kernels::cuda {

/// What a lane holds of a column of a chunk: numbers `part` of row `half` of piece t of its warp's rows.
template <class Real, int parts, int tb>
struct ColumnPiece {
  static constexpr int width = 16 / static_cast<int>(sizeof(Real));
  static constexpr int count = 2 * tb * parts / width;
  static_assert(count * width == 2 * tb * parts);
  static constexpr int step = 8 * width;  ///< from load to load, in numbers of a column
  struct alignas(16) Load {
    Real number[width];
  };
  Load load[count];

  /// `guarded`: only the first `numbers` are there.
  template <bool guarded = false>
  __device__ void read(const Real* column, int numbers = 0) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (guarded) {
#pragma unroll
        for (int j = 0; j < width; ++j) load[i].number[j] = i * step + j < numbers ? column[i * step + j] : Real(0);
      } else {
        load[i] = *reinterpret_cast<const Load*>(column + i * step);
      }
    }
  }
  template <bool guarded = false>
  __device__ void write(Real* column, int numbers = 0) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (guarded) {
#pragma unroll
        for (int j = 0; j < width; ++j) {
          if (i * step + j < numbers) column[i * step + j] = load[i].number[j];
        }
      } else {
        *reinterpret_cast<Load*>(column + i * step) = load[i];
      }
    }
  }
  __device__ Real& at(int t, int half, int part) {
    const int i = (2 * t + half) * parts + part;
    return load[i / width].number[i % width];
  }
};

/// A lane's results on their way to an outgoing chunk of columns, or straight to B.
template <class Real, int parts, int tb, int tn>
class ColumnsResults {
 public:
  using Piece = ColumnPiece<Real, parts, tb>;

  __device__ ColumnsResults(int pitch, int row0, int column0, int lane)
      : pitch_(pitch),
        place_row_(row0 * parts + lane / 4 * Piece::width),
        place_column_(column0 / parts + columns * (lane % 4)),
        first_(column0 / parts * pitch + row0 * parts) {}

  /// sum, plus beta times what is there if it `adds`.
  template <class Number>
  __device__ void put(const Number (&sum)[tb][tn][4], Real* out, bool adds, Factor beta) const {
    Real* const to = out + place_column_ * pitch_ + place_row_;
    if (adds) {
      put_at<false, true>(sum, to, pitch_, 8 * tn, 0, beta);
    } else {
      put_at<false, false>(sum, to, pitch_, 8 * tn, 0, beta);
    }
  }

  /// The same to `rows` rows of B, whose columns start at multiples of 16 bytes.
  template <bool guarded, class Number>
  __device__ void put(const Number (&sum)[tb][tn][4], const TsmmColumns<Real>& p, std::int64_t first_row, int rows,
                      Factor beta) const {
    const std::int64_t distance = p.b.column_stride;
    Real* const to = p.b.data + place_column_ * distance + first_row * parts + place_row_;
    const int columns_left = p.n / parts - place_column_;
    const int numbers = rows * parts - place_row_;
    if (beta.is_zero()) {
      put_at<guarded, false>(sum, to, distance, columns_left, numbers, beta);
    } else {
      put_at<guarded, true>(sum, to, distance, columns_left, numbers, beta);
    }
  }

  /// The same one after the other in double precision, from memory: only true infinities are seen.
  __device__ void put_plainly(const TsmmColumns<Real>& p, std::int64_t first_row, int column0, Real* out, bool adds,
                              Factor beta, int lane) const {
    const Factor alpha = p.alpha.read();
#pragma unroll 1
    for (int i = lane; i < 16 * tb * 8 / parts * tn; i += warp_size) {
      const int row = i % (16 * tb);
      const int column = column0 + i / (16 * tb) * parts;
      if (first_row + row >= p.k || column >= p.n) continue;
      Real* const to = out + first_ + i / (16 * tb) * pitch_ + row * parts;
      Factor value{};
      if (adds) value = scale(beta, {static_cast<double>(to[0]), static_cast<double>(to[parts - 1])});
#pragma unroll 1
      for (int d = 0; d < p.m; ++d) {
        const double left = p.a.data[p.a.offset(first_row + row, d)];
        value.re += left * p.small.scaled(d, column, alpha);
        if constexpr (parts == 2) value.im += left * p.small.scaled(d, column + 1, alpha);
      }
      to[0] = static_cast<Real>(value.re);
      if constexpr (parts == 2) to[1] = static_cast<Real>(value.im);
    }
  }

 private:
  static constexpr int columns = 2 / parts;  ///< of scalars that a lane has of a piece

  /// `guarded`: only the first `numbers` of a column are there.
  template <bool guarded, bool adds, class Number, class Stride>
  __device__ static void put_at(const Number (&sum)[tb][tn][4], Real* first, Stride stride, int valid_columns,
                                int numbers, Factor beta) {
#pragma unroll
    for (int x = 0; x < tn; ++x) {
#pragma unroll
      for (int i = 0; i < columns; ++i) {
        const int column = 8 / parts * x + i;
        if (column >= valid_columns) continue;
        Real* const to = first + column * stride;
        Piece piece;
        if constexpr (adds) piece.template read<guarded>(to, numbers);
#pragma unroll
        for (int t = 0; t < tb; ++t) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            Factor old{};
            if constexpr (adds) {
              old = scale(
                  beta, {static_cast<double>(piece.at(t, half, 0)), static_cast<double>(piece.at(t, half, parts - 1))});
            }
#pragma unroll
            for (int part = 0; part < parts; ++part) {
              Number value = sum[t][x][2 * half + i + part];
              if constexpr (adds) value += static_cast<Number>(part == 0 ? old.re : old.im);
              piece.at(t, half, part) = static_cast<Real>(value);
            }
          }
        }
        piece.template write<guarded>(to, numbers);
      }
    }
  }

  int pitch_, place_row_, place_column_, first_;
};

/// An outgoing chunk to B, by all warps of a group: a column a warp, lanes from multiples of their number on, so that
/// memory's sectors are written whole but for the ends.
template <int parts, bool adds, class Real>
__device__ inline void write_columns(const TsmmColumns<Real>& p, const Real* out, std::int64_t first_row, Factor beta,
                                     int warp, int warps, int lane) {
  const int rows = static_cast<int>(min(p.k - first_row, static_cast<std::int64_t>(p.rows)));
  for (int column = warp; column < p.n / parts; column += warps) {
    Real* const to = p.b.data + column * p.b.column_stride + first_row * parts;
    const Real* const from = out + column * p.rows * parts;
    const int early = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / (parts * sizeof(Real)) % warp_size);
    const auto write = [&](int row) {
      Real value[2] = {from[parts * row], from[parts * row + parts - 1]};
      if constexpr (adds) {
        const Factor old =
            scale(beta, {static_cast<double>(to[parts * row]), static_cast<double>(to[parts * row + parts - 1])});
        value[0] = static_cast<Real>(value[0] + old.re);
        value[1] = static_cast<Real>(value[1] + old.im);
      }
      if (parts == 2 && p.in_pairs) {
        write_pair(to + parts * row, value[0], value[1]);
      } else {
#pragma unroll
        for (int part = 0; part < parts; ++part) to[parts * row + part] = value[part];
      }
    };
    int row = lane - early;
    if (row >= 0 && row < rows) write(row);
    row += warp_size;
#pragma unroll 4
    for (; row - lane + warp_size <= rows; row += warp_size) write(row);
    if (row < rows) write(row);
  }
}

}  // namespace blockvec::kernels::cuda
