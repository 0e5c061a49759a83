// PETSc's binary format, written here byte by byte.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/matrix_file.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "tests/solvers/dense.hpp"
#include "tests/solvers/matrix_files.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;
using C = Complex<double>;

std::string bytes(std::uint64_t word, int count) {
  std::string result;
  for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) result += static_cast<char>(word >> shift & 0xff);
  return result;
}
std::string i4(std::int32_t number) { return bytes(static_cast<std::uint32_t>(number), 4); }
std::string number(double value) { return bytes(std::bit_cast<std::uint64_t>(value), 8); }
std::string number(C value) { return number(value.real()) + number(value.imag()); }

template <class Scalar>
using Dense = std::vector<std::vector<Scalar>>;

/// A matrix as PETSc writes it, without entries for zeros.
template <class Scalar>
std::string petsc(const Dense<Scalar>& matrix) {
  std::string lengths, columns, values;
  std::int32_t entries = 0;
  for (const auto& row : matrix) {
    std::int32_t length = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == Scalar(0)) continue;
      ++length;
      columns += i4(static_cast<std::int32_t>(j));
      values += number(row[j]);
    }
    lengths += i4(length);
    entries += length;
  }
  const auto size = static_cast<std::int32_t>(matrix.size());
  return i4(1211216) + i4(size) + i4(size) + i4(entries) + lengths + columns + values;
}

class PetscBinary : public MatrixFiles {
 protected:
  PetscBinary() : MatrixFiles("petsc_binary", "matrix.petsc") {}

  template <class Scalar>
  void expect_matrix(const Dense<Scalar>& expected) const {
    write(petsc(expected));
    expect_rows(read_petsc_binary(path(), communicator_), expected);
    expect_rows(read_matrix(path(), communicator_), expected);
  }

  /// What reading this says, without the file's name and the rank.
  std::string message(const std::string& content, PetscScalar scalar = PetscScalar::by_file_size) const {
    write(content);
    try {
      read_petsc_binary(path(), communicator_, scalar);
    } catch (const InputError& error) {
      std::string result = error.what();
      if (result.rfind(path(), 0) == 0) result = result.substr(path().size());
      return result.substr(0, result.find(" (rank "));
    }
    return "no error";
  }
};

const Dense<double> real{{2, -1, 0, 0.5}, {-1, 3, 0, 0}, {0, 0, 0, 0}, {0.5, 0, 0, 1e-300}};
const Dense<C> hermitian{{C(1), C(0, 2), C(0)}, {C(0, -2), C(0), C(3, -1)}, {C(0), C(3, 1), C(-4)}};

TEST_F(PetscBinary, ReadsRealAndComplexMatrices) {
  expect_matrix<double>(real);
  expect_matrix<C>(hermitian);
  expect_matrix<double>({{7}});
  expect_matrix<double>({{0, 0}, {0, 0}});
  expect_matrix<double>({});
}

TEST_F(PetscBinary, ReadsWhatOthersFollowWhereTheScalarIsNamed) {
  const std::string behind = i4(1211214) + i4(0);  // a vector
  write(petsc(real) + behind);
  expect_rows(read_petsc_binary(path(), communicator_, PetscScalar::real), real);
  write(petsc(hermitian) + behind);
  expect_rows(read_petsc_binary(path(), communicator_, PetscScalar::complex), hermitian);
  EXPECT_EQ(message(petsc(real) + behind),
            ": at byte 124: the file ends; a real matrix of 4 rows and 7 entries has 116 bytes, a complex one 172");
  EXPECT_EQ(message(petsc(real), PetscScalar::complex), ": at byte 116: the file ends; the matrix has 172 bytes");
}

TEST_F(PetscBinary, SumsEntriesThatAreGivenTwice) {
  write(i4(1211216) + i4(2) + i4(2) + i4(4) + i4(3) + i4(1) + i4(1) + i4(0) + i4(1) + i4(0) + number(1.) + number(5.) +
        number(2.) + number(3.));
  expect_rows<double>(read_petsc_binary(path(), communicator_), {{5, 3}, {3, 0}});
}

