#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "solvers/lanczos/accuracy.hpp"
#include "solvers/ritz_pair.hpp"

namespace blockvec::solvers {

/// Whether all copies of the wanted eigenvalues are found, and whether another search is to look for more.
///
/// A Krylov space that is started from s random vectors contains at most s copies of an eigenvalue, so: an eigenvalue
/// found less than s times is complete, and where one below the last wanted eigenvalue is found s times, another search
/// is started from a fresh random block orthogonal to everything found. It goes on until its lowest Ritz value shows
/// that nothing wanted is left. That costs about half of what the first search did, and nothing where the block is
/// wider than the multiplicities.
template <class Real>
class RenewedSearch {
 public:
  using Pairs = std::vector<RitzPair<Real>>;

  /// What is known of the level of the last wanted eigenvalue.
  enum class Level {
    whole,   ///< all its eigenvalues are among the wanted ones
    cut,     ///< there are more
    unknown  ///< as far as these searches have come
  };

  RenewedSearch(std::int64_t wanted, const Accuracy<Real>& accuracy) : wanted_(wanted), accuracy_(accuracy) {}

  /// This search is for what others may have missed.
  bool is_check = false;
  /// The highest eigenvalue that it may find again.
  Real suspect = 0;
  std::int64_t found = 0;   ///< pairs, in this search
  std::int64_t starts = 0;  ///< random vectors, in all searches
  bool is_fresh = false;    ///< this search began with random vectors beside enough pairs

  /// The next search begins beside these pairs.
  void begin(const Pairs& pairs, bool is_complete) {
    is_check = std::ssize(pairs) >= wanted_;
    suspect = highest_suspect(pairs, is_complete);
    found = 0;
    is_fresh = is_check;
  }

  /// Is another search to follow this one, which has found all that it wanted?
  bool is_due(const Pairs& pairs, bool is_complete) const {
    return highest_suspect(pairs, is_complete) > -std::numeric_limits<Real>::infinity() && found > 0;
  }

  /// Pairs that are still wanted: as many as are missing or, where enough are locked, those that lie below the last of
  /// these.
  template <class Space, class Transform>
  std::int64_t to_find(const Pairs& pairs, const Space& space, const Transform& transform) const {
    if (std::ssize(pairs) < wanted_) return wanted_ - std::ssize(pairs);
    const Real limit = transform.value(threshold(pairs));
    return std::lower_bound(space.values().begin(), space.values().end(), limit) - space.values().begin();
  }

  /// In a search beside enough locked pairs: does the lowest Ritz value show that nothing below the threshold is left?
  /// It does if its pair has converged so far that a suspect, which the process favours, would have come out long
  /// before (the chance to miss one is about that of a random vector to be orthogonal to it to this ratio), and if the
  /// bound of Kato and Temple keeps it above the threshold. A search about the last level goes on until this is known.
  template <class Space, class Transform>
  bool nothing_left(const Pairs& pairs, const Space& space, const Transform& transform) const {
    if (!is_check) return false;
    if (space.is_complete()) return to_find(pairs, space, transform) == 0;
    if (space.active() == 0) return false;
    if (is_about_last(pairs)) {
      const bool is_converged = accuracy_.count_converged(space, transform) > 0;
      const bool is_hidden = transform.cut() <= last_wanted(pairs) + same_as_last(pairs);  // by the filter
      return to_find(pairs, space, transform) == 0 &&
             (is_converged || is_hidden || level(pairs, rest_beyond(0, space, transform)) != Level::unknown);
    }
    const Real lowest = space.values()[0];
    const Real residual = space.residuals()[0];
    if (!(residual <= missing_ratio * (lowest - transform.value(suspect)))) return false;
    const Real gap = space.active() > 1 ? space.values()[1] - space.residuals()[1] - lowest : Real(0);
    const Real distance = gap > residual ? residual * (residual / gap) : residual;
    return lowest - distance >= transform.value(threshold(pairs));
  }

  /// Looks at what lies beyond the first `count` active pairs, for level().
  template <class Space, class Transform>
  void see_beyond(std::int64_t count, const Space& space, const Transform& transform) {
    rest_ = rest_beyond(count, space, transform);
  }
  /// After a search that has found all that it wanted.
  Level level(const Pairs& pairs) const { return level(pairs, rest_); }

