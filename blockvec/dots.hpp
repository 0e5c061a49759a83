#pragma once

#include <algorithm>
#include <bit>
#include <blockvec/layout.hpp>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <type_traits>

/// Column dots of two tall operands on the host, in an order that the number of rows alone decides.
namespace blockvec {

/// The rows of a tall operand from some row on.
template <class Scalar, class Layout>
struct TallRows {
  const Scalar* data;
  std::int64_t ld;
  std::int64_t row_step() const { return std::is_same_v<Layout, RowMajor> ? ld : 1; }
  std::int64_t column_step() const { return std::is_same_v<Layout, RowMajor> ? 1 : ld; }
  TallRows from(std::int64_t row) const { return {data + row * row_step(), ld}; }
};

/// How many words of `spare` dots_of_rows asks for.
inline std::int64_t dots_levels(std::int64_t rows) { return std::bit_width(static_cast<std::uint64_t>(rows)); }

/// sums[j] = sum over the first `rows` rows of v_j^H w_j, by halving down to short runs: the error grows with the log
/// of the rows. `spare` holds dots_levels(rows) * width words.
template <class Scalar, class Layout>
void dots_of_rows(const TallRows<Scalar, Layout>& v, const TallRows<Scalar, Layout>& w, std::int64_t rows,
                  std::int64_t width, Scalar* sums, Scalar* spare) {
  constexpr std::int64_t run = 128;
  if (rows > run) {
    const std::int64_t half = rows / 2;
    dots_of_rows(v, w, half, width, sums, spare + width);
    dots_of_rows(v.from(half), w.from(half), rows - half, width, spare, spare + width);
    for (std::int64_t j = 0; j < width; ++j) sums[j] += spare[j];
    return;
  }
  const std::int64_t v_step = v.row_step();
  const std::int64_t w_step = w.row_step();
  if (std::is_same_v<Layout, RowMajor> && width > 1) {
    std::int64_t column = 0;
    const auto strips = [&](auto of) {
      constexpr int strip = decltype(of)::value;
      for (; column + strip <= width; column += strip) {
        Scalar dots[strip] = {};  // in registers
        const Scalar* x = v.data + column;
        const Scalar* y = w.data + column;
        for (std::int64_t row = 0; row < rows; ++row, x += v_step, y += w_step) {
          for (int j = 0; j < strip; ++j) dots[j] += conjugate(x[j]) * y[j];
        }
        std::copy_n(dots, strip, sums + column);
      }
    };
    strips(std::integral_constant<int, 8>());
    strips(std::integral_constant<int, 4>());
    strips(std::integral_constant<int, 1>());
    return;
  }
  for (std::int64_t j = 0; j < width; ++j) {
    const Scalar* const x = v.data + j * v.column_step();
    const Scalar* const y = w.data + j * w.column_step();
    Scalar lanes[4] = {};
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      for (int lane = 0; lane < 4; ++lane)
        lanes[lane] += conjugate(x[(row + lane) * v_step]) * y[(row + lane) * w_step];
    }
    for (; row < rows; ++row) lanes[0] += conjugate(x[row * v_step]) * y[row * w_step];
    sums[j] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
}

}  // namespace blockvec
