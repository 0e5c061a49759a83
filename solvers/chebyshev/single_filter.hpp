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
/// T_k(t(sign A)) V - V diag(T_k(t(values))) and the Chebyshev polynomials U of the second kind
///     Y_k = -1 / half_width (R diag(U_(k-1)(t(values))) + 2 sum over 0 < j < k of T_j(t(sign A)) R diag(U_(k-1-j))),
///     Y_2k = 2 T_k(t(sign A)) Y_k + 2 Y_k diag(T_k(t(values))).
/// Nothing but Y is in single precision, and all of it shrinks with the residuals: so do the errors of A's products.
/// The first line takes a pass over four blocks, 4 words a row, beside every other product; the second one takes 5
/// words in all. So it does all but the first steps, a quarter where degrees are multiples of `unit`. A filter of
/// degree d passes over tall data d - 1 times by products, about d / 8 times for the sum, and 8 times at both ends; a
/// recurrence in double precision by products only. Everything is scaled by T_k(t(lowest)) as in chebyshev_filter():
/// V's part of Y is of V's size or smaller, which neither overflows nor underflows. Source of filters on residuals:
/// Kodali, Ramakrishnan, Motamarri 2025 (arXiv 2503.22652), who have the sum as a source in the recurrence of Y, a pass
/// over three blocks beside each product.
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
    const auto factors = SmallMatrix<Exact, Space>::scratch(scope, 2, v.width());
    HostMatrix<Exact> host("BlockVec::solvers::growth", 2, growth.size());
    for (std::size_t j = 0; j < growth.size(); ++j) {
      host(0, j) = Exact(growth[j].own);
      host(1, j) = Exact(1);
    }
    factors.from_host(host);
    const Vector terms[] = {v, correction};
    axpby_columns(factors, std::span<const Vector>(terms), Exact(0), v);
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

  /// Y_k for the degrees k, by the first line.
  std::vector<Growth> begin(Real sign, const DampedInterval<Real>& interval, std::span<const int> degrees,
                            std::span<const Real> values, const Vector& r) {
    const auto width = std::ssize(degrees);
    const int most = degrees.front();
    const Single y = part(y_, width), term = part(other_, width);
    std::vector<Growth> growth;
    std::vector<int> last;  // j of the last term in each sum
    // Row j: the factors of T_j(t(sign A)) R. The row below them: those of last terms that come alone.
    HostMatrix<Scalar> host("BlockVec::solvers::coefficients", static_cast<std::size_t>(most) + 1, degrees.size());
    for (std::size_t j = 0; j < degrees.size(); ++j) {
      last.push_back(degrees[j] - 1);
      const auto factor = [&](int row) -> Scalar& { return host(static_cast<std::size_t>(row), j); };
      growth.push_back(
          coefficients(interval, values[j], degrees[j], [&](int row, Real value) { factor(row) = rounded(value); }));
      if (last.back() % 2 != 0) factor(most) = factor(last.back());
    }
    WorkspaceScope<Space> scope(r.context());
    const auto factors = SmallMatrix<Scalar, Space>::scratch(scope, most + 1, width);
    factors.from_host(host);
    const auto rows = [&](int from, int to, const Single& columns) {
      return factors.block(from, to, 0, columns.width());
    };
    convert(r, term);
    axpby_columns(rows(0, 1, term), term, Scalar(0), y);
    const auto add_pair = [&](int k, const Single& now, const Single& before) {
      if (k % 2 != 0) return;
      const Single pair[] = {before, now};
      axpby_columns(rows(k - 1, k + 1, now), std::span<const Single>(pair), Scalar(1), part(y, now.width()));
    };
    chebyshev_filter(a_, sign, interval, last, term, part(odd_, width), false, add_pair);
    const bool some_alone = std::any_of(last.begin(), last.end(), [](int j) { return j % 2 != 0; });
    if (some_alone) axpby_columns(rows(most, most + 1, term), term, Scalar(1), y);
    return growth;
  }

  /// Tells set(j, factor) the factors of T_j R / T_j(t(lowest)) in Y_k for a pair with this value, from the last one to
  /// the first.
  template <class Set>
  static Growth coefficients(const DampedInterval<Real>& interval, Real value, int k, const Set& set) {
    const Real place = interval.place(value), t = interval.place(interval.lowest), half = interval.half_width();
    std::vector<Real> ratios{1};  // of T_(j-1) to T_j at the lowest eigenvalue, from j = 0 on
    Growth growth{1, 1};
    Real before = 1;
    for (int j = 1; j <= k; ++j) {
      const Real ratio = j == 1 ? 1 / t : 1 / (2 * t - ratios.back());
      const Real now = j == 1 ? place / t : ratio * (2 * place * growth.own - ratios.back() * before);
      before = std::exchange(growth.own, now);
      growth.least *= ratio;
      ratios.push_back(ratio);
    }
    const auto ratio = [&](int j) { return ratios[static_cast<std::size_t>(j)]; };
    Real next = 0, u = ratio(k);  // U_(k-1-j)(t(value)) T_j / T_k
    for (int j = k - 1; j >= 0; --j) {
      set(j, (j == 0 ? -1 : -2) / half * u);
      next = std::exchange(u, ratio(j) * (2 * place * u - ratio(j + 1) * next));
    }
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
