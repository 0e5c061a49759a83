#pragma once

#include <bit>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <type_traits>

/// PETSc's binary format of a sparse matrix: class id, rows, columns, entries; then the length of every row, the
/// columns of all entries by rows, and their values. Big-endian.
namespace blockvec::solvers {

inline constexpr std::int32_t petsc_matrix_id = 1211216;
inline constexpr std::int64_t petsc_header_bytes = 16;

/// Where what belongs to a row or an entry stands.
struct PetscPlaces {
  std::int64_t size, entries;  // of the whole matrix

  std::int64_t length(std::int64_t row) const { return petsc_header_bytes + 4 * row; }
  std::int64_t column(std::int64_t entry) const { return length(size) + 4 * entry; }
  template <class Scalar>
  std::int64_t value(std::int64_t entry) const {
    return column(entries) + static_cast<std::int64_t>(sizeof(Scalar)) * entry;
  }
  template <class Scalar>
  std::int64_t end() const {
    return value<Scalar>(entries);
  }
};

/// The same number in the other byte order.
template <class Word>
Word byte_swapped(Word word) {
  if constexpr (sizeof(Word) == 4) {
    return std::bit_cast<Word>(__builtin_bswap32(std::bit_cast<std::uint32_t>(word)));
  } else {
    return std::bit_cast<Word>(__builtin_bswap64(std::bit_cast<std::uint64_t>(word)));
  }
}

/// From the machine's byte order to the file's, or back.
template <class Word>
void swap_to_big_endian(std::span<Word> words) {
  if constexpr (std::endian::native == std::endian::little) {
    for (Word& word : words) word = byte_swapped(word);
  }
}

/// Numbers as the words that the file has for them.
template <class Scalar>
auto words(std::span<Scalar> numbers) {
  if constexpr (std::is_same_v<Scalar, Complex<double>>) {
    return std::span(reinterpret_cast<double*>(numbers.data()), 2 * numbers.size());
  } else {
    return numbers;
  }
}

/// A file that is read at places. All errors are InputErrors that name file and place.
class PetscFile {
 public:
  explicit PetscFile(const std::string& path);
  std::int64_t size() const { return size_; }
  /// Numbers in the machine's byte order.
  template <class Scalar>
  void read(std::int64_t place, std::span<Scalar> numbers) {
    read_bytes(place, reinterpret_cast<char*>(numbers.data()), numbers.size_bytes());
    swap_to_big_endian(words(numbers));
  }
  [[noreturn]] void fail(std::int64_t place, const std::string& message) const;

 private:
  void read_bytes(std::int64_t place, char* bytes, std::size_t count);

  std::string path_;
  std::ifstream stream_;
  std::int64_t size_ = 0;
};

}  // namespace blockvec::solvers
