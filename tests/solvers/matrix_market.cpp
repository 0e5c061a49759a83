#include <fmt/core.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <optional>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "tests/solvers/dense.hpp"
#include "tests/solvers/matrix_files.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

class MatrixMarket : public MatrixFiles {
 protected:
  MatrixMarket() : MatrixFiles("matrix_market", "matrix.mtx") {}

  RealOrComplexMatrix read(const std::string& text) const {
    write(text);
    return read_matrix_market(path(), communicator_);
  }

  template <class Scalar>
  void expect_matrix(const std::string& text, const std::vector<std::vector<Scalar>>& expected) const {
    SCOPED_TRACE(text);
    expect_rows(read(text), expected);
  }

  /// What reading this says, without the file's name and the rank.
  std::string message(const std::string& text) const {
    try {
      read(text);
    } catch (const InputError& error) {
      std::string result = error.what();
      if (result.rfind(path(), 0) == 0) result = result.substr(path().size());
      return result.substr(0, result.find(" (rank "));
    }
    return "no error";
  }
};

/// As gzip would write it.
std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input = text;
  std::string result(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

/// 1.234,5 instead of 1234.5.
class CommaForPoint : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

class GlobalLocale {
 public:
  explicit GlobalLocale(const std::locale& locale) : before_(std::locale::global(locale)) {}
  ~GlobalLocale() { std::locale::global(before_); }

 private:
  std::locale before_;
};

template <class Scalar>
void expect_same_after_writing(const RowSource<Scalar>& source, const std::string& path,
                               const Communicator& communicator) {
  const auto rows = RowDistribution::uniform(source.size(), communicator);
  write_matrix_market(path, rows, source, communicator);
  const RealOrComplexMatrix matrix = read_matrix_market(path, Communicator::self());
  communicator.barrier();
  const auto expected = dense(source);
  const auto read = dense(*std::get<LocalMatrix<Scalar>>(matrix).source);
  for (std::size_t i = 0; i < expected.extent(0); ++i) {
    for (std::size_t j = 0; j < expected.extent(1); ++j) EXPECT_EQ(read(i, j), expected(i, j)) << i << " " << j;
  }
}

/// The same bits, in the rows that this rank has of the first.
void expect_same_rows(const RealOrComplexMatrix& first, const RealOrComplexMatrix& second) {
  ASSERT_EQ(first.index(), second.index());
  std::visit(
      [&](const auto& a) {
        const auto& b = std::get<std::decay_t<decltype(a)>>(second);
        ASSERT_EQ(a.source->size(), b.source->size());
        EXPECT_EQ(a.is_dense, b.is_dense);
        for (std::int64_t row = a.rows.begin(); row < a.rows.end(); ++row) {
          RowEntries<typename std::decay_t<decltype(*a.source)>::Scalar> in_a, in_b;
          a.source->append_row(row, in_a);
          b.source->append_row(row, in_b);
          EXPECT_EQ(in_a.columns, in_b.columns) << row;
          EXPECT_EQ(in_a.values, in_b.values) << row;
        }
      },
      first);
}

/// Bytes that this process has read from files so far, where the system counts them.
std::optional<std::int64_t> bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string word;
  std::int64_t bytes = 0;
  return io >> word >> bytes && word == "rchar:" ? std::optional(bytes) : std::nullopt;
}

const std::string real_symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string real_general = "%%MatrixMarket matrix coordinate real general\n";

