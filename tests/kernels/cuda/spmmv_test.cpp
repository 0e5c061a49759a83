#include <gtest/gtest.h>

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <complex>
#include <cstdint>
#include <optional>
#include <random>

#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/streams.hpp"
#include "tests/kernels/support/sparse.hpp"

/// Sparse products on the device against the oracle.
namespace blockvec::kernels {
namespace {

using namespace test;

/// A matrix in device memory.
template <class T>
class OnDeviceSparse {
 public:
  template <class Offset>
  explicit OnDeviceSparse(const SparseMatrix<T, Offset>& a) : arrays_(sell_arrays(a.view())), view_(arrays_.view()) {
    view_.chunk_begin = copy(arrays_.chunk_begin, chunk_begin_);
    view_.row = arrays_.row.empty() ? nullptr : copy(arrays_.row, row_);
    view_.column = copy(arrays_.column, column_);
    view_.value = copy(arrays_.value, value_);
    view_.long_row = copy(arrays_.long_row, long_row_);
    view_.long_begin = copy(arrays_.long_begin, long_begin_);
  }
  const SellMatrix<T>& view() const { return view_; }

 private:
  template <class N>
  static const N* copy(const std::vector<N>& from, std::optional<DeviceMemory>& to) {
    to.emplace(from.size() * sizeof(N));
    expect_success(cudaMemcpy(to->as<N>(), from.data(), from.size() * sizeof(N), cudaMemcpyHostToDevice));
    return to->as<const N>();
  }

  SellArrays<T> arrays_;
  std::optional<DeviceMemory> chunk_begin_, row_, column_, value_, long_row_, long_begin_;
  SellMatrix<T> view_;
};

Layout other(Layout layout) { return layout == Layout::row_major ? Layout::column_major : Layout::row_major; }

struct Place {
  Layout layout = Layout::row_major;
  std::int64_t pad = 0;
  std::int64_t offset = 0;
  int shift = 0;  ///< real numbers
  bool turned = false;  ///< X has the other layout
};

/// X, Z and Y, random, with NaN around them, on the host and on the device.
template <class T>
struct Blocks {
  Blocks(std::int64_t rows, std::int64_t columns, std::int64_t width, const Place& p)
      : x(columns, width, p.turned ? other(p.layout) : p.layout, p.pad, p.offset, poison<T>(), p.shift),
        z(rows, width, p.layout, p.pad, p.offset, poison<T>(), p.shift),
        y(rows, width, p.layout, p.pad, p.offset, poison<T>(), p.shift) {
    std::mt19937 random(static_cast<unsigned>(rows + 31 * width));
    for (GuardedMatrix<T>* const block : {&x, &z, &y}) block->fill(random);
    for (OnDeviceMatrix<T>* const block : {&device_x, &device_z, &device_y}) block->upload();
  }

