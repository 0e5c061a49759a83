#include "bench/cuda_plans.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "bench/cuda_support.hpp"

namespace bench {
namespace {

using Widths = std::vector<std::int64_t>;

const Widths some_widths{1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 33, 40, 48, 56, 57, 61, 64};
const Widths few_widths{1, 2, 4, 8, 16, 24, 32, 33, 48, 64};
const Widths updated_widths{8, 16, 24, 32, 33, 40, 48, 57, 64};
const Widths wide{16, 64, 128, 256, 512};
const Widths narrow{1, 2, 4, 8, 16, 32};
const std::vector<std::string> both{"tsmttsm", "tsmm"};
const std::vector<std::string> all_products{"tsmttsm", "gram", "tsmm", "tsmm_inplace"};

void add_squares(std::vector<Case>& cases, const std::vector<std::string>& products, char type, bool row_major,
                 const Widths& widths, std::int64_t ld = 0, std::int64_t offset = 0) {
  for (const std::string& product : products) {
    for (const std::int64_t w : widths) cases.push_back({product, type, row_major, w, w, ld, offset});
  }
}

void add_rectangles(std::vector<Case>& cases, const std::vector<std::string>& products, char type, bool row_major,
                    const Widths& ms, const Widths& ns, std::int64_t ld = 0) {
  for (const std::string& product : products) {
    for (const std::int64_t m : ms) {
      for (const std::int64_t n : ns) {
        if (product != "tsmm_inplace" || n <= m) cases.push_back({product, type, row_major, m, n, ld, 0});
      }
    }
  }
}

Widths all_widths(std::int64_t last = 64) {
  Widths all(static_cast<std::size_t>(last));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

std::vector<Case> square() {
  std::vector<Case> cases;
  add_squares(cases, both, 'D', true, all_widths());
  return cases;
}

std::vector<Case> widths() {
  std::vector<Case> cases;
  for (const char type : {'Z', 'S', 'C'}) add_squares(cases, both, type, true, all_widths());
  for (const char type : {'D', 'Z', 'S', 'C'}) add_squares(cases, both, type, false, all_widths());
  return cases;
}

std::vector<Case> views() {
  std::vector<Case> cases;
  for (const char* const product : {"tsmttsm", "tsmm", "update"}) {
    for (const std::int64_t ld : {64, 128}) {
      for (const std::int64_t m : {16, 24, 32, 48, 56, 64}) {
        for (const std::int64_t n : {4, 8, 16}) {
          cases.push_back({product, 'D', true, m, n, ld, 0});
        }
      }
    }
  }
  for (const std::int64_t ld : {64, 128}) {
    for (const std::int64_t m : {4, 8, 16, 24, 32, 48, 56}) cases.push_back({"tsmm_inplace", 'D', true, m, m, ld, 0});
  }
  return cases;
}

std::vector<Case> odd() {
  const Widths few{1, 2, 4, 7, 8, 16, 24, 31, 32};
  std::vector<Case> cases;
  for (const std::int64_t ld : {65, 100, 513}) {
    add_squares(cases, both, 'D', true, all_widths(32), ld);
    add_squares(cases, both, 'D', true, few, ld, 3);
    add_squares(cases, {"gram", "tsmm_inplace"}, 'D', true, few, ld);
    add_rectangles(cases, {"tsmttsm", "tsmm", "update"}, 'D', true, {16, 31}, {1, 4, 8}, ld);
  }
  return cases;
}

std::vector<Case> column() {
  std::vector<Case> cases;
  add_rectangles(cases, both, 'D', false, wide, narrow);
  add_squares(cases, {"gram", "tsmm_inplace"}, 'D', false, some_widths);
  add_squares(cases, {"gram", "tsmm_inplace"}, 'D', false, {128, 256, 512});
  add_rectangles(cases, {"update"}, 'D', false, wide, {1, 4, 8, 32});
  add_squares(cases, {"update"}, 'D', false, updated_widths);
  add_rectangles(cases, {"tsmm_inplace"}, 'D', false, {64, 512}, {4, 16});
  for (const std::int64_t offset : {0, 1})
    add_squares(cases, all_products, 'D', false, {4, 8, 16, 24, 33, 64}, 63, offset);
  return cases;
}

std::vector<Case> wide_squares() {
  std::vector<Case> cases;
  for (const bool row_major : {true, false})
    add_squares(cases, both, 'D', row_major, {80, 96, 100, 128, 200, 256, 512});
  for (const char type : {'Z', 'S', 'C'}) add_squares(cases, both, type, true, {96, 128, 256});
  return cases;
}

/// The other types beside squares.
std::vector<Case> types() {
  std::vector<Case> cases;
  for (const char type : {'Z', 'S', 'C'}) {
    for (const bool row_major : {true, false}) {
      add_rectangles(cases, {"tsmttsm", "tsmm", "update"}, type, row_major, {64, 512}, {8, 32});
      add_squares(cases, {"gram", "tsmm_inplace"}, type, row_major, {4, 8, 16, 24, 32, 48, 64});
      add_squares(cases, {"gram"}, type, row_major, {2, 3, 5, 6, 7, 9, 10, 11, 12, 14, 17, 20, 28, 33, 40, 57});
      add_squares(cases, {"update"}, type, row_major, updated_widths);
    }
    add_rectangles(cases, both, type, true, {16, 32}, {8}, 64);
    add_squares(cases, both, type, true, {8, 31}, 65);
  }
  return cases;
}

/// One case, e.g. tsmm:C:column:64:64 or tsmttsm:D:row+3:16:8:100 with an offset and a leading dimension.
Case one_case(const std::string& name) {
  const std::vector<std::string> words = split(name, ':');
  if (words.size() != 5 && words.size() != 6) throw std::runtime_error("no case is called " + name);
  const std::vector<std::string> layout = split(words[2], '+');
  return {words[0],
          words[1].at(0),
          layout.at(0) == "row",
          std::stoll(words[3]),
          std::stoll(words[4]),
          words.size() == 6 ? std::stoll(words[5]) : 0,
          layout.size() == 2 ? std::stoll(layout[1]) : 0};
}

}  // namespace

std::string Case::layout() const {
  const std::string name = row_major ? "row" : "column";
  return offset == 0 ? name : name + '+' + std::to_string(offset);
}

std::int64_t Case::leading_dimension(std::int64_t k) const { return row_major ? std::max(ld, m) : k + ld; }

std::vector<Case> plan(const std::string& name) {
  std::vector<Case> cases;
  if (name.find(':') != std::string::npos) return {one_case(name)};
  if (name == "square") return square();
  if (name == "widths") return widths();
  if (name == "views") return views();
  if (name == "odd") return odd();
  if (name == "column") return column();
  if (name == "wide") return wide_squares();
  if (name == "types") return types();
  if (name == "gram") {
    add_squares(cases, {"gram", "tsmm_inplace"}, 'D', true, all_widths());
    add_squares(cases, {"gram", "tsmm_inplace"}, 'D', true, {128, 256, 512});
    add_squares(cases, {"update"}, 'D', true, updated_widths);
  } else if (name == "rectangle") {
    add_rectangles(cases, {"tsmttsm", "tsmm", "update", "tsmm_inplace"}, 'D', true, wide, narrow);
  } else if (name == "chosen") {
    add_squares(cases, both, 'D', true, few_widths);
    add_rectangles(cases, both, 'D', true, {64, 512}, {8, 32});
    for (const char type : {'Z', 'S', 'C'}) add_squares(cases, both, type, true, {8, 32, 64});
    add_squares(cases, both, 'D', false, {8, 32});
  } else {
    throw std::runtime_error("no plan is called " + name);
  }
  return cases;
}

}  // namespace bench
