#include "bench/cuda_plans.hpp"

#include <numeric>
#include <stdexcept>

#include "bench/cuda_support.hpp"

namespace bench {
namespace {

using Widths = std::vector<std::int64_t>;

const Widths some_widths{1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 33, 40, 48, 56, 57, 61, 64};
const Widths few_widths{1, 2, 4, 8, 16, 24, 32, 33, 48, 64};
const std::vector<std::string> both{"tsmttsm", "tsmm"};

void add_squares(std::vector<Case>& cases, const std::vector<std::string>& products, char type, bool row_major,
                 const Widths& widths) {
  for (const std::string& product : products) {
    for (const std::int64_t w : widths) cases.push_back({product, type, row_major, w, w});
  }
}

void add_rectangles(std::vector<Case>& cases, const std::vector<std::string>& products, bool row_major,
                    const Widths& ms, const Widths& ns) {
  for (const std::string& product : products) {
    for (const std::int64_t m : ms) {
      for (const std::int64_t n : ns) cases.push_back({product, 'D', row_major, m, n});
    }
  }
}

Widths all_widths() {
  Widths all(64);
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
          if (n != 8 && std::string("update") == product) continue;
          cases.push_back({product, 'D', true, m, n, ld, 0});
        }
      }
    }
  }
  for (const std::int64_t ld : {64, 128}) {
    for (const std::int64_t m : {4, 8, 16, 32}) cases.push_back({"tsmm_inplace", 'D', true, m, m, ld, 0});
  }
  return cases;
}

std::vector<Case> odd() {
  std::vector<Case> cases;
  for (const std::string& product : both) {
    for (const std::int64_t ld : {65, 100, 513}) {
      for (const std::int64_t w : {1, 2, 4, 7, 8, 16, 24, 31, 32}) {
        cases.push_back({product, 'D', true, w, w, ld, 0});
        if (ld == 100) cases.push_back({product, 'D', true, w, w, ld, 3});
      }
    }
  }
  return cases;
}

/// One case, e.g. tsmm:C:column:64:64 or tsmttsm:D:row:16:8:100 with a leading dimension.
Case one_case(const std::string& name) {
  const std::vector<std::string> words = split(name, ':');
  if (words.size() != 5 && words.size() != 6) throw std::runtime_error("no case is called " + name);
  return {words[0], words[1].at(0), words[2] == "row", std::stoll(words[3]), std::stoll(words[4]),
          words.size() == 6 ? std::stoll(words[5]) : 0};
}

}  // namespace

std::string Case::layout() const {
  const std::string name = row_major ? "row" : "column";
  return offset == 0 ? name : name + '+' + std::to_string(offset);
}

std::vector<Case> plan(const std::string& name) {
  std::vector<Case> cases;
  if (name.find(':') != std::string::npos) return {one_case(name)};
  if (name == "square") return square();
  if (name == "widths") return widths();
  if (name == "views") return views();
  if (name == "odd") return odd();
  if (name == "gram") {
    add_squares(cases, {"gram", "tsmm_inplace"}, 'D', true, some_widths);
    add_squares(cases, {"gram"}, 'D', true, {128, 256, 512});
  } else if (name == "rectangle") {
    add_rectangles(cases, {"tsmttsm", "tsmm"}, true, {16, 64, 128, 256, 512}, {1, 2, 4, 8, 16, 32});
    add_rectangles(cases, {"update"}, true, {16, 64, 128, 256, 512}, {1, 4, 8, 32});
  } else if (name == "column") {
    add_rectangles(cases, both, false, {64, 256, 512}, {1, 8, 32});
  } else if (name == "chosen") {
    add_squares(cases, both, 'D', true, few_widths);
    add_rectangles(cases, both, true, {64, 512}, {8, 32});
    for (const char type : {'Z', 'S', 'C'}) add_squares(cases, both, type, true, {8, 32, 64});
    add_squares(cases, both, 'D', false, {8, 32});
  } else {
    throw std::runtime_error("no plan is called " + name);
  }
  return cases;
}

}  // namespace bench
