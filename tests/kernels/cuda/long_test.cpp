#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

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

class CudaLong : public OnDevice {};

bool fits(std::size_t bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  expect_success(cudaMemGetInfo(&free, &total));
  return bytes <= free;
}

constexpr std::size_t needed = static_cast<std::size_t>(k + 64) * sizeof(float);

TEST_F(CudaLong, TsmttsmAddsAllRows) {
  if (!fits(3 * needed)) GTEST_SKIP() << "too little memory";
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
  if (!fits(3 * needed)) GTEST_SKIP() << "too little memory";
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

/// Some rows: the first, the last, and those where 32 bits end.
constexpr std::int64_t window_rows = 64;
constexpr std::int64_t windows[] = {0, (std::int64_t{1} << 29) - 32, (std::int64_t{1} << 30) - 32,
                                    (std::int64_t{1} << 31) - 32, k - window_rows};

/// A number made of these bytes alone.
template <class T>
T number_of_bytes() {
  T number;
  std::memset(&number, byte, sizeof number);
  return number;
}

/// A matrix of k rows in device memory, all the same number but in those windows; so are the gaps between its lines.
template <class T>
class LongMatrix {
 public:
  LongMatrix(std::int64_t columns, Layout layout, std::int64_t pad) : memory_(bytes(columns, layout, pad), byte) {
    const std::int64_t minor = layout == Layout::row_major ? columns : k;
    view_ = {memory_.as<T>(), k, columns, minor + pad, layout};
    for (std::size_t i = 0; i < std::size(windows); ++i) {
      windows_.emplace_back(window_rows, columns, layout, layout == Layout::row_major ? pad : 0, 0,
                            number_of_bytes<T>());
    }
  }
  static std::size_t bytes(std::int64_t columns, Layout layout, std::int64_t pad) {
    const bool rows = layout == Layout::row_major;
    return sizeof(T) * static_cast<std::size_t>(rows ? k * (columns + pad) : columns * (k + pad));
  }

  const Matrix<T>& view() const { return view_; }
  std::vector<GuardedMatrix<T>>& windows_of_host() { return windows_; }

  /// Numbers that tell rows and columns from one another, and count beside all the others.
  template <class Random>
  void fill(Random& random) {
    std::uniform_real_distribution<double> uniform(0.5, 1);
    for (GuardedMatrix<T>& window : windows_) {
      for (std::int64_t i = 0; i < window_rows; ++i) {
        for (std::int64_t j = 0; j < view_.columns; ++j) {
          window(i, j) = static_cast<T>((sizeof(T) == 4 ? 1e4 : 1) * uniform(random));
        }
      }
    }
    copy(true);
  }
  void download() { copy(false); }

  /// Whether all gaps within the windows, or behind columns, still hold the same number.
  bool guards_hold() const {
    for (const GuardedMatrix<T>& window : windows_) {
      if (!window.guards_hold()) return false;
    }
    if (view_.layout == Layout::row_major) return true;
    std::vector<T> gap(static_cast<std::size_t>(view_.ld - k));
    for (std::int64_t j = 0; j < view_.columns; ++j) {
      expect_success(
          cudaMemcpy(gap.data(), view_.data + j * view_.ld + k, gap.size() * sizeof(T), cudaMemcpyDeviceToHost));
      for (const T number : gap) {
        if (number != number_of_bytes<T>()) return false;
      }
    }
    return true;
  }

 private:
  void copy(bool to_device) {
    const bool rows = view_.layout == Layout::row_major;
    const std::size_t pitch = static_cast<std::size_t>(view_.ld) * sizeof(T);
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const Matrix<T>& host = windows_[i].view();
      T* const device = view_.data + windows[i] * (rows ? view_.ld : 1);
      const std::size_t host_pitch = static_cast<std::size_t>(host.ld) * sizeof(T);
      const auto lines = static_cast<std::size_t>(rows ? window_rows : view_.columns);
      if (to_device) {
        expect_success(cudaMemcpy2D(device, pitch, host.data, host_pitch, host_pitch, lines, cudaMemcpyHostToDevice));
      } else {
        expect_success(cudaMemcpy2D(host.data, host_pitch, device, pitch, host_pitch, lines, cudaMemcpyDeviceToHost));
      }
    }
  }

  DeviceMemory memory_;
  Matrix<T> view_;
  std::vector<GuardedMatrix<T>> windows_;
};