/// A matrix of five rows, each pair of entries perhaps several times, whose sums depend on the order.
std::string coordinate_text(const std::string& kind, int count, const std::string& line_end) {
  const auto has = [&](const char* word) { return kind.find(word) != std::string::npos; };
  const bool is_general = has("general");
  std::string result = "%%MatrixMarket matrix coordinate " + kind + line_end;
  result += fmt::format("5 5 {}", is_general ? 2 * count : count);
  const auto add = [&](unsigned row, unsigned column, const std::string& real, const std::string& imag) {
    result += line_end + fmt::format("{} {}", row + 1, column + 1);
    if (!has("pattern")) result += " " + real;
    if (has("complex")) result += " " + imag;
  };
  auto state = static_cast<std::uint32_t>(count);
  const auto below = [&](unsigned end) { return ((state = 1664525 * state + 1013904223) >> 16) % end; };
  const auto value = [&]() -> std::string {
    return has("integer") ? std::to_string(below(9)) : std::array{"1e16", "-1e16", "1e-1", "7", "0.3"}[below(5)];
  };
  for (int i = 0; i < count; ++i) {
    const unsigned row = below(5), column = below(row + 1);
    const std::string real = value(), imag = row == column ? "0" : value();
    add(row, column, real, imag);
    if (is_general) add(column, row, real, imag.front() == '-' ? imag.substr(1) : "-" + imag);
  }
  return result + (count % 2 == 0 ? line_end : "");
}

std::string array_text(const std::string& kind, int size, const std::string& line_end) {
  std::string result = "%%MatrixMarket matrix array " + kind + line_end + fmt::format("{0} {0}", size);
  for (int column = 0; column < size; ++column) {
    for (int row = kind.find("general") != std::string::npos ? 0 : column; row < size; ++row) {
      result += line_end + fmt::format("{}", row * column + 1);
      if (kind.find("complex") != std::string::npos) result += fmt::format(" {}", row - column);
    }
  }
  return result;
}

TEST_F(MatrixMarket, ReadsEveryFormat) {
  const std::vector<std::vector<double>> a{{2, -1, 0}, {-1, 3, 0.5}, {0, 0.5, 0}};
  expect_matrix<double>(real_symmetric + "3 3 4\n1 1 2\n2 1 -1\n2 2 3\n3 2 .5\n", a);
  expect_matrix<double>(real_symmetric + "3 3 4\n1 1 2\n1 2 -1\n2 2 3\n2 3 5e-1\n", a);  // the upper triangle
  expect_matrix<double>(real_general + "3 3 6\n1 1 +2.0\n2 1 -1\n1 2 -1\n2 2 3\n3 2 .5\n2 3 0.50\n", a);
  expect_matrix<double>("%%MatrixMarket matrix array real general\n3 3\n2\n-1\n0\n-1\n3\n.5\n0\n.5\n0\n", a);
  expect_matrix<double>("%%MatrixMarket matrix array real symmetric\n3 3\n2\n-1\n0\n3\n.5\n0\n", a);
  expect_matrix<double>("%%MatrixMarket MATRIX Coordinate Integer Symmetric\n2 2 2\n1 1 -7\n2 1 3\n",
                        {{-7, 3}, {3, 0}});
  expect_matrix<double>("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", {{1, 1}, {1, 0}});
  using C = Complex<double>;
  const std::vector<std::vector<C>> h{{C(1, 0), C(0, 2)}, {C(0, -2), C(3, 0)}};
  expect_matrix<C>("%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 0 -2\n2 2 3 0\n", h);
  expect_matrix<C>("%%MatrixMarket matrix coordinate complex general\n2 2 4\n1 1 1 0\n2 1 0 -2\n1 2 0 2\n2 2 3 0\n", h);
  expect_matrix<C>("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n0 -2\n3 0\n", h);
  expect_matrix<C>("%%MatrixMarket matrix coordinate complex symmetric\n1 1 1\n1 1 4 0\n", {{C(4, 0)}});
  expect_matrix<double>(real_symmetric + "0 0 0\n", {});
}

TEST_F(MatrixMarket, TakesCommentsBlankLinesAndCarriageReturns) {
  expect_matrix<double>(
      "%%MatrixMarket matrix coordinate real symmetric\r\n% a comment\r\n\r\n  \t\r\n2 2 2\r\n%% another\r\n1 1 "
      "1\r\n\r\n2  1\t4 \r\n%end",
      {{1, 4}, {4, 0}});
}

