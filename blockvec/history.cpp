#include <algorithm>
#include <blockvec/history.hpp>
#include <cstdio>

namespace blockvec {
namespace {

std::string joined(const std::string_view (&halves)[2]) {
  std::string text(halves[0]);
  if (!halves[0].empty() && !halves[1].empty()) text += "/";
  return text + std::string(halves[1]);
}

std::string methods(const HistoryEntry& entry) {
  const std::string asked = joined(entry.asked), used = joined(entry.used);
  return asked == used ? asked : asked + " -> " + used;
}

}  // namespace

std::string HistoryEntry::describe() const {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers,
                ", rank %lld of %lld, sweeps %lld, reductions %lld, %.1f passes, condition >= %.1e",
                static_cast<long long>(rank), static_cast<long long>(columns), static_cast<long long>(sweeps),
                static_cast<long long>(reductions), passes, condition);
  std::string text = std::string(verb) + ": " + methods(*this) + numbers;
  if (!reason.empty()) text += ", " + std::string(reason);
  return succeeded ? text : text + ", without success";
}

void History::start(std::size_t most) {
  *this = {};
  room_ = std::max<std::size_t>(most, 1);
  latest_.reserve(room_);
  enabled_ = true;
}

void History::add(const HistoryEntry& entry) {
  if (!enabled_) return;
  if (latest_.size() < room_) {
    latest_.push_back(entry);
  } else {
    latest_[next_] = entry;
    next_ = (next_ + 1) % room_;
  }
  ++count_;
  reductions_ += entry.reductions;
  sweeps_ += entry.sweeps;
  passes_ += entry.passes;
  condition_ = std::max(condition_, entry.condition);
  if (!entry.succeeded) ++failed_;
  if (entry.reason.empty()) return;
  int i = 0;
  while (i < reasons_ && totals_[i].reason != entry.reason) ++i;
  if (i == reasons_ && reasons_ < most_reasons) totals_[reasons_++].reason = entry.reason;
  Total& total = totals_[std::min(i, most_reasons - 1)];
  ++total.count;
  total.latest = entry;
}

std::vector<HistoryEntry> History::entries() const {
  std::vector<HistoryEntry> ordered(latest_.begin() + static_cast<std::ptrdiff_t>(next_), latest_.end());
  ordered.insert(ordered.end(), latest_.begin(), latest_.begin() + static_cast<std::ptrdiff_t>(next_));
  return ordered;
}

std::int64_t History::count(std::string_view reason) const {
  std::int64_t others = 0;
  for (int i = 0; i < reasons_; ++i) {
    if (totals_[i].reason == reason) return totals_[i].count;
    others += totals_[i].count;
  }
  return reason.empty() ? count_ - others : 0;
}

std::string History::summary() const {
  if (count_ == 0) return "no calls\n";
  const std::int64_t otherwise = count_ - count("");
  char line[240];
  std::snprintf(line, sizeof line,
                "%lld calls, %lld reductions, %.2f sweeps and %.1f passes a call, condition up to %.1e; %lld not as "
                "asked%s\n",
                static_cast<long long>(count_), static_cast<long long>(reductions_),
                static_cast<double>(sweeps_) / static_cast<double>(count_), passes_ / static_cast<double>(count_),
                condition_, static_cast<long long>(otherwise), otherwise > 0 ? ":" : "");
  std::string text = line;
  for (int i = 0; i < reasons_; ++i) {
    text += "  " + std::to_string(totals_[i].count) + " x " + std::string(totals_[i].reason) + " (" +
            methods(totals_[i].latest) + ")\n";
  }
  if (failed_ > 0) text += "  " + std::to_string(failed_) + " without success\n";
  return text;
}

}  // namespace blockvec
