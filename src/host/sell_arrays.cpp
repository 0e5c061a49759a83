#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <complex>
#include <limits>
#include <numeric>
#include <string>

namespace blockvec::kernels {
namespace {

// Sorting rows within a window keeps neighbours near one another, so that they share rows of X in the cache. 1024 rows
// leave 1 % of padding in a spin chain, 256 leave 3 %, and 8192 make the product no faster.
constexpr std::int64_t window = 1024;
constexpr double padding_in_order = 0.02;
constexpr std::int64_t long_row_entries = 64;
constexpr std::int64_t long_row_averages = 8;
// Few rows leave most of a device idle. Where one of them is not short, threads share each row.
constexpr std::int64_t few_rows = 16384;
constexpr std::int64_t short_row = 16;

template <class T, class Offset>
std::string shape(const CsrMatrix<T, Offset>& a) {
  return "sell_arrays: A is " + std::to_string(a.rows) + " x " + std::to_string(a.columns);
}

template <class T, class Offset>
void check(const CsrMatrix<T, Offset>& a) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (a.rows < 0 || a.columns < 0 || a.rows > limit || a.columns > limit) {
    throw ShapeError(shape(a) + ": expected extents from 0 to 2^31 - 1");
  }
  if (a.rows == 0) return;
  if (a.row_begin == nullptr) throw ShapeError(shape(a) + " with null row_begin: expected rows + 1 numbers");
  bool ascend = a.row_begin[0] == 0;
#pragma omp parallel for reduction(&& : ascend)
  for (std::int64_t i = 0; i < a.rows; ++i) ascend = ascend && a.row_begin[i] <= a.row_begin[i + 1];
  if (!ascend) throw ShapeError(shape(a) + ": expected row_begin to ascend from 0");
  const std::int64_t entries = a.row_begin[a.rows];
  if (entries == 0) return;
  if (a.column == nullptr || a.value == nullptr) {
    throw ShapeError(shape(a) + " with null columns or values: expected " + std::to_string(entries) + " entries");
  }
  bool inside = true;
#pragma omp parallel for reduction(&& : inside)
  for (std::int64_t at = 0; at < entries; ++at) inside = inside && a.column[at] >= 0 && a.column[at] < a.columns;
  if (!inside) throw ShapeError(shape(a) + ": expected columns from 0 to " + std::to_string(a.columns - 1));
}

template <class T, class Offset>
class Conversion {
 public:
  Conversion(const CsrMatrix<T, Offset>& a, LongRows long_rows) : a_(a) {
    limit_ = longest_in_chunks(long_rows);
    sell_.rows = a.rows;
    sell_.columns = a.columns;
  }

  SellArrays<T> run() {
    for (std::int64_t i = 0; i < a_.rows; ++i) {
      if (is_long(i)) sell_.long_row.push_back(static_cast<std::int32_t>(i));
    }
    measure_chunks();
    std::int64_t in_chunks = a_.rows == 0 ? 0 : static_cast<std::int64_t>(a_.row_begin[a_.rows]);
    for (const std::int32_t i : sell_.long_row) in_chunks -= entries(i);
    const double most = (1 + padding_in_order) * static_cast<double>(in_chunks);
    // Chunks have no place for long rows, so that these are taken out of the order.
    if (!sell_.long_row.empty() || static_cast<double>(sell_.chunk_begin.back()) > most) sort_rows();
    copy_entries();
    return std::move(sell_);
  }

 private:
  std::int64_t entries(std::int64_t i) const {
    return static_cast<std::int64_t>(a_.row_begin[i + 1] - a_.row_begin[i]);
  }
  std::int64_t longest_in_chunks(LongRows long_rows) const {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    if (long_rows == LongRows::in_chunks || a_.rows == 0) return any;
    if (a_.rows >= few_rows) {
      return std::max(long_row_entries, long_row_averages * static_cast<std::int64_t>(a_.row_begin[a_.rows]) / a_.rows);
    }
    for (std::int64_t i = 0; i < a_.rows; ++i) {
      if (entries(i) > short_row) return -1;
    }
    return any;
  }
  bool is_long(std::int64_t i) const { return entries(i) > limit_; }
  std::int64_t chunks() const { return (a_.rows + sell_chunk - 1) / sell_chunk; }
  std::int64_t row_at(std::int64_t place) const {
    return sell_.row.empty() ? place : sell_.row[static_cast<std::size_t>(place)];
  }

  // Calls f(row, place) for the rows of a chunk.
  template <class F>
  void for_rows(std::int64_t chunk, F&& f) const {
    const std::int64_t end = std::min(a_.rows, (chunk + 1) * sell_chunk);
    for (std::int64_t place = chunk * sell_chunk; place < end; ++place) {
      const std::int64_t i = row_at(place);
      if (i >= 0 && !is_long(i)) f(i, place % sell_chunk);
    }
  }

