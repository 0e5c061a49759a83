#pragma once

#include <gtest/gtest.h>

#include <blockvec/solvers/sparse_operator.hpp>
#include <exception>
#include <string>
#include <vector>

#include "problems/laplacian.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_right.hpp"

namespace blockvec::solvers {

/// A grid of 420 points in the host's memory.
class OnGrid : public testing::Test {
 protected:
  using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  using Operator = SparseOperator<double, Kokkos::HostSpace>;

  const examples::Laplacian grid_{{20, 21}};
  const std::vector<double> exact_ = exact_laplacian({20, 21});
  const Context context_ = Context::world(1);
  const RowDistribution rows_ = RowDistribution::uniform(grid_.size(), context_.communicator());
  Operator a_{context_, rows_, grid_};

  Operator diagonal(const std::vector<double>& values) const { return {context_, rows_, Diagonal(values)}; }

  /// What the body throws, in words.
  template <class Body>
  static std::string message_of(Body&& body) {
    try {
      body();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }
};

}  // namespace blockvec::solvers
