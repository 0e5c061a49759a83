#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "solvers/inverse_of_b.hpp"
#include "solvers/pencil.hpp"

namespace blockvec::solvers {

/// The pencil A, B with the operator that Krylov spaces are built with: A, or B^-1 A, which is Hermitian in the inner
/// product of B. B^-1 is right to rounding, so that the operator's eigenvectors are those of the pencil.
template <class Vector>
class KrylovPencil : public Pencil<Vector> {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Multiply = std::function<void(const Vector&, const Vector&)>;

  /// With a B it looks at the norms, and at B's inverse: some 70 products with a column. `sign` is that of Pencil; the
  /// operator is without it.
  KrylovPencil(const std::string& solver, const Problem<Vector>& problem, Real sign, const orth::Options& options,
               std::uint64_t seed)
      : Pencil<Vector>(solver, problem, sign, options), a_(problem.a), operation_(problem.a) {
    if (!this->has_b()) return;
    Pencil<Vector>::look(model(), seed);
    inverse_.emplace(solver, *this, model(), seed, Real(0));
    operation_ = in_turn(multiply_a(), [this](const Vector& x, const Vector& y) { inverse_->apply_in_place_of(x, y); });
  }

  const AnyOperator<Vector>& operation() const { return operation_; }
  /// So many products with the operator have been made, beside this.
  void count_operations(std::int64_t columns) {
    if (!this->has_b()) this->count_applications(columns);  // else they have been counted
  }
  /// Y = B X, or nothing.
  Multiply metric() const {
    if (!this->has_b()) return {};
    return [this](const Vector& x, const Vector& y) { this->apply_b(x, y); };
  }
  /// ||A|| / ||B||, or 0 without a B. A residual of the operator for a pair with theta, over this and |theta| and in
  /// the norm of B, is a backward error at least as large as the pair has.
  Real quotient_of_norms() const { return this->has_b() ? this->norm_a / this->norm_b : Real(0); }
  /// ||A x - theta B x|| is at most this, for a residual of the operator of this length.
  double residual_of_a(Real residual) const {
    return static_cast<double>(this->has_b() ? std::sqrt(this->norm_b) * residual : residual);
  }

 protected:
  /// Without columns: scratch memory takes its rows from it.
  Vector model() const { return Vector(this->context(), this->rows(), 0, "model"); }
  /// A B^-1. It has the operator's eigenvalues, and is Hermitian in the inner product of B^-1.
  AnyOperator<Vector> turned_operation() { return in_turn(multiply_inverse(), multiply_a()); }
  /// Y = B^-1 X.
  Multiply multiply_inverse() const {
    return [this](const Vector& x, const Vector& y) { inverse_->apply(x, y); };
  }

 private:
  Multiply multiply_a() {
    return [this](const Vector& x, const Vector& y) {
      a_.apply(Scalar(1), Scalar(0), x, Scalar(0), y);
      this->count_applications(x.width());
    };
  }
  AnyOperator<Vector> in_turn(const Multiply& first, const Multiply& second) const {
    return FunctionOperator<Vector>(this->context(), this->rows(), [=](const Vector& x, const Vector& y) {
      WorkspaceScope<typename Vector::Space> scope(x.context());
      const Vector between = scratch_like(scope, x, x.width());
      first(x, between);
      second(between, y);
    });
  }

  AnyOperator<Vector> a_, operation_;
  std::optional<InverseOfB<Vector>> inverse_;
};

}  // namespace blockvec::solvers
