#include <Random123/philox.h>

#include <Random123/uniform.hpp>
#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/timer.hpp>
#include <cmath>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

using Generator = r123::Philox4x64;
using Words = Generator::ctr_type;

// One counter (row, column) gives four 64-bit words, others for every purpose. On a device the arithmetic takes longer
// than the store: the words that an entry needs cost about 62 multiplications of 32 by 32 bits (16 of 64 by 64) and 76
// other operations on integers.
enum class Purpose : std::uint64_t { uniform, normal, signs };
KOKKOS_INLINE_FUNCTION Words random_words(std::uint64_t seed, std::int64_t row, std::int64_t column, Purpose purpose) {
  const Words counter = {
      {static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column), static_cast<std::uint64_t>(purpose), 0}};
  const Generator::key_type key = {{seed, 0}};
  return Generator()(counter, key);
}

// The first word makes the real part, the second the imaginary part.
template <class Scalar>
KOKKOS_FUNCTION Scalar uniform_entry(std::uint64_t seed, std::int64_t row, std::int64_t column) {
  using Real = RealOf<Scalar>;
  const Words words = random_words(seed, row, column, Purpose::uniform);
  // As float via double: the float is then the rounded double, for one seed whatever the precision.
  const auto real = static_cast<Real>(r123::uneg11<double>(words[0]));
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {real, static_cast<Real>(r123::uneg11<double>(words[1]))};
  } else {
    return real;
  }
}

// By Box and Muller: radius and angle make two independent normal numbers.
template <class Scalar>
KOKKOS_FUNCTION Scalar normal_entry(std::uint64_t seed, std::int64_t row, std::int64_t column) {
  using Real = RealOf<Scalar>;
  const Words words = random_words(seed, row, column, Purpose::normal);
  constexpr double unit = 1.0 / 9007199254740992.0;  // 2^-53
  const double radius = std::sqrt(-2 * std::log(static_cast<double>((words[0] >> 11) + 1) * unit));
  const double angle = 6.283185307179586 * (static_cast<double>(words[1] >> 11) * unit);
  const auto real = static_cast<Real>(radius * std::cos(angle));
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {real, static_cast<Real>(radius * std::sin(angle))};
  } else {
    return real;
  }
}

template <class Scalar, bool normal>
struct RandomEntry {
  std::uint64_t seed;
  std::int64_t first_row, first_column;
  KOKKOS_FUNCTION Scalar operator()(Position at) const {
    const std::int64_t row = first_row + at.row, column = first_column + at.column;
    return normal ? normal_entry<Scalar>(seed, row, column) : uniform_entry<Scalar>(seed, row, column);
  }
};

template <bool normal, class Scalar, class Layout, class Space>
void randomize(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column) {
  const std::int64_t rows = v.local_rows();
  const OperationTimer<Space> timer(v.context(), Operation::fill_random, Cost<Scalar>::passes_bytes(rows, v.width()),
                                    0);
  assign<Space>(v.context(), rows, v.width(), entries(v),
                RandomEntry<Scalar, normal>{seed, v.rows().begin(), first_column});
}

// A row of V goes to one row of every eighth of C; 32 bits say to which one, and with which sign.
constexpr std::int64_t eighths = 8;

