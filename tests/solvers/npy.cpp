// Files of NumPy's, written here byte by byte.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/matrix_file.hpp>
#include <blockvec/solvers/npy.hpp>
#include <limits>

#include "tests/solvers/dense.hpp"
#include "tests/solvers/matrix_files.hpp"

namespace blockvec::solvers {
namespace {

using C = Complex<double>;
template <class Scalar>
using Dense = std::vector<std::vector<Scalar>>;

const std::string magic("\x93NUMPY\x01\0", 8);

std::string length_of(std::size_t length, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(length >> 8 * i & 0xff);
  return result;
}
/// Version 1, its text padded to a multiple of 64 bytes as NumPy does it, unless it is to be taken as it is.
std::string header(std::string text, bool is_padded = true) {
  while (is_padded && (magic.size() + 2 + text.size() + 1) % 64 != 0) text += ' ';
  if (is_padded) text += '\n';
  return magic + length_of(text.size(), 2) + text;
}
std::string header_of(const std::string& type, bool fortran_order, const std::string& shape) {
  return header(fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                            fortran_order ? "True" : "False", shape));
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T, class Scalar>
std::string number(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return bytes_of(static_cast<RealOf<T>>(value.real())) + bytes_of(static_cast<RealOf<T>>(value.imag()));
  } else {
    return bytes_of(static_cast<T>(value));
  }
}
template <class T, class Scalar>
std::string entries(const Dense<Scalar>& matrix, bool fortran_order = false) {
  std::string result;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      result += number<T, Scalar>(fortran_order ? matrix[j][i] : matrix[i][j]);
    }
  }
  return result;
}
template <class T>
constexpr const char* type_of = ScalarTraits<T>::is_complex ? sizeof(T) == 8 ? "<c8" : "<c16"
                                : sizeof(T) == 4            ? "<f4"
                                                            : "<f8";
/// A matrix as numpy.save writes it, in numbers of type T.
template <class T, class Scalar>
std::string npy(const Dense<Scalar>& matrix, bool fortran_order = false) {
  return header_of(type_of<T>, fortran_order, fmt::format("({0}, {0})", matrix.size())) +
         entries<T>(matrix, fortran_order);
}

class Npy : public MatrixFiles {
 protected:
  Npy() : MatrixFiles("npy", "matrix.npy") {}

  template <class Scalar>
  void expect_matrix(const std::string& content, const Dense<Scalar>& expected) const {
    write(content);
    for (const auto& matrix : {read_npy(path(), communicator_), read_npy(path(), communicator_, 3),
                               read_matrix(path(), communicator_), read_matrix(path(), communicator_, 2)}) {
      expect_rows(matrix, expected);
      expect_copies(matrix);
      EXPECT_TRUE(std::visit([](const auto& of) { return of.is_dense; }, matrix));
    }
  }

  /// Parts of rows are those that append_row gives.
  static void expect_copies(const RealOrComplexMatrix& matrix) {
    std::visit(
        [](const auto& of) {
          using Scalar = typename std::decay_t<decltype(*of.source)>::Scalar;
          const auto all = dense(*of.source);
          const std::int64_t n = of.source->size();
          for (std::int64_t row = of.rows.begin(); row < of.rows.end(); ++row) {
            for (std::int64_t first = 0; first <= n; ++first) {
              std::vector<Scalar> part(static_cast<std::size_t>(n - first));
              ASSERT_TRUE(of.source->copy_entries(row, first, n - first, part.data()));
              for (std::int64_t j = first; j < n; ++j)
                ASSERT_EQ(part[static_cast<std::size_t>(j - first)], all(row, j));
            }
          }
        },
        matrix);
  }

  /// What reading this says, without the file's name and the rank.
  std::string message(const std::string& content, int threads = 1) const {
    write(content);
    try {
      read_npy(path(), communicator_, threads);
    } catch (const InputError& error) {
      std::string result = error.what();
      if (result.rfind(path(), 0) == 0) result = result.substr(path().size());
      return result.substr(0, result.find(" (rank "));
    }
    return "no error";
  }
};

const Dense<double> real{{2, -1, 0, 0.5}, {-1, 3, 0, 0}, {0, 0, 0, 0.25}, {0.5, 0, 0.25, 1e-30}};
const Dense<C> hermitian{{C(1), C(0, 2), C(0)}, {C(0, -2), C(0), C(3, -1)}, {C(0), C(3, 1), C(-4)}};

TEST_F(Npy, ReadsFourTypesInBothOrders) {
  for (const bool fortran_order : {false, true}) {
    expect_matrix<double>(npy<double>(real, fortran_order), real);
    expect_matrix<C>(npy<C>(hermitian, fortran_order), hermitian);
    expect_matrix<C>(npy<Complex<float>>(hermitian, fortran_order), hermitian);
    auto single = real;
    single[3][3] = static_cast<double>(static_cast<float>(1e-30));
    expect_matrix<double>(npy<float>(real, fortran_order), single);
    expect_matrix<double>(npy<double>(Dense<double>{{7}}, fortran_order), {{7}});
    expect_matrix<double>(npy<double>(Dense<double>{}, fortran_order), {});
  }
}

