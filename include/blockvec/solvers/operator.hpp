#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/solvers/recurrence.hpp>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

/// @file
/// What solvers ask of a matrix: its product with a block vector, and nothing else.
namespace blockvec::solvers {

/// A square linear operator on block vectors of the type Vector. Solvers ask that it is Hermitian.
/// apply: Y = alpha (A - shift) X + beta Y on this rank's rows, for blocks of any width; beta = 0 never reads Y, X and
/// Y do not overlap. Collective. On a device it is queued on the context's instance and need not wait. An error on one
/// rank ends the solver on all of them.
/// An operator may have functions recur(shift, steps, newest, before) and apply_polynomial(p, X, Y), which do what
/// recur_by_products() and apply_polynomial_by_products() do. Filters call them where they are: they can keep their own
/// form of the blocks from product to product.
template <class A, class Vector>
concept Operator = requires(A& a, const Vector& x, const Vector& y, typename Vector::Scalar s) {
  { a.context() } -> std::convertible_to<const Context&>;
  { a.rows() } -> std::convertible_to<const RowDistribution&>;
  a.apply(s, s, x, s, y);
};

/// Any Operator, its type forgotten: what solvers are compiled for. Made from a variable, it refers to that one, which
/// must outlive it; made from a temporary, it keeps it. Copies share the operator. Cost: a virtual call a product.
template <class Vector>
class AnyOperator {
 public:
  using Scalar = typename Vector::Scalar;  ///< of the block vectors

  /// Of any type with the functions of an Operator.
  template <class A>
  requires(!std::same_as<std::remove_cvref_t<A>, AnyOperator> && Operator<std::remove_reference_t<A>, Vector>)
      AnyOperator(A&& a)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : held_(std::make_shared<Held<A>>(std::forward<A>(a))) {}

  /// Where its block vectors live.
  const Context& context() const { return held_->context(); }
  /// Which rank holds which rows.
  const RowDistribution& rows() const { return held_->rows(); }
  /// Y = alpha (A - shift) X + beta Y, as Operator says.
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) const {
    held_->apply(alpha, shift, x, beta, y);
  }
  /// The operator's own recur(), or recur_by_products().
  void recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps, const Vector& newest,
             const Vector& before) const {
    held_->recur(shift, steps, newest, before);
  }
  /// Y = p(A) X by the operator's own apply_polynomial(), or apply_polynomial_by_products(). Throws ShapeError for
  /// weights of another number of steps.
  void apply_polynomial(const Polynomial<Scalar>& p, const Vector& x, const Vector& y) const {
    p.require_shape();
    held_->apply_polynomial(p, x, y);
  }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual const Context& context() = 0;
    virtual const RowDistribution& rows() = 0;
    virtual void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) = 0;
    virtual void recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps, const Vector& newest,
                       const Vector& before) = 0;
    virtual void apply_polynomial(const Polynomial<Scalar>& p, const Vector& x, const Vector& y) = 0;
  };
  template <class A>  // a reference type, or the type of what is kept
  struct Held final : Interface {
    explicit Held(A&& operator_) : a(std::forward<A>(operator_)) {}
    const Context& context() override { return a.context(); }
    const RowDistribution& rows() override { return a.rows(); }
    void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) override {
      a.apply(alpha, shift, x, beta, y);
    }
    void recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps, const Vector& newest,
               const Vector& before) override {
      if constexpr (requires { a.recur(shift, steps, newest, before); }) {
        a.recur(shift, steps, newest, before);
      } else {
        recur_by_products(a, shift, steps, newest, before);
      }
    }
    void apply_polynomial(const Polynomial<Scalar>& p, const Vector& x, const Vector& y) override {
      if constexpr (requires { a.apply_polynomial(p, x, y); }) {
        a.apply_polynomial(p, x, y);
      } else {
        apply_polynomial_by_products(a, p, x, y);
      }
    }
    A a;
  };
  std::shared_ptr<Interface> held_;
};

/// An Operator from a function multiply(X, Y) that computes Y = A X for blocks of any width.
/// Cost beside multiply's: with alpha = 1, shift = 0 and beta = 0 nothing; else a temporary block and up to 5 words an
/// entry of X in two passes.
template <class Vector>
class FunctionOperator {
 public:
  using Scalar = typename Vector::Scalar;                                  ///< of the block vectors
  using Multiply = std::function<void(const Vector& x, const Vector& y)>;  ///< Y = A X

  /// For block vectors of this Context with these rows.
  FunctionOperator(const Context& context, const RowDistribution& rows, Multiply multiply)
      : context_(context), rows_(rows), multiply_(std::move(multiply)) {}

  /// Where its block vectors live.
  const Context& context() const { return context_; }
  /// Which rank holds which rows.
  const RowDistribution& rows() const { return rows_; }
  /// Y = alpha (A - shift) X + beta Y, as Operator says.
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) const {
    if (alpha == Scalar(1) && shift == Scalar(0) && beta == Scalar(0)) return multiply_(x, y);
    WorkspaceScope<typename Vector::Space> scope(context_);
    const Vector product = scratch_like(scope, x, x.width());
    multiply_(x, product);
    if (shift != Scalar(0)) axpby(-shift, x, Scalar(1), product);
    axpby(alpha, product, beta, y);
  }

 private:
  Context context_;
  RowDistribution rows_;
  Multiply multiply_;
};

}  // namespace blockvec::solvers
