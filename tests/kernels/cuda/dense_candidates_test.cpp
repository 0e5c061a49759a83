#include "src/dispatch/cuda/dense_candidates.hpp"

#include <gtest/gtest.h>

#include "src/dispatch/cuda/calls.hpp"
#include "tests/kernels/cuda/products.hpp"
#include "tests/kernels/support/dense.hpp"

/// Every configuration of dense products that is measured, against the oracle; few blocks have all units between them.
namespace blockvec::kernels {
namespace {

using namespace test;

/// The product by candidate number `index`. Sets `count` to the number of candidates.
class ByCandidate {
 public:
  template <class T>
  using Copy = OnDeviceMatrix<T>;

  ByCandidate(std::size_t index, std::size_t& count) : index_(index), count_(count) {}

  template <class T>
  void multiply(Dense product, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
                const Matrix<T>& y) const {
    constexpr int parts = dispatch::parts<T>;
    const bool rows = a.layout == Layout::row_major;
    const dispatch::DenseLines lines{rows ? a.rows : a.columns, parts * (rows ? a.columns : a.rows),
                                     dispatch::real_bytes<T>};
    const int columns = static_cast<int>(parts * y.columns);
    if (is_hermitian(product)) {
      const Triangle triangle = product == Dense::lower ? Triangle::lower : Triangle::upper;
      const cuda::HemmCall<T> call{alpha, beta, a.rows, a, x, y, triangle, false};
      run(dispatch::hemm_candidates(few_blocks(), lines, parts, call.lower(), columns),
          [&](const auto& c, const CudaExecution& execution) { cuda::launch_hemm<T>(call, c, execution); });
    } else {
      const cuda::GemmCall<T> call{alpha, beta, a, x, y, is_transposed(product), product == Dense::adjoint};
      run(dispatch::gemm_candidates(few_blocks(), lines, call.by_rows(), columns),
          [&](const auto& c, const CudaExecution& execution) { cuda::launch_gemm<T>(call, c, execution); });
    }
  }
  template <class T>
  double bound(std::int64_t k) const {
    return gamma<wide_of<T>>(k + 3) + gamma<T>(1);
  }

 private:
  template <class Configuration, class Launch>
  void run(const std::vector<Configuration>& candidates, Launch&& launch) const {
    count_ = candidates.size();
    const Configuration& c = candidates.at(index_);
    const DeviceMemory workspace(c.workspace_bytes(), 0xff);
    launch(c, CudaExecution{.stream = nullptr, .workspace = workspace.bytes()});
    expect_success(cudaDeviceSynchronize());
  }

  std::size_t index_;
  std::size_t& count_;
};

template <class T>
class CudaDenseCandidates : public OnDevice {};
TYPED_TEST_SUITE(CudaDenseCandidates, Scalars);

TYPED_TEST(CudaDenseCandidates, AgreeWithTheReference) {
  using T = TypeParam;
  for (const Dense product : dense_products) {
    for (const Layout layout : layouts) {
      const std::int64_t n = is_hermitian(product) ? 600 : 300, k = is_hermitian(product) ? n : 200;
      const std::int64_t b = layout == Layout::row_major ? 3 : 8;
      std::size_t count = 1;
      for (std::size_t i = 0; i < count; ++i) {
        SCOPED_TRACE("candidate " + std::to_string(i));
        expect_dense<T>(ByCandidate(i, count), {product, n, k, b, {{.layout = layout}, {}}, T(2), T(1)});
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels
