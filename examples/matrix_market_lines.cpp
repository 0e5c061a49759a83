#include "matrix_market_lines.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "input_error.hpp"

namespace blockvec::examples {

MatrixMarketLines::MatrixMarketLines(const std::string& path) : path_(path) {
  if (std::filesystem::is_directory(path)) throw InputError(fmt::format("{}: is a directory", path));
  errno = 0;
  file_.open(path);
  if (!file_) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
}

void MatrixMarketLines::fail(const std::string& message) const {
  throw InputError(fmt::format("{}:{}: {}", path_, number_, message));
}

bool MatrixMarketLines::next_line() {
  if (!std::getline(file_, line_)) {
    if (file_.bad()) fail("cannot be read on from here");
    return false;
  }
  ++number_;
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  rest_ = line_;
  return true;
}

bool MatrixMarketLines::next_data_line() {
  while (next_line()) {
    const std::size_t first = rest_.find_first_not_of(" \t");
    if (first != std::string_view::npos && rest_[first] != '%') return true;
  }
  return false;
}

std::string_view MatrixMarketLines::word() {
  const std::size_t begin = rest_.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(rest_.find_first_of(" \t", begin), rest_.size());
  const std::string_view result = rest_.substr(begin, end - begin);
  rest_.remove_prefix(end);
  return result;
}

std::string_view MatrixMarketLines::required_word(std::string_view what) {
  const std::string_view text = word();
  if (text.empty()) fail(fmt::format("the {} is missing", what));
  return text;
}

std::int64_t MatrixMarketLines::integer(std::string_view what) {
  const std::string_view text = required_word(what);
  std::int64_t value = 0;
  const char* const begin = text.data() + (text[0] == '+' ? 1 : 0);
  const auto [end, status] = std::from_chars(begin, text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) {
    fail(fmt::format("the {} \"{}\" is not an integer of 64 bits", what, text));
  }
  return value;
}

double MatrixMarketLines::real(std::string_view what) {
  const std::string_view text = required_word(what);
  double value = 0;
  const char* const begin = text.data() + (text[0] == '+' ? 1 : 0);
  const auto [end, status] = std::from_chars(begin, text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size() && end != begin;
  if (is_number && status == std::errc::result_out_of_range) {
    // Too small is as good as zero, too large is not a number to compute with.
    value = std::strtod(std::string(begin, end).c_str(), nullptr);
  } else if (!is_number || status != std::errc()) {
    fail(fmt::format("the {} \"{}\" is not a number", what, text));
  }
  if (!std::isfinite(value)) fail(fmt::format("the {} \"{}\" is not finite", what, text));
  return value;
}

void MatrixMarketLines::expect_end() {
  const std::string_view text = word();
  if (!text.empty()) fail(fmt::format("\"{}\" is more than belongs on this line", text));
}

}  // namespace blockvec::examples
