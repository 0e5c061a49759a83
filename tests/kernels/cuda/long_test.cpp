#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/kernels/cuda/products.hpp"

/// More rows than 32 bits count.
namespace blockvec::kernels {
namespace {

using namespace test;

constexpr std::int64_t k = (std::int64_t{1} << 31) + 4097;
constexpr unsigned char byte = 0x3f;  // four of them are the float 0.747...

float value_of_bytes() {
  const std::array<unsigned char, sizeof(float)> bytes{byte, byte, byte, byte};
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

class CudaLong : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    std::size_t free = 0;
    std::size_t total = 0;
    expect_success(cudaMemGetInfo(&free, &total));
    if (free < std::size_t{4} * needed) GTEST_SKIP() << "the device has not " << 4 * needed << " bytes to spare";
  }
  static constexpr std::size_t needed = static_cast<std::size_t>(k + 64) * sizeof(float);
};

TEST_F(CudaLong, TsmttsmAddsAllRows) {
  const DeviceMemory memory(2 * needed, byte);
  const DeviceMemory result(4 * sizeof(float));
  const double v = value_of_bytes();
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    for (const std::int64_t width : {1, 2}) {
      const std::int64_t ld = layout == Layout::row_major ? width : k;
      const Matrix<const float> a{memory.as<float>(), k, width, ld, layout};
      const Matrix<const float> b{memory.as<float>() + 1, k, width, ld, layout};
      for (const Matrix<const float>& right : {b, a}) {
        run_tsmttsm<float>(Way::plain, Op::transpose, 1.0F / 65536, a, right, 0.0F,
                           {result.as<float>(), width, width, width, Layout::row_major});
        std::vector<float> c(static_cast<std::size_t>(width * width));
        expect_success(cudaMemcpy(c.data(), result.as<float>(), c.size() * sizeof(float), cudaMemcpyDeviceToHost));
        const double expected = static_cast<double>(k) * v * v / 65536;
        for (const float entry : c) EXPECT_NEAR(entry, expected, device_gamma<float>(k + 3) * expected);
      }
    }
  }
}

TEST_F(CudaLong, TsmmWritesAllRows) {
  const DeviceMemory from(needed, byte);
  const DeviceMemory to(needed, 0xff);  // NaN
  const DeviceMemory small(sizeof(float));
  const float two = 2;
  expect_success(cudaMemcpy(small.as<float>(), &two, sizeof two, cudaMemcpyHostToDevice));
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    const std::int64_t ld = layout == Layout::row_major ? 1 : k;
    expect_success(cudaMemset(to.as<float>(), 0xff, needed));
    run_tsmm<float>(Way::plain, 1.0F, {from.as<float>(), k, 1, ld, layout}, {small.as<float>(), 1, 1, 1, layout}, 0.0F,
                    {to.as<float>(), k, 1, ld, layout}, Triangle::general, false);
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1} << 30, (std::int64_t{1} << 31) - 64, k - 64}) {
      std::array<float, 64> rows{};
      expect_success(cudaMemcpy(rows.data(), to.as<float>() + first, sizeof rows, cudaMemcpyDeviceToHost));
      for (const float row : rows) EXPECT_EQ(row, 2 * value_of_bytes()) << "near row " << first;
    }
    unsigned after = 0;
    expect_success(cudaMemcpy(&after, to.as<float>() + k, sizeof after, cudaMemcpyDeviceToHost));
    EXPECT_EQ(after, 0xffffffffU);
  }
}

}  // namespace
}  // namespace blockvec::kernels