TEST_F(PetscBinary, NamesThePlaceOfAnError) {
  const std::string good = petsc(real);
  for (const std::size_t length : {0, 4, 15}) {
    EXPECT_EQ(message(good.substr(0, length)),
              fmt::format(": at byte {}: the file ends, {} bytes too early", length, 16 - length));
  }
  EXPECT_EQ(message(good.substr(0, 31)), ": at byte 31: the file ends within the lengths of 4 rows");
  for (const std::size_t length : {32, 59, 60, 115}) {
    EXPECT_EQ(message(good.substr(0, length)),
              fmt::format(": at byte {}: the file ends; a real matrix of 4 rows and 7 entries has 116 bytes, a complex "
                          "one 172",
                          length));
  }
  const std::string rest = good.substr(4);
  EXPECT_EQ(message(i4(1211214) + rest),
            ": at byte 0: 1211214 is not 1211216, the number that a matrix of PETSc begins with");
  EXPECT_EQ(message(std::string{0x50, 0x7b, 0x12, 0} + rest),
            ": at byte 0: the file is little-endian: PETSc writes big-endian ones");
  EXPECT_EQ(message(bytes(1211216, 8) + bytes(4, 8) + bytes(4, 8) + bytes(0, 8)),
            ": at byte 0: the indices have 64 bits: only files of a PETSc with indices of 32 bits are read");
  EXPECT_EQ(message(i4(1211216) + i4(4) + i4(3) + i4(7) + good.substr(16)),
            ": at byte 4: the matrix is 4 x 3: only square ones have eigenvalues");
  EXPECT_EQ(message(i4(1211216) + i4(-4) + i4(-4) + i4(7) + good.substr(16)),
            ": at byte 4: a matrix cannot be -4 x -4");
  EXPECT_EQ(message(i4(1211216) + i4(4) + i4(4) + i4(-1) + good.substr(16)),
            ": at byte 12: the matrix is dense: only sparse ones are read");
  EXPECT_EQ(message(i4(1211216) + i4(4) + i4(4) + i4(-2) + good.substr(16)),
            ": at byte 12: a matrix cannot have -2 entries");
  EXPECT_EQ(message(i4(1211216) + i4(4) + i4(4) + i4(6) + good.substr(16)),
            ": at byte 12: 6 entries are announced, the rows have 7");
  EXPECT_EQ(message(good.substr(0, 20) + i4(-1) + good.substr(24)), ": at byte 20: row 1 cannot have -1 entries");
  EXPECT_EQ(message(good.substr(0, 36) + i4(4) + good.substr(40)),
            ": at byte 36: row 0 has an entry in column 4, which is outside of 0 to 3");
  EXPECT_EQ(message(good.substr(0, 56) + i4(-1) + good.substr(60)),
            ": at byte 56: row 3 has an entry in column -1, which is outside of 0 to 3");
  EXPECT_EQ(message(good.substr(0, 108) + number(std::numeric_limits<double>::infinity())),
            ": at byte 108: the value inf in row 3 and column 3 is not finite");
}

// Promises are not believed.
TEST_F(PetscBinary, TakesNoMemoryForWhatIsNotThere) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(message(i4(1211216) + i4(most) + i4(most) + i4(most)),
            fmt::format(": at byte 16: the file ends within the lengths of {} rows", most));
  EXPECT_EQ(message(i4(1211216) + i4(2) + i4(2) + i4(most) + i4(most) + i4(most)),
            fmt::format(": at byte 24: the file ends; a real matrix of 2 rows and {0} entries has {1} bytes, a complex "
                        "one {2}",
                        2 * std::int64_t{most}, 24 + 24 * std::int64_t{most}, 24 + 40 * std::int64_t{most}));
}

