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

constexpr Names<Inter, 12> inter_names{{{"bcgs", Inter::bcgs},
                                        {"bmgs", Inter::bmgs},
                                        {"bcgs2", Inter::bcgs2},
                                        {"bcgsi+a", Inter::bcgsi_a},
                                        {"pip", Inter::pip},
                                        {"pip+", Inter::pip_plus},
                                        {"pipi+", Inter::pipi_plus},
                                        {"pip-dd", Inter::pip_dd},
                                        {"p-1s", Inter::p_1s},
                                        {"p-2s", Inter::p_2s},
                                        {"p-1s2s", Inter::p_adaptive},
                                        {"two-stage", Inter::two_stage}}};
constexpr Names<Intra, 12> intra_names{{{"cgs", Intra::cgs},
                                        {"cgs2", Intra::cgs2},
                                        {"cholqr", Intra::cholqr},
                                        {"cholqr2", Intra::cholqr2},
                                        {"svqb", Intra::svqb},
                                        {"scholqr3", Intra::shifted_cholqr3},
                                        {"dd-cholqr", Intra::dd_cholqr},
                                        {"dd-cholqr2", Intra::dd_cholqr2},
                                        {"tsqr", Intra::tsqr},
                                        {"rand-cholqr", Intra::rand_cholqr},
                                        {"rand-cholqr-gauss", Intra::rand_cholqr_gauss},
                                        {"pcholqr", Intra::pivoted_cholqr}}};

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
  const std::string_view inter = text.substr(0, slash);
  const std::string_view intra = slash == std::string_view::npos ? std::string_view{} : text.substr(slash + 1);
  if ((!inter.empty() && !find(inter_names, inter, options.inter)) ||
      (!intra.empty() && !find(intra_names, intra, options.intra))) {
    throw Error("orthogonalisation \"" + std::string(text) +
                "\": expected BETWEEN/WITHIN, either may be missing; BETWEEN is one of " + known(inter_names) +
                ", WITHIN is one of " + known(intra_names));
  }
  return options;
}

std::string known_methods() { return known(inter_names) + " / " + known(intra_names); }

std::string_view word(Inter inter) { return name_of(inter_names, inter); }
std::string_view word(Intra intra) { return name_of(intra_names, intra); }

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

std::string to_string(Inter inter) { return std::string(word(inter)); }
std::string to_string(Intra intra) { return std::string(word(intra)); }
std::string to_string(Reason reason) { return std::string(word(reason)); }

std::string to_string(const Method& method) {
  std::string text;
  if (method.has_inter) text += to_string(method.inter);
  if (method.has_inter && method.has_intra) text += "/";
  if (method.has_intra) text += to_string(method.intra);
  return text.empty() ? "nothing" : text;
}

std::ostream& operator<<(std::ostream& stream, const Method& method) { return stream << to_string(method); }
std::ostream& operator<<(std::ostream& stream, Reason reason) { return stream << to_string(reason); }

void record(const Context& context, const char* verb, const Method& asked, const Result& result, std::int64_t columns) {
  History& history = context.history();
  if (!history.enabled()) return;
  HistoryEntry entry;
  entry.verb = verb;
  if (asked.has_inter) entry.asked[0] = word(asked.inter);
  if (asked.has_intra) entry.asked[1] = word(asked.intra);
  if (result.method.has_inter) entry.used[0] = word(result.method.inter);
  if (result.method.has_intra) entry.used[1] = word(result.method.intra);
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
