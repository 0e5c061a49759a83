#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "solvers/lanczos/accuracy.hpp"
#include "solvers/lanczos/chebyshev_filter.hpp"
#include "solvers/lanczos/spectrum_probe.hpp"
#include "solvers/ritz_pair.hpp"

namespace blockvec::solvers {

/// Which polynomial of A a Krylov space is built with: chosen from a short look at the spectrum before the first block,
/// and again where the Ritz values ask for a much stronger one.
template <class Vector>
class FilterChoice {
 public:
  using Real = RealOf<typename Vector::Scalar>;
  using Transform = SpectralTransform<Vector>;
  using Pairs = std::vector<RitzPair<Real>>;

  FilterChoice(const AnyOperator<Vector>& a, const LanczosOptions& options, Real sign)
      : a_(a), options_(options), sign_(sign), transform_(a_, sign) {}

  const Transform& transform() const { return transform_; }

  /// What a checkpoint keeps, in two parts.
  template <class Archive>
  void state_of_transform(Archive& archive) {
    transform_.state(archive);
  }
  template <class Archive>
  void state(Archive& archive) {
    archive(is_allowed_, is_crowded_, latest_find_);
  }
  Real& top() { return top_; }

  /// Before the first search: a filter for the spectrum as a short look shows it, if the basis is small beside the
  /// matrix. A level of more copies than the basis has columns is kept in one piece. There is no filter where plain
  /// steps within one basis do as much with fewer products, unless products are cheap, and none that looks into the
  /// level before a search without it has had its time. Returns the columns that A was applied to. `spare` and `inner`:
  /// see SpectrumProbe.
  std::int64_t choose(const Vector& deflation, const std::pair<Vector, Vector>& spare,
                      const ProbedInnerProduct<Vector>& inner, Accuracy<Real>& accuracy) {
    if (options_.filter_degree == 0 || a_.rows().global_rows() <= options_.basis) return 0;
    SpectrumProbe<Vector> probe(a_, sign_, deflation, spare, inner);
    const std::int64_t below_cut = std::min(options_.basis, 2 * options_.wanted + most_beside);
    const auto cut = probe.run(static_cast<Real>(below_cut), least_filtered_gap<Real>(), options_.seed);
    if (!cut) return probe.applications();
    accuracy.norm = cut->norm;
    top_ = cut->top;
    is_crowded_ = cut->is_crowded;
    const std::int64_t steps = options_.basis / options_.block;
    const bool is_automatic = options_.filter_degree == LanczosOptions::automatic_filter;
    const bool is_cheap =
        !inner.apply_b && options_.row_entries > 0 && options_.row_entries < static_cast<double>(options_.basis);
    const bool is_enough =
        is_crowded_ && is_automatic && !is_cheap && filter_degree_for(cut->lowest, cut->at, top_) <= steps;
    if (!is_enough) set(cut->lowest, cut->at);
    return probe.applications();
  }

  /// Right after a restart with this many pairs still to be found: a filter, or a much stronger one, where the Ritz
  /// values known by now ask for it. True: there is a new one. While pairs are found, what finds them stays.
  template <class Space>
  bool improve(const Space& space, const Pairs& pairs, std::int64_t to_find, std::int64_t restarts,
               const Accuracy<Real>& accuracy) {
    if (!is_allowed_ || options_.filter_degree == 0 || (transform_.degree() > 0 && options_.filter_degree > 0)) {
      return false;
    }
    const bool is_stalled = restarts - latest_find_ >= patience;
    if (!is_stalled && (is_crowded_ || !pairs.empty())) return false;
    const auto& values = space.values();
    const auto first_unwanted = static_cast<std::size_t>(to_find);
    if (first_unwanted >= values.size() || (first_unwanted < 1 && pairs.empty())) return false;
    Real lowest = transform_.eigenvalue(values[0]);
    Real last = first_unwanted > 0 ? transform_.eigenvalue(values[first_unwanted - 1]) : lowest;
    for (const auto& pair : pairs) {
      lowest = std::min(lowest, pair.value);
      last = std::max(last, pair.value);
    }
    // The unwanted part begins clearly above the last wanted eigenvalue, which may have copies: a filter that cuts
    // right above it would not tell it from what is damped.
    const Real clear = std::max(least_cut_gap * (last - lowest), accuracy.same_eigenvalue(last));
    std::size_t first_damped = first_unwanted;
    while (first_damped + 1 < values.size() && transform_.eigenvalue(values[first_damped]) < last + clear) {
      ++first_damped;
    }
    if (!set(lowest, transform_.eigenvalue(values[first_damped]))) return false;
    latest_find_ = restarts;
    return true;
  }

  /// A pair was found at this restart.
  void see_find(std::int64_t restarts) { latest_find_ = restarts; }
  /// Ritz values of A itself bound the spectrum in practice (Zhou, Li 2011).
  void see_value(Real value, Real residual) { top_ = std::max(top_, value + residual); }
  /// An eigenvalue lies above what was taken for the top: no filter any more.
  void give_up() {
    transform_ = Transform(a_, sign_);
    is_allowed_ = false;
  }

 private:
  static constexpr Real least_cut_gap = Real(0.1);   // between the wanted part and the cut, in widths of the former
  static constexpr double filter_improvement = 1.5;  // a change of filter must raise the degree by this
  static constexpr int least_degree = 3;
  static constexpr std::int64_t most_beside = 36;  // eigenvalues below the cut, beside twice the wanted ones
  static constexpr std::int64_t patience = 30;     // restarts that find nothing before the filter changes

  /// The filter for this cut, of the degree asked for or of one that raises the lowest eigenvalue to filter_range.
  /// False, and nothing changes, if that is hardly better than what there is.
  bool set(Real lowest, Real cut) {
    if (!(lowest < cut && cut < top_)) return false;
    int degree = options_.filter_degree;
    if (degree < 0) {
      degree = filter_degree_for(lowest, cut, top_);
      if (degree < std::max<double>(least_degree, filter_improvement * transform_.degree())) return false;
    }
    transform_ = Transform(a_, sign_, cut, top_, degree);
    return true;
  }

  AnyOperator<Vector> a_;
  LanczosOptions options_;
  Real sign_;
  Transform transform_;
  Real top_ = -std::numeric_limits<Real>::infinity();
  bool is_allowed_ = true;
  bool is_crowded_ = false;       // the lowest level has more copies than the basis has columns
  std::int64_t latest_find_ = 0;  // the restart at which a pair was found, or the filter changed, last
};

}  // namespace blockvec::solvers
