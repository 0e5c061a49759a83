#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

/// What iterations conclude from their residuals.
namespace blockvec::solvers {

/// The mean of log10 of the wanted columns' backward errors, none counting less than the tolerance: what iterations
/// bring down.
inline double log_error(std::span<const double> errors, double tolerance) {
  double sum = 0;
  for (const double error : errors) sum += std::log10(std::max(error, tolerance));
  return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
}

/// Whether a search gets anywhere: not where `patience` iterations bring the error down by less than a tenth, or than
/// another share of it.
class Stagnation {
 public:
  explicit Stagnation(std::int64_t patience, double share = 0.1)
      : patience_(patience), least_drop_(-std::log10(1 - share)) {}

  std::int64_t patience() const { return patience_; }
  /// The error after an iteration that counts as so many. `open`: the share of the wanted pairs that can still lower
  /// it.
  void see(double log_error, std::int64_t iterations = 1, double open = 1) {
    since_best_ += iterations;
    if (log_error >= best_ - open * least_drop_) return;
    best_ = log_error;
    since_best_ = 0;
  }
  void forget() {
    best_ = 1e300;
    since_best_ = 0;
  }
  bool is_complete() const { return since_best_ >= patience_; }

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(best_, since_best_);
  }

 private:
  std::int64_t patience_;
  double least_drop_;
  double best_ = 1e300;
  std::int64_t since_best_ = 0;
};

/// Whether the preconditioner is used. Where it promises to take long, `period` iterations without it show which way is
/// faster, and the other way is taken from then on. So a preconditioner that is no help, such as one that is indefinite
/// at the wrong places, is left out.
class PreconditionerTrial {
 public:
  static constexpr int period = 25;
  static constexpr int long_time = 4 * period;  ///< iterations: a trial is worth its price

  explicit PreconditionerTrial(bool is_given) : uses_(is_given), is_decided_(!is_given), was_given_(is_given) {}

  /// What a checkpoint keeps.
  template <class Archive>
  void state(Archive& archive) {
    archive(uses_, is_decided_, iterations_, first_, fall_with_);
  }

  bool uses() const { return uses_; }
  bool was_dropped() const { return was_given_ && is_decided_ && !uses_; }
  /// It made nothing of residuals that are not zero.
  void drop() {
    uses_ = false;
    is_decided_ = true;
  }

  /// The error after an iteration, and how far it has still to fall.
  void see(double log_error, double to_fall) {
    if (is_decided_) return;
    if (iterations_++ == 0) first_ = log_error;
    if (iterations_ <= period) return;
    const double fall = first_ - log_error;
    iterations_ = 1;
    first_ = log_error;
    if (!uses_) {  // the trial is over
      uses_ = fall <= fall_with_;
      is_decided_ = true;
    } else if (to_fall * period > fall * long_time) {
      fall_with_ = fall;
      uses_ = false;
    }
  }

 private:
  bool uses_, is_decided_, was_given_;
  int iterations_ = 0;
  double first_ = 0, fall_with_ = 0;
};

}  // namespace blockvec::solvers
