#pragma once

#include <blockvec/kernels/error.hpp>
#include <cstdint>
#include <string>

namespace blockvec {

inline std::string describe_shape(const std::string& label, std::int64_t rows, std::int64_t columns) {
  return label + " (" + std::to_string(rows) + " x " + std::to_string(columns) + ")";
}

/// Operands of one operation share ranks, rows and context. Throws ShapeError naming both.
template <class V, class W>
void require_same_rows(const char* operation, const V& v, const W& w) {
  if (!v.context().same(w.context()) || !(v.rows() == w.rows())) {
    throw ShapeError(
        std::string(operation) + ": V = " + v.describe() + " and W = " + w.describe() +
        (v.context().same(w.context()) ? ": expected the same distribution of rows" : ": expected the same context"));
  }
}

/// What an operation writes has no column in common with what it reads. Throws ShapeError naming both, on every rank.
template <class V>
void require_apart(const char* operation, const V& v, const V& w) {
  if (!v.shares_columns(w)) return;
  throw ShapeError(std::string(operation) + ": V = " + v.describe() + " and W = " + w.describe() +
                   " share columns of one block vector: expected W apart from V");
}

/// A small operand is ordered with the tall one. Throws ShapeError.
template <class Small, class Tall>
void require_same_context(const char* operation, const char* name, const Small& c, const Tall& v) {
  if (c.context().same(v.context())) return;
  throw ShapeError(std::string(operation) + ": " + name + " belongs to another context than V = " + v.describe() +
                   ", expected the same context");
}

/// The small operand has the context of the tall ones, and the shape that the tall ones ask for. The message is put
/// together only where it is needed.
template <class Small, class... Tall>
void require_small(const char* operation, const char* name, const Small& c, std::int64_t rows, std::int64_t columns,
                   const Tall&... operands) {
  (require_same_context(operation, name, c, operands), ...);
  if (c.rows() == rows && c.columns() == columns) return;
  std::string message = std::string(operation) + ": ";
  const char* letters[] = {"V", "W"};
  int index = 0;
  ((message += std::string(letters[index]) + " = " + operands.describe() + ", ", ++index), ...);
  throw ShapeError(message + name + " is " + std::to_string(c.rows()) + " x " + std::to_string(c.columns()) +
                   ", expected " + std::to_string(rows) + " x " + std::to_string(columns));
}

template <class V, class W>
void require_same_width(const char* operation, const V& v, const W& w) {
  require_same_rows(operation, v, w);
  if (v.width() != w.width()) {
    throw ShapeError(std::string(operation) + ": V = " + v.describe() + " and W = " + w.describe() +
                     ": expected the same width");
  }
}

}  // namespace blockvec
