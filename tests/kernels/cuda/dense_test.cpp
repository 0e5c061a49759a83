#include <gtest/gtest.h>

#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/error.hpp>
#include <optional>

#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/streams.hpp"
#include "tests/kernels/support/dense.hpp"

/// Dense products on the device against the oracle.
namespace blockvec::kernels {
namespace {

using namespace test;

struct OnGpu {
  template <class T>
  using Copy = OnDeviceMatrix<T>;

  template <class T>
  static std::size_t workspace(Dense product, std::int64_t n, std::int64_t k, std::int64_t b) {
    return is_hermitian(product) ? cuda_hemm_workspace<T>(n, b) : cuda_gemm_workspace<T>(n, k, b);
  }
  template <class T>
  static void run(Dense product, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
                  const Matrix<T>& y, const CudaExecution& execution) {
    call_dense<T>(
        product, [&] { gemm<T>(alpha, a, x, beta, y, execution); },
        [&](Op op) { gemm<T>(op, alpha, a, x, beta, y, execution); },
        [&](Triangle triangle) { hemm<T>(triangle, alpha, a, x, beta, y, execution); });
  }
  template <class T>
  void multiply(Dense product, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
                const Matrix<T>& y) const {
    const DeviceMemory memory(workspace<T>(product, y.rows, x.rows, y.columns), 0xff);
    run(product, alpha, a, x, beta, y, {.stream = nullptr, .workspace = memory.bytes()});
    expect_success(cudaDeviceSynchronize());
  }
  template <class T>
  double bound(std::int64_t k) const {
    return gamma<wide_of<T>>(k + 3) + gamma<T>(1);
  }
};

template <class T>
class CudaDense : public OnDevice {};
TYPED_TEST_SUITE(CudaDense, Scalars);

TYPED_TEST(CudaDense, AgreesWithTheReference) { expect_dense_products<TypeParam>(OnGpu{}); }
TYPED_TEST(CudaDense, ReadsNothingThatDoesNotCount) { expect_nothing_read<TypeParam>(OnGpu{}); }
TYPED_TEST(CudaDense, PassesNaN) { expect_nan_passes<TypeParam>(OnGpu{}); }

// Several blocks share tiles and panels, and blocks have several of them.
TYPED_TEST(CudaDense, AgreesForLargeMatrices) {
  using T = TypeParam;
  for (const Dense product : dense_products) {
    for (const Layout layout : layouts) {
      for (const std::int64_t pad : {0, 1}) {
        for (const auto& [n, k, b] : {std::array<std::int64_t, 3>{1100, 1500, 3}, {2300, 200, 16}, {150, 3000, 9}}) {
          const bool square = is_hermitian(product);
          const std::int64_t rows = square ? 900 + n / 10 : n;
          expect_dense<T>(OnGpu{},
                          {product, rows, square ? rows : k, b, {{.layout = layout, .pad = pad}, {}}, T(1), T(1)});
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(CudaDense, GivesTheSameBits) {
  using T = TypeParam;
  for (const Dense product : dense_products) {
    const DenseCase<T> c{product, 1200, 1200, 8, {}};
    DenseOperands<T> of(c);
    const OnDeviceMatrix<T> a(of.a), x(of.x);
    OnDeviceMatrix<T> y(of.y);
    OnGpu{}.multiply<T>(product, T(1), a.view(), x.view(), T(0), y.view());
    y.download();
    const GuardedMatrix<T> first = of.y;
    OnGpu{}.multiply<T>(product, T(1), a.view(), x.view(), T(0), y.view());
    y.download();
    EXPECT_TRUE(of.y.same_bits_as(first)) << static_cast<int>(product);
  }
}

// Blocks that go round their stages many times: what a stage gets next must not overtake what is still read.
TYPED_TEST(CudaDense, GivesTheSameBitsUnderLoad) {
  using T = TypeParam;
  constexpr std::int64_t n = 4096;
  constexpr int turns = 20;
  DenseOperands<T> of({Dense::plain, n, n, 48, {}});
  const OnDeviceMatrix<T> a(of.a), x(of.x);
  OnDeviceMatrix<T> y(of.y);
  for (const Dense product : dense_products) {
    for (const std::int64_t b : {9, 17, 24, 48}) {
      const auto columns = [&](Matrix<T> all) {
        all.columns = b;
        return all;
      };
      std::optional<GuardedMatrix<T>> first;
      for (int turn = 0; turn < turns; ++turn) {
        OnGpu{}.multiply<T>(product, T(1), a.view(), columns(x.view()), T(0), columns(y.view()));
        y.download();
        if (!first) first.emplace(of.y);
        ASSERT_TRUE(of.y.same_bits_as(*first)) << static_cast<int>(product) << ", " << b << " columns, turn " << turn;
      }
    }
  }
}

TYPED_TEST(CudaDense, IsCapturedInGraphs) {
  using T = TypeParam;
  for (const Dense product : dense_products) {
    const DenseCase<T> c{product, 700, 700, 4, {}};
    DenseOperands<T> of(c);
    const OnDeviceMatrix<T> a(of.a), x(of.x);
    OnDeviceMatrix<T> y(of.y);
    OnGpu{}.multiply<T>(product, T(1), a.view(), x.view(), T(0), y.view());
    y.download();
    const GuardedMatrix<T> expected = of.y;
    of.y.fill_with(T(0));
    y.upload();
    const DeviceMemory memory(OnGpu::workspace<T>(product, c.n, c.k, c.b));
    const Stream stream;
    const Captured graph(stream, [&](cudaStream_t on) {
      OnGpu::run<T>(product, T(1), a.view(), x.view(), T(0), y.view(), {.stream = on, .workspace = memory.bytes()});
    });
    graph.replay();
    y.download();
    EXPECT_TRUE(of.y.same_bits_as(expected)) << static_cast<int>(product);
  }
}

// Calls follow one another without waiting, in one workspace.
TYPED_TEST(CudaDense, CallsFollowOneAnother) {
  using T = TypeParam;
  for (const Dense product : dense_products) {
    const DenseCase<T> c{product, 800, 800, 8, {}};
    DenseOperands<T> of(c), other(c);
    const OnDeviceMatrix<T> a(of.a), x(of.x);
    OnDeviceMatrix<T> y(of.y), z(other.y);
    OnGpu{}.multiply<T>(product, T(1), a.view(), x.view(), T(0), y.view());
    OnGpu{}.multiply<T>(product, T(1), a.view(), y.view(), T(0), z.view());
    z.download();
    const GuardedMatrix<T> expected = other.y;
    const DeviceMemory memory(OnGpu::workspace<T>(product, c.n, c.k, c.b));
    const CudaExecution execution{.stream = nullptr, .workspace = memory.bytes()};
    for (int turn = 0; turn < 20; ++turn) {
      OnGpu::run<T>(product, T(1), a.view(), x.view(), T(0), y.view(), execution);
      OnGpu::run<T>(product, T(1), a.view(), y.view(), T(0), z.view(), execution);
    }
    z.download();
    EXPECT_TRUE(other.y.same_bits_as(expected)) << static_cast<int>(product);
  }
}

TEST_F(OnDevice, DenseProductsAskForTheirWorkspace) {
  DenseOperands<double> of(DenseCase<double>{Dense::plain, 64, 64, 4, {}});
  const OnDeviceMatrix<double> a(of.a), x(of.x), y(of.y);
  const DeviceMemory memory(cuda_gemm_workspace<double>(64, 64, 4) - 1);
  const CudaExecution execution{.stream = nullptr, .workspace = memory.bytes()};
  EXPECT_THROW(gemm<double>(1, a.view(), x.view(), 0, y.view(), execution), ShapeError);
  EXPECT_THROW(hemm<double>(Triangle::lower, 1, a.view(), x.view(), 0, y.view(), CudaExecution{}), ShapeError);
}

}  // namespace
}  // namespace blockvec::kernels
