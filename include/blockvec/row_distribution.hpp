#pragma once

#include <blockvec/communicator.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace blockvec {

/// Which contiguous range of global rows each rank of a Communicator holds. A handle: copies share the table.
class RowDistribution {
 public:
  RowDistribution() = default;  ///< an empty handle, to be assigned to
  /// As even as can be: the first global_rows % ranks ranks hold one row more. Ranks may be empty.
  /// Throws ShapeError for negative global_rows.
  static RowDistribution uniform(std::int64_t global_rows, const Communicator& communicator);

  /// Rank r holds rows_of_rank[r] rows, in rank order. Throws ShapeError if the number of entries is not the number of
  /// ranks or one is negative. All ranks pass the same table (checked: one small reduction).
  static RowDistribution from_rows(const std::vector<std::int64_t>& rows_of_rank, const Communicator& communicator);

  /// Each rank says how many rows it holds. Collective: one small reduction.
  static RowDistribution from_local_rows(std::int64_t local_rows, const Communicator& communicator);

  /// Rows on all ranks together.
  std::int64_t global_rows() const { return table_->begins.back(); }
  /// Rows on this rank.
  std::int64_t local_rows() const { return end() - begin(); }
  /// This rank's rows are [begin(), end()) in global numbers.
  std::int64_t begin() const { return begin(table_->rank); }
  /// The row after this rank's last one.
  std::int64_t end() const { return begin(table_->rank + 1); }
  /// The first row of any rank; of the number of ranks: all rows.
  std::int64_t begin(int rank) const { return table_->begins[static_cast<std::size_t>(rank)]; }
  /// The number of ranks.
  int ranks() const { return static_cast<int>(table_->begins.size()) - 1; }
  /// Whether the rows lie on these ranks: the same processes in the same order.
  bool lies_on(const Communicator& communicator) const;
  /// A number that tells distributions apart, the same on every rank: operations pass it along with their shapes.
  std::uint64_t fingerprint() const { return table_->fingerprint; }
  /// The rank that holds a global row, by bisection.
  int owner(std::int64_t global_row) const;

  /// Whether each rank holds the same rows in both, on the same ranks. Local.
  bool operator==(const RowDistribution& other) const;
  /// "1000 rows over 4 ranks", for messages.
  std::string describe() const;

 private:
  struct Table {
    std::vector<std::int64_t> begins;  // ranks + 1 entries
    int rank;
    std::uint64_t fingerprint;
    Communicator communicator;
  };
  static RowDistribution from_begins(std::vector<std::int64_t> begins, const Communicator& communicator);
  std::shared_ptr<const Table> table_;
};

}  // namespace blockvec