template <class T>
void expect_long_tsmm(std::int64_t m, std::int64_t n, Layout layout, std::int64_t pad, T beta, bool in_place) {
  SCOPED_TRACE("tsmm " + shape(k, m, n) + name(Placement{layout, Layout::row_major, pad, 0}));
  const std::size_t bytes_b = in_place ? 0 : LongMatrix<T>::bytes(n, layout, 2 * pad);
  if (!fits(LongMatrix<T>::bytes(m, layout, pad) + bytes_b + (std::size_t{1} << 30))) return;
  std::mt19937 random = random_of(7, m, n);
  LongMatrix<T> a(m, layout, pad);
  a.fill(random);
  GuardedMatrix<T> c(m, n, Layout::row_major, 0, 0, mark<T>());
  c.fill(random);
  const OnDeviceMatrix<T> device_c(c);
  const std::vector<GuardedMatrix<T>> a_before = a.windows_of_host();
  std::optional<LongMatrix<T>> other;
  if (!in_place) other.emplace(n, layout, 2 * pad).fill(random);
  LongMatrix<T>& b = in_place ? a : *other;
  const std::vector<GuardedMatrix<T>> b_before = b.windows_of_host();
  Matrix<T> first = b.view();
  first.columns = n;
  run_tsmm<T>(Way::plain, T(1), a.view(), device_c.view(), beta, first, Triangle::general, in_place);
  b.download();
  EXPECT_TRUE(b.guards_hold());
  for (std::size_t i = 0; i < std::size(windows); ++i) {
    SCOPED_TRACE("rows from " + std::to_string(windows[i]));
    GuardedMatrix<wide_of<T>> expected = widened(b_before[i], Layout::row_major);
    reference::tsmm<wide_of<T>>(1, widened(a_before[i], Layout::row_major).view(), widened(c, Layout::row_major).view(),
                                beta, {expected.view().data, window_rows, n, expected.view().ld, Layout::row_major});
    expect_close(b.windows_of_host()[i], expected, a_before[i], c, b_before[i], T(1), beta, bound_of_tsmm<T>(m, n));
    for (std::int64_t row = 0; row < window_rows; ++row) {
      for (std::int64_t j = n; j < b.view().columns; ++j) {
        ASSERT_TRUE(same_bits(b.windows_of_host()[i](row, j), b_before[i](row, j))) << "a column to keep";
      }
    }
  }
}

TEST_F(CudaLong, TsmmOfColumns) {
  expect_long_tsmm<float>(2, 2, Layout::column_major, 0, 0, false);
  expect_long_tsmm<float>(2, 3, Layout::column_major, 3, 0.5F, false);
  expect_long_tsmm<double>(2, 2, Layout::column_major, 1, 0, false);
  expect_long_tsmm<double>(3, 2, Layout::column_major, 0, -2, false);
}

TEST_F(CudaLong, TsmmOfRows) {
  expect_long_tsmm<float>(3, 2, Layout::row_major, 2, 0.5F, false);
  expect_long_tsmm<float>(3, 3, Layout::row_major, 0, 0, false);
  expect_long_tsmm<double>(2, 2, Layout::row_major, 1, -2, false);
  expect_long_tsmm<double>(3, 3, Layout::row_major, 0, 0, false);
}

TEST_F(CudaLong, TsmmInPlace) {
  for (const Layout layout : layouts) {
    expect_long_tsmm<float>(3, 3, layout, 0, 0, true);
    expect_long_tsmm<float>(4, 3, layout, 1, 0, true);
    expect_long_tsmm<double>(4, 4, layout, 0, 0, true);
    expect_long_tsmm<double>(3, 2, layout, 1, 0, true);
  }
}

template <class T>
void expect_long_tsmttsm(std::int64_t m, std::int64_t n, Layout layout, std::int64_t pad, T beta) {
  SCOPED_TRACE("tsmttsm " + shape(k, m, n) + name(Placement{layout, Layout::row_major, pad, 0}));
  if (!fits(LongMatrix<T>::bytes(m, layout, pad) + LongMatrix<T>::bytes(n, layout, 0) + (std::size_t{1} << 30))) return;
  std::mt19937 random = random_of(7, m, n);
  LongMatrix<T> a(m, layout, pad);
  LongMatrix<T> b(n, layout, 0);
  a.fill(random);
  b.fill(random);
  GuardedMatrix<T> c(m, n, Layout::row_major, 1, 0, mark<T>());
  c.fill(random);
  const T alpha = T(1) / 65536;
  const GuardedMatrix<T> before = c;
  OnDeviceMatrix<T> device_c(c);
  run_tsmttsm<T>(Way::plain, Op::transpose, alpha, a.view(), b.view(), beta, device_c.view());
  device_c.download();
  EXPECT_TRUE(c.guards_hold());
  const double square = static_cast<double>(number_of_bytes<T>()) * number_of_bytes<T>();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = static_cast<double>(k - window_rows * static_cast<std::int64_t>(std::size(windows))) * square;
      for (std::size_t w = 0; w < std::size(windows); ++w) {
        for (std::int64_t row = 0; row < window_rows; ++row) {
          sum += static_cast<double>(a.windows_of_host()[w](row, i)) * b.windows_of_host()[w](row, j);
        }
      }
      const double expected = alpha * sum + static_cast<double>(beta) * before(i, j);
      EXPECT_NEAR(c(i, j), expected, device_gamma<T>(k + 3) * alpha * sum + error_of_old(beta, before(i, j)))
          << "entry " << i << ", " << j;
    }
  }
}

