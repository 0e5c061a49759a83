#include "orth/pythagorean_factor.hpp"

#include <string>

#include "blockvec/instantiate.hpp"
#include "orth/pythagorean_kernel.hpp"
#include "orth/team.hpp"

namespace blockvec::orth {

template <class Scalar, class Space>
PythagoreanFactor<Scalar, Space> PythagoreanFactor<Scalar, Space>::in(std::byte* memory, const Context& context,
                                                                      std::int64_t m, std::int64_t b) {
  const auto matrix = [&](std::size_t at, std::int64_t rows) {
    using Small = SmallMatrix<Scalar, Space>;
    return Small(context, typename Small::View(reinterpret_cast<Scalar*>(memory + at), static_cast<std::size_t>(rows),
                                               static_cast<std::size_t>(b)));
  };
  return {matrix(0, m + b), matrix(static_cast<std::size_t>((m + b) * b) * sizeof(Scalar), b),
          reinterpret_cast<Status*>(memory + status_at(m, b)), matrix(rounded(bytes(m, b), 128), m + b)};
}

namespace {

template <int side, class Scalar, class Space>
void factorize_within(const PythagoreanFactor<Scalar, Space>& factor, const PythagoreanLimits<RealOf<Scalar>>& limits,
                      Another another, const PythagoreanReport& report,
                      const PythagoreanStatus<RealOf<Scalar>>* previous) {
  const Context& context = factor.p.context();
  const pythagorean::Places<Scalar, side> places(factor.m(), factor.p.columns());
  pythagorean::SeenByHost<Scalar> seen;
  if (report.copy != nullptr) {
    const auto copy =
        PythagoreanFactor<Scalar, Kokkos::HostSpace>::in(report.copy, context, factor.m(), factor.p.columns());
    seen = {copy.p.data(), copy.r.data(), copy.status};
  }
  const pythagorean::Factorize<Scalar, side> factorize{
      factor.p.data(), factor.r.data(), factor.c.data(), factor.status, places, limits, another, previous, seen};
  run_in_team<Space>(context, places.bytes(),
                     pythagorean::FactorizeAndReport<Scalar, side>{factorize, report.word, report.when_continuing});
}

}  // namespace

template <class Scalar, class Space>
void factorize_pythagorean(const PythagoreanFactor<Scalar, Space>& factor,
                           const PythagoreanLimits<RealOf<Scalar>>& limits, Another another,
                           const PythagoreanReport& report, const PythagoreanStatus<RealOf<Scalar>>* previous) {
  const std::int64_t b = factor.p.columns();
  if (b < 1 || b > most_pythagorean_columns) {
    throw ShapeError("factorize_pythagorean: W has " + std::to_string(b) + " columns, expected 1 to " +
                     std::to_string(most_pythagorean_columns));
  }
  const auto factorize = b <= 16   ? factorize_within<16, Scalar, Space>
                         : b <= 32 ? factorize_within<32, Scalar, Space>
                                   : factorize_within<64, Scalar, Space>;
  factorize(factor, limits, another, report, previous);
}

#define BLOCKVEC_PYTHAGOREAN_FACTOR(Scalar, Space)                                                                 \
  template struct PythagoreanFactor<Scalar, Space>;                                                                \
  template void factorize_pythagorean(const PythagoreanFactor<Scalar, Space>&,                                     \
                                      const PythagoreanLimits<RealOf<Scalar>>&, Another, const PythagoreanReport&, \
                                      const PythagoreanStatus<RealOf<Scalar>>*);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_PYTHAGOREAN_FACTOR)

}  // namespace blockvec::orth
