#include "reporter.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <blockvec/solvers/input_error.hpp>
#include <cstring>

#include "write_all.hpp"

namespace blockvec::examples {
namespace {

// Open MPI kills the ranks a second after it has sent them SIGTERM.
constexpr double grace_of_ranks = 0.4;
constexpr double grace_alone = 5;

}  // namespace

Reporter::Reporter(const ProgramOptions& options, OutputFiles& files, Interruption& interruption,
                   const Communicator& communicator)
    : options_(options),
      files_(files),
      interruption_(interruption),
      communicator_(communicator),
      is_first_(communicator.rank() == 0),
      talks_(is_first_ && !options.quiet),
      progress_(options.lanczos.wanted, communicator.size(), options) {
  if (!is_first_) return;
  const auto report = [this] {
    if (has_reported_) return;
    const std::string why = interruption_.cause() + on_this_rank() + ", while a step was under way";
    print_error("stopped: " + why);
    report_unfinished(why);
    files_.discard();  // who still comes to write them begins anew
  };
  interruption.on_no_answer(communicator.size() > 1 ? grace_of_ranks : grace_alone, report,
                            [this] { files_.discard(); });
}

Reporter::~Reporter() {
  if (is_first_) interruption_.forget_what_to_do();
}

void Reporter::begin(RunSummary run) {
  const std::string where = run.device.empty() ? fmt::format("{} thread(s)", run.threads) : run.device;
  const std::string line = fmt::format("{}: {} rows, {} nonzeros, {}, {} rank(s) with {}\n", run.matrix, run.rows,
                                       run.nonzeros, run.scalar, run.ranks, where);
  {
    const std::lock_guard lock(mutex_);
    known_ = std::move(run);
  }
  solvers::collectively(communicator_, [&] {
    if (const int error = talks_ ? print(line) : 0)
      throw OutputError(fmt::format("standard output: cannot be written: {}", std::strerror(error)));
    return true;
  });
}

bool Reporter::observe(const solvers::Step& step) {
  if (is_first_) {
    const std::lock_guard lock(mutex_);
    known_.eigenvalues = step.eigenvalues;
    known_.residual_norms = step.residual_norms;
    known_.restarts = step.restart;
    known_.applications = step.applications;
    known_.reductions = step.reductions;
    known_.filter_degree = step.filter_degree;
    known_.seconds = step.seconds;
    known_.history.push_back(step);
  }
  if (step.converged > saved_) save_found(step.converged);
  if (talks_) said(progress_(step));
  return !interruption_.is_asked();
}

// Whoever kills this process leaves no time for it. A disk that is full is reported at the end.
void Reporter::save_found(std::int64_t count) {
  saved_ = count;
  if (!is_first_ || !files_.json || files_.json->is_direct()) return;
  const auto writing = interruption_.start_report();
  try {
    const std::lock_guard lock(mutex_);
    files_.json->write(json_text(to_json(known_, options_)));
  } catch (const OutputError&) {
  }
}

std::string Reporter::reason_to_stop() {
  is_stopped_ = true;
  try {
    communicator_.agree(!interruption_.is_asked(), interruption_.cause());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

nlohmann::json Reporter::report(const RunSummary& run, const Context& context) {
  // Who is told to end has no time to measure the machine, and perhaps nobody reads much of what he prints.
  const bool has_time = !is_stopped_ && !interruption_.is_asked();
  nlohmann::json json = to_json(run, options_);
  if (!has_time) write_json(json);
  if (talks_) said(progress_.finish());
  say(result_table(run, options_) + literature_comparison(run, options_));
  if (!talks_ && !has_time) print_error(fmt::format("stopped: {}", run.stopped));
  if (has_time) {
    constexpr double seconds_to_measure = 0.2;  // the memory's bandwidth, which few wait for after a shorter run
    const bool compare = run.seconds >= seconds_to_measure;
    if (talks_) say(context.report(compare));
    if (files_.json || files_.plot) add_measurements(json, context, compare);
    write_json(json);
  }
  return json;
}

void Reporter::give_up(const std::string& message, bool is_others) {
  if (!is_others) {
    const int rank = communicator_.rank();
    print_error(message, communicator_.size() > 1 ? fmt::format("error on rank {}", rank) : "error");
  }
  if (!is_first_) return;
  const auto reporting = start_report();
  report_unfinished(is_others ? message : message + on_this_rank());
}

void Reporter::report_unfinished(const std::string& why) {
  const RunSummary run = [&] {
    const std::lock_guard lock(mutex_);
    known_.stopped = why;
    return known_;
  }();
  if (run.history.empty()) return;
  write_json(to_json(run, options_));
  if (talks_) said(progress_.finish());
  say(result_table(run, options_));
}

void Reporter::write_json(const nlohmann::json& json) {
  if (!files_.json) return;
  try {
    files_.json->write(json_text(json));
    say(fmt::format("wrote {}\n", files_.json->name()));
  } catch (const OutputError& error) {
    failed(error.what());
  }
}

void Reporter::plot(const nlohmann::json& json) {
  if (!files_.plot) return;
  try {
    const std::string trouble = plot_history(json_text(json), files_.plot->draft());
    if (!trouble.empty()) throw OutputError(fmt::format("{}: not plotted: {}", files_.plot->name(), trouble));
    files_.plot->publish();
    say(fmt::format("wrote {}\n", files_.plot->name()));
  } catch (const OutputError& error) {
    failed(error.what());
  }
}

std::unique_lock<std::mutex> Reporter::start_report() {
  auto lock = interruption_.start_report();
  has_reported_ = true;
  return lock;
}

std::string Reporter::on_this_rank() const {
  return communicator_.size() > 1 ? fmt::format(" (rank {})", communicator_.rank()) : "";
}

void Reporter::say(std::string_view text) {
  if (talks_) said(print(text));
}

void Reporter::said(int error) {
  if (error == 0) return;
  talks_ = false;
  failed(fmt::format("standard output: cannot be written: {}{}", std::strerror(error), on_this_rank()));
  interruption_.ask_since_output_is_lost();
}

void Reporter::failed(std::string_view message) {
  has_failed_ = true;
  print_error(message);
}

}  // namespace blockvec::examples
