#pragma once

#include <blockvec/context.hpp>
#include <blockvec/solvers/result.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "solvers/checkpoint/search_checkpoint.hpp"
#include "solvers/stopping.hpp"

namespace blockvec::solvers {

/// What a search has shown and what it has taken, who may end it, and where it is saved.
template <class Vector>
class Journal {
 public:
  /// `steering`: what else steers the bits of the run (SearchCheckpoint).
  Journal(const Problem<Vector>& problem, const CheckpointOptions& options, const CheckpointHeader& steering,
          const Observer& observer)
      : context_(problem.a.context()),
        checkpoint_(problem, options, steering),
        stopping_(context_.communicator(), observer),
        first_reduction_(context_.reductions()) {}

  /// The clock begins to run anew.
  void begin() { begin_ = Clock::now(); }
  /// It does. True: the search has been read back from the checkpoint that it is to go on from.
  template <class Search>
  bool begin_or_resume(Search& search) {
    begin();
    if (!checkpoint_.is_continuation()) return false;
    checkpoint_.restore(search);
    return true;
  }

  /// Shows the step to the observer, as Stopping::see() does.
  void see(Step step) {
    step.seconds = seconds();
    step.reductions = reductions();
    history_.push_back(std::move(step));
    stopping_.see(history_.back(), checkpoint_.is_due());
  }
  /// What was shown last.
  const Step& latest() const { return history_.back(); }
  /// Saves the search where it is time to, or where it is about to end.
  template <class Search>
  void save_if_asked(Search& search) {
    if (stopping_.is_to_save() && checkpoint_.is_wanted()) stopping_.save([&] { checkpoint_.save(search); });
  }

  bool is_stopped() const { return stopping_.is_asked(); }
  const std::string& why_stopped() const { return stopping_.why(); }

  void conclude(Result<Vector>& result) const {
    result.reductions = reductions();
    result.seconds = seconds();
    result.history = history_;
  }

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    double elapsed = seconds();
    std::int64_t counted = reductions();
    archive(elapsed, counted, history_);
    if constexpr (Archive::reads) {
      begin_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(elapsed));
      first_reduction_ = context_.reductions() - counted;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t reductions() const { return context_.reductions() - first_reduction_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  Context context_;
  SearchCheckpoint<Vector> checkpoint_;
  Stopping stopping_;
  std::vector<Step> history_;
  std::int64_t first_reduction_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace blockvec::solvers