/// Columns of V, for a chunk of rows, to the chunk's own sums (d x b, column-major).
template <class View>
struct SketchChunk {
  using Entry = typename View::non_const_value_type;
  View view;
  Entry* sums;
  std::uint64_t seed;
  std::int64_t first_row, chunk_rows, d;
  KOKKOS_FUNCTION void columns(std::int64_t chunk, std::int64_t begin, std::int64_t end) const {
    const auto rows = static_cast<std::int64_t>(view.extent(0)), width = static_cast<std::int64_t>(view.extent(1));
    Entry* const out = sums + chunk * d * width;
    for (std::int64_t i = begin * d; i < end * d; ++i) out[i] = Entry(0);
    const std::int64_t last = (chunk + 1) * chunk_rows < rows ? (chunk + 1) * chunk_rows : rows;
    for (std::int64_t row = chunk * chunk_rows; row < last; ++row) {
      const Words words = random_words(seed, first_row + row, 0, Purpose::signs);
      for (std::int64_t part = 0; part < eighths; ++part) {
        const std::uint64_t bits = words[static_cast<unsigned>(part / 2)] >> (part % 2 * 32) & 0xffffffffu;
        const bool minus = (bits & 1) != 0;
        const auto place = static_cast<std::int64_t>((bits >> 1) * static_cast<std::uint64_t>(d / eighths) >> 31);
        const std::int64_t target = part * (d / eighths) + place;
        for (std::int64_t j = begin; j < end; ++j) {
          const Entry x = view(row, j);
          out[target + j * d] += minus ? -x : x;
        }
      }
    }
  }
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {  // one column of one chunk
    const auto width = static_cast<std::int64_t>(view.extent(1));
    columns(index / width, index % width, index % width + 1);
  }
};

template <class Scalar>
struct AddSketches {
  const Scalar* sums;
  std::int64_t chunks, d, entries;
  Scalar* to;
  std::int64_t ld;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    Scalar sum = Scalar(0);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += sums[chunk * entries + index];
    to[index % d + index / d * ld] = sum * static_cast<RealOf<Scalar>>(0.35355339059327373);  // 8^-1/2
  }
};

}  // namespace

template <class Scalar, class Layout, class Space>
void fill_random(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column) {
  randomize<false>(v, seed, first_column);
}

template <class Scalar, class Layout, class Space>
void fill_normal(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column) {
  randomize<true>(v, seed, first_column);
}

template <class Scalar, class Layout, class Space>
void sketch_share(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed,
                  const SmallMatrix<Scalar, Space>& c) {
  constexpr const char* name = "sketch_share";
  require_small(name, "C", c, c.rows(), v.width(), v);
  if (c.rows() <= 0 || c.rows() % eighths != 0) {
    throw ShapeError(std::string(name) + ": C has " + std::to_string(c.rows()) + " rows, expected a multiple of 8");
  }
  const std::int64_t rows = v.local_rows(), width = v.width(), d = c.rows();
  if (width == 0) return;
  const OperationTimer<Space> timer(v.context(), Operation::inner_product, Cost<Scalar>::passes_bytes(rows, width),
                                    static_cast<double>(rows * width) * eighths);
  using View = typename BlockVector<Scalar, Layout, Space>::View;
  constexpr std::int64_t least_rows = 2048, most_chunks = 64;
  const std::int64_t chunk_rows = std::max(least_rows, (rows + most_chunks - 1) / most_chunks);
  const std::int64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
  WorkspaceScope<Space> scope(v.context());
  auto* const sums = scope.template take<Scalar>(static_cast<std::size_t>(chunks * d * width));
  const SketchChunk<View> sketch{v.view(), sums, seed, v.rows().begin(), chunk_rows, d};
  const AddSketches<Scalar> add{sums, chunks, d, d * width, c.data(), c.ld()};
  if constexpr (is_host_space<Space>) {
    kernels::parallel_for(v.context().threads(), chunks,
                          [&](std::int64_t chunk, int) { sketch.columns(chunk, 0, width); });
    for (std::int64_t index = 0; index < d * width; ++index) add(index);
  } else {
    if (chunks > 0) detail::launch<Space>(v.context(), chunks * width, sketch);
    detail::launch<Space>(v.context(), d * width, add);
  }
}

#define BLOCKVEC_RANDOM(Scalar, Layout, Space)                                                       \
  template void fill_random(const BlockVector<Scalar, Layout, Space>&, std::uint64_t, std::int64_t); \
  template void fill_normal(const BlockVector<Scalar, Layout, Space>&, std::uint64_t, std::int64_t); \
  template void sketch_share(const BlockVector<Scalar, Layout, Space>&, std::uint64_t,               \
                             const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_RANDOM)

}  // namespace blockvec
