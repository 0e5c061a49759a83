// Block vectors beyond 2^31 entries, in memory that is promised and hardly touched.
#include <sys/mman.h>

#include <blockvec/operations.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

constexpr std::int64_t limit = std::int64_t{1} << 31;

/// Zeros that take no memory until they are written.
class Zeros {
 public:
  explicit Zeros(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(float)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (given()) madvise(data_, bytes_, MADV_NOHUGEPAGE);
  }
  ~Zeros() {
    if (given()) munmap(data_, bytes_);
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  bool given() const { return data_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Whole numbers so small that all sums here are exact.
float entry(std::int64_t row, std::int64_t column) { return static_cast<float>((row * 5 + column * 3) % 7 - 3); }

template <class Layout>
class LargeStride : public ::testing::Test {};
using Layouts = ::testing::Types<RowMajor, ColumnMajor>;
TYPED_TEST_SUITE(LargeStride, Layouts);

// Few entries, the last of them 2^31 and more away from the first.
TYPED_TEST(LargeStride, EveryEntryIsReached) {
  constexpr bool by_rows = std::is_same_v<TypeParam, RowMajor>;
  constexpr std::int64_t m = 4, b = 3, width = m + b;
  constexpr std::int64_t rows = by_rows ? 66600 : 3000;
  constexpr std::int64_t ld = by_rows ? limit / 66536 : limit / (width - 1) + 1;
  constexpr std::int64_t last = by_rows ? (rows - 1) * ld + width : (width - 1) * ld + rows;
  static_assert(last > limit);
  const Zeros memory(last);
  if (!memory.given()) GTEST_SKIP() << "the system promises no memory that it does not have";
  const Context context = Context::self(2);
  using Vector = BlockVector<float, TypeParam>;
  const auto distribution = RowDistribution::uniform(rows, context.communicator());
  const Vector all = Vector::wrap(context, distribution, memory.data(), width, ld, "all");
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < width; ++j) all.view()(i, j) = entry(i, j);
  }
  const Vector v = all.columns(0, m), w = all.columns(m, width);

  const SmallMatrix<float> c(context, m, b), dots(context, 1, b);
  inner_product(v, w, c);
  column_dots(w, w, dots);
  std::int64_t product[m][b] = {}, squares[b] = {};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < b; ++k) {
      const auto x = static_cast<std::int64_t>(entry(i, m + k));
      squares[k] += x * x;
      for (std::int64_t j = 0; j < m; ++j) product[j][k] += static_cast<std::int64_t>(entry(i, j)) * x;
    }
  }
  const auto c_host = c.to_host(), dots_host = dots.to_host();
  for (std::int64_t k = 0; k < b; ++k) {
    EXPECT_EQ(dots_host(0, k), static_cast<float>(squares[k]));
    for (std::int64_t j = 0; j < m; ++j) EXPECT_EQ(c_host(j, k), static_cast<float>(product[j][k]));
  }

  HostMatrix<float> ones("ones", m, b);
  Kokkos::deep_copy(ones, 1.0f);
  c.from_host(ones);
  update(2.0f, v, c, 1.0f, w);
  axpby(1.0f, v.columns(0, b), -1.0f, w);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float sum = entry(i, 0) + entry(i, 1) + entry(i, 2) + entry(i, 3);
    for (std::int64_t k = 0; k < b; ++k)
      ASSERT_EQ(w.view()(i, k), entry(i, k) - 2 * sum - entry(i, m + k)) << i << ", " << k;
  }
  fill_random(w, 3);
  const Vector compact(context, distribution, b, "compact");
  fill_random(compact, 3);
  EXPECT_EQ(testing::local_copy(w), testing::local_copy(compact));
}

// More rows than 31 bits count: read once, all but four entries zeros that need no memory.
TEST(Large, ProductsAndNormsReachEveryRow) {
  constexpr std::int64_t rows = limit + 5;
  const Zeros memory(rows);
  if (!memory.given()) GTEST_SKIP() << "the system promises no memory that it does not have";
  const Context context = Context::self(2);
  using Vector = BlockVector<float, RowMajor>;
  const Vector v =
      Vector::wrap(context, RowDistribution::uniform(rows, context.communicator()), memory.data(), 1, 1, "V");
  EXPECT_EQ(v.local_rows(), rows);
  for (const std::int64_t row : {std::int64_t{0}, limit / 2, limit - 1, rows - 1}) v.view()(row, 0) = 3;
  const SmallMatrix<float> c(context, 1, 1), norm(context, 1, 1);
  inner_product(v, v, c);
  column_norms(v, norm);
  EXPECT_EQ(c.to_host()(0, 0), 36.0f);
  EXPECT_EQ(norm.to_host()(0, 0), 6.0f);
}

}  // namespace
}  // namespace blockvec