TEST_F(MatrixMarket, TakesHeaderWordsInAnyCase) {
  expect_matrix<double>("%%matrixmarket matrix coordinate real symmetric\n1 1 1\n1 1 2\n", {{2}});
  expect_matrix<double>("%%MATRIXMARKET\tMATRIX  ARRAY INTEGER GENERAL \n1 1\n2\n", {{2}});
}

TEST_F(MatrixMarket, TakesFortranExponents) {
  expect_matrix<double>(real_symmetric + "2 2 3\n1 1 1.0D+03\n2 1 -2.5d-1\n2 2 .5D1\n", {{1000, -0.25}, {-0.25, 5}});
  expect_matrix<Complex<double>>("%%MatrixMarket matrix array complex hermitian\n1 1\n1D0 0.D0\n",
                                 {{Complex<double>(1, 0)}});
  EXPECT_EQ(message(real_symmetric + "1 1 1\n1 1 1D\n"), ":3: the value \"1D\" is not a number");
  EXPECT_EQ(message(real_symmetric + "1 1 1\n1 1 1D1D1\n"), ":3: the value \"1D1D1\" is not a number");
  EXPECT_EQ(message(real_symmetric + "1 1 1\n1 1 1D999\n"), ":3: the value \"1D999\" is not finite");
}

TEST_F(MatrixMarket, RoundsWhatIsTooSmallAndTooPrecise) {
  expect_matrix<double>(real_symmetric + "2 2 2\n1 1 -1e-999\n2 2 4.9e-324\n", {{0, 0}, {0, 4.9e-324}});
  expect_matrix<double>("%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 9007199254740993\n",
                        {{9007199254740992.0}});
}

TEST_F(MatrixMarket, ReadsGzippedFiles) {
  const std::string head = real_symmetric + "2 2 2\n1 1 ";
  const std::string rest = "7\n2 1 1\n";
  const std::vector<std::vector<double>> a{{7, 1}, {1, 0}};
  expect_matrix<double>(gzipped(head + rest), a);
  expect_matrix<double>(gzipped(head) + gzipped(rest), a);  // as cat a.gz b.gz makes it
  EXPECT_EQ(message(gzipped(real_symmetric + "2 2 1\n3 1 1\n")), ":3: row 3 is outside of 1 to 2");
  EXPECT_EQ(message(gzipped("")), ":0: the file is empty");

  std::string whole = gzipped(head + rest);
  EXPECT_EQ(message(whole.substr(0, whole.size() - 9)), ":4: the gzip stream is damaged: unexpected end of file");
  // Before or after the lines are given out, as the version of zlib likes to.
  whole[whole.size() - 6] ^= 1;
  EXPECT_EQ(message(whole).substr(2), ": the gzip stream is damaged: incorrect data check");
  const std::string unknown = message("\x1f\x8b\x07 a method that nobody knows");
  if (unknown.find("this is not a Matrix Market file") == std::string::npos) {  // zlib 1.3.2 takes it for a plain file
    EXPECT_EQ(unknown, ":0: the gzip stream is damaged: unknown compression method");
  }
}

TEST_F(MatrixMarket, BoundsWhatAFileExpandsTo) {
  const std::string blanks(std::size_t{1} << 22, ' ');
  EXPECT_EQ(message(gzipped(real_symmetric + blanks + "1 1 1\n1 1 1\n")),
            ":1: the next line is longer than 65536 bytes");
  EXPECT_EQ(message(real_symmetric + std::string(65536 - 5, ' ') + "1 1 1\n"),
            ":2: the file ends after 0 of 1 entries");
  expect_matrix<double>(gzipped(real_symmetric + std::string(std::size_t{1} << 22, '\n') + "1 1 1\n1 1 1\n"), {{1}});
  // Promises are not believed.
  EXPECT_EQ(message(real_symmetric + "9223372036854775807 9223372036854775807 9223372036854775807\n"),
            ":2: the file ends after 0 of 9223372036854775807 entries");
  EXPECT_EQ(message("%%MatrixMarket matrix array real general\n3037000499 3037000499\n"),
            ":2: the file ends after 0 of 9223372030926249001 entries");
  EXPECT_EQ(message("%%MatrixMarket matrix array real general\n3037000500 3037000500\n"),
            ":2: an array of 3037000500 rows is too large");
}

