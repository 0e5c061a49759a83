// Block vectors between precisions, against obvious loops.
#include <gtest/gtest.h>

#include <blockvec/precision.hpp>
#include <limits>

#include "tests/support/cases.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::message_of;

template <class C>
class PrecisionTest : public ::testing::Test {
 protected:
  using Entry = typename C::Scalar;
  using Block = typename C::Vector;
  using Single = InSingle<Block>;

  static SingleOf<Entry> rounded(Entry x) {
    if constexpr (ScalarTraits<Entry>::is_complex) {
      return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
    } else {
      return static_cast<float>(x);
    }
  }
};
TYPED_TEST_SUITE(PrecisionTest, testing::AllCases, testing::CaseName);

TYPED_TEST(PrecisionTest, ConvertsEveryEntryThereAndBack) {
  const typename TestFixture::Entry seven(7);
  const auto context = Context::world(2);
  for (const std::int64_t size : {0, 1, 3, 130, 1001}) {
    const auto rows = RowDistribution::uniform(size, context.communicator());
    for (const std::int64_t width : {1, 4, 7}) {
      // Views inside: others keep their values.
      const typename TestFixture::Block v(context, rows, width, "V"), whole(context, rows, width + 2, "whole");
      const typename TestFixture::Single narrow(context, rows, width + 3, "narrow");
      fill_random(v, 5);
      fill(whole, seven);
      const auto single = narrow.columns(2, 2 + width);
      convert(v, single);
      convert(single, whole.columns(1, 1 + width));
      const auto x = testing::on_host(v), z = testing::on_host(whole);
      const auto y = testing::on_host(single);
      for (std::size_t i = 0; i < static_cast<std::size_t>(v.local_rows()); ++i) {
        for (std::size_t j = 0; j < static_cast<std::size_t>(width); ++j) {
          ASSERT_EQ(y.view()(i, j), this->rounded(x.view()(i, j)));
          ASSERT_EQ(this->rounded(z.view()(i, j + 1)), y.view()(i, j));
        }
        ASSERT_EQ(z.view()(i, 0), seven);
        ASSERT_EQ(z.view()(i, static_cast<std::size_t>(width) + 1), seven);
      }
    }
  }
}

TEST(Precision, RangeAndShapes) {
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(9, context.communicator());
  const BlockVector<double, RowMajor, Kokkos::HostSpace> v(context, rows, 2, "V");
  const BlockVector<float, RowMajor, Kokkos::HostSpace> w(context, rows, 2, "W");
  for (const auto& [given, expected] : {std::pair(1e200, std::numeric_limits<float>::infinity()), {1e-200, 0.F}}) {
    fill(v, given);
    convert(v, w);
    if (w.local_rows() > 0) {
      EXPECT_EQ(w.view()(0, 1), expected);
    }
  }
  EXPECT_EQ(message_of<ShapeError>([&] { convert(v, w.columns(0, 1)); }).find("convert: V = V"), 0U);
}

}  // namespace
}  // namespace blockvec
