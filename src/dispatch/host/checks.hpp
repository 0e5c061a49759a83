#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Argument checks of the products, shared by the oracle and the fast kernels. Each throws ShapeError naming the
/// operands, their shapes and what was expected, before anything is read or written.
namespace blockvec::kernels::dispatch {

/// A matrix without its type: all that a check looks at.
struct Operand {
  const char* name;
  const void* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t ld;
  Layout layout;
  std::int64_t entry_bytes;
};

template <class T>
Operand operand(const char* name, const Matrix<T>& a) {
  return {name, a.data, a.rows, a.columns, a.ld, a.layout, static_cast<std::int64_t>(sizeof(T))};
}

/// "A is 1000 x 4 row-major"
std::string shape(const Operand& a);
/// Extents, leading dimension, and memory for what entries there are.
void check_operand(const char* product, const Operand& a);

/// Do two matrices share an entry? Exact for equal leading dimensions and layouts (column ranges of one parent),
/// else whether the memory from first to last entry overlaps.
bool overlap(const Operand& a, const Operand& b);

/// A and B are tall, and C has as many rows and columns as they have columns. `out`, one of the three, shares no memory
/// with the others.
void check_products(const char* product, const Operand& a, const Operand& b, const Operand& c, const Operand& out);
void check_tsmm_inplace(const Operand& v, const Operand& c, std::int64_t first);
void check_sweep(std::span<const Operand> v, const Operand& s, const Operand& w, const Operand& x, const Operand& p,
                 const Operand& g);
/// The same for devices: C and P, if they have columns, have the rows of [V W]; the image, if it has any, is like W.
void check_device_sweep(std::span<const Operand> v, const Operand& c, const Operand& w, const Operand& image,
                        const Operand& p);
/// For devices, which load entries whole: data at multiples of an entry's size, or of 8 bytes if that is less.
void check_alignment(const char* product, const Operand& a);
/// All operands of a device: aligned; the output apart from the inputs; a workspace in memory of its own, gaps between
/// rows or columns of operands left out of it, too.
void check_device_memory(const char* product, const Operand& out, std::span<const Operand> inputs,
                         std::span<std::byte> workspace);
void check_workspace_size(const char* product, std::span<std::byte> workspace, std::size_t needed);
/// alpha or beta in device memory.
void check_coefficient(const char* product, const char* name, const void* place);
void check_execution(const char* product, int threads, std::span<std::byte> workspace, std::size_t needed);

template <class T>
void check_tsmttsm(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c) {
  const Operand out = operand("C", c);
  check_products("tsmttsm", operand("A", a), operand("B", b), out, out);
}

template <class T>
void check_tsmm(const Matrix<const T>& a, const Matrix<const T>& c, const Matrix<T>& b) {
  const Operand out = operand("B", b);
  check_products("tsmm", operand("A", a), out, operand("C", c), out);
}

template <class T>
void check_tsmm_inplace(const Matrix<T>& v, const Matrix<const T>& c, std::int64_t first) {
  check_tsmm_inplace(operand("V", v), operand("C", c), first);
}

/// `count` columns of a matrix.
template <class T>
Matrix<T> columns_of(const Matrix<T>& a, std::int64_t first, std::int64_t count) {
  const std::int64_t offset = a.layout == Layout::row_major ? first : first * a.ld;
  return {a.data == nullptr ? a.data : a.data + offset, a.rows, count, a.ld, a.layout};
}

}  // namespace blockvec::kernels::dispatch
