#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "src/dispatch/cuda/gram_schmidt/call.hpp"
#include "tests/kernels/cuda/products.hpp"
#include "tests/kernels/cuda/streams.hpp"

/// Sweeps of block Gram-Schmidt on the device against the oracle: by the kernel for sweeps, on few thread blocks too,
/// or by one product after the other where it does not serve.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaSweep : public OnDevice {};
TYPED_TEST_SUITE(CudaSweep, Scalars);

/// Extents of V's matrices and W, and how they lie in memory.
struct Case {
  std::int64_t k;
  std::vector<std::int64_t> m;
  std::int64_t n;
  Layout layout = Layout::row_major;
  std::int64_t pad = 0;     ///< entries between the runs of all tall matrices, where they lie apart
  bool behind = false;      ///< W lies behind V in one allocation
  std::int64_t offset = 0;  ///< entries before the first
};

std::string name(const Case& x) {
  std::string text = "K " + std::to_string(x.k) + " M";
  for (const std::int64_t m : x.m) text += ' ' + std::to_string(m);
  return text + " N " + std::to_string(x.n) + (x.layout == Layout::row_major ? " by rows" : " by columns") + ", pad " +
         std::to_string(x.pad) + (x.behind ? ", one allocation" : "") + ", offset " + std::to_string(x.offset);
}

/// Entries between rows after which all rows begin at multiples of 16 bytes.
template <class T>
std::int64_t pad_of(std::int64_t columns) {
  const auto unit = std::max<std::int64_t>(1, 16 / static_cast<std::int64_t>(sizeof(T)));
  return (columns + unit - 1) / unit * unit - columns;
}

enum class Who { call, few_blocks };

/// The operands of a sweep on the host and on the device.
template <class T>
class Operands {
 public:
  explicit Operands(const Case& x)
      : m_(std::accumulate(x.m.begin(), x.m.end(), std::int64_t{0})),
        c(m_ + x.n, x.n, Layout::column_major, 1, 0, poison<T>()),
        p(m_ + x.n, x.n, Layout::column_major, 2, 1, mark<T>()),
        device_c_(c),
        device_p_(p) {
    std::mt19937 random = random_of(x.k, m_, x.n);
    const auto add = [&](std::int64_t columns, bool aligned) {
      tall_.emplace_back(x.k, columns, x.layout, aligned ? x.pad + pad_of<T>(columns) : x.pad, x.offset, poison<T>());
      tall_.back().fill(random);
      device_.emplace_back(tall_.back());
    };
    const bool by_rows = x.layout == Layout::row_major;
    if (x.behind) {
      add(m_ + x.n, by_rows);
    } else {
      for (const std::int64_t m : x.m) add(m, by_rows);
      add(x.n, by_rows);
    }
    const auto view = [&](const auto& matrices, std::size_t i, std::int64_t first, std::int64_t columns) {
      return dispatch::columns_of(matrices[x.behind ? 0 : i].view(), x.behind ? first : 0, columns);
    };
    std::int64_t first = 0;
    for (std::size_t i = 0; i < x.m.size(); first += x.m[i++]) {
      host_v.push_back(view(tall_, i, first, x.m[i]));
      v.push_back(view(device_, i, first, x.m[i]));
    }
    host_w = view(tall_, x.m.size(), m_, x.n);
    w = view(device_, x.m.size(), m_, x.n);
    c.fill(random);
    for (std::int64_t i = 0; i < x.n; ++i) c(m_ + i, i) += T(2);
    p.fill_with(mark<T>());
    upload();
  }

