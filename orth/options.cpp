#include <array>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cstdio>
#include <ostream>
#include <utility>

#include "orth/record.hpp"

namespace blockvec::orth {
namespace {

template <class Enum, std::size_t count>
using Names = std::array<std::pair<std::string_view, Enum>, count>;

constexpr Names<Between, 12> between_names{{{"bcgs", Between::bcgs},
                                            {"bmgs", Between::bmgs},
                                            {"bcgs2", Between::bcgs2},
                                            {"bcgsi+a", Between::bcgsi_a},
                                            {"pip", Between::pip},
                                            {"pip+", Between::pip_plus},
                                            {"pipi+", Between::pipi_plus},
                                            {"pip-dd", Between::pip_dd},
                                            {"p-1s", Between::p_1s},
                                            {"p-2s", Between::p_2s},
                                            {"p-1s2s", Between::p_adaptive},
                                            {"two-stage", Between::two_stage}}};
constexpr Names<Within, 12> within_names{{{"cgs", Within::cgs},
                                          {"cgs2", Within::cgs2},
                                          {"cholqr", Within::cholqr},
                                          {"cholqr2", Within::cholqr2},
                                          {"svqb", Within::svqb},
                                          {"scholqr3", Within::shifted_cholqr3},
                                          {"dd-cholqr", Within::dd_cholqr},
                                          {"dd-cholqr2", Within::dd_cholqr2},
                                          {"tsqr", Within::tsqr},
                                          {"rand-cholqr", Within::rand_cholqr},
                                          {"rand-cholqr-gauss", Within::rand_cholqr_gauss},
                                          {"pcholqr", Within::pivoted_cholqr}}};

template <class List, class Enum>
std::string_view name_of(const List& names, Enum value) {
  for (const auto& [name, candidate] : names) {
    if (candidate == value) return name;
  }
  return "?";
}

template <class List, class Enum>
bool find(const List& names, std::string_view word, Enum& value) {
  for (const auto& [name, candidate] : names) {
    if (name == word) {
      value = candidate;
      return true;
    }
  }
  return false;
}

template <class List>
std::string known(const List& names) {
  std::string text;
  for (const auto& entry : names) text += (text.empty() ? "" : ", ") + std::string(entry.first);
  return text;
}

}  // namespace

Options parse_options(std::string_view text) {
  Options options;
  const std::size_t slash = text.find('/');
  const std::string_view between = text.substr(0, slash);
  const std::string_view within = slash == std::string_view::npos ? std::string_view{} : text.substr(slash + 1);
  if ((!between.empty() && !find(between_names, between, options.between)) ||
      (!within.empty() && !find(within_names, within, options.within))) {
    throw Error("orthogonalisation \"" + std::string(text) +
                "\": expected BETWEEN/WITHIN, either may be missing; BETWEEN is one of " + known(between_names) +
                ", WITHIN is one of " + known(within_names));
  }
  return options;
}

std::string known_methods() { return known(between_names) + " / " + known(within_names); }

std::string_view word(Between between) { return name_of(between_names, between); }
std::string_view word(Within within) { return name_of(within_names, within); }

std::string_view word(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "";
    case Reason::not_here:
      return "the method knows no metric, or no reproducible sums";
    case Reason::badly_scaled:
      return "columns out of range were scaled";
    case Reason::ill_conditioned:
      return "the block is ill-conditioned";
    case Reason::breakdown:
      return "the Cholesky factorisation broke down";
    case Reason::rank_deficient:
      return "columns were dependent";
    case Reason::bad_basis:
      return "the basis is not orthonormal";
    case Reason::no_room:
      return "columns were dependent and there are too few rows to replace them";
  }
  return "?";
}

std::string to_string(Between between) { return std::string(word(between)); }
std::string to_string(Within within) { return std::string(word(within)); }
std::string to_string(Reason reason) { return std::string(word(reason)); }

std::string to_string(const Method& method) {
  std::string text;
  if (method.has_between) text += to_string(method.between);
  if (method.has_between && method.has_within) text += "/";
  if (method.has_within) text += to_string(method.within);
  return text.empty() ? "nothing" : text;
}

std::ostream& operator<<(std::ostream& stream, const Method& method) { return stream << to_string(method); }
std::ostream& operator<<(std::ostream& stream, Reason reason) { return stream << to_string(reason); }

void record(const Context& context, const char* verb, const Method& asked, const Result& result, std::int64_t columns) {
  History& history = context.history();
  if (!history.enabled()) return;
  HistoryEntry entry;
  entry.verb = verb;
  if (asked.has_between) entry.asked[0] = word(asked.between);
  if (asked.has_within) entry.asked[1] = word(asked.within);
  if (result.method.has_between) entry.used[0] = word(result.method.between);
  if (result.method.has_within) entry.used[1] = word(result.method.within);
  entry.reason = word(result.reason);
  entry.columns = columns;
  entry.rank = result.rank;
  entry.sweeps = result.sweeps;
  entry.reductions = result.reductions;
  entry.passes = result.passes;
  entry.condition = result.condition_estimate;
  entry.succeeded = result.orthonormal;
  history.add(entry);
}

std::string Result::describe() const {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, ", %d %s, %lld %s, %.1f passes, condition >= %.1e", sweeps,
                sweeps == 1 ? "sweep" : "sweeps", static_cast<long long>(reductions),
                reductions == 1 ? "reduction" : "reductions", passes, condition_estimate);
  std::string text = "rank " + std::to_string(rank) + ", " + to_string(method) + numbers;
  if (applications > 0) text += ", B applied to " + std::to_string(applications) + " columns";
  if (reason != Reason::none) text += ", " + to_string(reason);
  if (!orthonormal) text += ", not orthonormal";
  return text;
}

}  // namespace blockvec::orth