  /// The search is about whether there is more of the last wanted eigenvalue, all else being found.
  bool is_about_last(const Pairs& pairs) const { return is_check && found == 0 && suspect >= threshold(pairs); }
  void ask_about_last(const Pairs& pairs) {
    is_check = true;
    suspect = last_wanted(pairs);
    found = 0;
    rest_ = {};
  }
  /// May more of the last wanted eigenvalue be there, and in no search so far?
  bool may_lack_last(const Pairs& pairs) const { return copies_of_last(pairs) >= starts; }

 private:
  /// A pair whose residual is this share of its distance from another eigenvalue has come out well after that one.
  static constexpr auto missing_ratio = Real(1e-3);

  /// What a search shows of the eigenvalues that it leaves: bounds of the lowest one.
  struct Rest {
    Real lower = -std::numeric_limits<Real>::infinity();
    Real upper = std::numeric_limits<Real>::infinity();
    bool is_all = false;  ///< the search has gone through the whole space
  };

  /// The lower bound is that nothing below it would be missing by now: as in nothing_left() where the search began
  /// anew, and where it has found the wanted pairs, so that all like them are on their way, as soon as the pair is its
  /// own. A pair that has converged as the wanted ones have is taken at its value.
  template <class Space, class Transform>
  Rest rest_beyond(std::int64_t count, const Space& space, const Transform& transform) const {
    Rest rest;
    rest.is_all = space.is_complete();
    if (count < space.active()) {
      const Real value = space.values()[static_cast<std::size_t>(count)];
      const Real residual = space.residuals()[static_cast<std::size_t>(count)];
      const bool is_converged = accuracy_.has_converged(space, transform, count);
      const Real ratio = is_fresh ? missing_ratio : Real(0.1);
      rest.lower = transform.eigenvalue(is_converged ? value : value - residual / ratio);
      if (transform.eigenvalue(value) < transform.cut()) rest.upper = transform.eigenvalue(value);
    } else if (rest.is_all) {
      rest.lower = rest.upper;
    }
    return rest;
  }

  Level level(const Pairs& pairs, const Rest& rest) const {
    const Real limit = last_wanted(pairs) + same_as_last(pairs);
    const auto in_level = std::count_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.value <= limit; });
    if (in_level > wanted_ || rest.upper <= limit) return Level::cut;
    const bool is_bounded = rest.is_all || is_about_last(pairs) || !may_lack_last(pairs);
    return is_bounded && rest.lower > limit ? Level::whole : Level::unknown;
  }

  std::int64_t copies_of_last(const Pairs& pairs) const {
    return std::count_if(pairs.begin(), pairs.end(), [last = last_wanted(pairs), this](const auto& pair) {
      return std::abs(pair.value - last) <= accuracy_.same_eigenvalue(last);
    });
  }

  Real last_wanted(const Pairs& pairs) const { return sorted_values(pairs)[static_cast<std::size_t>(wanted_ - 1)]; }
  Real same_as_last(const Pairs& pairs) const { return accuracy_.same_eigenvalue(last_wanted(pairs)); }

  /// The last wanted eigenvalue among the locked ones, less what separates eigenvalues that count as equal.
  Real threshold(const Pairs& pairs) const {
    if (std::ssize(pairs) < wanted_) return std::numeric_limits<Real>::infinity();
    return last_wanted(pairs) - same_as_last(pairs);
  }

  static std::vector<Real> sorted_values(const Pairs& pairs) {
    std::vector<Real> values;
    for (const auto& pair : pairs) values.push_back(pair.value);
    std::sort(values.begin(), values.end());
    return values;
  }

  /// The highest eigenvalue below the threshold that was found as often as there were random starting vectors, so that
  /// there may be more of it; minus infinity if there is none.
  Real highest_suspect(const Pairs& pairs, bool is_complete) const {
    Real highest = -std::numeric_limits<Real>::infinity();
    if (is_complete) return highest;
    const std::vector<Real> values = sorted_values(pairs);
    for (std::size_t begin = 0, end = 0; begin < values.size(); begin = end) {
      while (end < values.size() && values[end] - values[begin] <= accuracy_.same_eigenvalue(values[begin])) ++end;
      if (values[begin] < threshold(pairs) && static_cast<std::int64_t>(end - begin) >= starts) highest = values[begin];
    }
    return highest;
  }

  std::int64_t wanted_;
  const Accuracy<Real>& accuracy_;
  Rest rest_;
};

}  // namespace blockvec::solvers
