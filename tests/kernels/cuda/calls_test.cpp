#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/kernels/cuda/products.hpp"

/// How calls behave beside their results: graphs, errors, workspace, words about configurations.
namespace blockvec::kernels {
namespace {

using namespace test;

class CudaCalls : public OnDevice {};

/// Captures `call` on a stream and replays it.
template <class Call>
void replay(Call&& call, int times) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  expect_success(cudaDeviceSynchronize());  // this stream waits for no fill or copy that is still under way
  expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  call(stream);
  expect_success(cudaStreamEndCapture(stream, &graph));
  expect_success(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < times; ++i) expect_success(cudaGraphLaunch(ready, stream));
  expect_success(cudaStreamSynchronize(stream));
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_F(CudaCalls, AreCapturedInGraphs) {
  for (const std::int64_t width : {4, 17, 64}) {
    for (const std::int64_t pad : {0, 40}) {
      std::mt19937 random(1);
      const std::int64_t k = 3001;
      GuardedMatrix<double> a(k, width, Layout::row_major, pad, 0, poison<double>());
      GuardedMatrix<double> c(width, width, Layout::row_major, 0, 0, mark<double>());
      GuardedMatrix<double> b(k, width, Layout::row_major, pad, 0, mark<double>());
      a.fill(random);
      c.fill_with(0);
      b.fill_with(0);
      GuardedMatrix<double> expected_c = c;
      GuardedMatrix<double> expected_b = b;
      OnDeviceMatrix<double> device_a(a);
      OnDeviceMatrix<double> device_b(b);
      OnDeviceMatrix<double> device_c(c);
      const DeviceMemory workspace(
          std::max(cuda_tsmttsm_workspace<double>(k, width, width), cuda_tsmm_workspace<double>(k, width, width)));
      // The Gram matrix, then A times it: twice, the second time with what the first left behind.
      replay(
          [&](cudaStream_t stream) {
            const CudaExecution execution{stream, workspace.bytes()};
            tsmttsm(Op::transpose, 1.0, device_a.view(), device_a.view(), 1.0, device_c.view(), execution);
            tsmm(1.0, device_a.view(), device_c.view(), 1.0, device_b.view(), Triangle::general, execution);
          },
          2);
      device_b.download();
      const double scale = static_cast<double>(k) * static_cast<double>(width);
      for (int i = 0; i < 2; ++i) {
        reference::tsmttsm(Op::transpose, 1.0, a.view(), a.view(), 1.0, expected_c.view());
        reference::tsmm(1.0, a.view(), expected_c.view(), 1.0, expected_b.view());
      }
      EXPECT_TRUE(b.guards_hold());
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          ASSERT_NEAR(b(i, j), expected_b(i, j), 8 * gamma<double>(k + width) * scale);
        }
      }
    }
  }
}

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(CudaCalls, WorkspaceTooSmall) {
  const DeviceMemory memory(1000 * sizeof(double));
  double* const x = memory.as<double>();
  const std::size_t needed = cuda_tsmttsm_workspace<double>(10, 3, 2);
  const DeviceMemory workspace(needed);
  const Matrix<const double> a{x, 10, 3, 3, Layout::row_major};
  const Matrix<const double> b{x + 100, 10, 2, 2, Layout::row_major};
  const Matrix<double> c{x + 200, 3, 2, 2, Layout::row_major};
  EXPECT_EQ(message_of([&] {
              tsmttsm(Op::transpose, 1.0, a, b, 0.0, c, {nullptr, workspace.bytes().first(needed - 1)});
            }),
            "tsmttsm: workspace of " + std::to_string(needed - 1) + " bytes of device memory: expected at least " +
                std::to_string(needed) + " bytes");
  EXPECT_EQ(message_of([&] { tsmm(1.0, b, Matrix<const double>(c), 0.0, c, Triangle::general, CudaExecution{}); }),
            "tsmm: A is 10 x 2 row-major and B is 3 x 2 row-major: expected as many rows in both");
}

TEST_F(CudaCalls, WorkspaceIsNotOverrun) {
  for (const std::int64_t width : {1, 3, 8, 33, 64}) {
    for (const std::int64_t pad : {0, 9}) {
      GuardedMatrix<float> a(5000, width, Layout::row_major, pad, 0, mark<float>());
      a.fill_with(1);
      GuardedMatrix<float> c(width, width, Layout::row_major, 0, 0, mark<float>());
      OnDeviceMatrix<float> device_a(a);
      OnDeviceMatrix<float> device_c(c);
      for (const bool first : {true, false}) {
        const std::size_t bytes =
            first ? cuda_tsmttsm_workspace<float>(5000, width, width) : cuda_tsmm_workspace<float>(5000, width, width);
        const DeviceMemory memory(bytes + 67, 0x5a);
        const CudaExecution execution{nullptr, memory.bytes().subspan(3, bytes)};
        if (first) {
          tsmttsm(Op::transpose, 1.0F, device_a.view(), device_a.view(), 0.0F, device_c.view(), execution);
        } else {
          tsmm_inplace(device_a.view(), device_c.view(), Triangle::general, execution);
        }
        std::vector<unsigned char> after(bytes + 67);
        expect_success(cudaMemcpy(after.data(), memory.as<void>(), after.size(), cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < after.size(); ++i) {
          const bool outside = i < 3 || i >= 3 + bytes;
          ASSERT_TRUE(!outside || after[i] == 0x5a);
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels
