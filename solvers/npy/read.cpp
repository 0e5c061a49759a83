#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/npy.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>

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

  /// The Frobenius norm of lines in `range`, infinite only where it overflows itself. Throws InputError naming the
  /// first entry that is not finite.
  double norm(const RowRange& range) const {
    double result = 0;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      double largest = 0;
      for (std::int64_t j = 0; j < header_.size; ++j) {
        const Scalar value = in_line(i, j);
        if (!is_finite(value)) {
          const auto [row, column] = header_.fortran_order ? std::pair(j, i) : std::pair(i, j);
          throw InputError(fmt::format("{}: entry ({}, {}) is {}, which is not finite", path_, row + 1, column + 1,
                                       value_text(value)));
        }
        largest = std::max(largest, largest_part(value));
      }
      if (largest == 0) continue;
      double squares = 0;
      for (std::int64_t j = 0; j < header_.size; ++j) squares += scaled_square(in_line(i, j), largest);
      result = std::hypot(result, largest * std::sqrt(squares));
    }
    return result;
  }

  /// Entries of lines in `range` before the diagonal must be the conjugates of those across it, and those on it real.
  void check_hermitian(const RowRange& range, double frobenius_norm) const {
    constexpr std::int64_t tile = 64;  // of lines, and of entries of each
    const double limit = 4 * static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon()) * frobenius_norm;
    for (std::int64_t begin = range.begin; begin < range.end; begin += tile) {
      const std::int64_t end = std::min(begin + tile, range.end);
      for (std::int64_t first = 0; first < end; first += tile) {
        for (std::int64_t i = begin; i < end; ++i) {
          for (std::int64_t j = first; j < std::min(first + tile, i + 1); ++j) {
            const Scalar below = in_line(i, j), above = in_line(j, i);
            if (magnitude(above - mirror_value(below)) > limit) refuse(j, i, above, below);
          }
        }
      }
    }
  }

 private:
  Scalar in_line(std::int64_t line, std::int64_t place) const {
    T value;
    std::memcpy(&value, data_ + static_cast<std::size_t>(line * header_.size + place) * sizeof(T), sizeof(T));
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    } else {
      return value;
    }
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
  /// `upper` and `lower` stand in lines i and j, i <= j.
  [[noreturn]] void refuse(std::int64_t i, std::int64_t j, Scalar upper, Scalar lower) const {
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
LocalMatrix<Scalar> read_as(const OpenedNpy& opened, const Communicator& communicator) {
  LocalMatrix<Scalar> result;
  result.is_dense = true;
  result.rows = RowDistribution::uniform(opened.header.size, communicator);
  const RowRange range{result.rows.begin(), result.rows.end()};
  auto matrix = std::make_unique<NpyMatrix<T, Scalar>>(opened);
  const double mine = collectively(communicator, [&] { return matrix->norm(range); });
  const double norm = norm_over_ranks(opened.path, communicator, mine);
  collectively(communicator, [&] {
    matrix->check_hermitian(range, norm);
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

RealOrComplexMatrix read_npy(const std::string& path, const Communicator& communicator) {
  const OpenedNpy opened = collectively(communicator, [&] { return OpenedNpy(path); });
  require_same_file(path, communicator, opened.header);
  switch (opened.header.number) {
    case NpyHeader::Number::float32:
      return read_as<float, double>(opened, communicator);
    case NpyHeader::Number::float64:
      return read_as<double, double>(opened, communicator);
    case NpyHeader::Number::complex64:
      return read_as<Complex<float>, Complex<double>>(opened, communicator);
    case NpyHeader::Number::complex128:
      break;
  }
  return read_as<Complex<double>, Complex<double>>(opened, communicator);
}

}  // namespace blockvec::solvers