  void upload() {
    for (auto& matrix : device_) matrix.upload();
    device_c_.upload();
    device_p_.upload();
  }
  void download() {
    for (auto& matrix : device_) matrix.download();
    device_p_.download();
  }
  bool guards_hold() const {
    return p.guards_hold() &&
           std::all_of(tall_.begin(), tall_.end(), [](const GuardedMatrix<T>& matrix) { return matrix.guards_hold(); });
  }
  /// All of W's matrix and P, bit by bit.
  std::vector<std::byte> memory() const {
    std::vector<std::byte> all;
    const auto append = [&](const std::vector<T>& from) {
      const auto bytes = std::as_bytes(std::span(from));
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
    append(tall_.back().memory());
    append(p.memory());
    return all;
  }

  /// [V W] in double precision.
  GuardedMatrix<wide_of<T>> all_in_double() const {
    using Wide = wide_of<T>;
    GuardedMatrix<Wide> all(host_w.rows, m_ + host_w.columns, Layout::row_major, 0, 0, Wide(0));
    std::int64_t first = 0;
    const auto append = [&](const Matrix<const T>& a) {
      for (std::int64_t i = 0; i < a.rows; ++i) {
        for (std::int64_t j = 0; j < a.columns; ++j) {
          all(i, first + j) = Wide(a.data[a.layout == Layout::row_major ? i * a.ld + j : i + j * a.ld]);
        }
      }
      first += a.columns;
    };
    for (const auto& piece : host_v) append(piece);
    append(host_w);
    return all;
  }

  Matrix<const T> device_c() const { return device_c_.view(); }
  Matrix<T> device_p() const { return device_p_.view(); }
  std::int64_t m() const { return m_; }

 private:
  std::int64_t m_;
  std::deque<GuardedMatrix<T>> tall_;
  std::deque<OnDeviceMatrix<T>> device_;

 public:
  GuardedMatrix<T> c, p;
  std::vector<Matrix<const T>> host_v, v;  ///< V's matrices on the host and on the device
  Matrix<T> host_w, w;

 private:
  OnDeviceMatrix<T> device_c_, device_p_;
};

struct Steps {
  bool change = true, products = true;
};

/// Where a sweep runs.
struct There {
  cudaStream_t stream = nullptr;
  std::span<std::byte> workspace;
};

template <class T>
std::size_t workspace_of(const Case& x) {
  return cuda_gram_schmidt_sweep_workspace<T>(x.k, x.m, x.n);
}

template <class T>
void sweep(Who who, const Operands<T>& on, Steps steps, const There& there, const SweepConditions& conditions = {}) {
  const Matrix<const T> c = steps.change ? on.device_c() : Matrix<const T>{};
  const Matrix<T> p = steps.products ? on.device_p() : Matrix<T>{};
  if (who == Who::call) {
    return gram_schmidt_sweep<T>(on.v, c, on.w, p, {there.stream, there.workspace}, conditions);
  }
  const cuda::SweepCall<T> call{on.v, on.w, {}, c, p, conditions};
  const cuda::SweepMatrices<T> all(call);
  const auto configuration = dispatch::configure_sweep(few_blocks(), call, all);
  ASSERT_TRUE(configuration.has_value());
  cuda::launch_sweep(call, all, *configuration, {there.stream, there.workspace});
}

/// Whether the kernel for sweeps takes a change and products of such operands.
template <class T>
bool is_served(const Operands<T>& on) {
  const cuda::SweepCall<T> call{on.v, on.w, {}, on.device_c(), on.device_p(), {}};
  return dispatch::configure_sweep(few_blocks(), call, cuda::SweepMatrices<T>(call)).has_value();
}

/// Entries of `got` against those of `expected`, both m x n, within `bound` times `scale`.
template <class T, class Get>
void expect_entries(const GuardedMatrix<wide_of<T>>& expected, const std::vector<double>& scale, double bound,
                    const Get& got, const char* what) {
  const std::int64_t n = expected.view().columns;
  for (std::int64_t i = 0; i < expected.view().rows; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_LE(std::abs(wide_of<T>(got(i, j)) - expected(i, j)), bound * scale[static_cast<std::size_t>(i * n + j)])
          << what << " " << i << ", " << j;
    }
  }
}

/// P against the products of what W holds now.
template <class T>
void expect_products(const Case& x, const Operands<T>& on, const Matrix<T>& right) {
  using Wide = wide_of<T>;
  const GuardedMatrix<Wide> all = on.all_in_double();
  GuardedMatrix<Wide> factor(x.k, x.n, Layout::row_major, 0, 0, Wide(0));
  for (std::int64_t i = 0; i < x.k; ++i) {
    for (std::int64_t j = 0; j < x.n; ++j) {
      factor(i, j) = Wide(right.data[right.layout == Layout::row_major ? i * right.ld + j : i + j * right.ld]);
    }
  }
  GuardedMatrix<Wide> expected(on.m() + x.n, x.n, Layout::column_major, 0, 0, Wide(0));
  reference::tsmttsm<Wide>(Op::conjugate_transpose, Wide(1), all.view(), factor.view(), Wide(0), expected.view());
  expect_entries<T>(expected, absolute_product(all, factor),
                    bound_of_tsmttsm<T>(x.k, on.m() + x.n, x.n) + gamma<Wide>(x.k + 3), on.p, "P");
}

