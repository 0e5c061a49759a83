#include "src/dispatch/host/spmmv_checks.hpp"

#include <blockvec/kernels/error.hpp>
#include <limits>
#include <string>

namespace blockvec::kernels::dispatch {
namespace {

[[noreturn]] void fail(const std::string& what) { throw ShapeError("spmmv: " + what); }

std::string shape(const SparseOperand& a) {
  return "A is " + std::to_string(a.rows) + " x " + std::to_string(a.columns) + " sparse";
}

bool same(const Operand& a, const Operand& b) { return a.data == b.data && a.ld == b.ld && a.layout == b.layout; }

}  // namespace

void check_spmmv(const SparseOperand& a, bool shifts, const Operand& x, bool reads_z, const Operand& z,
                 const Operand& y) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (a.rows < 0 || a.columns < 0 || a.rows > limit || a.columns > limit) {
    fail(shape(a) + ": expected extents from 0 to 2^31 - 1");
  }
  if (!a.complete) fail(shape(a) + " with null arrays: expected those of its format");
  if (!a.aligned) fail(shape(a) + ": expected values at multiples of their size");
  check_operand("spmmv", x);
  check_operand("spmmv", y);
  if (x.rows != a.columns) {
    fail(shape(a) + " and " + shape(x) + ": expected X to have " + std::to_string(a.columns) + " rows");
  }
  const auto check_result = [&](const Operand& of) {
    if (of.rows != a.rows || of.columns != x.columns) {
      fail(shape(a) + ", " + shape(x) + " and " + shape(of) + ": expected " + of.name + " to be " +
           std::to_string(a.rows) + " x " + std::to_string(x.columns));
    }
  };
  check_result(y);
  if (shifts && (a.diagonal < 0 || a.rows > a.columns - a.diagonal)) {
    fail(shape(a) + ": expected at least as many columns as rows for a shift" +
         (a.diagonal == 0 ? "" : ", from column " + std::to_string(a.diagonal) + " on"));
  }
  if (overlap(x, y)) fail(shape(y) + " and " + shape(x) + " share memory: expected Y apart from X");
  if (!reads_z) return;
  check_operand("spmmv", z);
  check_result(z);
  if (z.layout != y.layout) fail(shape(z) + " and " + shape(y) + ": expected one layout for both");
  if (!same(z, y) && overlap(z, y)) {
    fail(shape(y) + " and " + shape(z) + " share memory: expected Z to be Y or apart from it");
  }
}

}  // namespace blockvec::kernels::dispatch
