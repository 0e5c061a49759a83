#include <blockvec/block_vector.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

template <class C>
class BlockVectorTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockVectorTest, testing::AllCases, testing::CaseName);

template <class C>
using VectorOf = typename C::Vector;

// Entries that tell row and column.
template <class V>
void number(const V& block) {
  const auto v = testing::on_host(block);
  for (std::int64_t i = 0; i < v.local_rows(); ++i) {
    for (std::int64_t j = 0; j < v.width(); ++j) {
      v.view()(i, j) = typename V::Scalar(static_cast<RealOf<typename V::Scalar>>(100 * (v.rows().begin() + i) + j));
    }
  }
  copy(v, block);
}

TYPED_TEST(BlockVectorTest, OwnsAlignedPaddedZeros) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  constexpr auto line = static_cast<std::int64_t>(128 / sizeof(Scalar));
  for (const auto& rows : testing::splits(101, context.communicator())) {
    for (const std::int64_t width : {0, 1, 3, 16, 17, 33, 70}) {
      const VectorOf<TypeParam> v(context, rows, width, "V");
      EXPECT_EQ(v.local_rows(), rows.local_rows());
      EXPECT_EQ(v.width(), width);
      EXPECT_EQ(v.global_rows(), 101);
      if (v.local_rows() > 0 && width > 0) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data()) % 128, 0u);
      }
      const std::int64_t extent = std::is_same_v<typename TypeParam::Layout, RowMajor> ? width : v.local_rows();
      EXPECT_GE(v.ld(), extent);
      if (extent > line) {
        EXPECT_EQ(v.ld() % line, 0);
      }
      if (extent > 0 && extent <= line) {
        EXPECT_EQ(v.ld(), extent);
      }
      const auto host = testing::on_host(v);
      for (std::int64_t i = 0; i < v.local_rows(); ++i) {
        for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(host.view()(i, j), Scalar(0));
      }
    }
  }
}

TYPED_TEST(BlockVectorTest, ColumnViewsShareMemoryAndOutliveTheirParent) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(37, context.communicator());
  VectorOf<TypeParam> v(context, rows, 20, "V");
  number(v);
  const auto middle = v.columns(5, 15);
  const auto inner = middle.columns(2, 7).columns(1, 3);
  EXPECT_EQ(inner.width(), 2);
  EXPECT_EQ(inner.ld(), v.ld());
  EXPECT_EQ(inner.label(), "V");
  EXPECT_EQ(v.columns(20, 20).width(), 0);
  if (v.local_rows() == 0) return;
  EXPECT_EQ(inner.data(), v.column(8).data());
  fill(inner, Scalar(-1));
  EXPECT_EQ(testing::on_host(v).view()(0, 9), Scalar(-1));
  v = VectorOf<TypeParam>(context, rows, 1, "other");
  EXPECT_EQ(testing::on_host(inner).view()(0, 1), Scalar(-1));
  expect_parts(message_of<ShapeError>([&] { inner.columns(1, 3); }),
               {"[1, 3)", "V (37 x 2)", scalar_name<Scalar>().data()});
  EXPECT_THROW(inner.columns(-1, 1), ShapeError);
  EXPECT_THROW(inner.columns(2, 1), ShapeError);
}

TYPED_TEST(BlockVectorTest, WrapsViewsAndPointers) {
  using Scalar = typename TypeParam::Scalar;
  using V = VectorOf<TypeParam>;
  constexpr bool row_major = std::is_same_v<typename TypeParam::Layout, RowMajor>;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(11, context.communicator());
  const std::int64_t k = rows.local_rows();
  const std::int64_t ld = row_major ? 7 : k + 3;
  const Kokkos::View<Scalar*, typename TypeParam::Space> storage(
      "storage", static_cast<std::size_t>(ld * (row_major ? k : 5)) + 1);
  const auto nines = Kokkos::create_mirror_view(Kokkos::HostSpace(), storage);
  std::fill_n(nines.data(), nines.extent(0), Scalar(9));
  Kokkos::deep_copy(storage, nines);
  const auto v = V::wrap(context, rows, storage.data(), 5, ld, "mine");
  EXPECT_EQ(v.ld(), ld);
  number(v);
  const auto after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), storage);
  if (k > 1) {
    EXPECT_EQ(after(static_cast<std::size_t>(row_major ? ld + 2 : 1 + 2 * ld)), testing::on_host(v).view()(1, 2));
  }
  EXPECT_EQ(after(after.extent(0) - 1), Scalar(9));

  typename V::View view("caller", static_cast<std::size_t>(k), 3);
  const auto w = V::wrap(context, rows, view, "viewed");
  EXPECT_EQ(w.data(), view.data());

  expect_parts(
      message_of<ShapeError>([&] { V::wrap(context, rows, storage.data(), 5, row_major ? 4 : k - 1, "mine"); }),
      {"mine", "ld = ", "expected at least"});
  expect_parts(message_of<ShapeError>([&] { V::wrap(context, rows, storage.data(), -5, ld, "mine"); }),
               {"mine", "width = -5"});
  if (k > 0)
    expect_parts(message_of<ShapeError>([&] { V::wrap(context, rows, nullptr, 5, ld, "mine"); }), {"null data"});
  typename V::View longer("longer", static_cast<std::size_t>(k) + 1, 3);
  expect_parts(message_of<ShapeError>([&] { V::wrap(context, rows, longer, "longer"); }), {"longer", "rows"});
}

