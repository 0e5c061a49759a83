#include "tests/kernels/cuda/streams.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/kernels/cuda/products.hpp"

/// Calls in graphs and beside other work give the same bits.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaStreams : public OnDevice {};
TYPED_TEST_SUITE(CudaStreams, Scalars);

/// K x m, K x n and small operands of both products, random, and their copies on the device.
template <class T>
struct Operands {
  Operands(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place)
      : a(placed(k, m, place, mark<T>())),
        b(placed(k, n, place, mark<T>())),
        p(small_placed(m, n, place, mark<T>())),
        c(small_placed(m, n, place, mark<T>())),
        square(small_placed(n, n, place, mark<T>())) {
    std::mt19937 random = random_of(k, m, n);
    for (GuardedMatrix<T>* const x : {&a, &b, &p, &c, &square}) x->fill(random);
    for (OnDeviceMatrix<T>* const x : {&device_a, &device_b, &device_p, &device_c, &device_square}) x->upload();
  }
  bool same_bits_as(Operands& other) {
    for (Operands* const x : {this, &other}) {
      x->device_b.download();
      x->device_p.download();
    }
    return b.same_bits_as(other.b) && p.same_bits_as(other.p) && b.guards_hold() && p.guards_hold();
  }

  GuardedMatrix<T> a, b, p, c, square;
  OnDeviceMatrix<T> device_a{a}, device_b{b}, device_p{p}, device_c{c}, device_square{square};
};

struct Extents {
  std::int64_t m, n, pad;
};
const Extents extents[] = {{4, 4, 0}, {17, 9, 1}, {33, 33, 0}, {64, 8, 24}, {40, 56, 3}, {64, 64, 0}};

// alpha and beta in device memory are read whenever the graph runs; what it computes is what calls without one do.
TYPED_TEST(CudaStreams, AreCapturedInGraphs) {
  using T = TypeParam;
  const std::int64_t k = 3001;
  const T scalars[][2] = {{value<T>(0.5, 1), value<T>(0.25, -1)}, {T(1), T(0)}, {value<T>(-2, 0.5), T(1)}};
  for (const Layout layout : layouts) {
    for (const Extents& x : extents) {
      if (left_out()) continue;
      SCOPED_TRACE(shape(k, x.m, x.n));
      const Placement place{layout, Layout::column_major, x.pad, x.pad % 2};
      Operands<T> captured(k, x.m, x.n, place);
      Operands<T> called(k, x.m, x.n, place);
      const DeviceMemory coefficients(2 * sizeof(T));
      const T* const alpha = coefficients.as<const T>();
      const DeviceMemory workspace(
          std::max({cuda_tsmttsm_workspace<T>(k, x.m, x.n), cuda_tsmm_workspace<T>(k, x.m, x.n),
                    cuda_tsmm_workspace<T>(k, x.n, x.n)}));
      const auto run = [&](Operands<T>& on, cudaStream_t stream) {
        const CudaExecution execution{stream, workspace.bytes()};
        tsmttsm<T>(Op::conjugate_transpose, alpha, on.device_a.view(), on.device_b.view(), alpha + 1,
                   on.device_p.view(), execution);
        tsmm<T>(alpha, on.device_a.view(), on.device_p.view(), alpha + 1, on.device_b.view(), Triangle::general,
                execution);
        tsmm_inplace<T>(on.device_b.view(), on.device_square.view(), Triangle::upper, execution);
        tsmttsm<T>(Op::transpose, T(1), on.device_a.view(), on.device_b.view(), T(0), on.device_p.view(), execution);
      };
      const Stream stream;
      const Captured graph(stream, [&](cudaStream_t on) { run(captured, on); });
      for (const auto& values : scalars) {
        expect_success(cudaMemcpy(coefficients.as<T>(), values, 2 * sizeof(T), cudaMemcpyHostToDevice));
        expect_success(cudaDeviceSynchronize());
        graph.replay();
        run(called, stream);
        stream.wait();
        EXPECT_TRUE(captured.same_bits_as(called));
      }
    }
  }
}

/// Products of another shape and fills of memory on a stream of their own, which take longer than products of 60001
/// rows.
class Noise {
 public:
  Noise() {
    a_.fill_with(1);
    device_a_.upload();
  }
  void make(int calls) const {
    const CudaExecution execution{stream_, workspace_.bytes()};
    for (int i = 0; i < calls; ++i) {
      tsmttsm<float>(Op::transpose, 1, device_a_.view(), device_a_.view(), 0, device_c_.view(), execution);
      for (int j = 0; j < 6; ++j) {
        expect_success(cudaMemsetAsync(memory_.as<void>(), i, memory_.bytes().size() >> j, stream_));
      }
    }
  }
  void wait() const { stream_.wait(); }

 private:
  static constexpr std::int64_t rows_ = 40001, width_ = 13;
  GuardedMatrix<float> a_{rows_, width_, Layout::row_major, 3, 0, 0};
  GuardedMatrix<float> c_{width_, width_, Layout::row_major, 0, 0, 0};
  OnDeviceMatrix<float> device_a_{a_}, device_c_{c_};
  DeviceMemory workspace_{cuda_tsmttsm_workspace<float>(rows_, width_, width_)};
  DeviceMemory memory_{std::size_t{1} << 26};
  Stream stream_;
};

// Of two operands, of views and added to what was there, alone and beside other work.
TYPED_TEST(CudaStreams, GiveTheSameBitsEveryTime) {
  using T = TypeParam;
  const std::int64_t k = 60001;
  const Noise noise;
  for (const Layout layout : layouts) {
    for (const Extents& x : extents) {
      if (left_out()) continue;
      SCOPED_TRACE(shape(k, x.m, x.n));
      const Placement place{layout, Layout::row_major, x.pad, x.pad % 2};
      Operands<T> once(k, x.m, x.n, place);
      Operands<T> again(k, x.m, x.n, place);
      const GuardedMatrix<T> b = again.b;
      const GuardedMatrix<T> p = again.p;
      const DeviceMemory workspace(
          std::max(cuda_tsmttsm_workspace<T>(k, x.m, x.n), cuda_tsmm_workspace<T>(k, x.m, x.n)));
      const Stream stream;
      const auto run = [&](Operands<T>& on) {
        const CudaExecution execution{stream, workspace.bytes()};
        tsmttsm<T>(Op::conjugate_transpose, value<T>(0.5, 1), on.device_a.view(), on.device_b.view(),
                   value<T>(-1, 0.25), on.device_p.view(), execution);
        tsmm<T>(value<T>(0.5, 1), on.device_a.view(), on.device_c.view(), value<T>(-1, 0.25), on.device_b.view(),
                Triangle::general, execution);
        stream.wait();
      };
      run(once);
      for (int repetition = 0; repetition < 6; ++repetition) {
        again.b.memory() = b.memory();
        again.p.memory() = p.memory();
        again.device_b.upload();
        again.device_p.upload();
        expect_success(cudaDeviceSynchronize());
        noise.make(repetition == 0 ? 0 : 4);
        run(again);
        noise.wait();
        ASSERT_TRUE(again.same_bits_as(once));
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels
