// Summation::reproducible: the bits of sums, and of everything else, on any number of ranks and threads.
#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <cstring>
#include <random>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::gamma;
using testing::message_of;

constexpr std::int64_t chunk = 8192;

Context alone(int threads) { return Context::self(threads, Summation::reproducible); }

template <class Scalar>
bool same_bits(Scalar x, Scalar y) {
  return std::memcmp(&x, &y, sizeof x) == 0;
}

template <class Small>
void expect_same_bits(const Small& got, const Small& expected) {
  const auto x = got.to_host(), y = expected.to_host();
  ASSERT_EQ(x.extent(1), y.extent(1));
  for (std::size_t j = 0; j < x.extent(1); ++j) {
    for (std::size_t i = 0; i < x.extent(0); ++i)
      ASSERT_TRUE(same_bits(x(i, j), y(i, j))) << "entry (" << i << ", " << j << ")";
  }
}

/// Splits of rows over the ranks: those of every test, chunks over many ranks, cuts right beside chunks' ends, and
/// random ones of which some are empty.
std::vector<RowDistribution> distributions(std::int64_t rows, const Communicator& communicator) {
  auto result = testing::splits(rows, communicator);
  const int ranks = communicator.size();
  if (ranks == 1) return result;
  const auto add = [&](std::vector<std::int64_t> cuts) {
    for (auto& cut : cuts) cut = std::min(cut, rows);
    cuts.resize(static_cast<std::size_t>(ranks) - 1, rows);
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::int64_t> counts;
    std::int64_t before = 0;
    for (const std::int64_t cut : cuts) {
      counts.push_back(cut - before);
      before = cut;
    }
    counts.push_back(rows - before);
    result.push_back(RowDistribution::from_rows(counts, communicator));
  };
  add({100, 200, 300});                    // the first chunk on all ranks
  add({chunk - 1, chunk + 1, 2 * chunk});  // a rank with two rows of two chunks
  add({chunk, chunk, 2 * chunk + 1});      // a whole chunk, none
  add({chunk + 7, chunk + 7, chunk + 9});  // an empty rank within a chunk
  std::mt19937_64 random(20);
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<std::int64_t> cuts;
    for (int i = 1; i < ranks; ++i)
      cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows + 1)));
    add(cuts);
  }
  return result;
}

/// Rows of a distribution, in storage that is as awkward as can be and not the same on any two ranks, or in their own.
template <class C>
class Rows {
 public:
  using Scalar = typename C::Scalar;
  using Vector = typename C::Vector;
  static constexpr bool by_rows = std::is_same_v<typename C::Layout, RowMajor>;

  Rows(const Context& context, const RowDistribution& rows, std::int64_t width, std::uint64_t seed,
       bool awkward = true) {
    const int rank = context.communicator().rank();
    const std::int64_t ld = (by_rows ? width : rows.local_rows()) + 1 + 2 * rank;
    storage_.resize(static_cast<std::size_t>((by_rows ? rows.local_rows() : width) * ld + 8));
    vector =
        awkward ? Vector::wrap(context, rows, storage_.data() + 1 + rank, width, ld) : Vector(context, rows, width);
    fill_random(vector, seed);
  }
  Vector vector;

 private:
  std::vector<Scalar> storage_;
};

template <class C>
class ReproducibleTest : public ::testing::Test {
 protected:
  using Products = InnerProducts<typename C::Scalar, typename C::Layout, typename C::Space>;
};
TYPED_TEST_SUITE(ReproducibleTest, testing::CasesIn<Kokkos::HostSpace>, testing::CaseName);

