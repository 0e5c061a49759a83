#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <blockvec/row_distribution.hpp>
#include <limits>

namespace blockvec {
namespace {

std::uint64_t fingerprint_of(const std::vector<std::int64_t>& begins) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::int64_t begin : begins) {
    hash = (hash ^ static_cast<std::uint64_t>(begin)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

RowDistribution RowDistribution::from_begins(std::vector<std::int64_t> begins, const Communicator& communicator) {
  RowDistribution distribution;
  const std::uint64_t fingerprint = fingerprint_of(begins);
  distribution.table_ =
      std::make_shared<Table>(Table{std::move(begins), communicator.rank(), fingerprint, communicator});
  return distribution;
}

RowDistribution RowDistribution::uniform(std::int64_t global_rows, const Communicator& communicator) {
  if (global_rows < 0) {
    throw ShapeError("RowDistribution::uniform: global_rows = " + std::to_string(global_rows) + ", expected 0 or more");
  }
  const std::int64_t ranks = communicator.size();
  const std::int64_t each = global_rows / ranks;
  const std::int64_t more = global_rows % ranks;
  std::vector<std::int64_t> begins(static_cast<std::size_t>(ranks) + 1);
  for (std::int64_t r = 0; r <= ranks; ++r) begins[static_cast<std::size_t>(r)] = r * each + std::min(r, more);
  return from_begins(std::move(begins), communicator);
}

RowDistribution RowDistribution::from_rows(const std::vector<std::int64_t>& rows_of_rank,
                                           const Communicator& communicator) {
  std::string problem;
  std::vector<std::int64_t> begins{0};
  if (rows_of_rank.size() != static_cast<std::size_t>(communicator.size())) {
    problem = "RowDistribution::from_rows: " + std::to_string(rows_of_rank.size()) + " entries for " +
              std::to_string(communicator.size()) + " ranks, expected one each";
  }
  for (std::size_t r = 0; r < rows_of_rank.size() && problem.empty(); ++r) {
    if (rows_of_rank[r] < 0 || rows_of_rank[r] > std::numeric_limits<std::int64_t>::max() - begins.back()) {
      problem = "RowDistribution::from_rows: rank " + std::to_string(r) + " is to hold " +
                std::to_string(rows_of_rank[r]) + " rows, expected 0 or more and a sum that 64 bits hold";
    } else {
      begins.push_back(begins.back() + rows_of_rank[r]);
    }
  }
  // The same table everywhere: its fingerprint's extremes over the ranks agree. A rank with a bad table says so here
  // too.
  const auto small = static_cast<std::int64_t>(fingerprint_of(begins) >> 2);
  std::int64_t extremes[3] = {small, -small, problem.empty() ? 0 : 1};
  communicator.max(extremes);
  if (!problem.empty()) throw ShapeError(problem);
  if (extremes[0] != -extremes[1] || extremes[2] != 0) {
    throw ShapeError("RowDistribution::from_rows: the ranks passed different tables, or one of them a faulty one");
  }
  return from_begins(std::move(begins), communicator);
}

RowDistribution RowDistribution::from_local_rows(std::int64_t local_rows, const Communicator& communicator) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(communicator.size()), 0);
  rows[static_cast<std::size_t>(communicator.rank())] = local_rows;
  communicator.sum(std::span(rows));
  std::vector<std::int64_t> begins{0};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r] < 0) {
      throw ShapeError("RowDistribution::from_local_rows: rank " + std::to_string(r) + " holds " +
                       std::to_string(rows[r]) + " rows, expected 0 or more");
    }
    if (rows[r] > std::numeric_limits<std::int64_t>::max() - begins.back())
      throw ShapeError("RowDistribution::from_local_rows: more rows than 64 bits hold");
    begins.push_back(begins.back() + rows[r]);
  }
  return from_begins(std::move(begins), communicator);
}

int RowDistribution::owner(std::int64_t global_row) const {
  if (global_row < 0 || global_row >= global_rows()) {
    throw ShapeError("RowDistribution::owner: row " + std::to_string(global_row) + " is outside 0.." +
                     std::to_string(global_rows() - 1));
  }
  const auto& begins = table_->begins;
  return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), global_row) - begins.begin()) - 1;
}

bool RowDistribution::lies_on(const Communicator& communicator) const {
  return table_ && ranks() == communicator.size() && table_->communicator.same_ranks(communicator);
}

bool RowDistribution::operator==(const RowDistribution& other) const {
  if (table_ == other.table_) return true;
  return table_ && other.table_ && table_->rank == other.table_->rank && table_->begins == other.table_->begins;
}

std::string RowDistribution::describe() const {
  if (!table_) return "no rows";
  return std::to_string(global_rows()) + " rows over " + std::to_string(ranks()) + (ranks() == 1 ? " rank" : " ranks");
}

}  // namespace blockvec
