#include "src/dispatch/host/dense_checks.hpp"

#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <limits>
#include <string>

namespace blockvec::kernels::dispatch {
namespace {

[[noreturn]] void fail(const char* product, const std::string& what) {
  throw ShapeError(std::string(product) + ": " + what);
}

void check_shapes(const char* product, const Operand& a, bool transposed, const Operand& x, const Operand& y) {
  for (const Operand* of : {&a, &x, &y}) check_operand(product, *of);
  const std::int64_t n = transposed ? a.columns : a.rows, k = transposed ? a.rows : a.columns;
  if (x.rows != k) {
    fail(product, shape(a) + (transposed ? ", transposed," : "") + " and " + shape(x) + ": expected X to have " +
                      std::to_string(k) + " rows");
  }
  if (y.rows != n || y.columns != x.columns) {
    fail(product, shape(a) + (transposed ? ", transposed, " : ", ") + shape(x) + " and " + shape(y) +
                      ": expected Y to be " + std::to_string(n) + " x " + std::to_string(x.columns));
  }
  if (x.layout != y.layout) fail(product, shape(x) + " and " + shape(y) + ": expected one layout for both");
}

void check_apart(const char* product, const Operand& y, std::initializer_list<const Operand*> inputs) {
  for (const Operand* of : inputs) {
    if (overlap(y, *of)) {
      fail(product, shape(y) + " and " + shape(*of) + " share memory: expected Y apart from " + of->name);
    }
  }
}

}  // namespace

void check_gemm(const Operand& a, bool transposed, const Operand& x, const Operand& y) {
  check_shapes("gemm", a, transposed, x, y);
  check_apart("gemm", y, {&a, &x});
}

void check_hemm(const Operand& a, Triangle triangle, const Operand& x, const Operand& y) {
  if (a.rows != a.columns) fail("hemm", shape(a) + ": expected a square matrix");
  if (triangle == Triangle::general)
    fail("hemm", shape(a) + " as a general matrix: expected its upper or lower triangle");
  check_shapes("hemm", a, false, x, y);
  check_apart("hemm", y, {&a, &x});
}

void check_packed_rows(const char* operation, std::int64_t n) {
  if (n < 0) fail(operation, "packed A has " + std::to_string(n) + " rows: expected at least 0");
}

void check_packed_hemm(std::int64_t n, const Operand& panels, const Operand& x, const Operand& y) {
  const Operand a{panels.name, panels.data, n, n, n, Layout::row_major, panels.entry_bytes};
  check_shapes("hemm", a, false, x, y);
  check_apart("hemm", y, {&panels, &x});
}

void check_packing(const char* operation, Triangle triangle, const Operand& a, std::int64_t n, const Operand& panels) {
  check_operand(operation, a);
  check_operand(operation, panels);
  if (triangle == Triangle::general) {
    fail(operation, shape(a) + " as a general matrix: expected its upper or lower triangle");
  }
  if (a.rows != n || a.columns != n) {
    fail(operation, shape(a) + " and packed A has " + std::to_string(n) + " rows: expected as many rows and columns");
  }
  if (overlap(a, panels)) fail(operation, shape(a) + " and its packed form share memory: expected them apart");
}

void check_blas_extents(const char* product, std::initializer_list<Operand> operands) {
  constexpr std::int64_t limit = std::numeric_limits<int>::max();
  for (const Operand& a : operands) {
    if (std::max({a.rows, a.columns, a.ld}) <= limit) continue;
    fail(product, shape(a) + " with leading dimension " + std::to_string(a.ld) + ": expected at most 2^31 - 1 of each");
  }
}

}  // namespace blockvec::kernels::dispatch