TYPED_TEST(ReproducibleTest, SumsHaveTheSameBitsOnAnyRanksAndThreads) {
  using Small = typename TypeParam::Small;
  using RealSmall = typename TypeParam::RealSmall;
  for (const auto& [count, m, b] : {std::tuple{0, 2, 1}, {1, 3, 2}, {8192, 5, 1}, {16461, 1, 1}, {16461, 9, 5}}) {
    const auto sums = [&](const Context& context, const RowDistribution& rows) {
      const Rows<TypeParam> v(context, rows, m, 1), w(context, rows, b, 2);
      const Small s(context, m, b), g(context, b, b), dots(context, 1, b), dots_along(context, 1, b);
      const Small high(context, m, b), low(context, m, b), square_high(context, b, b), square_low(context, b, b);
      const RealSmall norms(context, 1, m);
      const std::int64_t before = context.reductions();
      typename TestFixture::Products(context).add(v.vector, w.vector, s).add(w.vector, w.vector, g).reduce();
      EXPECT_EQ(context.reductions(), before + 2);
      column_dots(v.vector.columns(0, b), w.vector, dots);
      column_norms(v.vector, norms);
      EXPECT_EQ(context.reductions(), before + 6);
      typename TestFixture::Products products(context);
      products.add_dd(v.vector, w.vector, {high, low}).add(v.vector, w.vector, s);
      products.add_dots(v.vector.columns(0, b), w.vector, dots_along);
      products.add_dd(w.vector, w.vector, {square_high, square_low}).reduce();
      EXPECT_EQ(context.reductions(), before + 8);
      expect_same_bits(dots, dots_along);
      return std::tuple(s, g, dots, high, low, square_high, square_low, norms);
    };
    const Context self = alone(1);
    const auto expected = sums(self, RowDistribution::uniform(count, self.communicator()));
    int threads = 1;
    for (const auto& rows : distributions(count, Communicator::world())) {
      threads = threads % 3 + 1;
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(b) + ", " + rows.describe() + ", " +
                   std::to_string(threads) + " threads");
      const auto got = sums(Context::world(threads, Summation::reproducible), rows);
      std::apply(
          [&](const auto&... mine) {
            std::apply([&](const auto&... theirs) { (expect_same_bits(mine, theirs), ...); }, expected);
          },
          got);
    }
  }
}

TYPED_TEST(ReproducibleTest, WideBlocksHaveTheSameBits) {
  const auto product = [](const Context& context, const RowDistribution& rows) {
    const Rows<TypeParam> v(context, rows, 66, 1), w(context, rows, 17, 2);
    const typename TypeParam::Small s(context, 66, 17);
    inner_product(v.vector, w.vector, s);
    return s;
  };
  const Context self = alone(1), context = Context::world(2, Summation::reproducible);
  const auto expected = product(self, RowDistribution::uniform(chunk + 1000, self.communicator()));
  expect_same_bits(product(context, RowDistribution::uniform(chunk + 1000, context.communicator())), expected);
}

TYPED_TEST(ReproducibleTest, RowsAreTreatedAlikeWhereverTheyAre) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  constexpr std::int64_t count = 737;
  Scalar alpha(RealOf<Scalar>(1.3)), beta(RealOf<Scalar>(-0.7));
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    alpha = Scalar(RealOf<Scalar>(1.3), RealOf<Scalar>(0.4));
    beta = Scalar(RealOf<Scalar>(-0.7), RealOf<Scalar>(0.9));
  }
  for (const auto& [m, b] : {std::pair{1, 1}, {3, 2}, {5, 5}, {9, 4}, {33, 17}, {80, 70}}) {
    const auto work = [&](const Context& context, const RowDistribution& rows) {
      const bool awkward = m > 5;
      const Rows<TypeParam> v(context, rows, m, 1, awkward), w(context, rows, b, 2, awkward), x(context, rows, b, 3);
      const Context self = Context::self(1);
      const Rows<TypeParam> small(self, RowDistribution::uniform(m, self.communicator()), b, 4);
      const HostMatrix<Scalar> values("values", static_cast<std::size_t>(m), static_cast<std::size_t>(b));
      for (std::int64_t j = 0; j < b; ++j) {
        for (std::int64_t i = 0; i < m; ++i) values(i, j) = small.vector.view()(i, j);
      }
      const typename TypeParam::Small c(context, m, b);
      c.from_host(values);
      update(alpha, v.vector, c, beta, w.vector);
      axpby(alpha, w.vector, beta, x.vector);
      update(Scalar(-1), v.vector, c, Scalar(1), x.vector);
      multiply_in_place(v.vector, c, kernels::Triangle::upper);
      gram_schmidt_sweep({&x.vector, 1}, nullptr, w.vector, nullptr, kernels::Triangle::general);
      const auto square = c.block(0, b, 0, b);
      gram_schmidt_sweep({&x.vector, 1}, &square, w.vector, &square, kernels::Triangle::upper);
      scale(w.vector, alpha);
      scale_columns(x.vector, c.block(0, 1, 0, b));
      return std::tuple(v.vector.deep_copy(), w.vector.deep_copy(), x.vector.deep_copy());
    };
    const Context self = alone(1);
    const auto expected = work(self, RowDistribution::uniform(count, self.communicator()));
    const auto compare = [&](const Vector& got, const Vector& whole) {
      for (std::int64_t i = 0; i < got.local_rows(); ++i) {
        for (std::int64_t j = 0; j < got.width(); ++j)
          ASSERT_TRUE(same_bits(got.view()(i, j), whole.view()(got.rows().begin() + i, j))) << i << ", " << j;
      }
    };
    for (const int threads : {1, 2}) {
      const Context context = Context::world(threads, Summation::reproducible);
      for (const auto& rows : distributions(count, context.communicator())) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(b) + ", " + rows.describe());
        const auto got = work(context, rows);
        compare(std::get<0>(got), std::get<0>(expected));
        compare(std::get<1>(got), std::get<1>(expected));
        compare(std::get<2>(got), std::get<2>(expected));
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(ReproducibleTest, SumsAreAsExactAsPromised) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2, Summation::reproducible);
  const auto rows = RowDistribution::uniform(2 * chunk + 5, context.communicator());
  const Rows<TypeParam> v(context, rows, 3, 1), w(context, rows, 2, 2);
  const typename TypeParam::Small c(context, 3, 2);
  inner_product(v.vector, w.vector, c);
  const auto x = testing::gathered_copy(v.vector), y = testing::gathered_copy(w.vector);
  const auto got = c.to_host();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      std::complex<long double> exact = 0;
      long double magnitude = 0;
      for (std::size_t row = 0; row < x.size(); ++row) {
        exact += std::conj(x[row][i]) * y[row][j];
        magnitude += std::abs(x[row][i]) * std::abs(y[row][j]);
      }
      // A chunk's sum, the limbs' share, far less than an eps, and one rounding.
      const double bound =
          gamma<Scalar>(static_cast<double>(kernels::summation_depth(chunk) + 5)) * static_cast<double>(magnitude);
      EXPECT_LE(std::abs(testing::widened(got(i, j)) - exact), static_cast<long double>(bound));
    }
  }
}