  GuardedMatrix<T> x, z, y;
  OnDeviceMatrix<T> device_x{x}, device_z{z}, device_y{y};
};

template <class T>
struct Factors {
  T alpha, shift, beta;
};
template <class T>
std::vector<Factors<T>> factors() {
  return {{T(1), T(0), T(0)},
          {value<T>(0.5, -1), value<T>(0.75, 2), value<T>(-1.5, 0.25)},
          {T(2), T(3), T(0)},
          {T(0), T(1), T(-2)}};
}

template <class T>
wide_of<T> widen(const T& x) {
  if constexpr (is_complex<T>) {
    return {x.real(), x.imag()};
  } else {
    return x;
  }
}

template <class T>
std::vector<wide_of<T>> widen(const GuardedMatrix<T>& a) {
  std::vector<wide_of<T>> to;
  for (std::int64_t i = 0; i < a.view().rows; ++i) {
    for (std::int64_t j = 0; j < a.view().columns; ++j) to.push_back(widen(a(i, j)));
  }
  return to;
}

/// Compares what stands in `y` with the oracle's product in double precision; `z` holds the values before the product.
template <class T, class Offset>
void expect_product(const SparseMatrix<T, Offset>& a, const Factors<T>& f, const GuardedMatrix<T>& x,
                    const std::vector<wide_of<T>>& z, const GuardedMatrix<T>& y) {
  using W = wide_of<T>;
  const std::int64_t width = y.view().columns;
  const std::vector<W> wide_x = widen(x);
  std::vector<double> size_x, size_z;
  for (const W& entry : wide_x) size_x.push_back(std::abs(entry));
  for (const W& entry : z) size_z.push_back(std::abs(entry));
  std::vector<W> expected(z.size());
  std::vector<double> sizes(z.size());
  const auto block = [&](auto& of, std::int64_t rows) {
    return Matrix<std::remove_reference_t<decltype(of[0])>>{of.data(), rows, width, width};
  };
  const auto wide_a = a.map([](const T& entry) { return widen(entry); });
  const auto size_a = a.map([](const T& entry) { return static_cast<double>(std::abs(entry)); });
  reference::spmmv<W>(widen(f.alpha), wide_a.view(), widen(f.shift), block(wide_x, a.columns), widen(f.beta),
                      block(z, a.rows()), block(expected, a.rows()));
  // Minus a negative shift: magnitudes add up.
  reference::spmmv<double>(std::abs(f.alpha), size_a.view(), -std::abs(f.shift), block(size_x, a.columns),
                           std::abs(f.beta), block(size_z, a.rows()), block(sizes, a.rows()));
  const double bound = gamma<T>(a.longest() + 4) + gamma<W>(a.longest() + 4);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const auto at = static_cast<std::size_t>(i * width + j);
      ASSERT_LE(std::abs(widen(y(i, j)) - expected[at]), bound * sizes[at]) << "entry " << i << ", " << j;
    }
  }
  EXPECT_TRUE(y.guards_hold());
}

template <class T>
class CudaSpmmv : public OnDevice {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CudaSpmmv, Scalars);

const Place places[] = {{},
                        {Layout::row_major, 1, 1},
                        {Layout::row_major, 4, 4},
                        {Layout::row_major, 3, 0},
                        {Layout::column_major, 0, 0},
                        {Layout::column_major, 3, 1}};

