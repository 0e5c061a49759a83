#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <blockvec/solvers/matrix_market.hpp>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace blockvec::solvers {

/// Tests of files that hold matrices, in one folder for all ranks.
class MatrixFiles : public testing::Test {
 protected:
  /// `kind` is part of the folder's name; `file` is the file that tests mean unless they name another.
  MatrixFiles(const std::string& kind, std::string file) : file_(std::move(file)) {
    // The first rank's process number, told to the others.
    std::int64_t number = communicator_.rank() == 0 ? getpid() : 0;
    communicator_.sum(std::span(&number, 1));
    folder_ = std::filesystem::temp_directory_path() / ("blockvec_" + kind + "_" + std::to_string(number));
    std::filesystem::create_directories(folder_);
    communicator_.barrier();
  }
  ~MatrixFiles() override {
    communicator_.barrier();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    communicator_.barrier();
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string path() const { return path(file_); }

  void write(const std::string& content) const {
    communicator_.barrier();
    if (communicator_.rank() == 0) std::ofstream(path(), std::ios::binary) << content;
    communicator_.barrier();
  }

  /// This rank's rows must be those of `expected`, which is given in full, by rows.
  template <class Scalar>
  void expect_rows(const RealOrComplexMatrix& matrix, const std::vector<std::vector<Scalar>>& expected) const {
    ASSERT_TRUE(std::holds_alternative<LocalMatrix<Scalar>>(matrix));
    const auto& local = std::get<LocalMatrix<Scalar>>(matrix);
    ASSERT_EQ(local.source->size(), std::ssize(expected));
    for (std::int64_t row = local.rows.begin(); row < local.rows.end(); ++row) {
      RowEntries<Scalar> entries;
      local.source->append_row(row, entries);
      std::vector<Scalar> values(expected.size(), Scalar(0));
      for (std::size_t i = 0; i < entries.columns.size(); ++i)
        values[static_cast<std::size_t>(entries.columns[i])] += entries.values[i];
      EXPECT_EQ(values, expected[static_cast<std::size_t>(row)]) << row;
    }
  }

  Communicator communicator_ = Communicator::world();
  std::filesystem::path folder_;

 private:
  std::string file_;
};

}  // namespace blockvec::solvers