  void measure_chunks() {
    sell_.chunk_begin.assign(static_cast<std::size_t>(chunks()) + 1, 0);
#pragma omp parallel for
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      std::int64_t longest = 0;
      for_rows(chunk, [&](std::int64_t i, std::int64_t) { longest = std::max(longest, entries(i)); });
      sell_.chunk_begin[static_cast<std::size_t>(chunk) + 1] = longest * sell_chunk;
    }
    std::partial_sum(sell_.chunk_begin.begin(), sell_.chunk_begin.end(), sell_.chunk_begin.begin());
  }

  // By length within windows, rows of one length in order, long rows at the end.
  void sort_rows() {
    sell_.row.assign(static_cast<std::size_t>(chunks() * sell_chunk), -1);
    std::iota(sell_.row.begin(), sell_.row.begin() + a_.rows, 0);
    const std::int64_t windows = (a_.rows + window - 1) / window;
#pragma omp parallel for
    for (std::int64_t w = 0; w < windows; ++w) {
      const auto begin = sell_.row.begin() + w * window;
      const auto end = sell_.row.begin() + std::min(a_.rows, (w + 1) * window);
      const auto rank = [&](std::int32_t i) { return is_long(i) ? -1 : entries(i); };
      std::sort(begin, end, [&](std::int32_t i, std::int32_t j) {
        const std::int64_t rank_i = rank(i);
        const std::int64_t rank_j = rank(j);
        return rank_i != rank_j ? rank_i > rank_j : i < j;
      });
      std::replace_if(
          begin, end, [&](std::int32_t i) { return is_long(i); }, -1);
    }
    measure_chunks();
  }

  void copy_entries() {
    if (!sell_.long_row.empty()) sell_.long_begin.push_back(sell_.chunk_begin.back());
    for (const std::int32_t i : sell_.long_row) sell_.long_begin.push_back(sell_.long_begin.back() + entries(i));
    const auto stored =
        static_cast<std::size_t>(sell_.long_row.empty() ? sell_.chunk_begin.back() : sell_.long_begin.back());
    sell_.column.assign(stored, -1);
    sell_.value.assign(stored, T(0));
#pragma omp parallel for
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      for_rows(chunk, [&](std::int64_t i, std::int64_t lane) {
        for (std::int64_t k = 0; k < entries(i); ++k) {
          copy_entry(static_cast<std::int64_t>(a_.row_begin[i]) + k,
                     sell_.chunk_begin[static_cast<std::size_t>(chunk)] + k * sell_chunk + lane);
        }
      });
    }
    for (std::size_t l = 0; l < sell_.long_row.size(); ++l) {
      const std::int64_t i = sell_.long_row[l];
      for (std::int64_t k = 0; k < entries(i); ++k) {
        copy_entry(static_cast<std::int64_t>(a_.row_begin[i]) + k, sell_.long_begin[l] + k);
      }
    }
  }

  void copy_entry(std::int64_t from, std::int64_t to) {
    sell_.column[static_cast<std::size_t>(to)] = a_.column[from];
    sell_.value[static_cast<std::size_t>(to)] = a_.value[from];
  }

  const CsrMatrix<T, Offset>& a_;
  std::int64_t limit_;
  SellArrays<T> sell_;
};

}  // namespace

template <class T, class Offset>
SellArrays<T> sell_arrays(const CsrMatrix<T, Offset>& a, LongRows long_rows) {
  check(a);
  return Conversion<T, Offset>(a, long_rows).run();
}

template SellArrays<float> sell_arrays(const CsrMatrix<float, std::int32_t>&, LongRows);
template SellArrays<float> sell_arrays(const CsrMatrix<float, std::int64_t>&, LongRows);
template SellArrays<double> sell_arrays(const CsrMatrix<double, std::int32_t>&, LongRows);
template SellArrays<double> sell_arrays(const CsrMatrix<double, std::int64_t>&, LongRows);
template SellArrays<std::complex<float>> sell_arrays(const CsrMatrix<std::complex<float>, std::int32_t>&, LongRows);
template SellArrays<std::complex<float>> sell_arrays(const CsrMatrix<std::complex<float>, std::int64_t>&, LongRows);
template SellArrays<std::complex<double>> sell_arrays(const CsrMatrix<std::complex<double>, std::int32_t>&, LongRows);
template SellArrays<std::complex<double>> sell_arrays(const CsrMatrix<std::complex<double>, std::int64_t>&, LongRows);

}  // namespace blockvec::kernels
