#include "src/dispatch/host/checks.hpp"

#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <initializer_list>
#include <limits>
#include <string>

namespace blockvec::kernels::dispatch {
namespace {

[[noreturn]] void fail(const char* product, const std::string& what) {
  throw ShapeError(std::string(product) + ": " + what);
}

// Every matrix is `major` runs of `minor` adjacent entries, ld apart.
std::int64_t major(const Operand& a) { return a.layout == Layout::row_major ? a.rows : a.columns; }
std::int64_t minor(const Operand& a) { return a.layout == Layout::row_major ? a.columns : a.rows; }
bool empty(const Operand& a) { return a.rows == 0 || a.columns == 0; }

void check_apart(const char* product, const Operand& out, const Operand& in) {
  if (overlap(out, in)) {
    fail(product, shape(out) + " and " + shape(in) + " share memory: expected " + out.name + " apart from " + in.name);
  }
}

void check_tall_layouts(const char* product, const Operand& a, const Operand& b) {
  if (a.layout != b.layout) fail(product, shape(a) + " and " + shape(b) + ": expected one layout for both");
}

}  // namespace

std::string shape(const Operand& a) {
  return std::string(a.name) + " is " + std::to_string(a.rows) + " x " + std::to_string(a.columns) +
         (a.layout == Layout::row_major ? " row-major" : " column-major");
}

void check_operand(const char* product, const Operand& a) {
  if (a.rows < 0 || a.columns < 0) fail(product, shape(a) + ": expected extents of at least 0");
  if (a.ld < minor(a)) {
    fail(product, shape(a) + " with leading dimension " + std::to_string(a.ld) + ": expected at least " +
                      std::to_string(minor(a)));
  }
  if (empty(a)) return;
  if (a.data == nullptr) fail(product, shape(a) + " with null data: expected memory for its entries");
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t entries = limit / a.entry_bytes;
  if (minor(a) > entries || (major(a) > 1 && a.ld > (entries - minor(a)) / (major(a) - 1))) {
    fail(product, shape(a) + " with leading dimension " + std::to_string(a.ld) +
                      ": expected a matrix that 64-bit addresses can reach");
  }
}

bool overlap(const Operand& a, const Operand& b) {
  if (empty(a) || empty(b)) return false;
  const auto first_a = reinterpret_cast<std::uintptr_t>(a.data);
  const auto first_b = reinterpret_cast<std::uintptr_t>(b.data);
  if (first_b < first_a) return overlap(b, a);
  const auto span_a = static_cast<std::uintptr_t>(((major(a) - 1) * a.ld + minor(a)) * a.entry_bytes);
  const std::uintptr_t distance = first_b - first_a;
  if (distance >= span_a) return false;
  const auto entry_bytes = static_cast<std::uintptr_t>(a.entry_bytes);
  if (a.layout != b.layout || a.ld != b.ld || a.entry_bytes != b.entry_bytes || distance % entry_bytes != 0)
    return true;
  // B starts in run `run` of A at column `column`; what passes ld lies in the run after it.
  const auto offset = static_cast<std::int64_t>(distance / entry_bytes);
  const std::int64_t run = offset / a.ld;
  const std::int64_t column = offset % a.ld;
  return (column < minor(a) && run < major(a)) || (column + minor(b) > a.ld && run + 1 < major(a));
}

void check_products(const char* product, const Operand& a, const Operand& b, const Operand& c, const Operand& out) {
  for (const Operand* x : {&a, &b, &c}) check_operand(product, *x);
  check_tall_layouts(product, a, b);
  if (a.rows != b.rows) fail(product, shape(a) + " and " + shape(b) + ": expected as many rows in both");
  if (c.rows != a.columns || c.columns != b.columns) {
    fail(product, shape(a) + ", " + shape(b) + " and " + shape(c) + ": expected C to be " + std::to_string(a.columns) +
                      " x " + std::to_string(b.columns));
  }
  for (const Operand* x : {&a, &b, &c}) {
    if (x != &out) check_apart(product, out, *x);
  }
}

void check_tsmm_inplace(const Operand& v, const Operand& c, std::int64_t first) {
  constexpr const char* product = "tsmm_inplace";
  for (const Operand* x : {&v, &c}) check_operand(product, *x);
  if (first < 0 || first > v.columns) {
    fail(product, shape(v) + ": columns from " + std::to_string(first) + " on, of which there are none");
  }
  if (c.rows != v.columns || c.columns > v.columns - first) {
    fail(product, shape(v) + " and " + shape(c) + ": expected C to be " + std::to_string(v.columns) +
                      " x n with n at most " + std::to_string(v.columns - first));
  }
  check_apart(product, v, c);
}

namespace {

/// The tall operands of a sweep and its small ones.
class SweepCheck {
 public:
  SweepCheck(std::span<const Operand> v, const Operand& w, std::initializer_list<const Operand*> others)
      : v_(v), w_(w) {
    for (const Operand& piece : v) {
      check_operand(product_, piece);
      check_tall_layouts(product_, piece, w);
      m_ += piece.columns;
    }
    check_operand(product_, w);
    for (const Operand* a : others) check_operand(product_, *a);
    for (const Operand& piece : v) expect(piece, w.rows, piece.columns);
  }