TEST_F(MatrixMarket, SumsDuplicates) {
  expect_matrix<double>(real_symmetric + "2 2 4\n2 1 1\n2 1 2\n1 1 4\n1 1 -1\n", {{3, 3}, {3, 0}});
  expect_matrix<double>(real_general + "2 2 4\n2 1 1\n2 1 2\n1 2 2.5\n1 2 .5\n", {{0, 3}, {3, 0}});
}

TEST_F(MatrixMarket, NamesTheLineOfAnError) {
  EXPECT_EQ(message(""), ":0: the file is empty");
  EXPECT_EQ(message("%PDF-1.4\n"),
            ":1: this is not a Matrix Market file: it does not begin with \"%%MatrixMarket matrix\"");
  EXPECT_EQ(message("%%MatrixMarket vector coordinate real general\n"),
            ":1: the object \"vector\" is not one of matrix");
  EXPECT_EQ(message("%%MatrixMarket matrix dense real general\n"),
            ":1: the format \"dense\" is not one of coordinate, array");
  EXPECT_EQ(message("%%MatrixMarket matrix array quaternion general\n"),
            ":1: the field \"quaternion\" is not one of real, integer, complex, pattern");
  EXPECT_EQ(
      message("%%MatrixMarket matrix coordinate real skew-symmetric\n"),
      ":1: a skew-symmetric matrix is not Hermitian unless all entries are imaginary: such a one is to be written as "
      "complex hermitian");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate real Triangular\n"),
            ":1: the symmetry \"Triangular\" is not one of general, symmetric, hermitian");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate real\n"),
            ":1: the symmetry \"\" is not one of general, symmetric, hermitian");
  EXPECT_EQ(message(real_symmetric + "1 1 1\r1 1 1\r"),
            ":2: the number of entries \"1?1\" is not an integer of 64 bits");
  EXPECT_EQ(message("%%MatrixMarket matrix array pattern general\n"), ":1: an array cannot be a pattern");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate real hermitian\n"), ":1: only complex matrices can be hermitian");
  EXPECT_EQ(message(real_symmetric), ":1: the file ends before the line of sizes");
  EXPECT_EQ(message(real_symmetric + "2 2\n"), ":2: the number of entries is missing");
  EXPECT_EQ(message(real_symmetric + "2 2 1 1\n"), ":2: \"1\" is more than belongs on this line");
  EXPECT_EQ(message(real_symmetric + "2 3 1\n"), ":2: the matrix is 2 x 3: only square ones have eigenvalues");
  EXPECT_EQ(message(real_symmetric + "-2 -2 1\n"), ":2: sizes cannot be negative");
  EXPECT_EQ(message(real_symmetric + "2 2 99999999999999999999\n"),
            ":2: the number of entries \"99999999999999999999\" is not an integer of 64 bits");
  EXPECT_EQ(message(real_symmetric + "% c\n2 2 2\n1 1 1\n"), ":4: the file ends after 1 of 2 entries");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 1\n2 2 1\n"),
            ":4: there is more after the 1 entries that were announced");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n3 1 1\n"), ":3: row 3 is outside of 1 to 2");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n0 1 1\n"), ":3: row 0 is outside of 1 to 2");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n-9223372036854775808 1 1\n"),
            ":3: row -9223372036854775808 is outside of 1 to 2");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n+-1 1 1\n"), ":3: the row \"+-1\" is not an integer of 64 bits");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 +-1\n"), ":3: the value \"+-1\" is not a number");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 \x1b[31m\xff" + std::string(1, '\0') + std::string(50, 'x') + "\n"),
            ":3: the value \"?[31m??" + std::string(33, 'x') + "...\" is not a number");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 7 1\n"), ":3: column 7 is outside of 1 to 2");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1\n"), ":3: the value is missing");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 nan\n"), ":3: the value \"nan\" is not finite");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 -Inf\n"), ":3: the value \"-Inf\" is not finite");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 1e999\n"), ":3: the value \"1e999\" is not finite");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1 1 1,5\n"), ":3: the value \"1,5\" is not a number");
  EXPECT_EQ(message(real_symmetric + "2 2 1\n1.5 1 1\n"), ":3: the row \"1.5\" is not an integer of 64 bits");
  EXPECT_EQ(message(real_symmetric + "2 2 2\n2 1 1\n1 2 1\n"),
            ":4: entry (1, 2) is in the other triangle than those before: of a symmetric or hermitian matrix only one "
            "is given");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 1.5\n"),
            ":3: the value \"1.5\" is not an integer of 64 bits");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 2\n"),
            ":3: the diagonal entry (1, 1) = (1, 2) of a Hermitian matrix must be real");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 1 2\n"),
            ":3: entry (2, 1) = (1, 2) makes this complex symmetric matrix not Hermitian");
  EXPECT_EQ(message("%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n"),
            ":5: the file ends after 3 of 4 entries");
}

