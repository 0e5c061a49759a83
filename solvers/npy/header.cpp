#include "solvers/npy/header.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <blockvec/solvers/input_error.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace blockvec::solvers {
namespace {

constexpr std::size_t magic_bytes = sizeof(npy_magic) - 1;

/// A file's bytes, and its name for messages.
struct NpyFile {
  const std::string& path;
  std::span<const std::byte> bytes;

  [[noreturn]] void fail(std::size_t place, const std::string& message) const {
    throw InputError(fmt::format("{}: at byte {}: {}", path, place, message));
  }
};

/// The header's text: a dictionary of Python's with the keys descr, fortran_order and shape.
class Dictionary {
 public:
  Dictionary(const NpyFile& file, std::size_t begin, std::size_t end)
      : file_(file), text_(reinterpret_cast<const char*>(file.bytes.data()), end), next_(begin) {
    expect('{');
    while (!take('}')) {
      const std::size_t place = skip_blanks();
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        descr_place_ = skip_blanks();
        if (peek() == '[') file_.fail(descr_place_, "the entries have fields: expected one number an entry");
        descr_ = quoted();
      } else if (key == "fortran_order") {
        fortran_order_ = boolean();
      } else if (key == "shape") {
        shape_place_ = skip_blanks();
        shape_ = extents();
      } else {
        file_.fail(place, fmt::format("unknown key '{}' in the header", key));
      }
      if (!take(',') && peek() != '}') file_.fail(next_, "expected , or } in the header");
    }
    if (skip_blanks() != text_.size()) file_.fail(next_, "the header goes on behind its }");
    if (!descr_ || !fortran_order_ || !shape_) {
      file_.fail(begin, "the header needs the keys 'descr', 'fortran_order' and 'shape'");
    }
  }

  bool fortran_order() const { return *fortran_order_; }

  NpyHeader::Number number() const {
    constexpr bool is_little = std::endian::native == std::endian::little;
    constexpr std::string_view words[] = {"f4", "f8", "c8", "c16"};
    const std::string_view order = descr_->substr(0, 1),
                           word = descr_->substr(std::min<std::size_t>(1, descr_->size()));
    const auto* const found = std::find(std::begin(words), std::end(words), word);
    if (found == std::end(words)) {
      file_.fail(descr_place_, fmt::format("the numbers are of type '{}': expected float32, float64, complex64 or "
                                           "complex128, which are f4, f8, c8 and c16",
                                           *descr_));
    }
    if (order != (is_little ? "<" : ">") && order != "=") {
      file_.fail(descr_place_, fmt::format("the numbers, of type '{}', are not in this machine's byte order", *descr_));
    }
    return static_cast<NpyHeader::Number>(found - std::begin(words));
  }

  std::int64_t size() const {
    if (shape_->size() != 2) {
      file_.fail(shape_place_, fmt::format("the array has {} dimensions: expected a matrix", shape_->size()));
    }
    const auto [rows, columns] = std::pair((*shape_)[0], (*shape_)[1]);
    if (rows != columns) {
      file_.fail(shape_place_, fmt::format("the matrix is {} x {}: only square ones have eigenvalues", rows, columns));
    }
    return rows;
  }

 private:
  std::size_t skip_blanks() {
    next_ = std::min(text_.find_first_not_of(" \n\t", next_), text_.size());
    return next_;
  }
  char peek() {
    if (skip_blanks() == text_.size()) file_.fail(next_, "the header ends within its dictionary");
    return text_[next_];
  }
  bool take(char what) {
    const bool is_there = peek() == what;
    if (is_there) ++next_;
    return is_there;
  }
  void expect(char what) {
    if (!take(what)) file_.fail(next_, fmt::format("expected {} in the header", what));
  }
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') file_.fail(next_, "expected a word in quotation marks in the header");
    const std::size_t end = text_.find(quote, next_ + 1);
    if (end == std::string_view::npos) file_.fail(next_, "the header ends within a word");
    const std::string_view word = text_.substr(next_ + 1, end - next_ - 1);
    next_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(next_).starts_with(word)) continue;
      next_ += word.size();
      return value;
    }
    file_.fail(next_, "expected True or False in the header");
  }
  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!take(')')) {
      std::int64_t& extent = result.emplace_back();
      const char* const begin = text_.data() + skip_blanks();
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) file_.fail(next_, "expected an extent in the header");
      next_ += static_cast<std::size_t>(end - begin);
      if (!take(',') && peek() != ')') file_.fail(next_, "expected , or ) in the header");
    }
    return result;
  }

  const NpyFile& file_;
  std::string_view text_;
  std::size_t next_;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::size_t descr_place_ = 0, shape_place_ = 0;
};

}  // namespace

NpyHeader read_npy_header(const std::string& path, std::span<const std::byte> bytes) {
  const NpyFile file{path, bytes};
  const auto byte = [&](std::size_t place) { return std::to_integer<std::size_t>(bytes[place]); };
  const auto expect_bytes = [&](std::size_t count) {
    if (bytes.size() < count) {
      file.fail(bytes.size(), fmt::format("the file ends, {} bytes too early", count - bytes.size()));
    }
  };
  for (std::size_t i = 0; i < magic_bytes; ++i) {
    expect_bytes(i + 1);
    if (byte(i) != static_cast<unsigned char>(npy_magic[i])) {
      file.fail(i, "not what a file of NumPy's begins with, \\x93NUMPY");
    }
  }
  expect_bytes(magic_bytes + 4);
  const std::size_t version = byte(magic_bytes);
  if (version < 1 || version > 3) {
    file.fail(magic_bytes, fmt::format("version {} of the format: expected 1, 2 or 3", version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4, text = magic_bytes + 2 + length_bytes;
  expect_bytes(text);
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | byte(magic_bytes + 2 + i);
  expect_bytes(text + length);
  const Dictionary dictionary(file, text, text + length);
  const NpyHeader header{dictionary.number(), dictionary.fortran_order(), dictionary.size(), text + length};
  constexpr std::size_t number_bytes[] = {4, 8, 8, 16};
  const auto size = static_cast<std::size_t>(header.size);
  const std::size_t entry = number_bytes[static_cast<std::size_t>(header.number)];
  const std::size_t entries = (bytes.size() - header.data_begin) / entry;
  if (size > 0 && size > entries / size) {
    file.fail(bytes.size(), fmt::format("the file ends after {} entries of a matrix of {} rows", entries, size));
  }
  return header;
}

}  // namespace blockvec::solvers
