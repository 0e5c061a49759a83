#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/result.hpp>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

/// Runs that are stopped and go on, and what they are compared with.
namespace blockvec::solvers {

/// A folder that all ranks know and the first one removes.
class SharedFolder {
 public:
  SharedFolder() : world_(Communicator::world()) {
    std::string name = (std::filesystem::temp_directory_path() / "checkpoint-XXXXXX").native();
    if (world_.rank() == 0) {
      EXPECT_NE(mkdtemp(name.data()), nullptr);
    }
    world_.broadcast(std::as_writable_bytes(std::span(name)), 0);
    path_ = name;
  }
  ~SharedFolder() {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(path_);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  Communicator world_;
  std::filesystem::path path_;
};

/// Stops after this many blocks; 0: never.
inline Observer stopping_after(std::int64_t blocks) {
  return [blocks, seen = std::int64_t{0}](const Step&) mutable { return ++seen != blocks; };
}

template <class Scalar, class Layout, class Space>
void expect_same_bits(const Result<BlockVector<Scalar, Layout, Space>>& got,
                      const Result<BlockVector<Scalar, Layout, Space>>& expected) {
  EXPECT_EQ(got.converged(), expected.converged());
  EXPECT_EQ(got.status, expected.status);
  EXPECT_EQ(got.why, expected.why);
  EXPECT_EQ(got.eigenvalues, expected.eigenvalues);
  EXPECT_EQ(got.residual_norms, expected.residual_norms);
  EXPECT_EQ(got.residual_estimates, expected.residual_estimates);
  EXPECT_EQ(got.orthogonality_loss, expected.orthogonality_loss);
  EXPECT_EQ(got.norm_estimate, expected.norm_estimate);
  EXPECT_EQ(got.backward_errors, expected.backward_errors);
  EXPECT_EQ(got.last_level_cut, expected.last_level_cut);
  EXPECT_EQ(got.iterations, expected.iterations);
  EXPECT_EQ(got.applications_b, expected.applications_b);
  EXPECT_EQ(got.preconditionings, expected.preconditionings);
  EXPECT_EQ(got.restarts, expected.restarts);
  EXPECT_EQ(got.starts, expected.starts);
  EXPECT_EQ(got.applications, expected.applications);
  EXPECT_EQ(got.reductions, expected.reductions);
  EXPECT_EQ(got.filter_degree, expected.filter_degree);
  ASSERT_EQ(got.history.size(), expected.history.size());
  for (std::size_t i = 0; i < got.history.size(); ++i) {
    const Step& x = got.history[i];
    const Step& y = expected.history[i];
    EXPECT_EQ(x.restart, y.restart) << i;
    EXPECT_EQ(x.converged, y.converged) << i;
    EXPECT_EQ(x.reductions, y.reductions) << i;
    EXPECT_EQ(x.applications, y.applications) << i;
    EXPECT_EQ(x.filter_degree, y.filter_degree) << i;
    EXPECT_EQ(x.residuals, y.residuals) << i;
    EXPECT_EQ(x.eigenvalues, y.eigenvalues) << i;
    EXPECT_EQ(x.residual_norms, y.residual_norms) << i;
    if (i > 0) {
      EXPECT_GE(x.seconds, got.history[i - 1].seconds) << i;
    }
  }
  ASSERT_EQ(got.vectors.width(), expected.vectors.width());
  for (std::int64_t i = 0; i < got.vectors.local_rows(); ++i) {
    for (std::int64_t j = 0; j < got.vectors.width(); ++j) {
      const Scalar x = got.vectors.view()(i, j), y = expected.vectors.view()(i, j);
      ASSERT_EQ(std::memcmp(&x, &y, sizeof x), 0) << "row " << i << ", column " << j;
    }
  }
}

}  // namespace blockvec::solvers