TEST_F(MatrixMarket, NamesTheFirstEntryThatIsNotHermitian) {
  EXPECT_EQ(message(real_general + "3 3 5\n3 1 5\n1 1 1\n2 1 1\n1 2 1.5\n1 3 5\n"),
            ": the matrix is not Hermitian: entry (1, 2) is 1.5, but entry (2, 1) is 1");
  EXPECT_EQ(message(real_general + "3 3 1\n2 3 4\n"),
            ": the matrix is not Hermitian: entry (2, 3) is 4, but entry (3, 2) is 0");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate complex general\n2 2 2\n2 1 0 1\n1 2 0 1\n"),
            ": the matrix is not Hermitian: entry (1, 2) is (0, 1), but entry (2, 1) is (0, 1)");
}

// What was computed as a whole is Hermitian to eps times its norm, in small entries too.
TEST_F(MatrixMarket, JudgesHermitianByTheNorm) {
  const std::string head = real_general + "2 2 4\n1 1 3\n2 2 4\n";  // a Frobenius norm of 5
  const double limit = 4 * epsilon<double> * 5;
  const auto pair = [&](double a, double b) { return head + fmt::format("1 2 {}\n2 1 {}\n", a, b); };
  expect_matrix<double>(pair(limit / 4, -limit / 4), {{3, limit / 4}, {-limit / 4, 4}});
  expect_matrix<double>(real_general + "2 2 2\n1 1 1\n1 2 1e-17\n", {{1, 1e-17}, {0, 0}});
  EXPECT_EQ(
      message(pair(0.25, 0.25 + 2 * limit)),
      fmt::format(": the matrix is not Hermitian: entry (1, 2) is 0.25, but entry (2, 1) is {}", 0.25 + 2 * limit));
  EXPECT_EQ(message(real_general + "2 2 2\n1 2 1e-17\n2 1 2e-17\n"),
            ": the matrix is not Hermitian: entry (1, 2) is 1e-17, but entry (2, 1) is 2e-17");
  EXPECT_EQ(message("%%MatrixMarket matrix coordinate complex general\n3 3 2\n1 1 1 0\n3 3 1 .5\n"),
            ": the matrix is not Hermitian: entry (3, 3) is (1, 0.5), but entry (3, 3) is (1, 0.5)");
  EXPECT_EQ(message(real_general + "1 1 2\n1 1 1e308\n1 1 1e308\n"), ": what is given for entry (1, 1) adds up to inf");
  EXPECT_EQ(message(real_general + "2 2 2\n1 1 1.7e308\n2 2 1.7e308\n"), ": the norm of the matrix overflows");
}

TEST_F(MatrixMarket, FollowsNoLocale) {
  const GlobalLocale comma(std::locale(std::locale::classic(), new CommaForPoint));
  const Anderson source({2, 2, 300}, 1.7, 3);  // row numbers beyond 1000
  expect_same_after_writing(source, path(), communicator_);
  expect_matrix<double>(real_symmetric + "2 2 2\n1 1 1.5e-310\n2 1 1.5e-999\n", {{1.5e-310, 0}, {0, 0}});
}