TEST_F(CudaLong, TsmttsmOfViews) {
  for (const Layout layout : layouts) {
    expect_long_tsmttsm<float>(3, 2, layout, 1, 0.5F);
    expect_long_tsmttsm<double>(2, 2, layout, 1, 0);
    expect_long_tsmttsm<double>(2, 3, layout, 0, -2);
  }
}

/// B's rows lie further apart than 32 bits count: every configuration that a call or a table may name writes them where
/// they are.
template <class T>
void expect_rows_far_apart(std::int64_t rows, std::int64_t m, std::int64_t n, std::int64_t ld, T beta) {
  SCOPED_TRACE("tsmm " + shape(rows, m, n) + " with rows " + std::to_string(ld) + " apart");
  const std::size_t bytes = static_cast<std::size_t>((rows - 1) * ld + n) * sizeof(T);
  if (!fits(bytes + (std::size_t{1} << 28))) GTEST_SKIP() << "too little memory";
  std::mt19937 random = random_of(rows, m, n);
  GuardedMatrix<T> a(rows, m, Layout::row_major, 0, 0, mark<T>());
  GuardedMatrix<T> c(m, n, Layout::row_major, 0, 0, mark<T>());
  GuardedMatrix<T> before(rows, n, Layout::row_major, 0, 0, mark<T>());
  a.fill(random);
  c.fill(random);
  before.fill(random);
  const OnDeviceMatrix<T> device_a(a);
  const OnDeviceMatrix<T> device_c(c);
  const DeviceMemory memory(bytes, byte);
  const Matrix<T> b{memory.as<T>(), rows, n, ld, Layout::row_major};
  const auto copy = [&](GuardedMatrix<T>& host, cudaMemcpyKind kind) {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const here = &host(row, 0);
      T* const there = b.data + row * ld;
      const bool up = kind == cudaMemcpyHostToDevice;
      expect_success(cudaMemcpy(up ? there : here, up ? here : there, static_cast<std::size_t>(n) * sizeof(T), kind));
    }
  };
  GuardedMatrix<wide_of<T>> expected = widened(before, Layout::row_major);
  reference::tsmm<wide_of<T>>(1, widened(a, Layout::row_major).view(), widened(c, Layout::row_major).view(), beta,
                              expected.view());
  const auto problem = tsmm_problem<T>(device_a.view(), b, T(1), beta);
  for (const auto& x : dispatch::candidates(few_blocks(), problem, dispatch::Search::all)) {
    if (left_out()) continue;
    SCOPED_TRACE(dispatch::name_of(x->kernel) + ' ' + dispatch::words(x));
    copy(before, cudaMemcpyHostToDevice);
    const DeviceMemory workspace(x->workspace_bytes);
    cuda::launch_tsmm<T>({{T(1), nullptr}, {beta, nullptr}, device_a.view(), device_c.view(), b, Triangle::general}, x,
                         {nullptr, workspace.bytes()});
    expect_success(cudaDeviceSynchronize());
    GuardedMatrix<T> after = before;
    copy(after, cudaMemcpyDeviceToHost);
    expect_close(after, expected, a, c, before, T(1), beta, bound_of<T>(x, m));
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(CudaLong, TsmmOfRowsFarApart) {
  // Warps that share out A's columns take 8 rows of B at a time, whole warpgroups 64.
  for (const double beta : {0.0, 0.5})
    expect_rows_far_apart<double>(8, 256, 6, (std::int64_t{1} << 28) + (1 << 26), beta);
  for (const float beta : {0.0F, 0.5F}) {
    expect_rows_far_apart<float>(3, 64, 32, (std::int64_t{1} << 31) + 32, beta);
    expect_rows_far_apart<float>(3, 63, 31, (std::int64_t{1} << 31) + 33, beta);
  }
}

}  // namespace
}  // namespace blockvec::kernels
