#include "tests/kernels/support/packed.hpp"

#include <gtest/gtest.h>

#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/error.hpp>

#include "tests/kernels/cuda/device.hpp"

/// Packed Hermitian matrices on the device: the bits of their lower triangle.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaPacked : public OnDevice {};
TYPED_TEST_SUITE(CudaPacked, Scalars);

TYPED_TEST(CudaPacked, HasTheBitsOfTheTriangle) {
  using T = TypeParam;
  for (const std::int64_t n : packed_sizes) {
    for (const std::int64_t b : {1, 3, 8, 16, 21}) {
      for (const std::int64_t offset : {0, 1}) {  // what bulk copies take, and what they do not
        DenseOperands<T> of(DenseCase<T>{Dense::lower, n, n, b, {}, T(2), T(1)});
        GuardedMatrix<T> full = of.y;
        Packed<T> packed(Triangle::lower, of.a.view());
        const OnDeviceMatrix<T> a(of.a), x(of.x);
        OnDeviceMatrix<T> y(of.y), z(full);
        const DeviceMemory workspace(cuda_hemm_workspace<T>(n, b), 0xff);
        const DeviceMemory memory((packed.memory().size() + 1) * sizeof(T));
        T* const panels = memory.as<T>() + offset;
        expect_success(
            cudaMemcpy(panels, packed.memory().data(), packed.memory().size() * sizeof(T), cudaMemcpyHostToDevice));
        const CudaExecution execution{.stream = nullptr, .workspace = workspace.bytes()};
        hemm<T>(T(2), PackedHermitian<const T>{panels, n}, x.view(), T(1), y.view(), execution);
        hemm<T>(Triangle::lower, T(2), a.view(), x.view(), T(1), z.view(), execution);
        expect_success(cudaDeviceSynchronize());
        y.download();
        z.download();
        ASSERT_TRUE(of.y.guards_hold());
        ASSERT_TRUE(of.y.same_bits_as(full)) << "n " << n << " b " << b << " offset " << offset;
      }
    }
  }
}

TEST_F(OnDevice, PackedProductsCheckTheirArguments) {
  const DeviceMemory panels(packed_entries<double>(64) * sizeof(double)), vectors(2 * 64 * 4 * sizeof(double)),
      workspace(cuda_hemm_workspace<double>(64, 4));
  const PackedHermitian<const double> a{panels.as<double>(), 64};
  const Matrix<double> x{vectors.as<double>(), 64, 4, 4}, y{vectors.as<double>() + 256, 64, 4, 4};
  const CudaExecution execution{.stream = nullptr, .workspace = workspace.bytes()};
  EXPECT_THROW(hemm<double>(1, a, Matrix<double>{x.data, 63, 4, 4}, 0, y, execution), ShapeError);
  EXPECT_THROW(hemm<double>(1, a, x, 0, Matrix<double>{panels.as<double>() + 8, 64, 4, 4}, execution), ShapeError);
  EXPECT_THROW(hemm<double>(1, a, x, 0, y, CudaExecution{}), ShapeError);
  EXPECT_THROW(hemm<double>(1, PackedHermitian<const double>{a.data, -1}, x, 0, y, execution), ShapeError);
}

}  // namespace
}  // namespace blockvec::kernels
