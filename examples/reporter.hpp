#pragma once

#include <atomic>
#include <blockvec/solvers/collective.hpp>
#include <mutex>
#include <string>
#include <string_view>

#include "interruption.hpp"
#include "output_file.hpp"
#include "report.hpp"

namespace blockvec::examples {

/// What a run has to say, whether it ends well or not: progress, what was found, files, exit status. What was found is
/// printed first, except that JSON comes first after a signal or an error, and each time that pairs are found. A file
/// that cannot be written leaves the others alone.
class Reporter {
 public:
  static constexpr int error_status = 2;

  /// Of the first rank, `options.quiet` aside, the others are silent.
  Reporter(const ProgramOptions& options, OutputFiles& files, Interruption& interruption,
           const Communicator& communicator);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Before the solve: what is known of the matrix. Collective. Throws InputError where nobody can read what is
  /// printed.
  void begin(RunSummary run);
  /// A solvers::Observer on every rank: false where this rank is asked to stop.
  bool observe(const solvers::Step& step);
  /// Why a search has stopped that an observer stopped. Collective.
  std::string reason_to_stop();
  /// The run's end. Collective. write_vectors(file) writes the vectors, on every rank alike. The exit status.
  template <class WriteVectors>
  int finish(const RunSummary& run, const Context& context, WriteVectors&& write_vectors);
  /// An exception ends this rank: its message is printed unless the rank that it comes from does so, and what is known
  /// is reported.
  void give_up(const std::string& message, bool is_others);

 private:
  nlohmann::json report(const RunSummary& run, const Context& context);
  void report_unfinished(const std::string& why);
  void save_found(std::int64_t count);
  void write_json(const nlohmann::json& json);
  void plot(const nlohmann::json& json);
  std::unique_lock<std::mutex> start_report();
  std::string on_this_rank() const;
  void say(std::string_view text);
  void said(int error);
  void failed(std::string_view message);

  const ProgramOptions& options_;
  OutputFiles& files_;
  Interruption& interruption_;
  Communicator communicator_;
  bool is_first_;
  std::atomic<bool> talks_;
  std::atomic<bool> has_failed_ = false;
  std::int64_t saved_ = 0;     // pairs that JSON holds already
  bool is_stopped_ = false;    // by an observer on any rank
  bool has_reported_ = false;  // the run itself, of how it ended; under the lock of reports
  ProgressPrinter progress_;
  std::mutex mutex_;  // of what is known
  RunSummary known_;
};

template <class WriteVectors>
int Reporter::finish(const RunSummary& run, const Context& context, WriteVectors&& write_vectors) {
  const auto reporting = start_report();
  nlohmann::json json;
  if (is_first_) json = report(run, context);
  if (!files_.vectors_draft.empty()) {
    try {
      OutputFiles::write_together(options_.vectors_file, files_.vectors_draft, files_.vectors, communicator_,
                                  write_vectors);
      say("wrote " + options_.vectors_file + "\n");
    } catch (const solvers::InputError& error) {
      if (is_first_) failed(error.what());
    }
  }
  if (is_first_) plot(json);
  std::int64_t status = has_failed_ ? error_status : run.converged ? 0 : Interruption::exit_status;
  communicator_.max(std::span(&status, 1));
  return static_cast<int>(status);
}

}  // namespace blockvec::examples
