#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace blockvec::solvers {

/// What a file of NumPy's says of its matrix.
struct NpyHeader {
  enum class Number { float32, float64, complex64, complex128 };

  Number number;
  bool fortran_order;
  std::int64_t size;       ///< rows, and columns
  std::size_t data_begin;  ///< where the entries begin

  bool operator==(const NpyHeader&) const = default;
  bool is_complex() const { return number == Number::complex64 || number == Number::complex128; }
};

inline constexpr char npy_magic[] = "\x93NUMPY";

/// Reads the header of a file's bytes, which have all entries that it promises. Throws InputError naming `path` and
/// byte.
NpyHeader read_npy_header(const std::string& path, std::span<const std::byte> bytes);

}  // namespace blockvec::solvers