TEST_F(PetscBinary, NamesTheFirstEntryThatIsNotHermitian) {
  EXPECT_EQ(message(petsc<double>({{0, 1.5, 5}, {1, 0, 0}, {5, 0, 0}})),
            ": the matrix is not Hermitian: entry (1, 2) is 1.5, but entry (2, 1) is 1");
  EXPECT_EQ(message(petsc<double>({{0, 0, 0}, {0, 0, 4}, {0, 0, 0}})),
            ": the matrix is not Hermitian: entry (2, 3) is 4, but entry (3, 2) is 0");
  EXPECT_EQ(message(petsc<double>({{0, 0, 0}, {0, 0, 0}, {0, 4, 0}})),
            ": the matrix is not Hermitian: entry (2, 3) is 0, but entry (3, 2) is 4");
  EXPECT_EQ(message(petsc<C>({{C(0), C(0, 1)}, {C(0, 1), C(0)}})),
            ": the matrix is not Hermitian: entry (1, 2) is (0, 1), but entry (2, 1) is (0, 1)");
  EXPECT_EQ(message(petsc<double>({{1.7e308, 0}, {0, 1.7e308}})), ": the norm of the matrix overflows");
}

// To eps times the norm of the whole matrix, whoever has the rows.
TEST_F(PetscBinary, JudgesHermitianByTheNorm) {
  const double limit = 4 * epsilon<double> * 5;
  const auto pair = [](double a, double b) { return Dense<double>{{3, a, 0}, {b, 0, 0}, {0, 0, 4}}; };
  expect_matrix<double>(pair(limit / 4, -limit / 4));
  EXPECT_EQ(
      message(petsc(pair(0.25, 0.25 + 2 * limit))),
      fmt::format(": the matrix is not Hermitian: entry (1, 2) is 0.25, but entry (2, 1) is {}", 0.25 + 2 * limit));
}

TEST_F(PetscBinary, AFileThatOneRankCannotReadEndsAll) {
  write(petsc(real));
  if (communicator_.rank() == 0) std::ofstream(path("smaller"), std::ios::binary) << petsc<double>({{7}});
  communicator_.barrier();
  for (int odd = 0; odd < communicator_.size(); ++odd) {
    const auto mine = [&](const std::string& name) { return communicator_.rank() == odd ? path(name) : path(); };
    EXPECT_THROW(read_petsc_binary(mine("missing"), communicator_), InputError);
    if (communicator_.size() == 1) continue;
    EXPECT_THROW(read_petsc_binary(mine("smaller"), communicator_), InputError);
  }
  expect_rows(read_petsc_binary(path(), communicator_), real);
  EXPECT_THROW(read_petsc_binary(folder_.string(), communicator_), InputError);
  EXPECT_THROW(read_matrix(path("missing"), communicator_), InputError);
}

template <class Scalar>
void expect_same_after_writing(const RowSource<Scalar>& source, const std::string& path,
                               const Communicator& communicator) {
  write_petsc_binary(path, RowDistribution::uniform(source.size(), communicator), source, communicator);
  const RealOrComplexMatrix matrix = read_petsc_binary(path, Communicator::self());
  communicator.barrier();
  const auto expected = dense(source);
  const auto read = dense(*std::get<LocalMatrix<Scalar>>(matrix).source);
  for (std::size_t i = 0; i < expected.extent(0); ++i) {
    for (std::size_t j = 0; j < expected.extent(1); ++j) EXPECT_EQ(read(i, j), expected(i, j)) << i << " " << j;
  }
}

TEST_F(PetscBinary, WritesWhatItReads) {
  expect_same_after_writing(Anderson({2, 3, 4}, 1.7, 3), path(), communicator_);
  expect_same_after_writing(Graphene<C>({6, 2}, 1, 3), path(), communicator_);
  EXPECT_THROW(write_petsc_binary(path("no/folder"), RowDistribution::uniform(8, communicator_),
                                  Anderson({2, 2, 2}, 1, 1), communicator_),
               InputError);
}

TEST_F(PetscBinary, WritesTheBytesThatPetscWrites) {
  const RowFunction<double> source(4, [](std::int64_t row, RowEntries<double>& entries) {
    for (std::int64_t j = 3; j >= 0; --j) {  // in any order
      const double value = real[static_cast<std::size_t>(row)][static_cast<std::size_t>(j)];
      if (value != 0) entries.add(j, value);
    }
  });
  write("what was there before, and was much longer than the matrix is" + std::string(500, '.'));
  write_petsc_binary(path(), RowDistribution::uniform(4, communicator_), source, communicator_);
  communicator_.barrier();
  std::ifstream file(path(), std::ios::binary);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()), petsc(real));
}

}  // namespace
}  // namespace blockvec::solvers