TEST_F(Npy, ReadsHeadersOfAllVersionsAndStyles) {
  const std::string data = entries<double>(real);
  const std::string text = "{\"shape\":(4,4),\"descr\":\"<f8\",\"fortran_order\":False}";
  expect_matrix<double>(header(text, false) + data, real);
  for (const char version : {'\2', '\3'}) {
    std::string start = magic;
    start[6] = version;
    expect_matrix<double>(start + length_of(text.size(), 4) + text + data, real);
  }
  expect_matrix<double>(header("{'descr': '=f8', 'fortran_order': True, 'shape': (4, 4)}") + data, real);
  expect_matrix<double>(npy<double>(real) + npy<double>(real), real);  // another array behind it
}

TEST_F(Npy, NamesThePlaceOfAnError) {
  const std::string good = npy<double>(real);
  const std::size_t data = good.size() - 128;
  EXPECT_EQ(message(""), ": at byte 0: the file ends, 1 bytes too early");
  EXPECT_EQ(message(good.substr(0, 4)), ": at byte 4: the file ends, 1 bytes too early");
  EXPECT_EQ(message(good.substr(0, 9)), ": at byte 9: the file ends, 1 bytes too early");
  EXPECT_EQ(message(good.substr(0, data - 20)),
            fmt::format(": at byte {}: the file ends, 20 bytes too early", data - 20));
  EXPECT_EQ(message("\x93NUMPI" + good.substr(6)), ": at byte 5: not what a file of NumPy's begins with, \\x93NUMPY");
  EXPECT_EQ(message(good.substr(0, 6) + '\4' + good.substr(7)),
            ": at byte 6: version 4 of the format: expected 1, 2 or 3");
  EXPECT_EQ(message(good.substr(0, good.size() - 1)),
            fmt::format(": at byte {}: the file ends after 15 entries of a matrix of 4 rows", good.size() - 1));
  const auto of = [&](const std::string& text) { return message(header(text, false) + good.substr(data)); };
  EXPECT_EQ(of("[]"), ": at byte 10: expected { in the header");
  EXPECT_EQ(of("{"), ": at byte 11: the header ends within its dictionary");
  EXPECT_EQ(of("{'descr"), ": at byte 11: the header ends within a word");
  EXPECT_EQ(of("{descr"), ": at byte 11: expected a word in quotation marks in the header");
  EXPECT_EQ(of("{'descr' "), ": at byte 19: the header ends within its dictionary");
  EXPECT_EQ(of("{'descr':"), ": at byte 19: the header ends within its dictionary");
  EXPECT_EQ(of("{'order': 'C'}"), ": at byte 11: unknown key 'order' in the header");
  EXPECT_EQ(of("{'fortran_order': 0}"), ": at byte 28: expected True or False in the header");
  EXPECT_EQ(of("{'shape': (4 4)}"), ": at byte 23: expected , or ) in the header");
  EXPECT_EQ(of("{'shape': (-4, 4)}"), ": at byte 21: expected an extent in the header");
  EXPECT_EQ(of("{'shape': (99999999999999999999, 4)}"), ": at byte 21: expected an extent in the header");
  EXPECT_EQ(of("{'shape': (4, 4) 'descr'}"), ": at byte 27: expected , or } in the header");
  EXPECT_EQ(of("{'shape': (4, 4)}"), ": at byte 10: the header needs the keys 'descr', 'fortran_order' and 'shape'");
  EXPECT_EQ(of("{'shape': (4, 4)} 1"), ": at byte 28: the header goes on behind its }");
  EXPECT_EQ(of("{'descr': [('re', '<f8'), ('im', '<f8')]}"),
            ": at byte 20: the entries have fields: expected one number an entry");
}

TEST_F(Npy, SaysWhichMatricesItTakes) {
  const auto of = [&](const std::string& type, const std::string& shape) {
    return message(header_of(type, false, shape) + entries<double>(real));
  };
  for (const char* type : {"<i8", "|b1", "<f2", "<U5", ""}) {
    EXPECT_EQ(of(type, "(4, 4)"), fmt::format(": at byte 20: the numbers are of type '{}': expected float32, float64, "
                                              "complex64 or complex128, which are f4, f8, c8 and c16",
                                              type));
  }
  EXPECT_EQ(of(">f8", "(4, 4)"), ": at byte 20: the numbers, of type '>f8', are not in this machine's byte order");
  EXPECT_EQ(of("<f8", "(16,)"), ": at byte 60: the array has 1 dimensions: expected a matrix");
  EXPECT_EQ(of("<f8", "()"), ": at byte 60: the array has 0 dimensions: expected a matrix");
  EXPECT_EQ(of("<f8", "(2, 8)"), ": at byte 60: the matrix is 2 x 8: only square ones have eigenvalues");
}

