#pragma once

#include <algorithm>
#include <bit>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/precision.hpp>
#include <span>
#include <utility>
#include <vector>

#include "solvers/chebyshev/damped_interval.hpp"
#include "solvers/chebyshev/filter.hpp"

namespace blockvec::solvers {

/// A filter by A in single precision, on pairs (V, values) with residuals R = sign A V - V diag(values). With Y_k =
/// T_k(t(sign A)) V - V diag(T_k(t(values))) and Y_1 = -R / half_width
///     Y_(k+1) = 2 t(sign A) Y_k - Y_(k-1) - 2 / half_width R diag(T_k(t(values))),
///     Y_2k = 2 T_k(t(sign A)) Y_k + 2 Y_k diag(T_k(t(values))).
/// Nothing but Y is in single precision, and all of it shrinks with the residuals: so do the errors of A's products.
/// The first line takes a pass over three blocks beside each product, the second one hardly anything, so it does all
/// but the first steps. Everything is scaled by T_k(t(lowest)) as in chebyshev_filter(): V's part of Y is of V's size
/// or smaller, which neither overflows nor underflows. Source of the first line: Kodali, Ramakrishnan, Motamarri 2025
/// (arXiv 2503.22652).
template <class Vector>
class SingleFilter {
 public:
  using Single = InSingle<Vector>;
  using Scalar = typename Single::Scalar;
  using Space = typename Vector::Space;
  using Real = RealOf<typename Vector::Scalar>;

  /// Degrees that are multiples of this cost the least.
  static constexpr int unit = 4;

  /// Holds memory for blocks of up to `width` columns.
  SingleFilter(AnyOperator<Single> a, std::int64_t width)
      : a_(std::move(a)),
        y_(a_.context(), a_.rows(), width, "Chebyshev terms in single precision"),
        odd_(a_.context(), a_.rows(), width, "odd Chebyshev terms in single precision"),
        other_(a_.context(), a_.rows(), width, "residuals in single precision") {}

  /// Y = sign A X, rounded.
  void apply(Real sign, const Vector& x, const Vector& y) {
    const Single from = part(y_, x.width()), to = part(odd_, x.width());
    convert(x, from);
    a_.apply(rounded(sign), Scalar(0), from, Scalar(0), to);
    convert(to, y);
  }

  /// As chebyshev_filter(), of vectors that are no pairs: rounded to single precision.
  std::int64_t filter(Real sign, const DampedInterval<Real>& interval, std::span<const int> degrees, const Vector& v) {
    const Single y = part(y_, v.width());
    convert(v, y);
    const std::int64_t applications = chebyshev_filter(a_, sign, interval, degrees, y, part(odd_, v.width()), false);
    convert(y, v);
    return applications;
  }

  /// As chebyshev_filter(), for even degrees. V has about the precision that it had, R is read. Both return the
  /// columns that A was applied to.
  std::int64_t filter_pairs(Real sign, const DampedInterval<Real>& interval, std::span<const int> degrees,
                            std::span<const Real> values, const Vector& r, const Vector& v) {
    int halvings = std::bit_width(static_cast<unsigned>(unit)) - 1;
    for (const int degree : degrees) halvings = std::min(halvings, std::countr_zero(static_cast<unsigned>(degree)));
    std::vector<int> reached;
    std::int64_t applications = 0;
    for (const int degree : degrees) {
      reached.push_back(degree >> halvings);
      applications += degree - 1;  // R tells the first product
    }
    std::vector<Growth> growth = begin(sign, interval, reached, values, r);
    for (int i = 0; i < halvings; ++i) twice(sign, interval, reached, growth);

    WorkspaceScope<Space> scope(v.context());
    const Vector correction = scratch_like(scope, v, v.width());
    convert(part(y_, v.width()), correction);
    using Exact = typename Vector::Scalar;
    const auto own = SmallMatrix<Exact, Space>::scratch(scope, 1, v.width());
    HostMatrix<Exact> host("BlockVec::solvers::growth", 1, growth.size());
    for (std::size_t j = 0; j < growth.size(); ++j) host(0, j) = Exact(growth[j].own);
    own.from_host(host);
    axpby_columns(own, v, Exact(0), v);
    axpby(Exact(1), correction, Exact(1), v);
    return applications;
  }

