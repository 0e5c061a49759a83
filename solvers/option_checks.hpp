#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace blockvec::solvers {

/// What the options of all methods are checked for. Each check throws an InputError that names the method.
class OptionChecks {
 public:
  explicit OptionChecks(std::string method) : method_(std::move(method)) {}

  [[noreturn]] void refuse(const std::string& what) const { throw InputError(method_ + ": " + what); }

  void rows(std::int64_t rows) const {
    if (rows < 1) refuse("the matrix has no rows");
  }
  void wanted(std::int64_t wanted, std::int64_t rows, std::int64_t deflated) const {
    if (wanted >= 1 && wanted <= rows - deflated) return;
    refuse(fmt::format("{} eigenpairs were asked of a matrix with {} rows{}", wanted, rows,
                       deflated > 0 ? fmt::format(" beside {} deflated vectors", deflated) : ""));
  }
  void target(double target) const {
    if (!std::isfinite(target)) refuse(fmt::format("the target must be a number, not {}", target));
  }
  void interval(double from, double to) const {
    if (from < to && std::isfinite(from) && std::isfinite(to)) return;
    refuse(fmt::format("an interval has a lower end and an upper one, not {} and {}", from, to));
  }
  void tolerance(double tolerance) const {
    if (!(tolerance > 0)) refuse(fmt::format("the tolerance must be positive, not {}", tolerance));
  }
  void iterations(std::int64_t most) const {
    if (most < 0) refuse(fmt::format("there cannot be at most {} iterations", most));
  }
  void block(std::int64_t block) const {
    if (block < 1) refuse(fmt::format("a block has at least 1 column, not {}", block));
  }
  /// `least` columns are needed, where there are so many `dimensions`.
  void basis(std::int64_t basis, std::int64_t least, std::int64_t dimensions, std::int64_t wanted,
             std::int64_t block) const {
    if (basis >= std::min(least, dimensions)) return;
    refuse(fmt::format("a basis of {} columns is too small for {} eigenpairs with blocks of {}: at least {}", basis,
                       wanted, block, least));
  }
  void checkpoint(const CheckpointOptions& options) const {
    if (options.seconds >= 0) return;
    refuse(fmt::format("there cannot be {} seconds between checkpoints", options.seconds));
  }

 private:
  std::string method_;
};

}  // namespace blockvec::solvers