/// One column that is `of_chunk[c]` in row 5 of chunk c and zero elsewhere, times ones: the chunks' shares are known.
template <class C>
typename C::Scalar sum_of_shares(const Context& context, const RowDistribution& rows,
                                 const std::vector<typename C::Scalar>& of_chunk) {
  using Scalar = typename C::Scalar;
  const typename C::Vector v(context, rows, 1), ones(context, rows, 1);
  fill(ones, Scalar(1));
  for (std::size_t c = 0; c < of_chunk.size(); ++c) {
    const std::int64_t row = static_cast<std::int64_t>(c) * chunk + 5 - rows.begin();
    if (row >= 0 && row < rows.local_rows()) testing::put(v, row, 0, of_chunk[c]);
  }
  const typename C::Small product(context, 1, 1);
  inner_product(ones, v, product);
  return product.to_host()(0, 0);
}

TYPED_TEST(ReproducibleTest, LargeSharesThatCancelLeaveTheSmallOnes) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::world(1, Summation::reproducible);
  const Real large = std::ldexp(Real(1), 70);
  const std::vector<Scalar> shares{Scalar(large),     Scalar(1),     Scalar(-large),
                                   Scalar(Real(0.5)), Scalar(large), Scalar(-large)};
  for (const auto& rows : distributions(6 * chunk, context.communicator()))
    EXPECT_EQ(sum_of_shares<TypeParam>(context, rows, shares), Scalar(Real(1.5))) << rows.describe();
  // Three limbs of 2^90 end at 1. What is less is lost, whoever adds.
  const Real huge = std::ldexp(Real(1), 90);
  for (const auto& rows : distributions(3 * chunk, context.communicator())) {
    EXPECT_EQ(sum_of_shares<TypeParam>(context, rows, {Scalar(huge), Scalar(1), Scalar(-huge)}), Scalar(1));
    EXPECT_EQ(sum_of_shares<TypeParam>(context, rows, {Scalar(huge), Scalar(Real(0.5)), Scalar(-huge)}), Scalar(0));
  }
}

TYPED_TEST(ReproducibleTest, DoubleDoubleSumsKeepTwiceTheDigits) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::world(2, Summation::reproducible);
  const Real tiny = std::numeric_limits<Real>::epsilon() * std::numeric_limits<Real>::epsilon() / 2;
  for (const auto& rows : distributions(3 * chunk, context.communicator())) {
    const typename TypeParam::Vector v(context, rows, 2);
    fill(v.column(1), Scalar(1));
    const auto set = [&](std::int64_t row, Real value) {
      if (row >= rows.begin() && row < rows.end()) testing::put(v, row - rows.begin(), 0, Scalar(value));
    };
    set(5, Real(1));
    set(chunk + 5, tiny);
    set(chunk + 6, -3 * tiny);
    set(2 * chunk + 5, std::ldexp(Real(1), 20));
    set(2 * chunk + 6, -std::ldexp(Real(1), 20));
    const typename TypeParam::Small high(context, 1, 1), low(context, 1, 1);
    inner_product_dd(v.column(1), v.column(0), {high, low});
    EXPECT_EQ(high.to_host()(0, 0), Scalar(1));
    EXPECT_EQ(low.to_host()(0, 0), Scalar(-2 * tiny));
  }
}

