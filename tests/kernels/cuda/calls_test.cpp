#include "src/dispatch/cuda/calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/kernels/cuda/products.hpp"
#include "tests/kernels/cuda/streams.hpp"

/// How calls behave beside their results: graphs, errors, workspace, words about configurations.
namespace blockvec::kernels {
namespace {

using namespace test;

class CudaCalls : public OnDevice {};

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
      const Stream stream;
      const Captured graph(stream, [&](cudaStream_t on) {
        const CudaExecution execution{on, workspace.bytes()};
        tsmttsm(Op::transpose, 1.0, device_a.view(), device_a.view(), 1.0, device_c.view(), execution);
        tsmm(1.0, device_a.view(), device_c.view(), 1.0, device_b.view(), Triangle::general, execution);
      });
      for (int i = 0; i < 2; ++i) graph.replay();
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

/// Kernels that `call` launches, each with its blocks, threads and shared memory.
template <class Call>
std::vector<std::tuple<const void*, unsigned, unsigned, unsigned, unsigned>> kernels_of(Call&& call) {
  std::vector<std::tuple<const void*, unsigned, unsigned, unsigned, unsigned>> kernels;
  const Stream stream;
  const Captured captured(stream, call);
  std::size_t count = 0;
  expect_success(cudaGraphGetNodes(captured.graph(), nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  expect_success(cudaGraphGetNodes(captured.graph(), nodes.data(), &count));
  for (cudaGraphNode_t node : nodes) {
    cudaKernelNodeParams x{};
    expect_success(cudaGraphKernelNodeGetParams(node, &x));
    kernels.emplace_back(x.func, x.gridDim.x, x.gridDim.y, x.blockDim.x, x.sharedMemBytes);
  }
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

/// What explain_cuda_* says of a call: its words, completed, launch the same kernels.
template <class Configuration, class TypedCall, class Call, class Launch>
void expect_explained(const CudaExplanation& why, const TypedCall& typed, SinglePrecision single_precision, Call&& call,
                      Launch&& launch) {
  SCOPED_TRACE(why.text());
  Configuration x{};
  const dispatch::CudaDevice& device = cuda::current_device(cuda::product_of(typed));
  const auto problem = dispatch::problem_of(typed, single_precision);
  if (why.configuration.rfind("parts of ", 0) == 0) {  // the words are those of a part
    x = dispatch::choose(device, problem).configuration;
  } else {
    if (why.kernel != "none") {
      ASSERT_TRUE(dispatch::read_words(why.kernel, why.configuration, x));
    }
    ASSERT_TRUE(dispatch::complete(device, problem, x));
  }
  EXPECT_EQ(dispatch::words(x), why.configuration);
  EXPECT_TRUE(why.source == "model" || why.source.find("measured nvidia_h") == 0) << why.source;
  const auto launched = kernels_of(call);
  EXPECT_FALSE(launched.empty());
  EXPECT_EQ(launched, kernels_of([&](cudaStream_t stream) { launch(x, stream); }));
}

template <class T>
void expect_explained(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, std::int64_t pad) {
  SCOPED_TRACE(shape(k, m, n) + (layout == Layout::row_major ? " rows" : " columns"));
  const std::int64_t widest = std::max(m, n) + pad;
  const std::int64_t ld = layout == Layout::row_major ? widest : k + pad;
  const DeviceMemory first(static_cast<std::size_t>(widest * (k + pad)) * sizeof(T));
  const DeviceMemory second(static_cast<std::size_t>(widest * (k + pad)) * sizeof(T));
  const DeviceMemory small(static_cast<std::size_t>(m * n + 2) * sizeof(T));
  const DeviceMemory workspace(std::max(cuda_tsmttsm_workspace<T>(k, m, n), cuda_tsmm_workspace<T>(k, m, n)));
  const Matrix<T> a{first.as<T>(), k, m, ld, layout};
  const Matrix<T> b{second.as<T>(), k, n, ld, layout};
  const Matrix<T> c{small.as<T>(), m, n, n, Layout::row_major};
  const T* const place = small.as<T>() + m * n;
  for (const SinglePrecision how : {SinglePrecision::split, SinglePrecision::plain}) {
    const auto on = [&](cudaStream_t stream) { return CudaExecution{stream, workspace.bytes(), how}; };
    const auto tsmttsm_of = [&](auto alpha, auto beta, const cuda::Coefficients<T>& x, const cuda::Coefficients<T>& y) {
      const auto typed = dispatch::checked_tsmttsm<T>({Op::transpose, x, y, a, b, c}, {});
      expect_explained<dispatch::CudaTsmttsm>(
          explain_cuda_tsmttsm<T>(Op::transpose, alpha, a, b, beta, c, on(nullptr)), typed, how,
          [&](cudaStream_t stream) { tsmttsm<T>(Op::transpose, alpha, a, b, beta, c, on(stream)); },
          [&](const auto& configuration, cudaStream_t stream) {
            cuda::launch_tsmttsm(typed, configuration, on(stream));
          });
    };
    const auto expect_tsmm = [&](const CudaExplanation& why, const cuda::TsmmCall<T>& typed, auto&& call) {
      expect_explained<dispatch::CudaTsmm>(why, typed, how, call, [&](const auto& configuration, cudaStream_t stream) {
        cuda::launch_tsmm(typed, configuration, on(stream));
      });
    };
    const auto tsmm_of = [&](auto alpha, auto beta, const cuda::Coefficients<T>& x, const cuda::Coefficients<T>& y) {
      expect_tsmm(explain_cuda_tsmm<T>(alpha, a, c, beta, b, Triangle::general, on(nullptr)),
                  dispatch::checked_tsmm<T>({x, y, a, c, b, Triangle::general}, {}),
                  [&](cudaStream_t stream) { tsmm<T>(alpha, a, c, beta, b, Triangle::general, on(stream)); });
    };
    for (const auto& [alpha, beta] : {std::pair{T(1), T(0)}, {T(1), T(2)}, {T(0), T(1)}}) {
      tsmttsm_of(alpha, beta, {alpha, nullptr}, {beta, nullptr});
      tsmm_of(alpha, beta, {alpha, nullptr}, {beta, nullptr});
    }
    tsmttsm_of(place, place + 1, {T(1), place}, {T(1), place + 1});
    tsmm_of(place, place + 1, {T(1), place}, {T(1), place + 1});
    if (n > m) continue;
    expect_tsmm(explain_cuda_tsmm_inplace<T>(a, c, Triangle::upper, on(nullptr)),
                dispatch::checked_tsmm_inplace<T>(a, c, Triangle::upper, 0, {}),
                [&](cudaStream_t stream) { tsmm_inplace<T>(a, c, Triangle::upper, on(stream)); });
  }
}

TEST_F(CudaCalls, RunOnTheKernelsThatExplanationsName) {
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    for (const std::int64_t pad : {0, 3}) {
      for (const auto& [m, n] : {std::pair{1, 1}, {4, 4}, {17, 17}, {33, 33}, {64, 64}, {96, 8}, {150, 150}}) {
        for (const std::int64_t k : {100, 20000}) {
          expect_explained<float>(k, m, n, layout, pad);
          expect_explained<double>(k, m, n, layout, pad);
          expect_explained<std::complex<float>>(k, m, n, layout, pad);
          expect_explained<std::complex<double>>(k, m, n, layout, pad);
        }
      }
    }
  }
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

/// A product of K rows in a workspace of just what is asked for, between guards.
template <class T>
void expect_inside_workspace(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, bool same) {
  SCOPED_TRACE(shape(k, m, n) + (layout == Layout::row_major ? " row-major" : " column-major") +
               (same ? ", B is A" : ""));
  const auto ld = [&](std::int64_t columns) { return layout == Layout::row_major ? columns : k; };
  const DeviceMemory a(static_cast<std::size_t>(k * m) * sizeof(T), 0),
      b(static_cast<std::size_t>(k * n) * sizeof(T), 0);
  const DeviceMemory c(static_cast<std::size_t>(m * n) * sizeof(T), 0xff);
  const Matrix<const T> left{a.as<T>(), k, m, ld(m), layout}, right{b.as<T>(), k, n, ld(n), layout};
  constexpr std::size_t guard = 1024;
  const std::size_t bytes = cuda_tsmttsm_workspace<T>(k, m, n);
  const DeviceMemory memory(bytes + 2 * guard, 0x5a);
  tsmttsm(Op::transpose, T(1), left, same ? left : right, T(0), {c.as<T>(), m, n, n, Layout::row_major},
          CudaExecution{nullptr, memory.bytes().subspan(guard, bytes)});
  std::vector<unsigned char> after(bytes + 2 * guard);
  expect_success(cudaMemcpy(after.data(), memory.as<void>(), after.size(), cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < guard; ++i) ASSERT_TRUE(after[i] == 0x5a && after[guard + bytes + i] == 0x5a);
  std::vector<T> result(static_cast<std::size_t>(m * n), T(1));
  expect_success(cudaMemcpy(result.data(), c.as<T>(), result.size() * sizeof(T), cudaMemcpyDeviceToHost));
  for (const T entry : result) ASSERT_EQ(entry, T(0)) << "of zeros";
}

// Of wide results blocks take sections, so that fewer partial sums lie there than there are multiprocessors.
TEST_F(CudaCalls, WorkspaceOfWideResultsIsNotOverrun) {
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    for (const auto& [m, n] :
         {std::pair{144, 128}, {136, 136}, {300, 20}, {258, 254}, {300, 300}, {512, 512}, {700, 700}}) {
      for (const std::int64_t k : {40, 3000, 60000}) {
        for (const bool same : {false, true}) {
          if (same && m != n) continue;
          expect_inside_workspace<float>(k, m, n, layout, same);
          expect_inside_workspace<double>(k, m, n, layout, same);
          expect_inside_workspace<std::complex<float>>(k, m / 2, n / 2, layout, same);
          expect_inside_workspace<std::complex<double>>(k, m / 2, n / 2, layout, same);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels
