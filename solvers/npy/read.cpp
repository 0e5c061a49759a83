#include <fmt/core.h>

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/npy.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "solvers/checkpoint/checkpoint_file.hpp"
#include "solvers/entries_over_ranks.hpp"
#include "solvers/is_finite.hpp"
#include "solvers/npy/header.hpp"
#include "solvers/same_file.hpp"

namespace blockvec::solvers {
namespace {

/// A mapped file whose header has been read.
struct OpenedNpy {
  explicit OpenedNpy(const std::string& name)
      : path(name), file(std::make_shared<MappedFile>(name)), header(read_npy_header(name, file->bytes())) {}
  std::string path;
  std::shared_ptr<const MappedFile> file;
  NpyHeader header;
};

/// A Hermitian matrix in a mapped file; T: the file's numbers. Line i is row i in C order, column i in Fortran order.
template <class T, class Scalar>
class NpyMatrix final : public RowSource<Scalar> {
 public:
  explicit NpyMatrix(const OpenedNpy& opened)
      : path_(opened.path),
        file_(opened.file),
        header_(opened.header),
        data_(file_->bytes().data() + header_.data_begin) {}

  std::int64_t size() const override { return header_.size; }
  std::string describe() const override { return path_; }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    for (std::int64_t j = 0; j < header_.size; ++j) {
      const Scalar value = in_line(row, j);
      entries.add(j, header_.fortran_order ? mirror_value(value) : value);
    }
  }

  bool copy_entries(std::int64_t row, std::int64_t first, std::int64_t count, Scalar* to) const override {
    if (std::is_same_v<T, Scalar> && !header_.fortran_order) {
      std::copy_n(place(row, first), static_cast<std::size_t>(count) * sizeof(Scalar),
                  reinterpret_cast<std::byte*>(to));
      return true;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const Scalar value = in_line(row, first + j);
      to[j] = header_.fortran_order ? mirror_value(value) : value;
    }
    return true;
  }

  /// The Frobenius norm of lines in `range`, infinite only where it overflows itself. Throws InputError naming the
  /// first entry that is not finite.
  double norm(const RowRange& range, int threads) const {
    std::vector<double> norms(static_cast<std::size_t>(range.end - range.begin));
    kernels::parallel_for(threads, range.end - range.begin, [&](std::int64_t i, int) {
      norms[static_cast<std::size_t>(i)] = line_norm(range.begin + i);
    });
    double result = 0;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const double of_line = norms[static_cast<std::size_t>(i - range.begin)];
      if (std::isnan(of_line)) refuse_line(i);
      result = std::hypot(result, of_line);
    }
    return result;
  }

  /// Entries of lines in `range` before the diagonal must be the conjugates of those across it, and those on it real.
  void check_hermitian(const RowRange& range, double frobenius_norm, int threads) const {
    const double limit = 4 * static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon()) * frobenius_norm;
    const std::int64_t bands = (range.end - range.begin + band - 1) / band;
    std::vector<std::optional<Place>> found(static_cast<std::size_t>(bands));
    // Low bands are longer. Neighbouring items are a high one and a low one, so that threads share the work evenly.
    kernels::parallel_for(threads, bands, [&](std::int64_t item, int) {
      const std::int64_t number = item % 2 == 0 ? item / 2 : bands - 1 - item / 2;
      const std::int64_t begin = range.begin + number * band;
      found[static_cast<std::size_t>(number)] = not_hermitian(begin, std::min(begin + band, range.end), limit);
    });
    for (const auto& place : found) {
      if (place) refuse(*place);
    }
  }

 private:
  static constexpr std::int64_t band = 64;  ///< of lines, and of entries of each, that are compared together
  struct Place {
    std::int64_t line, entry;  ///< entry <= line
  };

  const std::byte* place(std::int64_t line, std::int64_t entry) const {
    return data_ + static_cast<std::size_t>(line * header_.size + entry) * sizeof(T);
  }
  Scalar in_line(std::int64_t line, std::int64_t entry) const {
    T value;
    std::memcpy(&value, place(line, entry), sizeof(T));
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    } else {
      return value;
    }
  }

  /// NaN: an entry is not finite.
  double line_norm(std::int64_t line) const {
    const double squares = sum_of_squares(line);
    // The squares neither overflowed, nor was what underflowed worth a digit.
    constexpr double small = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
    if (squares >= small * static_cast<double>(header_.size) && squares <= std::numeric_limits<double>::max()) {
      return std::sqrt(squares);
    }
    double largest = 0;
    for (std::int64_t j = 0; j < header_.size; ++j) {
      const Scalar value = in_line(line, j);
      if (!is_finite(value)) return std::numeric_limits<double>::quiet_NaN();
      largest = std::max(largest, largest_part(value));
    }
    if (largest == 0) return 0;
    double scaled = 0;
    for (std::int64_t j = 0; j < header_.size; ++j) scaled += scaled_square(in_line(line, j), largest);
    return largest * std::sqrt(scaled);
  }
  /// Eight sums that grow side by side, so that processors add several numbers at once.
  double sum_of_squares(std::int64_t line) const {
    constexpr std::int64_t sums = 8;
    using Number = RealOf<T>;
    const std::int64_t count = header_.size * static_cast<std::int64_t>(sizeof(T) / sizeof(Number));
    const std::byte* const from = place(line, 0);
    double parts[sums] = {};
    const auto add = [&](std::int64_t at, std::int64_t numbers) {
      Number values[sums] = {};
      std::memcpy(values, from + static_cast<std::size_t>(at) * sizeof(Number),
                  static_cast<std::size_t>(numbers) * sizeof(Number));
      for (std::int64_t k = 0; k < sums; ++k) parts[k] += static_cast<double>(values[k]) * values[k];
    };
    const std::int64_t whole = count / sums * sums;
    for (std::int64_t at = 0; at < whole; at += sums) add(at, sums);
    add(whole, count - whole);
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
  /// The first entry of lines [begin, end) before the diagonal or on it, by tiles, that differs from the one across it.
  std::optional<Place> not_hermitian(std::int64_t begin, std::int64_t end, double limit) const {
    for (std::int64_t first = 0; first < end; first += band) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = first; j < std::min(first + band, i + 1); ++j) {
          if (magnitude(in_line(j, i) - mirror_value(in_line(i, j))) > limit) return Place{i, j};
        }
      }
    }
    return std::nullopt;
  }
  static double largest_part(Scalar value) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return std::max(std::abs(value.real()), std::abs(value.imag()));
    } else {
      return std::abs(value);
    }
  }
  static double scaled_square(Scalar value, double scale) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      const double real = value.real() / scale, imag = value.imag() / scale;
      return real * real + imag * imag;
    } else {
      return (value / scale) * (value / scale);
    }
  }
  [[noreturn]] void refuse_line(std::int64_t line) const {
    std::int64_t j = 0;
    while (is_finite(in_line(line, j))) ++j;
    const auto [row, column] = header_.fortran_order ? std::pair(j, line) : std::pair(line, j);
    throw InputError(fmt::format("{}: entry ({}, {}) is {}, which is not finite", path_, row + 1, column + 1,
                                 value_text(in_line(line, j))));
  }
  [[noreturn]] void refuse(const Place& at) const {
    const std::int64_t i = at.entry, j = at.line;
    Scalar upper = in_line(i, j), lower = in_line(j, i);
    if (header_.fortran_order) std::swap(upper, lower);
    throw InputError(fmt::format("{}: the matrix is not Hermitian: entry ({}, {}) is {}, but entry ({}, {}) is {}",
                                 path_, i + 1, j + 1, value_text(upper), j + 1, i + 1, value_text(lower)));
  }

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  NpyHeader header_;
  const std::byte* data_;
};

template <class T, class Scalar>
LocalMatrix<Scalar> read_as(const OpenedNpy& opened, const Communicator& communicator, int threads) {
  LocalMatrix<Scalar> result;
  result.is_dense = true;
  result.rows = RowDistribution::uniform(opened.header.size, communicator);
  const RowRange range{result.rows.begin(), result.rows.end()};
  auto matrix = std::make_unique<NpyMatrix<T, Scalar>>(opened);
  const double mine = collectively(communicator, [&] { return matrix->norm(range, threads); });
  const double norm = norm_over_ranks(opened.path, communicator, mine);
  collectively(communicator, [&] {
    matrix->check_hermitian(range, norm, threads);
    return true;
  });
  result.source = std::move(matrix);
  return result;
}

}  // namespace

bool is_npy(const std::string& path) {
  char begin[sizeof(npy_magic)] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(npy_magic) - 1);
  return std::strcmp(begin, npy_magic) == 0;
}

RealOrComplexMatrix read_npy(const std::string& path, const Communicator& communicator, int threads) {
  const OpenedNpy opened = collectively(communicator, [&] { return OpenedNpy(path); });
  require_same_file(path, communicator, opened.header);
  switch (opened.header.number) {
    case NpyHeader::Number::float32:
      return read_as<float, double>(opened, communicator, threads);
    case NpyHeader::Number::float64:
      return read_as<double, double>(opened, communicator, threads);
    case NpyHeader::Number::complex64:
      return read_as<Complex<float>, Complex<double>>(opened, communicator, threads);
    case NpyHeader::Number::complex128:
      break;
  }
  return read_as<Complex<double>, Complex<double>>(opened, communicator, threads);
}

}  // namespace blockvec::solvers
