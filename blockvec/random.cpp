#include <Random123/philox.h>

#include <Random123/uniform.hpp>
#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/operations.hpp>

#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

// One counter (row, column) gives four 64-bit words: the first makes the real part, the second the imaginary part.
template <class Scalar>
Scalar random_entry(std::uint64_t seed, std::int64_t row, std::int64_t column) {
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

}  // namespace

template <class Scalar, class Layout, class Space>
void fill_random(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column) {
  const std::int64_t rows = v.local_rows();
  const Profile::Timer timer(v.context().profile(), Operation::fill_random, Cost<Scalar>::passes_bytes(rows, v.width()),
                             0);
  const auto& view = v.view();
  const std::int64_t first_row = v.rows().begin();
  constexpr std::int64_t chunk = 512;
  kernels::parallel_for(v.context().threads(), (rows + chunk - 1) / chunk, [&](std::int64_t item, int) {
    for (std::int64_t i = item * chunk; i < std::min(rows, (item + 1) * chunk); ++i) {
      for (std::int64_t j = 0; j < v.width(); ++j)
        view(i, j) = random_entry<Scalar>(seed, first_row + i, first_column + j);
    }
  });
}

#define BLOCKVEC_RANDOM(Scalar, Layout) \
  template void fill_random(const BlockVector<Scalar, Layout>&, std::uint64_t, std::int64_t);
BLOCKVEC_FOR_SCALARS_AND_LAYOUTS(BLOCKVEC_RANDOM)

}  // namespace blockvec
