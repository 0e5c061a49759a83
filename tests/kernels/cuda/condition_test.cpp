#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/kernels/cuda/products.hpp"
#include "tests/kernels/cuda/streams.hpp"

/// Products with a condition (CudaExecution): zero leaves all memory as it is, another number gives the bits of a
/// product without one, and a product without one works after both.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaCondition : public OnDevice {};
TYPED_TEST_SUITE(CudaCondition, Scalars);

/// A condition in device memory.
class Word {
 public:
  const unsigned* get() const { return memory_.as<unsigned>(); }
  void set(unsigned value) const {
    expect_success(cudaMemcpy(memory_.as<unsigned>(), &value, sizeof value, cudaMemcpyHostToDevice));
  }

 private:
  DeviceMemory memory_{sizeof(unsigned), 0};
};

template <class T>
bool same_memory(const std::vector<T>& x, const std::vector<T>& y) {
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Runs launch(execution), which writes to `output`, with and without a condition; with a ticket of the caller's, and
/// with one in the workspace.
template <class T, class Launch>
void expect_conditional(GuardedMatrix<T>& output, OnDeviceMatrix<T>& device, std::size_t workspace_bytes,
                        const Launch& launch) {
  const std::vector<T> before = output.memory();
  const DeviceMemory workspace(workspace_bytes);
  const Word word;
  for (const bool own_ticket : {true, false}) {
    const Ticket ticket;
    const auto result = [&](const unsigned* condition) {
      output.memory() = before;
      device.upload();
      expect_success(cudaMemset(workspace.as<std::byte>(), 0xff, workspace_bytes));  // nothing of an earlier product
      launch(CudaExecution{nullptr, workspace.bytes(), SinglePrecision::split, own_ticket ? ticket.get() : nullptr,
                           condition});
      expect_success(cudaDeviceSynchronize());
      ticket.expect_zero();
      device.download();
      return output.memory();
    };
    const std::vector<T> expected = result(nullptr);
    word.set(0);
    EXPECT_TRUE(same_memory(result(word.get()), before)) << "nothing changes";
    for (const unsigned yes : {1U, 1U << 31}) {
      word.set(yes);
      EXPECT_TRUE(same_memory(result(word.get()), expected)) << "condition " << yes;
    }
    word.set(0);
    result(word.get());
    EXPECT_TRUE(same_memory(result(nullptr), expected)) << "after a product that did not run";
  }
  output.memory() = before;
}

// Both kernels of a tsmttsm: that of the partial sums and that which adds them.
TYPED_TEST(CudaCondition, OfEveryTsmttsm) {
  using T = TypeParam;
  struct Case {
    std::int64_t k, m, n, pad, offset;
    bool same;
  };
  const Case cases[] = {{777, 5, 3, 1, 1, false},      {777, 16, 16, 0, 0, true},   {778, 57, 45, 0, 0, false},
                        {1201, 72, 8, 1, 0, false},    {777, 64, 64, 0, 0, true},   {301, 140, 140, 0, 0, true},
                        {2401, 130, 129, 0, 1, false}, {1500, 193, 24, 1, 0, false}};
  for (const Layout layout : layouts) {
    for (const Case& x : cases) {
      for (const T beta : {T(0), value<T>(0.5, -1)}) {
        const Placement place{layout, Layout::row_major, x.pad, x.offset};
        SCOPED_TRACE("tsmttsm " + shape(x.k, x.m, x.n) + name(place));
        std::mt19937 random = random_of(x.k, x.m, x.n);
        GuardedMatrix<T> a(x.k, x.m, layout, x.pad, x.offset, poison<T>());
        GuardedMatrix<T> b(x.k, x.n, layout, x.pad, x.offset, poison<T>());
        GuardedMatrix<T> c(x.m, x.n, Layout::column_major, 0, 0, mark<T>());
        a.fill(random);
        b.fill(random);
        c.fill(random);
        const OnDeviceMatrix<T> device_a(a), device_b(b);
        OnDeviceMatrix<T> device_c(c);
        const Matrix<const T> view_a = device_a.view();
        const Matrix<const T> view_b = x.same ? view_a : Matrix<const T>(device_b.view());
        for (const auto& configuration :
             candidates(few_blocks(), dispatch::problem_of(view_a, view_b), dispatch::Search::usual)) {
          if (left_out()) continue;
          SCOPED_TRACE(dispatch::name_of(configuration->kernel) + ' ' + dispatch::words(configuration));
          expect_conditional(c, device_c, configuration->workspace_bytes, [&](const CudaExecution& execution) {
            cuda::launch_tsmttsm<T>(
                {Op::conjugate_transpose, {T(1), nullptr}, {beta, nullptr}, view_a, view_b, device_c.view()},
                configuration, execution);
          });
          if (this->HasFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(CudaCondition, OfEveryTsmm) {
  using T = TypeParam;
  struct Case {
    std::int64_t k, m, n, pad, offset;
  };
  const Case cases[] = {{777, 5, 3, 1, 1},    {777, 16, 16, 0, 0},  {777, 37, 27, 1, 1},   {778, 57, 45, 0, 0},
                        {301, 130, 70, 2, 0}, {150, 515, 66, 1, 0}, {5001, 130, 12, 1, 0}, {3200, 515, 16, 2, 0}};
  for (const Layout layout : layouts) {
    for (const Case& x : cases) {
      for (const T beta : {T(0), value<T>(0.5, -1)}) {
        const Placement place{layout, Layout::row_major, x.pad, x.offset};
        SCOPED_TRACE("tsmm " + shape(x.k, x.m, x.n) + name(place));
        std::mt19937 random = random_of(x.k, x.m, x.n);
        GuardedMatrix<T> a(x.k, x.m, layout, x.pad, x.offset, poison<T>());
        GuardedMatrix<T> c(x.m, x.n, Layout::row_major, 0, 0, poison<T>());
        GuardedMatrix<T> b(x.k, x.n, layout, x.pad, x.offset, mark<T>());
        a.fill(random);
        c.fill(random);
        b.fill(random);
        const OnDeviceMatrix<T> device_a(a), device_c(c);
        OnDeviceMatrix<T> device_b(b);
        const Matrix<const T> view_a = device_a.view();
        const auto problem = tsmm_problem(view_a, device_b.view(), T(1), beta);
        for (const auto& configuration : candidates(few_blocks(), problem, dispatch::Search::usual)) {
          if (left_out()) continue;
          SCOPED_TRACE(dispatch::name_of(configuration->kernel) + ' ' + dispatch::words(configuration));
          expect_conditional(b, device_b, configuration->workspace_bytes, [&](const CudaExecution& execution) {
            cuda::launch_tsmm<T>(
                {{T(1), nullptr}, {beta, nullptr}, view_a, device_c.view(), device_b.view(), Triangle::general},
                configuration, execution);
          });
          if (this->HasFailure()) return;
        }
      }
    }
  }
}

// Such as calls choose, for the last columns of V.
TYPED_TEST(CudaCondition, InPlace) {
  using T = TypeParam;
  struct Case {
    std::int64_t k, m, n;
  };
  for (const Layout layout : layouts) {
    for (const Case& x :
         {Case{3001, 1, 1}, Case{3001, 6, 2}, Case{3001, 16, 16}, Case{20001, 64, 8}, Case{3001, 64, 64},
          Case{2049, 130, 30}, Case{1030, 270, 270}, Case{300, 515, 16}, Case{300, 1018, 32}}) {
      for (const std::int64_t pad : {0, 3}) {
        SCOPED_TRACE("tsmm_inplace " + shape(x.k, x.m, x.n) + (layout == Layout::row_major ? "rows" : "columns"));
        std::mt19937 random = random_of(x.k, x.m, x.n);
        GuardedMatrix<T> v(x.k, x.m, layout, pad, 0, mark<T>());
        GuardedMatrix<T> c(x.m, x.n, Layout::column_major, 0, 0, poison<T>());
        v.fill(random);
        c.fill(random);
        OnDeviceMatrix<T> device_v(v);
        const OnDeviceMatrix<T> device_c(c);
        expect_conditional(v, device_v, cuda_tsmm_workspace<T>(x.k, x.m, x.n), [&](const CudaExecution& execution) {
          tsmm_inplace<T>(device_v.view(), device_c.view(), Triangle::general, execution, x.m - x.n);
        });
        if (this->HasFailure()) return;
      }
    }
  }
}

// Results that go through the workspace, and triangles that are copied there.
TYPED_TEST(CudaCondition, InParts) {
  using T = TypeParam;
  constexpr std::int64_t k = 2 * 512 + 77, m = 150, n = 140;
  auto device = few_blocks();
  device.bulk_copies = false;
  for (const Layout layout : layouts) {
    std::mt19937 random(3);
    GuardedMatrix<T> v(k, m, layout, 1, 1, mark<T>());
    GuardedMatrix<T> c(m, n, Layout::row_major, 0, 0, poison<T>());
    v.fill(random);
    c.fill(random);
    OnDeviceMatrix<T> device_v(v);
    const OnDeviceMatrix<T> device_c(c);
    for (const Triangle triangle : {Triangle::general, Triangle::upper}) {
      const Matrix<T> written = dispatch::columns_of(device_v.view(), m - n, n);
      auto x =
          dispatch::choose(device, tsmm_problem(Matrix<const T>(device_v.view()), written, T(1), T(0))).configuration;
      ASSERT_GT(x.part_rows, 0) << "a kernel multiplies in place";
      x.part_rows = 512;
      expect_conditional(v, device_v, x->workspace_bytes, [&](const CudaExecution& execution) {
        cuda::launch_tsmm<T>({{T(1), nullptr}, {T(0), nullptr}, device_v.view(), device_c.view(), written, triangle}, x,
                             execution);
      });
      if (this->HasFailure()) return;
    }
  }
}

// The word is written by what comes before the products on the stream.
TYPED_TEST(CudaCondition, IsReadWhenTheProductRuns) {
  using T = TypeParam;
  constexpr std::int64_t k = 5001, m = 24, n = 8;
  for (const Layout layout : layouts) {
    std::mt19937 random(5);
    GuardedMatrix<T> v(k, m, layout, 0, 0, mark<T>());
    GuardedMatrix<T> c(m, n, Layout::column_major, 0, 0, poison<T>());
    v.fill(random);
    c.fill(random);
    const std::vector<T> before = v.memory();
    OnDeviceMatrix<T> device_v(v);
    const OnDeviceMatrix<T> device_c(c);
    GuardedMatrix<T> p(m, n, Layout::column_major, 0, 0, mark<T>());
    p.fill_with(mark<T>());
    const std::vector<T> untouched = p.memory();
    OnDeviceMatrix<T> device_p(p);
    const DeviceMemory workspace(cuda_tsmm_workspace<T>(k, m, n)), other(cuda_tsmttsm_workspace<T>(k, m, n));
    const Word given;
    const DeviceMemory word(sizeof(unsigned));
    const Stream stream;
    const Captured graph(stream, [&](cudaStream_t on) {
      expect_success(cudaMemcpyAsync(word.as<unsigned>(), given.get(), sizeof(unsigned), cudaMemcpyDeviceToDevice, on));
      tsmm_inplace<T>(device_v.view(), device_c.view(), Triangle::general,
                      {on, workspace.bytes(), SinglePrecision::split, nullptr, word.as<unsigned>()}, m - n);
      const Matrix<const T> whole = device_v.view();
      tsmttsm<T>(Op::conjugate_transpose, T(1), whole, dispatch::columns_of(whole, m - n, n), T(0), device_p.view(),
                 {on, other.bytes(), SinglePrecision::split, nullptr, word.as<unsigned>()});
    });
    for (const bool runs : {false, true, false}) {
      v.memory() = before;
      p.memory() = untouched;
      device_v.upload();
      device_p.upload();
      given.set(runs ? 1 : 0);
      graph.replay();
      device_v.download();
      device_p.download();
      EXPECT_EQ(same_memory(v.memory(), before), !runs);
      EXPECT_EQ(same_memory(p.memory(), untouched), !runs);
    }
    v.memory() = before;
  }
}

}  // namespace
}  // namespace blockvec::kernels
