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
/// The solver sees is_asked() at its next block, and the run ends as any other does. Where that takes too long, perhaps
/// for ever since other ranks are lost, a thread of this object reports what is known, without the others, and ends the
/// process. SIGPIPE and SIGXFSZ, which would end it silently, are ignored: what cannot be written is an error there.
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

  /// What the thread does before it ends the process; `reports` says that nobody has claimed the report. That is
  /// `grace` seconds after a signal or, where the report is claimed, a few seconds later. It must not communicate.
  /// Without it, the process ends silently, and later.
  using LastAct = std::function<void(bool reports)>;
  void on_no_answer(double grace, LastAct act);

  /// The report of what was found is written once. True: by the caller. False: this object is about it, and the process
  /// ends soon.
  bool claim_report() noexcept { return !is_claimed_.exchange(true); }

 private:
  enum class Cause : int { none, sigint, sigterm, output_lost };
  static constexpr double deadline = 7;          // seconds from the signal to the end of the process
  static constexpr unsigned hanging_report = 2;  // seconds after which a report has no end

  static void handle(int signal);
  void ask(Cause cause) noexcept;
  void watch();
  /// False where nothing happens in that time.
  bool wait(double seconds);
  void act(bool reports);

  std::atomic<Cause> cause_{Cause::none};
  std::atomic<bool> is_signalled_{false};
  std::atomic<bool> is_claimed_{false};
  std::atomic<bool> is_over_{false};
  sem_t news_{};
  std::mutex mutex_;  // of what follows
  double grace_ = deadline;
  LastAct act_;
  std::thread watcher_;
};

}  // namespace blockvec::examples