TYPED_TEST(BlockVectorTest, CopiesAndConvertsByName) {
  using Scalar = typename TypeParam::Scalar;
  using Other = std::conditional_t<std::is_same_v<typename TypeParam::Layout, RowMajor>, ColumnMajor, RowMajor>;
  const Context context = Context::world(2);
  const auto rows = RowDistribution::uniform(2100, context.communicator());
  const VectorOf<TypeParam> whole(context, rows, 9, "V");
  number(whole);
  const auto v = whole.columns(2, 7);
  const auto twin = v.deep_copy("twin");
  const auto turned = v.template converted_to_layout<Other>();
  const auto here = testing::on_host(v), same = testing::on_host(twin);
  const auto other = testing::on_host(turned);
  for (std::int64_t i = 0; i < v.local_rows(); ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      ASSERT_EQ(same.view()(i, j), here.view()(i, j));
      ASSERT_EQ(other.view()(i, j), here.view()(i, j));
    }
  }
  if (v.local_rows() > 0) {
    fill(twin, Scalar(-5));
    EXPECT_NE(testing::on_host(v).view()(0, 0), Scalar(-5));
  }
  EXPECT_EQ(twin.label(), "twin");
}

TEST(BlockVector, ConvertsBetweenPrecisionsAndToComplex) {
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(50, context.communicator());
  const BlockVector<double> v(context, rows, 3, "V");
  fill_random(v, 3);
  const auto narrow = v.converted_to_scalar<float>();
  const auto complex = v.converted_to_scalar<Complex<double>>();
  const auto back = complex.converted_to_scalar<Complex<float>>();
  for (std::int64_t i = 0; i < v.local_rows(); ++i) {
    EXPECT_EQ(narrow.view()(i, 1), static_cast<float>(v.view()(i, 1)));
    EXPECT_EQ(complex.view()(i, 1), Complex<double>(v.view()(i, 1), 0));
    EXPECT_EQ(back.view()(i, 1).real(), static_cast<float>(v.view()(i, 1)));
  }
}

TEST(BlockVector, RefusesBadShapesAndNamesTheBytesThatItCannotGet) {
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(50, context.communicator());
  expect_parts(message_of<ShapeError>([&] { BlockVector<double>(context, rows, -1, "V"); }), {"V", "width = -1"});
  const auto self = RowDistribution::uniform(50, Communicator::self());
  if (context.communicator().size() > 1) {
    expect_parts(message_of<ShapeError>([&] { BlockVector<double>(context, self, 1, "V"); }),
                 {"V", "50 rows over 1 rank", "same ranks"});
  }
  const Context alone = Context::self(1);
  const std::int64_t width = std::int64_t{1} << 40;
  expect_parts(message_of<OutOfMemoryError>([&] { BlockVector<double, RowMajor>(alone, self, width, "huge"); }),
               {"huge", std::to_string((50 * width + 16) * 8).c_str(), "bytes"});
  expect_parts(message_of<OutOfMemoryError>([&] { BlockVector<double, ColumnMajor>(alone, self, width, "huge"); }),
               {"huge", std::to_string((64 * width + 16) * 8).c_str(), "bytes"});
  expect_parts(message_of<OutOfMemoryError>([&] { BlockVector<double>(alone, self, std::int64_t{1} << 60, "huger"); }),
               {"huger"});
}

TEST(BlockVector, DescribesItself) {
  const Context context = Context::self(1);
  const BlockVector<Complex<float>, ColumnMajor> v(context, RowDistribution::uniform(5, context.communicator()), 2,
                                                   "basis");
  EXPECT_EQ(v.describe(), "basis (5 x 2) (complex<float>, column-major, 1 rank)");
  EXPECT_EQ((BlockVector<double>().describe()), "empty BlockVector");
}

}  // namespace
}  // namespace blockvec