 private:
  /// How T_k, k being its degree, changes a column.
  struct Growth {
    Real own;    // T_k(t(value)) / T_k(t(lowest))
    Real least;  // 1 / T_k(t(lowest))
  };
  static Scalar rounded(Real x) { return Scalar(static_cast<RealOf<Scalar>>(x)); }
  static Single part(const Single& block, std::int64_t width) { return block.columns(0, width); }

  /// Y_k for the degrees k, by the first recurrence.
  std::vector<Growth> begin(Real sign, const DampedInterval<Real>& interval, std::span<const int> degrees,
                            std::span<const Real> values, const Vector& r) {
    const auto width = std::ssize(degrees);
    const Single residuals = part(other_, width), y = part(y_, width), first = part(odd_, width);
    const Real half = interval.half_width(), t = interval.place(interval.lowest);
    convert(r, residuals);
    fill(y, Scalar(0));
    axpby(rounded(-1 / (half * t)), residuals, Scalar(0), first);

    // Row k: what R is multiplied by in Y_(k+1).
    std::vector<Growth> growth(degrees.size());
    HostMatrix<Scalar> host("BlockVec::solvers::sources", static_cast<std::size_t>(degrees.front()), degrees.size());
    for (std::size_t j = 0; j < degrees.size(); ++j) {
      const Real place = interval.place(values[j]);
      Real ratio = 1 / t, before = 1, now = place / t, least = ratio;
      for (int k = 1; k < degrees[j]; ++k) {
        const Real next = 1 / (2 * t - ratio);
        host(static_cast<std::size_t>(k), j) = rounded(-2 * next / half * now);
        before = std::exchange(now, next * (2 * place * now - ratio * before));
        least *= next;
        ratio = next;
      }
      growth[j] = {now, least};
    }
    WorkspaceScope<Space> scope(r.context());
    const auto factors = SmallMatrix<Scalar, Space>::scratch(scope, degrees.front(), width);
    factors.from_host(host);
    const auto add = [&](int k, Real, const Single& term) {
      axpby_columns(factors.block(k, k + 1, 0, term.width()), part(residuals, term.width()), Scalar(1), term);
    };
    chebyshev_filter(a_, sign, interval, degrees, y, first, true, add);
    return growth;
  }

  /// Turns Y_k for the degrees k into Y_2k.
  void twice(Real sign, const DampedInterval<Real>& interval, std::vector<int>& degrees, std::vector<Growth>& growth) {
    const auto width = std::ssize(degrees);
    const Single y = part(y_, width), image = part(other_, width);
    copy(y, image);
    chebyshev_filter(a_, sign, interval, degrees, image, part(odd_, width), false);
    HostMatrix<Scalar> host("BlockVec::solvers::factors", 2, degrees.size());
    for (std::size_t j = 0; j < degrees.size(); ++j) {
      Growth& g = growth[j];
      const Real scale = 2 / (2 - g.least * g.least);  // 2 T_k^2 / T_2k at the lowest eigenvalue
      host(0, j) = rounded(scale);
      host(1, j) = rounded(scale * g.own);
      g = {scale * (g.own * g.own - g.least * g.least / 2), scale * g.least * g.least / 2};
      degrees[j] *= 2;
    }
    WorkspaceScope<Space> scope(y.context());
    const auto factors = SmallMatrix<Scalar, Space>::scratch(scope, 2, width);
    factors.from_host(host);
    const Single terms[] = {image, y};
    axpby_columns(factors, std::span<const Single>(terms), Scalar(0), y);
  }

  AnyOperator<Single> a_;
  Single y_, odd_, other_;
};

}  // namespace blockvec::solvers
