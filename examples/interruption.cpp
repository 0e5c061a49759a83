#include "interruption.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>

namespace blockvec::examples {
namespace {

std::atomic<Interruption*> instance{nullptr};

}  // namespace

Interruption::Interruption() {
  sem_init(&news_, 0, 0);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  watcher_ = std::thread([this] { watch(); });
  instance = this;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // A shell that starts a program in the background may want it to ignore SIGINT.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  is_over_ = true;
  sem_post(&news_);
  watcher_.join();
  instance = nullptr;
  sem_destroy(&news_);
}

std::string Interruption::cause() const {
  switch (cause_) {
    case Cause::none:
      return "";
    case Cause::sigint:
      return "SIGINT";
    case Cause::sigterm:
      return "SIGTERM";
    case Cause::output_lost:
      return "standard output is lost";
  }
  return "";
}

void Interruption::on_no_answer(double grace, std::function<void()> report, std::function<void()> clean_up) {
  const std::lock_guard lock(mutex_);
  grace_ = std::min(grace, deadline);
  report_ = std::move(report);
  clean_up_ = std::move(clean_up);
}

// Any thread may be the one that is interrupted: an atomic and a semaphore are all that is allowed here.
void Interruption::handle(int signal) {
  const int error = errno;
  if (Interruption* self = instance) {
    self->ask(signal == SIGINT ? Cause::sigint : Cause::sigterm);
    if (!self->is_signalled_.exchange(true)) sem_post(&self->news_);
  }
  errno = error;
}

void Interruption::ask(Cause cause) noexcept {
  Cause expected = Cause::none;
  cause_.compare_exchange_strong(expected, cause);
}

bool Interruption::wait(double seconds) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  constexpr long second = 1'000'000'000;
  until.tv_nsec += static_cast<long>((seconds - std::floor(seconds)) * static_cast<double>(second));
  until.tv_sec += static_cast<std::time_t>(std::floor(seconds)) + until.tv_nsec / second;
  until.tv_nsec %= second;
  while (sem_timedwait(&news_, &until) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

void Interruption::watch() {
  while (!wait(1e6)) {
  }
  if (is_over_) return;
  std::signal(SIGALRM, [](int) { _exit(exit_status); });
  alarm(alarm_at);
  const auto is_over_within = [&](double seconds) {
    while (!is_over_ && wait(seconds)) {
    }
    return is_over_.load();
  };
  const double grace = [&] {
    const std::lock_guard lock(mutex_);
    return grace_;
  }();
  if (is_over_within(grace)) return;
  if (const std::unique_lock nobody_reports(report_mutex_, std::try_to_lock); nobody_reports) {
    const std::lock_guard lock(mutex_);
    if (report_) report_();
  }
  if (is_over_within(deadline - grace)) return;
  const std::lock_guard lock(mutex_);
  if (clean_up_) clean_up_();
  _exit(exit_status);
}

}  // namespace blockvec::examples
