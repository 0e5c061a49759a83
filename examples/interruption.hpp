#pragma once

#include <semaphore.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace blockvec::examples {

/// Ends a run in time that is asked to end: by SIGINT, by SIGTERM (which MPI launchers send to all ranks where one is
/// lost), or by the program itself. The first object in main, one a process.
///
/// The solver sees is_asked() at its next block, and the run ends as any other does. Where that takes long, perhaps for
/// ever since other ranks are lost, a thread of this object reports what is known by then, without the others, and ends
/// the process in the end. SIGPIPE and SIGXFSZ, which would end it silently, are ignored: what cannot be written is an
/// error there.
class Interruption {
 public:
  static constexpr int exit_status = 1;

  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool is_asked() const noexcept { return cause_ != Cause::none; }
  /// "SIGTERM", say. Empty where nobody has asked.
  std::string cause() const;
  /// The program cannot go on usefully: its standard output is gone.
  void ask_since_output_is_lost() noexcept { ask(Cause::output_lost); }

  /// What the thread does `grace` seconds after a signal, unless the run reports by then, and what it does before it
  /// ends the process. Neither may communicate.
  void on_no_answer(double grace, std::function<void()> report, std::function<void()> clean_up);
  void forget_what_to_do() { on_no_answer(deadline, nullptr, nullptr); }

  /// One report at a time: the run holds this while it reports.
  std::unique_lock<std::mutex> start_report() { return std::unique_lock(report_mutex_); }

 private:
  enum class Cause : int { none, sigint, sigterm, output_lost };
  static constexpr double deadline = 7;    // seconds from the signal to the end of the process
  static constexpr unsigned alarm_at = 8;  // where even the thread hangs: a reader or a disk does not answer

  static void handle(int signal);
  void ask(Cause cause) noexcept;
  void watch();
  /// False where nothing happens in that time.
  bool wait(double seconds);

  std::atomic<Cause> cause_{Cause::none};
  std::atomic<bool> is_signalled_{false};
  std::atomic<bool> is_over_{false};
  sem_t news_{};
  std::mutex report_mutex_;
  std::mutex mutex_;  // of the next three
  double grace_ = deadline;
  std::function<void()> report_;
  std::function<void()> clean_up_;
  std::thread watcher_;
};

}  // namespace blockvec::examples