// Files from elsewhere, where BLOCKVEC_MATRICES names a folder of them: as they are and gzipped.
TEST_F(MatrixMarket, ReadsFilesOfOthers) {
  const char* const folder = std::getenv("BLOCKVEC_MATRICES");
  if (!folder) GTEST_SKIP() << "BLOCKVEC_MATRICES names no folder of .mtx files";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".mtx") continue;
    SCOPED_TRACE(file.path().string());
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const RealOrComplexMatrix plain = read_matrix_market(file.path().string(), communicator_);
    std::visit([](const auto& matrix) { EXPECT_GT(matrix.source->size(), 0); }, plain);
    expect_same_rows(plain, read_matrix_market(file.path().string(), Communicator::self()));
    expect_same_rows(plain, read(gzipped(text)));
  }
}

TEST_F(MatrixMarket, NamesFilesThatCannotBeRead) {
  const auto message_for = [&](const std::string& name) {
    try {
      read_matrix_market(name, communicator_);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message_for(path("missing.mtx")).find("missing.mtx: cannot be read: No such file"), std::string::npos);
  EXPECT_NE(message_for(folder_.string()).find(": is a directory"), std::string::npos);
}

TEST_F(MatrixMarket, AFileThatOneRankCannotReadEndsAll) {
  const std::string text = real_symmetric + "1 1 1\n1 1 1\n";
  write(text);
  if (communicator_.rank() == 0) {
    std::ofstream(path("longer.mtx")) << text << "%";
    std::ofstream(path("general.mtx")) << real_general + "1 1 1\n1 1 1  \n";  // as many bytes
    std::ofstream(path("gzipped.mtx"), std::ios::binary) << gzipped(text);
  }
  communicator_.barrier();
  for (int odd = 0; odd < communicator_.size(); ++odd) {
    const auto mine = [&](const std::string& name) { return communicator_.rank() == odd ? name : path(); };
    EXPECT_THROW(read_matrix_market(mine(path("missing.mtx")), communicator_), InputError);
    EXPECT_THROW(read_matrix_market(mine(folder_.string()), communicator_), InputError);
    if (communicator_.size() == 1) continue;
    for (const char* const other : {"longer.mtx", "general.mtx", "gzipped.mtx"})
      EXPECT_THROW(read_matrix_market(mine(path(other)), communicator_), InputError);
  }
  expect_rows<double>(read_matrix_market(path(), communicator_), {{1}});
}

// Ranks cut a file where its bytes say: within a comment, between CR and LF, with no line for some of them.
TEST_F(MatrixMarket, IsTheSameOnAnyNumberOfRanks) {
  const auto expect_same = [&](const std::string& text) {
    const RealOrComplexMatrix matrix = read(text);
    expect_same_rows(matrix, read_matrix_market(path(), Communicator::self()));
    expect_same_rows(matrix, read(gzipped(text)));
  };
  const std::string line_ends[] = {"\n", "\r\n", "\n\n \t\r\n", "\n% " + std::string(997, 'c') + "\n"};
  for (const std::string& line_end : line_ends) {
    for (const char* const kind : {"real symmetric", "real general", "integer general", "pattern symmetric",
                                   "pattern general", "complex hermitian", "complex general"}) {
      for (int count = 0; count < 8; ++count) {
        SCOPED_TRACE(coordinate_text(kind, count, line_end));
        expect_same(coordinate_text(kind, count, line_end));
        if (HasFailure()) return;
      }
    }
    for (const char* const kind : {"real symmetric", "real general", "complex hermitian", "complex general"}) {
      for (int size = 0; size < 5; ++size) {
        SCOPED_TRACE(array_text(kind, size, line_end));
        expect_same(array_text(kind, size, line_end));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(MatrixMarket, NamesTheLineInEveryPart) {
  constexpr int count = 9;
  const auto text = [](int announced, int line, const std::string& wrong) {
    std::string result = real_symmetric + fmt::format("3 3 {}\n", announced);
    for (int i = 3; i < 3 + count; ++i) result += (i == line ? wrong : "2 1 4") + (i % 2 == 0 ? "\n" : "\n\n");
    return result;
  };
  // Every second line is followed by a blank one.
  const auto number = [](int line) { return line + (line - 2) / 2; };
  for (int line = 3; line < 3 + count; ++line) {
    EXPECT_EQ(message(text(count, line, "4 1 4")), fmt::format(":{}: row 4 is outside of 1 to 3", number(line)));
    EXPECT_EQ(message(text(count, line, "2 1 nan")), fmt::format(":{}: the value \"nan\" is not finite", number(line)));
    EXPECT_EQ(message(text(count, line, std::string(65537, '%'))),
              fmt::format(":{}: the next line is longer than 65536 bytes", number(line) - 1));
    EXPECT_EQ(message(text(line - 3, 0, "")),
              fmt::format(":{}: there is more after the {} entries that were announced", number(line), line - 3));
    EXPECT_EQ(message(text(count, line, "% no entry")),
              fmt::format(":{}: the file ends after 8 of 9 entries", number(2 + count) + 1));
    if (line == 3) continue;
    EXPECT_EQ(message(text(count, line, "1 3 4")),
              fmt::format(":{}: entry (1, 3) is in the other triangle than those before: of a symmetric or hermitian "
                          "matrix only one is given",
                          number(line)));
  }
}

TEST_F(MatrixMarket, EachRankReadsItsPart) {
  constexpr std::int64_t size = 100000, line_bytes = 64;
  std::string text = real_symmetric + fmt::format("{0} {0} {0}\n", size);
  for (std::int64_t i = size; i > 0; --i) text += fmt::format("{0} {0} {1:<{2}}\n", i, i, line_bytes - 16);
  write(text);
  const auto before = bytes_read();
  const RealOrComplexMatrix matrix = read_matrix_market(path(), communicator_);
  const auto after = bytes_read();
  expect_same_rows(matrix, read_matrix_market(path(), Communicator::self()));
  if (!before || !after) GTEST_SKIP() << "this system does not count what a process reads";
  // Besides: what is read at once to see the header, and a buffer to find the end of the last line.
  const std::int64_t more = 2 * (std::int64_t{1} << 16);
  EXPECT_LE(*after - *before, std::ssize(text) / communicator_.size() + more);
}

TEST_F(MatrixMarket, WritesWhatItReads) {
  expect_same_after_writing(Anderson({2, 3, 4}, 1.7, 3), path("a.mtx"), communicator_);
  expect_same_after_writing(Graphene<Complex<double>>({6, 2}, 1, 3), path("b.mtx"), communicator_);
  EXPECT_THROW(write_matrix_market(path("no/folder.mtx"), RowDistribution::uniform(8, communicator_),
                                   Anderson({2, 2, 2}, 1, 1), communicator_),
               InputError);
}

TEST_F(MatrixMarket, WritesBlockVectorsByColumns) {
  const auto context = Context::world();
  const auto rows = RowDistribution::uniform(5, communicator_);
  BlockVector<double, RowMajor> v(context, rows, 2);
  for (std::int64_t i = 0; i < rows.local_rows(); ++i) {
    for (std::size_t j = 0; j < 2; ++j)
      v.view()(static_cast<std::size_t>(i), j) = static_cast<double>(rows.begin() + i) + 100.0 * static_cast<double>(j);
  }
  write_matrix_market(path("v.mtx"), v);
  std::ifstream file(path("v.mtx"));
  std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(all,
            "%%MatrixMarket matrix array real general\n% eigenvectors, one a column\n5 "
            "2\n0\n1\n2\n3\n4\n100\n101\n102\n103\n104\n");
}

}  // namespace
}  // namespace blockvec::solvers