TYPED_TEST(ReproducibleTest, TheWholeRangeOfTheTypeCounts) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::world(1, Summation::reproducible);
  const Real most = std::numeric_limits<Real>::max(), least = std::numeric_limits<Real>::denorm_min();
  const Real infinity = std::numeric_limits<Real>::infinity();
  const auto rows = RowDistribution::uniform(3 * chunk, context.communicator());
  const auto sum = [&](Real a, Real b, Real c) {
    return sum_of_shares<TypeParam>(context, rows, {Scalar(a), Scalar(b), Scalar(c)});
  };
  EXPECT_EQ(sum(most, most, -most), Scalar(most)) << "what overflows on the way";
  EXPECT_EQ(sum(most, most, 0), Scalar(infinity));
  EXPECT_EQ(sum(-most, -most, 0), Scalar(-infinity));
  EXPECT_EQ(sum(least, least, -3 * least), Scalar(-least));
  EXPECT_EQ(sum(0, 0, 0), Scalar(0));
  EXPECT_EQ(sum(most, -most, 0), Scalar(0));
}

TYPED_TEST(ReproducibleTest, InfinitiesAndNaNsComeOut) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::world(1, Summation::reproducible);
  const auto rows = RowDistribution::uniform(3 * chunk, context.communicator());
  const Real infinity = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
  const auto real_sum = [&](Real a, Real b, Real c) {
    const auto sum = sum_of_shares<TypeParam>(context, rows, {Scalar(a), Scalar(b), Scalar(c)});
    return static_cast<Real>(testing::widened(sum).real());
  };
  EXPECT_TRUE(std::isnan(real_sum(1, nan, 1)));
  EXPECT_TRUE(std::isnan(real_sum(infinity, nan, 1)));
  EXPECT_TRUE(std::isnan(real_sum(infinity, 1, -infinity)));
  if constexpr (!ScalarTraits<Scalar>::is_complex) {  // a complex product with Inf holds NaN
    EXPECT_EQ(real_sum(1, infinity, infinity), infinity);
    EXPECT_EQ(real_sum(1, -infinity, 2), -infinity);
  }
  // Only the entries that they meet.
  const Rows<TypeParam> v(context, rows, 3, 1);
  const typename TypeParam::Small g(context, 3, 3);
  if (rows.owner(chunk) == context.communicator().rank()) {
    testing::put(v.vector, chunk - rows.begin(), 1, Scalar(nan));
  }
  inner_product(v.vector, v.vector, g);
  const auto got = g.to_host();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_EQ(std::isfinite(std::abs(testing::widened(got(i, j)))), i != 1 && j != 1) << i << ", " << j;
  }
}

TYPED_TEST(ReproducibleTest, BadOperandsThrowOnEveryRank) {
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(1, Summation::reproducible);
  const int ranks = context.communicator().size(), rank = context.communicator().rank();
  const auto rows = RowDistribution::uniform(2 * chunk + 100, context.communicator());
  const auto others = RowDistribution::uniform(50, context.communicator());
  const Vector v(context, rows, 4), w(context, others, 2);
  const typename TypeParam::Small c(context, 4, 4);
  typename TestFixture::Products products(context);
  products.add(v, v, c);
  EXPECT_THROW(products.add(w, w, c.block(0, 2, 0, 2)), ShapeError);
  const auto too_many = RowDistribution::uniform(std::int64_t{1} << 36, context.communicator());
  const Vector none = Vector::wrap(context, too_many, nullptr, 0, too_many.local_rows());
  EXPECT_THROW(inner_product(none, none, c.block(0, 0, 0, 0)), ShapeError);
  EXPECT_THROW(typename TestFixture::Products(context).add_share(c), Error);
  if (ranks == 1) return;
  // The last rank's operands have fewer columns.
  const std::int64_t width = rank + 1 == ranks ? 3 : 4;
  testing::expect_parts(message_of<ShapeError>([&] { inner_product(v.columns(0, width), v, c.block(0, width, 0, 4)); }),
                        {"different operations or shapes"});
  // W is V on the last rank alone.
  const Vector copy = v.deep_copy();
  EXPECT_THROW(rank + 1 == ranks ? column_dots(v, v, c.block(0, 1, 0, 4)) : inner_product(v, copy, c), ShapeError);
  EXPECT_THROW(inner_product(v, rank + 1 == ranks ? v : copy, c), DisagreementError);
  EXPECT_NO_THROW(inner_product(v, v, c));
}

}  // namespace
}  // namespace blockvec
