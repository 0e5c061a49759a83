#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/result.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "solvers/counted_operator.hpp"
#include "solvers/problem_vectors.hpp"
#include "solvers/spectrum_bounds.hpp"

namespace blockvec::solvers {

/// sign * A and B of a problem, with what is deflated: how they are applied and counted, how large they are, and what
/// is orthonormal beside them.
template <class Vector>
class Pencil {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;
  using Metric = orth::Metric<Scalar, Layout, Space>;
  using Basis = orth::Basis<Scalar, Layout, Space>;

  /// `solver` is named in errors. Applies B to what is deflated.
  Pencil(const std::string& solver, const Problem<Vector>& problem, Real sign, const orth::Options& options)
      : solver_(solver),
        problem_(problem),
        sign_(sign),
        apply_(problem.a, sign, applications_),
        replacing_(context(), with(options, orth::Deficiency::replace)),
        dropping_(context(), with(options, orth::Deficiency::drop)) {
    if (problem.b) {
      metric_.apply = [this](const Vector& x, const Vector& y) {
        problem_.b->apply(Scalar(1), Scalar(0), x, Scalar(0), y);
        applications_b_ += x.width();
      };
    }
    if (problem.deflation.width() == 0) return;
    deflation_ = orthonormal_copy(problem.deflation, options, metric());
    if (!problem.b) return;
    b_deflation_ = Vector(context(), problem.a.rows(), deflation_.width(), "B deflated vectors");
    metric_.apply(deflation_, b_deflation_);
  }
  Pencil(const Pencil&) = delete;
  Pencil& operator=(const Pencil&) = delete;

  const Context& context() const { return problem_.a.context(); }
  const RowDistribution& rows() const { return problem_.a.rows(); }
  bool has_b() const { return problem_.b.has_value(); }
  const Vector& deflation() const { return deflation_; }
  const Vector& b_deflation() const { return has_b() ? b_deflation_ : deflation_; }
  /// Dimensions beside what is deflated.
  std::int64_t dimensions() const { return rows().global_rows() - deflation_.width(); }

  void apply_a(const Vector& x, const Vector& y) const { apply_(x, y); }
  void apply_b(const Vector& x, const Vector& y) const { metric_.apply(x, y); }
  /// The problem's approximation of B^-1, or nothing.
  const typename FunctionOperator<Vector>::Multiply& inverse_b() const { return problem_.inverse_b; }

  /// Estimates the norms from `model`-like random vectors, and refuses a B that is seen not to be positive definite to
  /// rounding. At B it looks longer than a norm needs: where many eigenvalues are zero, they show soon.
  void look(const Vector& model, std::uint64_t seed) {
    constexpr std::int64_t steps_for_norms = 12, steps_for_definiteness = 30;
    norm_a = spectrum_bounds(apply_, model, steps_for_norms, seed).norm();
    if (!has_b()) return;
    const auto bounds = spectrum_bounds(metric_.apply, model, steps_for_definiteness, seed);
    norm_b = bounds.norm();
    require_definite(bounds);
  }

  /// Refuses a B with such ends of its spectrum where it is not positive definite to rounding.
  void require_definite(const RitzBounds<Real>& bounds) const {
    const Real norm = bounds.norm();
    if (bounds.lowest > static_cast<Real>(rows().global_rows()) * epsilon<Real> * norm) return;
    throw Error(
        fmt::format("{}: B is not positive definite to rounding: a vector x has x^H B x = {:.1e} ||B|| ||x||^2, with "
                    "||B|| at least "
                    "{:.1e}",
                    solver_, static_cast<double>(bounds.lowest / norm), static_cast<double>(norm)));
  }

  /// ||r|| / ((||A|| + |theta| ||B||) ||x||) for residual and vector of these lengths.
  double backward_error(Real residual, Real theta, Real length) const {
    if (residual == 0) return 0;
    const Real norm = has_b() ? norm_a + std::abs(theta) * norm_b : norm_a;
    return static_cast<double>(residual / (norm * length));
  }

  /// By how much an eigenvalue of the pencil may differ from theta, for residual and vector of these lengths, the
  /// latter with x^H B x = 1: an estimate, as if B were a multiple of the identity.
  static Real eigenvalue_error(Real residual, Real length) { return residual * length; }
  /// As above, for a pair with this backward error.
  Real eigenvalue_error_of(double backward_error, Real theta, Real length) const {
    const Real norm = has_b() ? norm_a + std::abs(theta) * norm_b : norm_a;
    return static_cast<Real>(backward_error) * norm * length * length;
  }

