#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/result.hpp>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace blockvec::solvers {

/// What is to happen before the next block, the stronger the later it stands here.
enum class Wish : std::int64_t { go_on, save, stop, fail };

/// Who may end a search before its time: observers, and checkpoints that cannot be written.
class Stopping {
 public:
  Stopping(Communicator communicator, Observer observer)
      : communicator_(std::move(communicator)), observer_(std::move(observer)) {}

  bool is_asked() const { return wish_ == Wish::stop; }
  bool is_to_save() const { return wish_ != Wish::go_on; }
  /// Why, in words.
  const std::string& why() const { return why_; }

  /// Shows the step to this rank's observer. The strongest wish of all ranks' observers and of the first rank's clock
  /// counts. One reduction of a word, which does not count as one of the method's. What an observer throws on one rank,
  /// this throws on every rank.
  void see(const Step& step, bool is_save_due) {
    Wish wish = communicator_.rank() == 0 && is_save_due ? Wish::save : Wish::go_on;
    std::string message;
    try {
      if (observer_ && !observer_(step)) wish = Wish::stop;
    } catch (const std::exception& error) {
      wish = Wish::fail;
      message = error.what();
    }
    auto strongest = static_cast<std::int64_t>(wish);
    communicator_.max(std::span(&strongest, 1));
    if (strongest == static_cast<std::int64_t>(Wish::fail)) communicator_.agree(wish != Wish::fail, message);
    wish_ = static_cast<Wish>(strongest);
    if (is_asked()) why_ = stopped_by_observer;
  }

  /// Runs save(). Where that fails the search ends: what it has found is worth more than what nobody could go on from.
  template <class Save>
  void save(Save&& save) {
    try {
      save();
    } catch (const InputError& error) {
      why_ += (why_.empty() ? "" : "; ") + std::string(error.what());
      wish_ = Wish::stop;
    }
  }

 private:
  Communicator communicator_;
  Observer observer_;
  Wish wish_ = Wish::go_on;
  std::string why_;
};

}  // namespace blockvec::solvers
