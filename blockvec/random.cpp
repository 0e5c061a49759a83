#include <Random123/philox.h>

#include <Random123/uniform.hpp>
#include <blockvec/operations.hpp>

#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/timer.hpp"

namespace blockvec {
namespace {

// One counter (row, column) gives four 64-bit words: the first makes the real part, the second the imaginary part.
template <class Scalar>
KOKKOS_FUNCTION Scalar random_entry(std::uint64_t seed, std::int64_t row, std::int64_t column) {
  using Generator = r123::Philox4x64;
  using Real = RealOf<Scalar>;
  const Generator::ctr_type counter = {{static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column), 0, 0}};
  const Generator::key_type key = {{seed, 0}};
  const Generator::ctr_type words = Generator()(counter, key);
  // As float via double: the float is then the rounded double, for one seed whatever the precision.
  const auto real = static_cast<Real>(r123::uneg11<double>(words[0]));
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {real, static_cast<Real>(r123::uneg11<double>(words[1]))};
  } else {
    return real;
  }
}

template <class View>
struct Randomize {
  View view;
  std::uint64_t seed;
  std::int64_t first_row, first_column;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    view(i, j) = random_entry<typename View::non_const_value_type>(seed, first_row + i, first_column + j);
  }
};

}  // namespace

template <class Scalar, class Layout, class Space>
void fill_random(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column) {
  const std::int64_t rows = v.local_rows();
  const OperationTimer<Space> timer(v.context(), Operation::fill_random, Cost<Scalar>::passes_bytes(rows, v.width()),
                                    0);
  using View = typename BlockVector<Scalar, Layout, Space>::View;
  for_entries<Space, Layout>(v.context(), rows, v.width(),
                             Randomize<View>{v.view(), seed, v.rows().begin(), first_column});
}

#define BLOCKVEC_RANDOM(Scalar, Layout, Space) \
  template void fill_random(const BlockVector<Scalar, Layout, Space>&, std::uint64_t, std::int64_t);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_RANDOM)

}  // namespace blockvec