/// One sweep against the oracle; the same bits again; and, by the kernel, those of its steps one after the other.
template <class T>
void expect_sweep(Who who, const Case& x, Steps steps) {
  SCOPED_TRACE(name(x) + (who == Who::few_blocks ? ", few blocks" : "") + (steps.change ? ", change" : "") +
               (steps.products ? ", products" : ""));
  using Wide = wide_of<T>;
  Operands<T> on(x);
  const GuardedMatrix<Wide> before = on.all_in_double();
  const DeviceMemory workspace(workspace_of<T>(x));
  const There there{nullptr, workspace.bytes()};
  ASSERT_NO_FATAL_FAILURE(sweep(who, on, steps, there));
  expect_success(cudaDeviceSynchronize());
  on.download();
  ASSERT_TRUE(on.guards_hold());
  const std::vector<std::byte> once = on.memory();
  const GuardedMatrix<Wide> after = on.all_in_double();
  for (std::int64_t i = 0; i < x.k; ++i) {
    for (std::int64_t j = 0; j < on.m() + (steps.change ? 0 : x.n); ++j) {
      ASSERT_TRUE(same_bits(after(i, j), before(i, j))) << i << ", " << j;
    }
  }
  if (steps.change) {
    const GuardedMatrix<Wide> factor = widened(on.c, Layout::row_major);
    GuardedMatrix<Wide> expected(x.k, x.n, Layout::row_major, 0, 0, Wide(0));
    reference::tsmm<Wide>(Wide(1), before.view(), factor.view(), Wide(0), expected.view());
    std::vector<double> scale;
    const std::vector<double> absolute = absolute_values(factor);
    std::vector<double> row(static_cast<std::size_t>(x.n));
    for (std::int64_t i = 0; i < x.k; ++i) {
      absolute_row(before, i, absolute, row);
      scale.insert(scale.end(), row.begin(), row.end());
    }
    // One product after the other rounds W between them: each matrix of V once, and W.
    const double rounding = static_cast<double>(x.m.size() + 1) * bound_of_tsmm<T>(on.m() + x.n, x.n);
    expect_entries<T>(
        expected, scale, rounding + gamma<Wide>(on.m() + x.n + 3),
        [&](std::int64_t i, std::int64_t j) { return after(i, on.m() + j); }, "W");
  }
  if (steps.products) expect_products(x, on, on.host_w);
  if (testing::Test::HasFatalFailure()) return;

  Operands<T> again(x);
  sweep(who, again, steps, there);
  expect_success(cudaDeviceSynchronize());
  again.download();
  EXPECT_TRUE(again.memory() == once) << "the same bits again";
  if (who != Who::few_blocks || !steps.change || !steps.products) return;
  Operands<T> apart(x);
  sweep(who, apart, {true, false}, there);
  sweep(who, apart, {false, true}, there);
  expect_success(cudaDeviceSynchronize());
  apart.download();
  const GuardedMatrix<Wide> of_steps = apart.all_in_double();
  EXPECT_TRUE(of_steps.same_bits_as(after)) << "W has the bits of its change alone";
}