TYPED_TEST(CudaSpmmv, AgreesWithTheReference) {
  using T = TypeParam;
  for (const Pattern pattern : patterns) {
    const auto a = random_sparse<T>(203, 331, pattern);
    const OnDeviceSparse<T> device_a(a);
    for (std::int64_t width = 1; width <= 64; width += width < 20 ? 1 : 11) {
      for (const Place& place : places) {
        for (const Factors<T>& f : factors<T>()) {
          SCOPED_TRACE(testing::Message()
                       << "width " << width << " pattern " << static_cast<int>(pattern) << " ld + " << place.pad);
          Blocks<T> b(203, 331, width, place);
          const auto z = widen(b.z);
          spmmv<T>(f.alpha, device_a.view(), f.shift, b.device_x.view(), f.beta, b.device_z.view(), b.device_y.view(),
                   nullptr);
          b.device_y.download();
          expect_product(a, f, b.x, z, b.y);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// More than one window of sorted rows, and more than one block of columns.
TYPED_TEST(CudaSpmmv, AgreesForLongAndWideBlocks) {
  using T = TypeParam;
  for (const Pattern pattern : {Pattern::even, Pattern::ragged, Pattern::with_long_rows}) {
    const auto a = random_sparse<T, std::int32_t>(3001, 3001, pattern);
    const OnDeviceSparse<T> device_a(a);
    for (const std::int64_t width : {1, 8, 130}) {
      const Factors<T> f = factors<T>()[1];
      Blocks<T> b(3001, 3001, width, {});
      const auto z = widen(b.z);
      spmmv<T>(f.alpha, device_a.view(), f.shift, b.device_x.view(), f.beta, b.device_z.view(), b.device_y.view(),
               nullptr);
      b.device_y.download();
      expect_product(a, f, b.x, z, b.y);
    }
  }
}

// Results have the same bits wherever the columns of a row's diagonal begin.
TYPED_TEST(CudaSpmmv, TheShiftBelongsToTheDiagonal) {
  using T = TypeParam;
  constexpr std::int64_t rows = 203, columns = 231, before = 60;
  for (const Pattern pattern : patterns) {
    const auto a = random_sparse<T>(rows, columns, pattern);
    auto moved = a;
    moved.columns += before;
    for (std::int32_t& column : moved.column) column += static_cast<std::int32_t>(before);
    const OnDeviceSparse<T> device_a(a), device_moved(moved);
    SellMatrix<T> view = device_moved.view();
    view.diagonal = before;
    for (const std::int64_t width : {1, 3, 8, 40}) {
      for (const Place& place : places) {
        const Factors<T> f = factors<T>()[1];
        Blocks<T> b(rows, columns + before, width, place), moved_b(rows, columns + before, width, place);
        auto x = b.device_x.view();  // without the first rows
        x.data += before * (x.layout == Layout::row_major ? x.ld : 1);
        x.rows = columns;
        spmmv<T>(f.alpha, device_a.view(), f.shift, x, f.beta, b.device_z.view(), b.device_y.view(), nullptr);
        spmmv<T>(f.alpha, view, f.shift, moved_b.device_x.view(), f.beta, moved_b.device_z.view(),
                 moved_b.device_y.view(), nullptr);
        b.device_y.download();
        moved_b.device_y.download();
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < width; ++j) ASSERT_EQ(b.y(i, j), moved_b.y(i, j)) << i << ", " << j;
        }
      }
    }
  }
}

// Complex numbers need to stand at multiples of a real number of 8 bytes only.
TEST_F(OnDevice, SpmmvTakesComplexNumbersAtOddMultiplesOf8Bytes) {
  using T = std::complex<double>;
  const auto a = random_sparse<T>(203, 331, Pattern::ragged);
  const OnDeviceSparse<T> device_a(a);
  for (const std::int64_t width : {1, 3, 8}) {
    for (const Layout layout : layouts) {
      const Factors<T> f = factors<T>()[1];
      Blocks<T> b(203, 331, width, {layout, 1, 1, 1});
      const auto z = widen(b.z);
      spmmv<T>(f.alpha, device_a.view(), f.shift, b.device_x.view(), f.beta, b.device_z.view(), b.device_y.view(),
               nullptr);
      b.device_y.download();
      expect_product(a, f, b.x, z, b.y);
    }
  }
}

TYPED_TEST(CudaSpmmv, TakesXInTheOtherLayout) {
  using T = TypeParam;
  const auto a = random_sparse<T>(203, 331, Pattern::with_long_rows);
  const OnDeviceSparse<T> device_a(a);
  for (const std::int64_t width : {1, 3, 8}) {
    for (const Layout layout : layouts) {
      const Factors<T> f = factors<T>()[1];
      Blocks<T> b(203, 331, width, {.layout = layout, .pad = 1, .turned = true});
      const auto z = widen(b.z);
      spmmv<T>(f.alpha, device_a.view(), f.shift, b.device_x.view(), f.beta, b.device_z.view(), b.device_y.view(),
               nullptr);
      b.device_y.download();
      expect_product(a, f, b.x, z, b.y);
    }
  }
}

TYPED_TEST(CudaSpmmv, AddsToItsOutput) {
  using T = TypeParam;
  const auto a = random_sparse<T>(203, 331, Pattern::with_long_rows);
  const OnDeviceSparse<T> device_a(a);
  for (const Layout layout : layouts) {
    const Factors<T> f = factors<T>()[1];
    Blocks<T> b(203, 331, 8, {layout});
    const auto before = widen(b.y);
    spmmv<T>(f.alpha, device_a.view(), f.shift, b.device_x.view(), f.beta, b.device_y.view(), b.device_y.view(),
             nullptr);
    b.device_y.download();
    expect_product(a, f, b.x, before, b.y);
  }
}

// Y holds NaN before; rows of X that no entry asks for as well.
TYPED_TEST(CudaSpmmv, ReadsNothingThatDoesNotCount) {
  using T = TypeParam;
  auto a = random_sparse<T>(203, 331, Pattern::with_long_rows);
  for (std::int32_t& column : a.column) {
    if (column == 0) column = 1;
  }
  const OnDeviceSparse<T> device_a(a);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 3, 8}) {
      Blocks<T> b(203, 331, width, {layout});
      const auto z = widen(b.z);
      b.y.fill_with(poison<T>());
      for (std::int64_t j = 0; j < width; ++j) b.x(0, j) = poison<T>();
      b.device_x.upload();
      b.device_y.upload();
      spmmv<T>(T(2), device_a.view(), T(0), b.device_x.view(), T(0), b.device_y.view(), b.device_y.view(), nullptr);
      b.device_y.download();
      for (std::int64_t j = 0; j < width; ++j) b.x(0, j) = T(0);
      expect_product(a, {T(2), T(0), T(0)}, b.x, z, b.y);

      b.x.fill_with(poison<T>());
      b.device_x.upload();
      spmmv<T>(T(0), device_a.view(), T(1), b.device_x.view(), T(3), b.device_z.view(), b.device_y.view(), nullptr);
      b.device_y.download();
      b.x.fill_with(T(0));
      expect_product(a, {T(0), T(1), T(3)}, b.x, z, b.y);
    }
  }
}

