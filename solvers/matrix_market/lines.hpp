#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace blockvec::solvers {

/// The lines of a Matrix Market file, plain or gzipped (told by its first bytes), and the words and numbers in them.
/// Memory: one line of at most 65536 bytes and zlib's buffers, however far a file expands. All errors are InputErrors
/// that name file and line.
class MatrixMarketLines {
 public:
  explicit MatrixMarketLines(const std::string& path);

  /// The next line as it is, without LF or CR LF; false at the end of the file.
  bool next_line();
  /// The next line that is neither blank nor a comment; false at the end of the file.
  bool next_data_line();
  std::int64_t line_number() const { return number_; }

  /// The next word of the line; empty at its end.
  std::string_view word();
  /// The next word of the line as a number. `what` is how the message calls it. Reals must be finite; their exponent
  /// may begin with E or with Fortran's D, in either case.
  std::int64_t integer(std::string_view what);
  double real(std::string_view what);
  /// Nothing else may stand on the line.
  void expect_end();

  [[noreturn]] void fail(const std::string& message) const;

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
};

/// ASCII letters in lower case, whatever the locale.
std::string lower_case(std::string_view text);

/// Text out of a file as messages show it: at most 40 characters, those that cannot be printed as '?'.
std::string shown(std::string_view text);

}  // namespace blockvec::solvers
