#include "solvers/entries_over_ranks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/collective.hpp>
#include <cmath>
#include <numeric>
#include <span>

#include "solvers/neighbour_counts.hpp"

namespace blockvec::solvers {
namespace {

/// Entries by the rank that owns their row, each rank's in the order in which they were.
template <class Scalar>
struct EntriesByOwner {
  std::vector<MatrixEntry<Scalar>> entries;
  std::vector<NeighbourCount> counts;  // of ranks that own any
};

template <class Scalar>
EntriesByOwner<Scalar> by_owner(const RowDistribution& rows, std::vector<MatrixEntry<Scalar>> entries) {
  std::vector<int> owners;
  owners.reserve(entries.size());
  for (const MatrixEntry<Scalar>& entry : entries) owners.push_back(rows.owner(entry.row));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows.ranks()), 0);
  for (const int owner : owners) ++counts[static_cast<std::size_t>(owner)];
  EntriesByOwner<Scalar> result;
  for (int rank = 0; rank < rows.ranks(); ++rank) {
    const std::int64_t count = counts[static_cast<std::size_t>(rank)];
    if (count > 0) result.counts.push_back({rank, count});
  }
  expect_memory("entries for other ranks", entries.size() * sizeof(MatrixEntry<Scalar>));
  result.entries.resize(entries.size());
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::int64_t{0});
  for (std::size_t i = 0; i < entries.size(); ++i)
    result.entries[static_cast<std::size_t>(counts[static_cast<std::size_t>(owners[i])]++)] = entries[i];
  return result;
}

/// One message for each count, of entries that lie one after the other. This rank's own ones are none.
template <class Scalar>
std::vector<Message> messages(const std::vector<NeighbourCount>& counts, int own, MatrixEntry<Scalar>* next) {
  std::vector<Message> result;
  for (const auto& [rank, count] : counts) {
    if (rank != own) result.push_back({rank, next, static_cast<std::size_t>(count) * sizeof(*next)});
    next += count;
  }
  return result;
}

/// Where this rank's own entries are among those of all; if there are none, where they would be.
struct OwnEntries {
  std::ptrdiff_t begin = 0, count = 0;
};

OwnEntries own_entries(const std::vector<NeighbourCount>& counts, int own) {
  OwnEntries result;
  for (const auto& [rank, count] : counts) {
    if (rank < own) result.begin += count;
    if (rank == own) result.count = count;
  }
  return result;
}

}  // namespace

double norm_over_ranks(const std::string& path, const Communicator& communicator, double mine) {
  std::vector<double> norms(static_cast<std::size_t>(communicator.size()), 0.0);
  norms[static_cast<std::size_t>(communicator.rank())] = mine;
  communicator.sum(std::span(norms));
  const double norm =
      std::accumulate(norms.begin(), norms.end(), 0.0, [](double a, double b) { return std::hypot(a, b); });
  if (!std::isfinite(norm)) throw InputError(fmt::format("{}: the norm of the matrix overflows", path));
  return norm;
}

template <class Scalar>
std::vector<MatrixEntry<Scalar>> sent_to_owners(const RowDistribution& rows, const Communicator& communicator,
                                                std::vector<MatrixEntry<Scalar>> entries) {
  if (communicator.size() == 1) return entries;
  const int own = communicator.rank();
  auto [sent, counts] = collectively(communicator, [&] { return by_owner(rows, std::move(entries)); });
  std::vector<NeighbourCount> outgoing;
  std::copy_if(counts.begin(), counts.end(), std::back_inserter(outgoing),
               [&](const NeighbourCount& count) { return count.rank != own; });
  std::vector<NeighbourCount> coming = exchange_counts(communicator, outgoing);
  const OwnEntries here = own_entries(counts, own);
  const auto after = std::find_if(coming.begin(), coming.end(), [&](const auto& count) { return count.rank > own; });
  coming.insert(after, {own, here.count});
  auto received = collectively(communicator, [&] {
    std::size_t count = 0;
    for (const NeighbourCount& neighbour : coming) count += static_cast<std::size_t>(neighbour.count);
    expect_memory("entries of this rank's rows", count * sizeof(MatrixEntry<Scalar>));
    return std::vector<MatrixEntry<Scalar>>(count);
  });
  std::copy_n(sent.begin() + here.begin, here.count, received.begin() + own_entries(coming, own).begin);
  communicator.exchange(messages(counts, own, sent.data()), messages(coming, own, received.data()));
  communicator.barrier();  // a rank that finds fault with its rows must not meet others in the exchange
  return received;
}

template <class Scalar>
void require_hermitian(const std::string& path, const RowDistribution& rows, const Communicator& communicator,
                       const std::vector<MatrixEntry<Scalar>>& entries) {
  const RowRange range{rows.begin(), rows.end()};
  double norm = 0;
  for (const auto& entry : entries) norm = std::hypot(norm, magnitude(entry.value));
  norm = norm_over_ranks(path, communicator, norm);
  auto columns = collectively(communicator, [&] {
    std::vector<MatrixEntry<Scalar>> mirrored;
    for (const auto& [row, column, value] : entries) {
      if (!range.contains(column)) append(mirrored, {column, row, mirror_value(value)});
    }
    return mirrored;
  });
  columns = sent_to_owners(rows, communicator, std::move(columns));
  collectively(communicator, [&] {
    sort_by_place(columns);
    check_hermitian(path, entries, columns, range, norm);
    return true;
  });
}

#define BLOCKVEC_ENTRIES_OVER_RANKS(Scalar)                                                             \
  template std::vector<MatrixEntry<Scalar>> sent_to_owners(const RowDistribution&, const Communicator&, \
                                                           std::vector<MatrixEntry<Scalar>>);           \
  template void require_hermitian(const std::string&, const RowDistribution&, const Communicator&,      \
                                  const std::vector<MatrixEntry<Scalar>>&);
BLOCKVEC_ENTRIES_OVER_RANKS(double)
BLOCKVEC_ENTRIES_OVER_RANKS(Complex<double>)
#undef BLOCKVEC_ENTRIES_OVER_RANKS

}  // namespace blockvec::solvers
