#include "orth/pythagorean_factor.hpp"

#include <string>

#include "blockvec/instantiate.hpp"
#include "orth/pythagorean_kernel.hpp"
#include "orth/team.hpp"

namespace blockvec::orth {

template <class Scalar, class Space>
PythagoreanFactor<Scalar, Space> PythagoreanFactor<Scalar, Space>::scratch(WorkspaceScope<Space>& scope, std::int64_t m,
                                                                           std::int64_t b) {
  auto* const memory = scope.template take<std::byte>(bytes(m, b));
  auto* const numbers = reinterpret_cast<Scalar*>(memory);
  const auto matrix = [&](Scalar* data, std::int64_t rows) {
    using Small = SmallMatrix<Scalar, Space>;
    return Small(scope.context(),
                 typename Small::View(data, static_cast<std::size_t>(rows), static_cast<std::size_t>(b)));
  };
  return {matrix(numbers, m + b), matrix(numbers + (m + b) * b, b), reinterpret_cast<Status*>(memory + status_at(m, b)),
          SmallMatrix<Scalar, Space>::scratch(scope, m + b, b)};
}

template <class Scalar, class Space>
void factorize_pythagorean(const PythagoreanFactor<Scalar, Space>& factor,
                           const PythagoreanLimits<RealOf<Scalar>>& limits, std::byte* copy) {
  const std::int64_t b = factor.p.columns();
  if (b < 1 || b > most_pythagorean_columns) {
    throw ShapeError("factorize_pythagorean: W has " + std::to_string(b) + " columns, expected 1 to " +
                     std::to_string(most_pythagorean_columns));
  }
  const pythagorean::Places<Scalar> places(b);
  const pythagorean::Factorize<Scalar> factorize{
      factor.p.data(), factor.r.data(), factor.c.data(), factor.status, static_cast<int>(factor.m()), places, limits};
  const Context& context = factor.p.context();
  if (copy == nullptr) return run_in_team<Space>(context, places.bytes(), factorize);
  using Word = std::uint32_t;
  const std::size_t words = PythagoreanFactor<Scalar, Space>::bytes(factor.m(), b) / sizeof(Word);
  run_in_team<Space>(context, places.bytes(),
                     pythagorean::FactorizeForHost<Scalar>{factorize, reinterpret_cast<const Word*>(factor.p.data()),
                                                           reinterpret_cast<Word*>(copy), static_cast<int>(words)});
}

#define BLOCKVEC_PYTHAGOREAN_FACTOR(Scalar, Space)                             \
  template struct PythagoreanFactor<Scalar, Space>;                            \
  template void factorize_pythagorean(const PythagoreanFactor<Scalar, Space>&, \
                                      const PythagoreanLimits<RealOf<Scalar>>&, std::byte*);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_PYTHAGOREAN_FACTOR)

}  // namespace blockvec::orth
