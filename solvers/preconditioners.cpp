#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/preconditioners.hpp>

#include "solvers/spectrum_bounds.hpp"

namespace blockvec::solvers {

template <class Vector>
SpectrumEnds estimated_ends(const AnyOperator<Vector>& a, std::uint64_t seed) {
  using Scalar = typename Vector::Scalar;
  constexpr std::int64_t steps = 12;
  const Vector model(a.context(), a.rows(), 1, "spectrum");
  const auto apply = [&](const Vector& x, const Vector& y) { a.apply(Scalar(1), Scalar(0), x, Scalar(0), y); };
  const auto bounds = spectrum_bounds(apply, model, steps, seed);
  const auto margin = static_cast<double>(bounds.highest - bounds.lowest) / 10;
  return {static_cast<double>(bounds.lowest) - margin, static_cast<double>(bounds.highest) + margin};
}

#define BLOCKVEC_ESTIMATED_ENDS(Scalar, Layout, Space) \
  template SpectrumEnds estimated_ends(const AnyOperator<BlockVector<Scalar, Layout, Space>>&, std::uint64_t);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_ESTIMATED_ENDS)

}  // namespace blockvec::solvers
