// Block Lanczos in a device's memory: what the host waits for, faults, checkpoints.
#include <gtest/gtest.h>

#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "problems/laplacian.hpp"
#include "tests/solvers/exact.hpp"

namespace blockvec::solvers {
namespace {

using Space = Kokkos::CudaSpace;
using Vector = BlockVector<double, RowMajor, Space>;

/// Another operator's products, until one too many is asked for.
struct Failing {
  SparseOperator<double, Space>& a;
  int products;

  const Context& context() const { return a.context(); }
  const RowDistribution& rows() const { return a.rows(); }
  void apply(double alpha, double shift, const Vector& x, double beta, const Vector& y) {
    if (products-- == 0) throw std::runtime_error("the operator has had enough");
    a.apply(alpha, shift, x, beta, y);
  }
};

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

class LanczosOnDevice : public testing::Test {
 protected:
  const examples::Laplacian grid_{{40, 30}};
  const std::vector<double> exact_ = exact_laplacian({40, 30});
  const Context context_ = Context::world(1);
  const RowDistribution rows_ = RowDistribution::uniform(grid_.size(), context_.communicator());
  SparseOperator<double, Space> a_{context_, rows_, grid_};

  void expect_right(const Result<Vector>& result, const LanczosOptions& options) const {
    ASSERT_TRUE(result.converged()) << result.why;
    for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
      EXPECT_NEAR(result.eigenvalues[i], exact_[i], options.tolerance * exact_.back());
    }
  }
};

// The verdict of the orthogonalisation, which a second sweep makes two, and the projected matrix; more ranks than one
// wait for sums and messages besides.
TEST_F(LanczosOnDevice, TheHostWaitsThreeTimesABlockAtMost) {
  if (context_.communicator().size() > 1) GTEST_SKIP() << "one rank's waits";
  std::vector<std::int64_t> waits;
  std::vector<std::int64_t> restarts;
  LanczosOptions options{.wanted = 4, .block = 4, .filter_degree = 0};
  const auto observe = [&](const Step& step) {
    waits.push_back(context_.waits());
    restarts.push_back(step.restart);
    return true;
  };
  expect_right(block_lanczos<Vector>({a_}, options, observe), options);
  ASSERT_GT(waits.size(), 4U);
  for (std::size_t i = 1; i < waits.size(); ++i) {
    if (restarts[i] == restarts[i - 1]) {
      EXPECT_LE(waits[i] - waits[i - 1], 3) << "block " << i;
    }
  }
}

TEST_F(LanczosOnDevice, AnOperatorThatThrowsEndsTheSearchAndNothingElse) {
  const LanczosOptions options{.wanted = 4};
  for (const int products : {0, 1, 70, 150}) {
    const std::string message = message_of([&] { (void)block_lanczos<Vector>({Failing{a_, products}}, options); });
    EXPECT_NE(message.find("the operator has had enough"), std::string::npos) << message;
  }
  expect_right(block_lanczos<Vector>({a_}, options), options);
}

TEST_F(LanczosOnDevice, MemoryThatRunsOutIsNamed) {
  constexpr std::int64_t n = 40'000'000;
  const auto rows = RowDistribution::uniform(n, context_.communicator());
  const FunctionOperator<Vector> identity(context_, rows, [](const Vector& x, const Vector& y) { copy(x, y); });
  LanczosOptions options{.wanted = 4, .block = 4, .filter_degree = 0};
  options.basis = 8000 * context_.communicator().size();  // 2.6 TB a rank
  const std::string message = message_of([&] { (void)block_lanczos<Vector>({identity}, options); });
  EXPECT_NE(message.find("Krylov basis"), std::string::npos) << message;
  EXPECT_NE(message.find("bytes"), std::string::npos) << message;
  const LanczosOptions small{.wanted = 4};
  expect_right(block_lanczos<Vector>({a_}, small), small);
}

TEST_F(LanczosOnDevice, AnObserverStopsItWithWhatIsKnown) {
  const LanczosOptions options{.wanted = 6, .block = 2};
  const auto result = block_lanczos<Vector>({a_}, options, [](const Step& step) { return step.applications < 400; });
  EXPECT_EQ(result.status, Status::stopped);
  EXPECT_EQ(std::ssize(result.eigenvalues), std::ssize(result.residual_norms));
  for (const double residual : result.residual_norms) EXPECT_TRUE(std::isfinite(residual));
}

TEST_F(LanczosOnDevice, GoesOnFromACheckpoint) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("blockvec_device_" + std::to_string(context_.communicator().size()) + ".checkpoint");
  LanczosOptions options{.wanted = 6, .block = 2};
  options.checkpoint.file = file.string();
  const auto stopped = block_lanczos<Vector>({a_}, options, [](const Step& step) { return step.applications < 400; });
  ASSERT_EQ(stopped.status, Status::stopped) << stopped.why;
  options.checkpoint.restart = file.string();
  expect_right(block_lanczos<Vector>({a_}, options), options);
  context_.communicator().barrier();
  if (context_.communicator().rank() == 0) std::filesystem::remove(file);
}

}  // namespace
}  // namespace blockvec::solvers