// A column has the same bits alone and in blocks, except in long rows, and whenever it is computed.
TYPED_TEST(CudaSpmmv, GivesTheSameBits) {
  using T = TypeParam;
  for (const Pattern pattern : {Pattern::ragged, Pattern::with_long_rows}) {
    const auto a = random_sparse<T>(1203, 1331, pattern);
    const OnDeviceSparse<T> device_a(a);
    const Factors<T> f = factors<T>()[1];
    Blocks<T> b(1203, 1331, 24, {});
    const auto run = [&](std::int64_t first, std::int64_t count) {
      const auto part = [&](Matrix<T> of) { return Matrix<T>{of.data + first, of.rows, count, of.ld, of.layout}; };
      spmmv<T>(f.alpha, device_a.view(), f.shift, part(b.device_x.view()), f.beta, part(b.device_z.view()),
               part(b.device_y.view()), nullptr);
    };
    run(0, 24);
    b.device_y.download();
    const GuardedMatrix<T> whole = b.y;
    for (const std::int64_t count : {24, 12, 8, 3, 1}) {
      if (pattern == Pattern::with_long_rows && count < 24) break;
      b.y.fill_with(T(0));
      b.device_y.upload();
      for (std::int64_t first = 0; first < 24; first += count) run(first, count);
      b.device_y.download();
      EXPECT_TRUE(b.y.same_bits_as(whole)) << count;
    }
  }
}

TYPED_TEST(CudaSpmmv, IsCapturedInGraphs) {
  using T = TypeParam;
  const auto a = random_sparse<T>(1203, 1331, Pattern::with_long_rows);
  const OnDeviceSparse<T> device_a(a);
  const Factors<T> f = factors<T>()[1];
  Blocks<T> b(1203, 1331, 8, {});
  const auto z = widen(b.z);
  const Stream stream;
  const Captured graph(stream, [&](cudaStream_t on) {
    spmmv<T>(f.alpha, device_a.view(), f.shift, b.device_x.view(), f.beta, b.device_z.view(), b.device_y.view(), on);
  });
  graph.replay();
  b.device_y.download();
  expect_product(a, f, b.x, z, b.y);
}

