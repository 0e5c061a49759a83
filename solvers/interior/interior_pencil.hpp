#pragma once

#include <blockvec/solvers/interior.hpp>
#include <cmath>

#include "solvers/lanczos/krylov_pencil.hpp"
#include "solvers/spectrum_look.hpp"

namespace blockvec::solvers {

/// The pencil of interior Lanczos, with a look at the spectrum of its operator.
template <class Vector>
class InteriorPencil : public KrylovPencil<Vector> {
 public:
  using Real = typename KrylovPencil<Vector>::Real;

  InteriorPencil(const Problem<Vector>& problem, const InteriorOptions& options)
      : KrylovPencil<Vector>("interior_lanczos", problem, Real(1), options.orth, options.seed) {
    if (this->has_b()) {
      spectrum = look_at_spectrum(this->turned_operation(), Real(1), this->model(), options.seed,
                                  this->multiply_inverse(), look_columns);
      return;
    }
    spectrum = look_at_spectrum(problem.a, Real(1), this->model(), options.seed, {}, look_columns);
    this->norm_a = spectrum.norm();
    this->count_applications(spectrum.applications);
  }

  /// A residual of the operator at the target, over this and in the norm of B, is a backward error at least as large as
  /// the pair has.
  Real norm_at(Real target) const {
    return this->has_b() ? this->quotient_of_norms() + std::abs(target) : this->norm_a;
  }

  SpectrumLook<Real> spectrum;

 private:
  static constexpr std::int64_t look_columns = 64;  // to see how dense the spectrum is inside
};

}  // namespace blockvec::solvers