template <class T>
void expect_all_steps(Who who, const Case& x) {
  if (who == Who::few_blocks && !is_served(Operands<T>(x))) return;
  for (const Steps steps : {Steps{false, true}, Steps{true, false}, Steps{true, true}}) {
    if (left_out()) continue;
    expect_sweep<T>(who, x, steps);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(CudaSweep, OddWidths) {
  for (const std::int64_t m : {0, 1, 3, 7, 16, 24, 33, 56, 70}) {
    for (const std::int64_t n : {1, 2, 3, 4, 8, 11, 16, 29, 32}) {
      expect_all_steps<TypeParam>(Who::few_blocks, {1003, {m}, n});
      expect_all_steps<TypeParam>(Who::few_blocks, {1005, {m}, n, Layout::row_major, 4, true});
      expect_all_steps<TypeParam>(Who::call, {1003 + m, {m}, n, Layout::row_major, 4 * (n % 3)});
      if (this->HasFailure()) return;
    }
  }
}

// Every stage of the pipeline is filled several times.
TYPED_TEST(CudaSweep, ManyRows) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{56, 8},
                             {24, 8},
                             {12, 4},
                             {124, 4},
                             {48, 16},
                             {120, 2},
                             {240, 16},
                             {16, 29}}) {
    expect_all_steps<TypeParam>(Who::few_blocks, {m + n > 64 ? 3001 : 9001, {m}, n});
    expect_all_steps<TypeParam>(Who::call, {5003, {m}, n, Layout::row_major, 0, true});
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(CudaSweep, Pieces) {
  const std::vector<std::int64_t> pieces[] = {{},         {3, 5},       {8, 8, 8},    {1, 0, 7},      {40, 16},
                                              {9, 2, 33}, {4, 4, 4, 4}, {0, 0, 5, 0}, {100, 1, 20, 3}};
  for (const auto& m : pieces) {
    for (const std::int64_t n : {1, 4, 8, 13}) {
      expect_all_steps<TypeParam>(Who::few_blocks, {1203, m, n});
      for (const Layout layout : layouts) {
        expect_all_steps<TypeParam>(Who::call, {803, m, n, layout, 0, n == 4});
      }
      if (this->HasFailure()) return;
    }
  }
}

// What no tensor map describes, or the kernel does not serve.
TYPED_TEST(CudaSweep, AnyPlaceAndWidth) {
  for (const Layout layout : layouts) {
    for (const bool behind : {false, true}) {
      for (const std::int64_t offset : {0, 1, 3}) {
        expect_all_steps<TypeParam>(Who::call, {611, {13, 6}, 5, layout, 1, behind, offset});
        expect_all_steps<TypeParam>(Who::call, {611, {16}, 40, layout, 3, behind, offset});
        expect_all_steps<TypeParam>(Who::call, {301, {300, 300}, 7, layout, 0, behind, offset});
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaSweep, FewRows) {
  for (const std::int64_t k : {0, 1, 2, 15, 16, 17, 31, 100}) {
    expect_all_steps<TypeParam>(Who::call, {k, {7}, 3});
    if (k > 0) expect_all_steps<TypeParam>(Who::few_blocks, {k, {12, 8}, 8});
    if (this->HasFailure()) return;
  }
}

/// Numbers in device memory that conditions point to.
class Words {
 public:
  void set(unsigned change, unsigned products) const {
    const unsigned values[] = {change, products};
    expect_success(cudaMemcpy(memory_.as<unsigned>(), values, sizeof values, cudaMemcpyHostToDevice));
  }
  SweepConditions get() const { return {memory_.as<unsigned>(), memory_.as<unsigned>() + 1}; }

 private:
  DeviceMemory memory_{2 * sizeof(unsigned), 0};
};

TYPED_TEST(CudaSweep, Conditions) {
  using T = TypeParam;
  const Words words;
  for (const Case& x : {Case{2003, {24}, 8}, Case{2003, {16, 9}, 5}, Case{2003, {16, 9}, 5, Layout::column_major},
                        Case{701, {30}, 6, Layout::row_major, 1, true, 1}, Case{903, {20}, 40}}) {
    SCOPED_TRACE(name(x));
    const DeviceMemory workspace(workspace_of<T>(x));
    const auto run = [&](Operands<T>& on, const SweepConditions& conditions) {
      sweep(Who::call, on, {true, true}, {nullptr, workspace.bytes()}, conditions);
      expect_success(cudaDeviceSynchronize());
      on.download();
    };
    const Operands<T> before(x);
    Operands<T> after(x);
    run(after, {});
    const auto same = [](const GuardedMatrix<wide_of<T>>& a, const GuardedMatrix<wide_of<T>>& b) {
      return a.same_bits_as(b);
    };
    for (const unsigned change : {0U, 1U << 31}) {
      for (const unsigned products : {0U, 1U}) {
        SCOPED_TRACE(std::to_string(change) + ", " + std::to_string(products));
        words.set(change, products);
        Operands<T> on(x);
        run(on, words.get());
        ASSERT_TRUE(on.guards_hold());
        EXPECT_TRUE(same(on.all_in_double(), (change != 0 ? after : before).all_in_double()));
        if (products == 0) {
          EXPECT_TRUE(on.p.same_bits_as(before.p)) << "P stays as it is";
        } else if (change != 0) {
          EXPECT_TRUE(on.p.same_bits_as(after.p));
        } else {
          expect_products(x, on, on.host_w);
        }
      }
    }
    if (this->HasFailure()) return;
  }
}

// A row of NaN in V or W, in every stage in turn, reaches no other row of W.
TYPED_TEST(CudaSweep, NotFiniteRowsStayAlone) {
  using T = TypeParam;
  const Case x{1303, {20, 3}, 7};
  if (!is_served(Operands<T>(x))) GTEST_SKIP() << "the kernel does not serve this device";
  for (const bool in_w : {false, true}) {
    for (std::int64_t row = 0; row < x.k; row += 217) {
      Operands<T> on(x);
      const Matrix<const T>& piece = on.host_v[1];
      (in_w ? on.host_w.data[row * on.host_w.ld + 2] : const_cast<T&>(piece.data[row * piece.ld])) = poison<T>();
      on.upload();
      const DeviceMemory workspace(workspace_of<T>(x));
      sweep(Who::few_blocks, on, {true, false}, {nullptr, workspace.bytes()});
      expect_success(cudaDeviceSynchronize());
      on.download();
      for (std::int64_t i = 0; i < x.k; ++i) {
        for (std::int64_t j = 0; j < x.n; ++j) {
          ASSERT_EQ(is_nan(on.host_w.data[i * on.host_w.ld + j]), i == row) << row << ": " << i << ", " << j;
        }
      }
    }
  }
}

TYPED_TEST(CudaSweep, ProductsWithAnImage) {
  using T = TypeParam;
  for (const Case& x :
       {Case{2203, {24}, 8}, Case{903, {5, 14}, 3}, Case{703, {5, 14}, 3, Layout::column_major}, Case{703, {16}, 36}}) {
    SCOPED_TRACE(name(x));
    Operands<T> on(x);
    Case image_case = x;
    image_case.m = {};
    image_case.k = x.k;
    Operands<T> image(image_case);
    const DeviceMemory workspace(workspace_of<T>(x));
    gram_schmidt_products<T>(on.v, on.w, image.w, on.device_p(), {nullptr, workspace.bytes()});
    expect_success(cudaDeviceSynchronize());
    on.download();
    expect_products(x, on, image.host_w);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(CudaSweep, InAGraph) {
  using T = TypeParam;
  const Case x{3003, {24, 8}, 8};
  Operands<T> on(x), expected(x);
  const DeviceMemory workspace(workspace_of<T>(x));
  const Stream stream;
  const Words words;
  words.set(1, 0);
  const Captured twice(stream, [&](cudaStream_t where) {
    sweep(Who::call, on, {true, true}, {where, workspace.bytes()});
    sweep(Who::call, on, {true, true}, {where, workspace.bytes()}, words.get());
  });
  for (int turn = 0; turn < 2; ++turn) {
    on.upload();
    twice.replay();
    on.download();
    expected.upload();
    for (const bool products : {true, false}) {
      sweep(Who::call, expected, {true, products}, {nullptr, workspace.bytes()});
    }
    expect_success(cudaDeviceSynchronize());
    expected.download();
    EXPECT_TRUE(on.memory() == expected.memory());
    // Other data for the next turn.
    for (Operands<T>* both : {&on, &expected}) both->host_w.data[0] = value<T>(turn + 3, 1);
  }
}

TEST(CudaSweepErrors, NameOperands) {
  if (!has_device()) GTEST_SKIP() << "no CUDA device";
  const Case x{40, {4}, 2};
  const Operands<double> on(x);
  const DeviceMemory workspace(workspace_of<double>(x));
  const CudaExecution there{nullptr, workspace.bytes()};
  const Matrix<const double> c = on.device_c();
  const Matrix<double> p = on.device_p();
  const auto call = [&](const Matrix<const double>& v, const Matrix<const double>& factor, const Matrix<double>& w,
                        const Matrix<double>& products, const CudaExecution& execution) {
    gram_schmidt_sweep<double>(std::span(&v, 1), factor, w, products, execution);
  };
  const auto shorter = [](auto matrix) {
    --matrix.rows;
    return matrix;
  };
  EXPECT_THROW(call(shorter(on.v[0]), c, on.w, p, there), ShapeError);
  EXPECT_THROW(call(on.v[0], shorter(c), on.w, p, there), ShapeError);
  EXPECT_THROW(call(on.v[0], c, on.w, shorter(p), there), ShapeError);
  EXPECT_THROW(call(on.w, c, on.w, p, there), ShapeError);
  EXPECT_THROW(call(on.v[0], c, on.w, p, {}), ShapeError);
  const std::vector<Matrix<const double>> five(5, on.v[0]);
  EXPECT_THROW(gram_schmidt_sweep<double>(five, c, on.w, p, there), ShapeError);
  EXPECT_NO_THROW(call(on.v[0], c, on.w, p, there));
  expect_success(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace blockvec::kernels