// A real matrix multiplies a complex block as one of real columns.
TEST_F(OnDevice, SpmmvMultipliesRealMatricesAndComplexBlocks) {
  using Z = std::complex<double>;
  const auto a = random_sparse<double>(203, 331, Pattern::ragged);
  const OnDeviceSparse<double> device_a(a);
  Blocks<Z> b(203, 331, 5, {Layout::row_major, 1});
  const auto z = widen(b.z);
  spmmv<double>(2, device_a.view(), 0.5, real_columns(b.device_x.view()), -1, real_columns(b.device_z.view()),
                real_columns(b.device_y.view()), nullptr);
  b.device_y.download();
  expect_product(a.map([](double entry) { return Z(entry); }), {Z(2), Z(0.5), Z(-1)}, b.x, z, b.y);
}

// These are found before anything is launched: no device is needed.
TEST(CudaSpmmvArguments, AreChecked) {
  double memory[4096] = {};
  const std::int64_t begin[] = {0, 0, 0};
  const SellMatrix<double> a{40, 50, begin, nullptr, nullptr, memory};
  const Matrix<double> x{memory, 50, 8, 8};
  const Matrix<double> y{memory + 512, 40, 8, 8};
  const Matrix<double> z{memory + 1024, 40, 8, 8};
  const auto rejects = [&](SellMatrix<double> of_a, Matrix<double> of_x, Matrix<double> of_z, Matrix<double> of_y,
                           double shift = 0) {
    EXPECT_THROW(spmmv<double>(1, of_a, shift, of_x, 1, of_z, of_y, nullptr), ShapeError);
  };
  const auto with = [](auto of, auto change) {
    change(of);
    return of;
  };
  rejects(with(a, [](auto& m) { m.rows = -1; }), x, z, y);
  rejects(with(a, [](auto& m) { m.columns = std::int64_t{1} << 31; }), x, z, y);
  rejects(with(a, [](auto& m) { m.chunk_begin = nullptr; }), x, z, y);
  rejects(with(a, [](auto& m) { m.long_rows = 1; }), x, z, y);
  rejects(a, with(x, [](auto& m) { m.rows = 49; }), z, y);
  rejects(a, with(x, [](auto& m) { m.columns = 7; }), z, y);
  rejects(a, with(x, [](auto& m) { m.ld = 7; }), z, y);
  rejects(a, with(x, [](auto& m) { m.data = nullptr; }), z, y);
  rejects(a, x, with(z, [](auto& m) { m = {m.data, 40, 8, 40, Layout::column_major}; }), y);
  rejects(a, with(x, [](auto& m) { m.data = reinterpret_cast<double*>(reinterpret_cast<char*>(m.data) + 4); }), z, y);
  rejects(a, x, with(z, [](auto& m) { m.rows = 41; }), y);
  rejects(a, x, with(z, [&](auto& m) { m.data = y.data + 8; }), y);
  rejects(a, x, z, with(y, [](auto& m) { m.columns = 9; }));
  rejects(a, x, z, with(y, [&](auto& m) { m.data = x.data + 8; }));
  rejects(with(a, [](auto& m) { m.diagonal = 11; }), x, z, y, 1.0);
  rejects(with(a, [](auto& m) { m.diagonal = -1; }), x, z, y, 1.0);
  rejects(with(a, [](auto& m) { m.rows = 51; }), x, with(z, [](auto& m) { m.rows = 51; }),
          with(y, [](auto& m) { m.rows = 51; }), 1.0);
  const Matrix<std::complex<double>> columns{nullptr, 0, 4, 0, Layout::column_major};
  EXPECT_THROW(real_columns(columns), ShapeError);
  try {
    spmmv<double>(1, a, 0, with(x, [](auto& m) { m.rows = 49; }), 0, z, y, nullptr);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "spmmv: A is 40 x 50 sparse and X is 49 x 8 row-major: expected X to have 50 rows");
  }
}

}  // namespace
}  // namespace blockvec::kernels
