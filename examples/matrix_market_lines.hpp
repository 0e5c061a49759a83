#pragma once

#include <complex>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace blockvec::examples {

/// The lines of a Matrix Market file and the words and numbers in them. All errors are InputErrors that name file and
/// line.
class MatrixMarketLines {
 public:
  explicit MatrixMarketLines(const std::string& path);

  /// The next line as it is; false at the end of the file.
  bool next_line();
  /// The next line that is neither blank nor a comment; false at the end of the file.
  bool next_data_line();
  std::int64_t line_number() const { return number_; }

  /// The next word of the line; empty at its end.
  std::string_view word();
  /// The next word of the line as a number. `what` is how the message calls it. Reals must be finite.
  std::int64_t integer(std::string_view what);
  double real(std::string_view what);
  /// Nothing else may stand on the line.
  void expect_end();

  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::string_view required_word(std::string_view what);

  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::string_view rest_;
  std::int64_t number_ = 0;
};

}  // namespace blockvec::examples