  /// X becomes orthonormal beside what is deflated, dependent columns being replaced by random ones; `bx` its image
  /// under B.
  void orthonormalize_start(const Vector& x, const Vector& bx) {
    see(replacing_.project_and_normalize(Basis(deflation_), x, nullptr, nullptr, metric(bx)));
  }
  /// The same by these options, beside an orthonormal V as well, of which B V is known.
  void orthonormalize_beside(const Vector& v, const Vector& bv, const Vector& x, const Vector& bx,
                             const orth::Options& options) {
    see(orth::Orthogonalizer(context(), with(options, orth::Deficiency::replace))
            .project_and_normalize(Basis{deflation_, v}, x, nullptr, nullptr, metric(bx, bv)));
  }
  /// W becomes orthonormal beside what is deflated and V, with BW where there is a B, of which B V is known. Returns
  /// how many of its columns were independent: they stand first.
  std::int64_t orthonormalize(const Vector& v, const Vector& bv, const Vector& w, const Vector& bw) {
    const Basis fixed{deflation_, v};
    if (!has_b()) return see(dropping_.project_and_normalize(fixed, w));
    // What B has to see once alone has little to be cancelled: it is orthogonal to V already, by the B V at hand, and
    // orthonormal but for B.
    project(fixed, w, bv);
    const std::int64_t kept = see(dropping_.normalize(w));
    if (kept == 0 || !trouble.empty()) return kept;
    return see(
        dropping_.project_and_normalize(fixed, w.columns(0, kept), nullptr, nullptr, metric(bw.columns(0, kept), bv)));
  }
  /// W <- W - V (B V)^H W for what is deflated and `v`. One reduction, 2m + 3w words.
  void project(const Basis& fixed, const Vector& w, const Vector& bv) {
    const Basis images{b_deflation(), bv};
    WorkspaceScope<> scope(context());
    const auto s = SmallMatrix<Scalar>::scratch(scope, fixed.width(), w.width());
    InnerProducts<Scalar, Layout, Space> products(context());
    images.for_pieces([&](const Vector& piece, std::int64_t begin, std::int64_t end) {
      products.add(piece, w, s.block(begin, end, 0, w.width()));
    });
    products.reduce();
    gram_schmidt_sweep(fixed.all(), &s, w, static_cast<const SmallMatrix<Scalar>*>(nullptr),
                       kernels::Triangle::general);
  }

  /// The pairs in X, B-orthonormal columns: Rayleigh quotients of A, residuals and loss of orthogonality, all anew.
  /// Returns whether all backward errors are at most `tolerance`. One application of A and B, three reductions.
  bool measure(const Vector& x, double tolerance, Result<Vector>& result) {
    const bool is_right = x.width() == 0 || measure_columns(x, tolerance, result);
    result.vectors = x;
    result.norm_estimate = static_cast<double>(norm_a);
    if (has_b()) result.norm_estimate_b = static_cast<double>(norm_b);
    result.applications = applications_;
    result.applications_b = applications_b_;
    return is_right;
  }

  /// Takes in what a block was made orthonormal with, here or elsewhere; returns its rank.
  std::int64_t see(const orth::Result& result) {
    if (!result.orthonormal) trouble = result.describe();
    return result.rank;
  }

  std::int64_t applications() const { return applications_; }
  /// Of A itself, to so many columns, elsewhere.
  void count_applications(std::int64_t columns) { applications_ += columns; }

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    std::int64_t draws[] = {replacing_.draws(), dropping_.draws()};
    archive(applications_, applications_b_, norm_a, norm_b, draws[0], draws[1]);
    replacing_.set_draws(draws[0]);
    dropping_.set_draws(draws[1]);
  }

  Real norm_a = 0, norm_b = 0;  ///< estimates from below
  std::string trouble;          ///< why a block could not be made orthonormal, or empty

 private:
  bool measure_columns(const Vector& x, double tolerance, Result<Vector>& result) {
    const std::int64_t width = x.width();
    const auto n = static_cast<std::size_t>(width);
    WorkspaceScope<Space> scope(context());
    const Vector ax = scratch_like(scope, x, width);
    const Vector bx = has_b() ? scratch_like(scope, x, width) : x;
    apply_a(x, ax);
    if (has_b()) apply_b(x, bx);
    const auto dots = SmallMatrix<Scalar, Space>::scratch(scope, 3, width);
    const auto row = [&](std::int64_t i) { return dots.block(i, i + 1, 0, width); };
    const auto gram = SmallMatrix<Scalar, Space>::scratch(scope, width, width);
    InnerProducts<Scalar, Layout, Space>(context())
        .add(x, bx, gram)
        .add_dots(x, ax, row(0))
        .add_dots(x, bx, row(1))
        .add_dots(x, x, row(2))
        .reduce();
    const auto lengths = dots.to_host();
    HostMatrix<Real> theta("BlockVec::solvers::values", 1, n);
    for (std::size_t j = 0; j < n; ++j) theta(0, j) = real_part(lengths(0, j)) / real_part(lengths(1, j));
    const auto values = SmallMatrix<Real, Space>::scratch(scope, 1, width);
    const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, width);
    values.from_host(theta);
    residual(bx, values, ax, norms);
    const auto residuals = norms.to_host();
    bool is_right = true;
    for (std::size_t j = 0; j < n; ++j) {
      result.eigenvalues.push_back(static_cast<double>(sign_ * theta(0, j)));
      result.residual_norms.push_back(static_cast<double>(residuals(0, j)));
      result.backward_errors.push_back(
          backward_error(residuals(0, j), theta(0, j), std::sqrt(real_part(lengths(2, j)))));
      if (!(result.backward_errors.back() <= tolerance)) is_right = false;
    }
    const auto g = gram.to_host();
    for (std::size_t j = 0; j < n; ++j) g(j, j) -= Scalar(1);
    result.orthogonality_loss =
        static_cast<double>(orth::dense::frobenius_norm(SmallMatrix<Scalar, Kokkos::HostSpace>(context(), g)));
    return is_right;
  }
  static orth::Options with(orth::Options options, orth::Deficiency deficiency) {
    options.deficiency = deficiency;
    return options;
  }
  /// For a block whose image under B goes to `bw`, beside what is deflated and a V of which B V is known.
  Metric* metric(const Vector& bw = {}, const Vector& bv = {}) {
    if (!has_b()) return nullptr;
    metric_.image_of_block = bw;
    metric_.image_of_basis = Basis{b_deflation_, bv};
    return &metric_;
  }

  std::string solver_;
  Problem<Vector> problem_;
  Real sign_;
  std::int64_t applications_ = 0, applications_b_ = 0;
  CountedOperator<Vector> apply_;
  Vector deflation_, b_deflation_;
  Metric metric_;
  orth::Orthogonalizer replacing_, dropping_;
};

}  // namespace blockvec::solvers