  std::int64_t m() const { return m_; }

  void expect(const Operand& a, std::int64_t rows, std::int64_t columns) const {
    if (a.rows == rows && a.columns == columns) return;
    std::string operands;
    for (const Operand& piece : v_) operands += shape(piece) + ", ";
    fail(product_, operands + shape(w_) + " and " + shape(a) + ": expected " + a.name + " to be " +
                       std::to_string(rows) + " x " + std::to_string(columns));
  }
  void expect_if_asked(const Operand& a, std::int64_t rows) const {
    if (a.columns > 0) expect(a, rows, w_.columns);
  }

 private:
  static constexpr const char* product_ = "gram_schmidt_sweep";
  std::span<const Operand> v_;
  const Operand& w_;
  std::int64_t m_ = 0;
};

}  // namespace

void check_sweep(std::span<const Operand> v, const Operand& s, const Operand& w, const Operand& x, const Operand& p,
                 const Operand& g) {
  const SweepCheck check(v, w, {&s, &x, &p, &g});
  check.expect_if_asked(s, check.m());
  check.expect_if_asked(x, w.columns);
  check.expect_if_asked(p, check.m());
  check.expect_if_asked(g, w.columns);
  for (const Operand* out : {&w, &p, &g}) {
    for (const Operand& piece : v) check_apart("gram_schmidt_sweep", *out, piece);
    for (const Operand* other : {&s, &w, &x, &p, &g}) {
      if (other != out) check_apart("gram_schmidt_sweep", *out, *other);
    }
  }
}

void check_device_sweep(std::span<const Operand> v, const Operand& c, const Operand& w, const Operand& image,
                        const Operand& p) {
  const SweepCheck check(v, w, {&c, &image, &p});
  check.expect_if_asked(c, check.m() + w.columns);
  check.expect_if_asked(p, check.m() + w.columns);
  if (image.columns == 0) return;
  check_tall_layouts("gram_schmidt_sweep", image, w);
  check.expect(image, w.rows, w.columns);
}

void check_alignment(const char* product, const Operand& a) {
  const auto bytes = static_cast<std::uintptr_t>(std::min<std::int64_t>(a.entry_bytes, 8));
  const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(a.data) % bytes;
  if (empty(a) || beyond == 0) return;
  fail(product, shape(a) + " with data " + std::to_string(beyond) + " bytes beyond a multiple of " +
                    std::to_string(bytes) + ": expected entries at such multiples");
}

void check_device_memory(const char* product, const Operand& out, std::span<const Operand> inputs,
                         std::span<std::byte> workspace) {
  const auto size = static_cast<std::int64_t>(workspace.size());
  const Operand scratch{"workspace", workspace.data(), 1, size, size, Layout::row_major, 1};
  const auto check_workspace = [&](const Operand& a) {
    if (!overlap(scratch, a)) return;
    fail(product, shape(a) + " and workspace of " + std::to_string(size) +
                      " bytes share memory: expected workspace apart from " + a.name);
  };
  if (size > 0 && workspace.data() == nullptr) {
    fail(product, "workspace of " + std::to_string(size) + " bytes with null data: expected device memory");
  }
  check_alignment(product, out);
  check_workspace(out);
  for (const Operand& in : inputs) {
    check_alignment(product, in);
    check_apart(product, out, in);
    check_workspace(in);
  }
}

void check_workspace_size(const char* product, std::span<std::byte> workspace, std::size_t needed) {
  if (workspace.size() >= needed) return;
  fail(product, "workspace of " + std::to_string(workspace.size()) + " bytes of device memory: expected at least " +
                    std::to_string(needed) + " bytes");
}

void check_coefficient(const char* product, const char* name, const void* place) {
  if (place != nullptr) return;
  fail(product, std::string(name) + " is a null pointer: expected a place in device memory that holds its value");
}

void check_execution(const char* product, int threads, std::span<std::byte> workspace, std::size_t needed) {
  if (threads < 0) fail(product, std::to_string(threads) + " threads: expected at least 0");
  if (!workspace.empty() && workspace.size() < needed) {
    fail(product, "workspace of " + std::to_string(workspace.size()) + " bytes: expected at least " +
                      std::to_string(needed) + " bytes, or none at all");
  }
}

}  // namespace blockvec::kernels::dispatch
