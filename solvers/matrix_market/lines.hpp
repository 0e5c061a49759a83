#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace blockvec::solvers {

/// The lines of a Matrix Market file, or of a part of one, and the words and numbers in them. All errors are
/// InputErrors that name file and line.
class MatrixMarketLines {
 public:
  static constexpr std::size_t longest = std::size_t{1} << 16;  ///< bytes of a line

  /// A file from its first line on, plain or gzipped (told by its first bytes). Memory: one line and zlib's buffers,
  /// however far the file expands.
  explicit MatrixMarketLines(const std::string& path);
  /// Lines of that file which somebody has read; `before` others come before them.
  MatrixMarketLines(std::string path, std::vector<char> text, std::int64_t before);

  /// The next line as it is, without LF or CR LF; false at the end of the file.
  bool next_line();
  /// The next line that is neither blank nor a comment; false at the end of the file.
  bool next_data_line();
  /// Passes over this many lines that are neither blank nor comments, or all that there are.
  void skip_data_lines(std::int64_t count);
  std::int64_t line_number() const { return number_; }
  /// Bytes of the lines so far, once they are expanded.
  std::int64_t bytes() const { return bytes_; }
  /// Is the file a gzip stream?
  bool is_gzipped() const;

  /// The next word of the line; empty at its end.
  std::string_view word();
  /// The next word of the line as a number. `what` is how the message calls it. Reals must be finite; their exponent
  /// may begin with E or with Fortran's D, in either case.
  std::int64_t integer(std::string_view what);
  double real(std::string_view what);
  /// Nothing else may stand on the line.
  void expect_end();

  [[noreturn]] void fail(const std::string& message) const { fail(number_, message); }
  [[noreturn]] void fail(std::int64_t line, const std::string& message) const;

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };
  void refill();
  std::string_view required_word(std::string_view what);

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // what is read and not yet given out is buffer_[begin_, end_)
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::string damage_;     // what zlib said of the stream
  std::string_view rest_;  // of the line
  std::int64_t number_ = 0;
  std::int64_t bytes_ = 0;
};

/// A line that ends in CR LF, without CR.
std::string_view without_carriage_return(std::string_view line);

/// Neither blank nor a comment.
bool is_data_line(std::string_view line);

/// ASCII letters in lower case, whatever the locale.
std::string lower_case(std::string_view text);

/// Text out of a file as messages show it: at most 40 characters, those that cannot be printed as '?'.
std::string shown(std::string_view text);

}  // namespace blockvec::solvers