// Promises are not believed.
TEST_F(Npy, TakesNoMemoryForWhatIsNotThere) {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  const std::string content = header_of("<c16", false, "(" + most + ", " + most + ")") + std::string(64, '\0');
  EXPECT_EQ(message(content),
            fmt::format(": at byte {}: the file ends after 4 entries of a matrix of {} rows", content.size(), most));
}

TEST_F(Npy, NamesTheFirstEntryThatIsNotHermitian) {
  const Dense<double> skew{{0, 1.5, 5}, {1, 0, 0}, {5, 0, 0}};
  for (const bool fortran_order : {false, true}) {
    EXPECT_EQ(message(npy<double>(skew, fortran_order)),
              ": the matrix is not Hermitian: entry (1, 2) is 1.5, but entry (2, 1) is 1");
  }
  EXPECT_EQ(message(npy<double>(Dense<double>{{0, 0, 0}, {0, 0, 4}, {0, 0, 0}})),
            ": the matrix is not Hermitian: entry (2, 3) is 4, but entry (3, 2) is 0");
  EXPECT_EQ(message(npy<C>(Dense<C>{{C(0), C(0, 1)}, {C(0, 1), C(0)}})),
            ": the matrix is not Hermitian: entry (1, 2) is (0, 1), but entry (2, 1) is (0, 1)");
  EXPECT_EQ(message(npy<C>(Dense<C>{{C(0, 1)}})),
            ": the matrix is not Hermitian: entry (1, 1) is (0, 1), but entry (1, 1) is (0, 1)");
  // Beyond one tile of the check, in another rank's rows.
  Dense<double> large(150, std::vector<double>(150, 0));
  large[140][3] = 1;
  EXPECT_EQ(message(npy<double>(large)), ": the matrix is not Hermitian: entry (4, 141) is 0, but entry (141, 4) is 1");
  // The first of several, whichever thread finds one first.
  large[149][7] = 2;
  large[30][5] = 3;
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(message(npy<double>(large), threads),
              ": the matrix is not Hermitian: entry (6, 31) is 0, but entry (31, 6) is 3");
  }
}

TEST_F(Npy, NamesEntriesThatAreNotFinite) {
  auto matrix = real;
  matrix[1][3] = std::numeric_limits<double>::infinity();
  for (const bool fortran_order : {false, true}) {
    EXPECT_EQ(message(npy<double>(matrix, fortran_order)), ": entry (2, 4) is inf, which is not finite");
  }
  EXPECT_EQ(message(npy<double>(Dense<double>{{1.7e308, 0}, {0, 1.7e308}})), ": the norm of the matrix overflows");
}

// Squares that overflow or underflow do not count.
TEST_F(Npy, TakesNumbersOfAnySize) {
  for (const double unit : {1e-320, 1e-200, 1e200}) {
    Dense<double> matrix(11, std::vector<double>(11, 0));
    matrix[3][9] = matrix[9][3] = unit;
    matrix[10][10] = -unit;
    expect_matrix<double>(npy<double>(matrix), matrix);
    matrix[3][9] = 0;
    EXPECT_NE(message(npy<double>(matrix)), "no error");
  }
}

// To eps of the file's precision times the norm of the whole matrix, whoever has the rows.
TEST_F(Npy, JudgesHermitianByTheNorm) {
  const auto pair = [](double a, double b) { return Dense<double>{{3, a, 0}, {b, 0, 0}, {0, 0, 4}}; };
  const double limit = 4 * epsilon<double> * 5, single_limit = 4 * epsilon<float> * 5;
  const auto near = pair(limit / 4, -limit / 4);
  expect_matrix<double>(npy<double>(near), near);
  EXPECT_EQ(message(npy<float>(pair(0.25, 0.25 + single_limit / 2))), "no error");
  EXPECT_NE(message(npy<float>(pair(0.25, 0.25 + 2 * single_limit))), "no error");
  EXPECT_NE(message(npy<double>(pair(0.25, 0.25 + 2 * limit))), "no error");
}

TEST_F(Npy, AFileThatOneRankCannotReadEndsAll) {
  write(npy<double>(real));
  const std::string mine = communicator_.rank() == communicator_.size() - 1 ? path("missing") : path();
  EXPECT_THROW(read_npy(mine, communicator_), InputError);
  EXPECT_THROW(read_npy(folder_.string(), communicator_), InputError);
  EXPECT_FALSE(is_npy(path("missing")));
  EXPECT_FALSE(is_npy(folder_.string()));
}

TEST_F(Npy, MatrixMarketArraysAreDenseToo) {
  write("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n");
  EXPECT_TRUE(std::get<LocalMatrix<double>>(read_matrix(path(), communicator_)).is_dense);
  write("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1 1\n");
  EXPECT_FALSE(std::get<LocalMatrix<double>>(read_matrix(path(), communicator_)).is_dense);
}

}  // namespace
}  // namespace blockvec::solvers
