#include "solvers/matrix_market/lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <locale>
#include <sstream>

namespace blockvec::solvers {
namespace {

constexpr std::string_view blanks = " \t";

/// std::from_chars, which knows no plus sign. Whether the whole of `text` is a number is for status and end to say.
template <class Value>
std::from_chars_result number_from(std::string_view text, Value& value) {
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return std::from_chars(text.data() + (has_plus ? 1 : 0), text.data() + text.size(), value);
}

/// What std::from_chars says is out of range: too small is as good as zero, too large is infinite.
double out_of_range(const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  return stream >> value ? value : HUGE_VAL;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string result(text.substr(0, most));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? result + "..." : result;
}

std::string_view without_carriage_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool is_data_line(std::string_view line) {
  const std::size_t first = line.find_first_not_of(blanks);
  return first != std::string_view::npos && line[first] != '%';
}

MatrixMarketLines::MatrixMarketLines(const std::string& path) : path_(path), buffer_(longest + 1) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) throw InputError(fmt::format("{}: is a directory", path));
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) {
    throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno == 0 ? ENOMEM : errno)));
  }
}

MatrixMarketLines::MatrixMarketLines(std::string path, std::vector<char> text, std::int64_t before)
    : path_(std::move(path)), buffer_(std::move(text)), end_(buffer_.size()), at_end_(true), number_(before) {}

bool MatrixMarketLines::is_gzipped() const { return file_ && gzdirect(file_.get()) == 0; }

void MatrixMarketLines::fail(std::int64_t line, const std::string& message) const {
  throw InputError(fmt::format("{}:{}: {}", path_, line, message));
}

/// Reads on behind what is left, which moves to the front.
void MatrixMarketLines::refill() {
  std::copy(buffer_.data() + begin_, buffer_.data() + end_, buffer_.data());
  end_ -= begin_;
  begin_ = 0;
  errno = 0;
  const int count = gzread(file_.get(), buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  int status = Z_OK;
  const char* const message = gzerror(file_.get(), &status);
  if (status == Z_ERRNO) fail(fmt::format("cannot be read on from here: {}", std::strerror(errno)));
  if (status == Z_MEM_ERROR) fail("no memory for what gzip needs");
  at_end_ = count <= 0;
  if (count > 0) end_ += static_cast<std::size_t>(count);
  if (status != Z_OK && status != Z_STREAM_END) damage_ = message;  // zlib may forget it at the next read
  if (at_end_ && !damage_.empty()) {
    const std::string_view text = damage_;
    const bool has_path = text.rfind(path_ + ": ", 0) == 0;
    fail(fmt::format("the gzip stream is damaged: {}", has_path ? text.substr(path_.size() + 2) : text));
  }
}

bool MatrixMarketLines::next_line() {
  std::size_t length = 0;  // of the line, as far as it is known
  bool ends = false;
  while (true) {
    const std::string_view unread(buffer_.data() + begin_, end_ - begin_);
    const std::size_t line_feed = unread.find('\n', length);
    ends = line_feed != std::string_view::npos;
    length = std::min(line_feed, unread.size());
    if (length > longest) fail(fmt::format("the next line is longer than {} bytes", longest));
    if (ends || at_end_) break;
    refill();
  }
  if (!ends && length == 0) return false;
  rest_ = without_carriage_return(std::string_view(buffer_.data() + begin_, length));
  const std::size_t taken = length + (ends ? 1 : 0);
  begin_ += taken;
  bytes_ += static_cast<std::int64_t>(taken);
  ++number_;
  return true;
}

bool MatrixMarketLines::next_data_line() {
  while (next_line()) {
    if (is_data_line(rest_)) return true;
  }
  return false;
}

void MatrixMarketLines::skip_data_lines(std::int64_t count) {
  while (count > 0 && next_data_line()) --count;
}

std::string_view MatrixMarketLines::word() {
  const std::size_t begin = rest_.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(rest_.find_first_of(blanks, begin), rest_.size());
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
  const auto [end, status] = number_from(text, value);
  if (status != std::errc() || end != text.data() + text.size()) {
    fail(fmt::format("the {} \"{}\" is not an integer of 64 bits", what, shown(text)));
  }
  return value;
}

double MatrixMarketLines::real(std::string_view what) {
  const std::string_view text = required_word(what);
  std::string_view number = text;
  std::string with_e;
  if (const std::size_t exponent = text.find_first_of("Dd"); exponent != std::string_view::npos) {
    with_e = text;
    with_e[exponent] = 'e';
    number = with_e;
  }
  double value = 0;
  const auto [end, status] = number_from(number, value);
  const bool is_number = status != std::errc::invalid_argument && end == number.data() + number.size();
  if (!is_number) fail(fmt::format("the {} \"{}\" is not a number", what, shown(text)));
  if (status == std::errc::result_out_of_range) value = out_of_range(std::string(number));
  if (!std::isfinite(value)) fail(fmt::format("the {} \"{}\" is not finite", what, shown(text)));
  return value;
}

void MatrixMarketLines::expect_end() {
  const std::string_view text = word();
  if (!text.empty()) fail(fmt::format("\"{}\" is more than belongs on this line", shown(text)));
}

}  // namespace blockvec::solvers
