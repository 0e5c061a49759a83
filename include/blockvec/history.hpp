#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockvec {

/// One piece of work for which a method was chosen, and what became of it, in the words of the layer that did it: the
/// words are of static storage.
struct HistoryEntry {
  std::string_view verb;        ///< such as "project"
  std::string_view asked[2];    ///< the method asked for, in up to two halves; empty: none
  std::string_view used[2];     ///< the one finally used
  std::string_view reason;      ///< why something else was done than asked; empty: it was not
  std::int64_t columns = 0;     ///< of the block
  std::int64_t rank = 0;        ///< independent columns among them
  std::int64_t sweeps = 0;      ///< over tall data
  std::int64_t reductions = 0;  ///< over all ranks
  double passes = 0;            ///< tall data moved, in blocks
  double condition = 1;         ///< a lower bound of the block's condition number
  bool succeeded = true;        ///< false: without what was promised

  /// "project_and_normalize: pipi+/cholqr2 -> bcgs2/cgs2, rank 7 of 8, 3 sweeps, ...".
  std::string describe() const;
};

/// The latest such pieces of work and totals of all. Off until started; bounded; costs no allocation, then or after.
class History {
 public:
  /// Begins anew, with room for the latest `most` entries.
  void start(std::size_t most = 1024);
  /// Adds nothing from here on; what was added stays.
  void stop() { enabled_ = false; }
  /// Whether work is being added.
  bool enabled() const { return enabled_; }
  /// One more piece of work, unless it is off.
  void add(const HistoryEntry& entry);

  /// The latest, oldest first.
  std::vector<HistoryEntry> entries() const;
  std::int64_t count() const { return count_; }  ///< of all, forgotten ones included
  /// How many for this reason; an empty one: as asked.
  std::int64_t count(std::string_view reason) const;
  /// One line of totals, and one for every reason why something else was done than asked:
  ///
  ///     120 calls, 252 reductions, 1.8 passes a call, condition up to 3.1e+09; 3 not as asked:
  ///       2 x the block is ill-conditioned (pipi+/cholqr2 -> bcgs2/cgs2)
  std::string summary() const;

 private:
  struct Total {
    std::string_view reason;
    std::int64_t count = 0;
    HistoryEntry latest;
  };
  static constexpr int most_reasons = 16;  // what comes beyond counts with the last

  bool enabled_ = false;
  std::vector<HistoryEntry> latest_;
  std::size_t room_ = 0;
  std::size_t next_ = 0;  // the place of the next entry, once there is no more room
  std::int64_t count_ = 0, reductions_ = 0, sweeps_ = 0, failed_ = 0;
  double passes_ = 0, condition_ = 1;
  Total totals_[most_reasons];
  int reasons_ = 0;
};

}  // namespace blockvec
