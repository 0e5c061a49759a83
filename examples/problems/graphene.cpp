#include "problems/graphene.hpp"

#include <fmt/core.h>

#include <blockvec/solvers/input_error.hpp>
#include <cmath>
#include <numbers>

#include "problems/grid.hpp"

namespace blockvec::examples {

template <class Scalar>
Graphene<Scalar>::Graphene(const std::vector<std::int64_t>& grid, std::int64_t flux_p, std::int64_t flux_q)
    : lengths_(grid_lengths("graphene", grid, 2, 2)), flux_p_(flux_p), flux_q_(flux_q) {
  if (flux_q < 1)
    throw solvers::InputError(fmt::format("graphene: --flux {} {}: the denominator must be positive", flux_p, flux_q));
  if (!ScalarTraits<Scalar>::is_complex && flux_p != 0)
    throw solvers::InputError("graphene: a real matrix holds no magnetic flux");
  flux_p_ = flux_p % flux_q;  // whole quanta change nothing
  if (flux_p_ < 0) flux_p_ += flux_q;
  const auto phases = static_cast<__int128>(lengths_[0]) * flux_p_;
  if (phases % flux_q != 0) {
    throw solvers::InputError(fmt::format(
        "graphene: --flux {} {} does not fit a sheet of {} cells in the first direction: {} * {} is no multiple of {}",
        flux_p, flux_q, lengths_[0], lengths_[0], flux_p, flux_q));
  }
}

template <class Scalar>
Scalar Graphene<Scalar>::peierls(std::int64_t x) const {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const auto quanta = static_cast<std::int64_t>(static_cast<__int128>(x) * flux_p_ % flux_q_);
    const double angle = 2 * std::numbers::pi * static_cast<double>(quanta) / static_cast<double>(flux_q_);
    return {-std::cos(angle), -std::sin(angle)};
  } else {
    (void)x;
    return -1;
  }
}

template <class Scalar>
void Graphene<Scalar>::append_row(std::int64_t row, solvers::RowEntries<Scalar>& entries) const {
  const auto [nx, ny, unused] = lengths_;
  const std::int64_t cell = row / 2;
  const std::int64_t x = cell % nx;
  const std::int64_t y = cell / nx;
  if (row % 2 == 0) {
    entries.add(row + 1, Scalar(-1));
    entries.add(2 * ((x + nx - 1) % nx + nx * y) + 1, Scalar(-1));
    entries.add(2 * (x + nx * ((y + ny - 1) % ny)) + 1, peierls(x));
  } else {
    entries.add(row - 1, Scalar(-1));
    entries.add(2 * ((x + 1) % nx + nx * y), Scalar(-1));
    Scalar back = peierls(x);
    if constexpr (ScalarTraits<Scalar>::is_complex) back = Kokkos::conj(back);
    entries.add(2 * (x + nx * ((y + 1) % ny)), back);
  }
}

template <class Scalar>
std::string Graphene<Scalar>::describe() const {
  const std::string flux =
      ScalarTraits<Scalar>::is_complex ? fmt::format(", flux {}/{} a hexagon", flux_p_, flux_q_) : "";
  return fmt::format("graphene, {} cells, periodic{}", grid_text(lengths_, 2), flux);
}

template class Graphene<double>;
template class Graphene<Complex<double>>;

}  // namespace blockvec::examples
