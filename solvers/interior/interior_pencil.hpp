#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <functional>
#include <optional>

#include "solvers/inverse_of_b.hpp"
#include "solvers/pencil.hpp"
#include "solvers/spectrum_look.hpp"

namespace blockvec::solvers {

/// The pencil A, B with what interior Lanczos needs of it: the operator A, or B^-1 A, which is Hermitian in the inner
/// product of B. B^-1 is right to rounding, so that the operator's eigenvectors are those of the pencil.
template <class Vector>
class InteriorPencil : public Pencil<Vector> {
 public:
  using Real = typename Pencil<Vector>::Real;

  /// Looks at the spectrum of the operator, and at B.
  InteriorPencil(const Problem<Vector>& problem, const InteriorOptions& options)
      : Pencil<Vector>("interior_lanczos", problem, Real(1), options.orth), operation_(problem.a) {
    const Vector model(this->context(), this->rows(), 1, "model");
    if (!this->has_b()) {
      spectrum = look_at_spectrum(problem.a, Real(1), model, options.seed);
      this->norm_a = spectrum.norm();
      this->count_applications(spectrum.applications);
      return;
    }
    Pencil<Vector>::look(model, options.seed);
    inverse_.emplace("interior_lanczos", *this, model, options.seed, Real(0));
    const auto in_turn = [this](const auto& first, const auto& second) {
      return AnyOperator<Vector>(
          FunctionOperator<Vector>(this->context(), this->rows(), [=, this](const Vector& x, const Vector& y) {
            WorkspaceScope<typename Vector::Space> scope(x.context());
            const Vector between = scratch_like(scope, x, x.width());
            first(x, between);
            second(between, y);
          }));
    };
    const auto a = [this](const Vector& x, const Vector& y) { this->apply_a(x, y); };
    const auto inverse = [this](const Vector& x, const Vector& y) { inverse_->apply(x, y); };
    // A B^-1 has the same eigenvalues, and is Hermitian in the inner product of B^-1.
    spectrum = look_at_spectrum(in_turn(inverse, a), Real(1), model, options.seed, inverse);
    operation_ = in_turn(a, [this](const Vector& x, const Vector& y) { inverse_->apply_in_place_of(x, y); });
  }

  const AnyOperator<Vector>& operation() const { return operation_; }
  /// So many products with the operator have been made, beside this.
  void count_operations(std::int64_t columns) {
    if (!this->has_b()) this->count_applications(columns);  // else they have been counted
  }
  /// Y = B X, or nothing.
  std::function<void(const Vector&, const Vector&)> metric() const {
    if (!this->has_b()) return {};
    return [this](const Vector& x, const Vector& y) { this->apply_b(x, y); };
  }
  /// A residual of the operator at the target, over this and in the norm of B, is a backward error at least as large as
  /// the pair has.
  Real norm_at(Real target) const {
    return this->has_b() ? this->norm_a / this->norm_b + std::abs(target) : this->norm_a;
  }
  /// ||A x - theta B x|| is at most this, for a residual of the operator of this length.
  double residual_of_a(Real residual) const {
    return static_cast<double>(this->has_b() ? std::sqrt(this->norm_b) * residual : residual);
  }

  SpectrumLook<Real> spectrum;

 private:
  AnyOperator<Vector> operation_;
  std::optional<InverseOfB<Vector>> inverse_;
};

}  // namespace blockvec::solvers
