#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::gamma;
using testing::gathered_copy;
using testing::message_of;
using testing::Wide;
using Value = std::complex<long double>;

template <class C>
class OperationsTest : public ::testing::Test {
 protected:
  using Entry = typename C::Scalar;
  using Block = typename C::Vector;

  // A block inside a wider one, whose other columns must keep their values.
  struct Guarded {
    Block whole;
    Block block;
    Guarded(const Context& context, const RowDistribution& rows, std::int64_t width, std::uint64_t seed)
        : whole(context, rows, width + 3, "guarded"), block(whole.columns(1, 1 + width)) {
      fill(whole, Entry(7));
      fill_random(block, seed);
    }
    void expect_intact() const {
      const auto host = testing::on_host(whole);
      for (std::int64_t i = 0; i < host.local_rows(); ++i) {
        for (const std::int64_t j : {std::int64_t{0}, host.width() - 2, host.width() - 1})
          ASSERT_EQ(host.view()(i, j), Entry(7));
      }
    }
  };

  static typename C::Small random_small(const Context& context, std::int64_t rows, std::int64_t columns,
                                        std::uint64_t seed) {
    const Context self = Context::self(1);
    const BlockVector<Entry, ColumnMajor> source(self, RowDistribution::uniform(rows, self.communicator()), columns,
                                                 "source");
    fill_random(source, seed);
    HostMatrix<Entry> values("values", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) values(i, j) = source.view()(i, j);
    }
    return testing::small_matrix<C>(context, values);
  }

  static void expect_near(Entry computed, Value exact, double bound, const char* what) {
    ASSERT_LE(std::abs(testing::widened(computed) - exact), static_cast<long double>(bound)) << what;
  }

  const std::int64_t sizes_[5] = {0, 1, 3, 130, 1001};
};
TYPED_TEST_SUITE(OperationsTest, testing::AllCases, testing::CaseName);

// The longest chain of additions that a sum over rows meets here and over the ranks.
std::int64_t chain(std::int64_t rows, const Context& context) {
  return kernels::summation_depth(rows) + context.communicator().size() + 3;
}

TYPED_TEST(OperationsTest, InnerProductMatchesTheSumOverAllRows) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  for (const std::int64_t k : this->sizes_) {
    for (const auto& rows : testing::splits(k, context.communicator())) {
      for (const auto& [m, b] : {std::pair{1, 1}, {5, 3}, {16, 4}, {0, 2}, {33, 17}}) {
        const typename TestFixture::Guarded v(context, rows, m, 1);
        const typename TestFixture::Guarded w(context, rows, b, 2);
        const typename TypeParam::Small room(context, m + 2, b + 1);
        const auto c = room.block(1, m + 1, 0, b);
        const std::int64_t before = context.reductions();
        inner_product(v.block, w.block, c);
        EXPECT_EQ(context.reductions(), before + 1);
        const Wide x = gathered_copy(v.block);
        const Wide y = gathered_copy(w.block);
        const auto got = room.to_host();
        for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
          for (std::size_t j = 0; j < static_cast<std::size_t>(b); ++j) {
            Value exact = 0;
            long double magnitude = 0;
            for (std::size_t row = 0; row < x.size(); ++row) {
              exact += std::conj(x[row][i]) * y[row][j];
              magnitude += std::abs(x[row][i]) * std::abs(y[row][j]);
            }
            this->expect_near(got(i + 1, j), exact,
                              gamma<Scalar>(static_cast<double>(chain(k, context))) * static_cast<double>(magnitude),
                              "V^H W");
          }
          ASSERT_EQ(got(i + 1, static_cast<std::size_t>(b)), Scalar(0));
        }
      }
    }
  }
}

// Products that nearly cancel, within a rank and over the ranks: what is left has few digits in working precision.
TYPED_TEST(OperationsTest, InnerProductInDoubleDoubleKeepsWhatCancellationLeaves) {
  using Scalar = typename TypeParam::Scalar;
  using Pair = DoubleDoubleMatrix<Scalar, typename TypeParam::Space>;
  const Context context = Context::world(2);
  for (const std::int64_t k : {0, 2, 130, 3000}) {
    for (const auto& rows : testing::splits(k, context.communicator())) {
      constexpr std::int64_t m = 5, b = 3;
      const typename TestFixture::Guarded v(context, rows, m, 1), w(context, rows, b, 2);
      const auto x = testing::on_host(v.block), y = testing::on_host(w.block);
      for (std::int64_t i = 0; i < rows.local_rows(); ++i) {  // 1 and -1 by turns, and a little
        const auto sign = static_cast<RealOf<Scalar>>((rows.begin() + i) % 2 == 0 ? 1 : -1);
        const auto small = static_cast<RealOf<Scalar>>(std::ldexp(1.0, static_cast<int>((rows.begin() + i) % 7) - 10));
        for (std::int64_t j = 0; j < m; ++j) x.view()(i, j) = Scalar(sign) + Scalar(small) * x.view()(i, j);
        for (std::int64_t j = 0; j < b; ++j) y.view()(i, j) = Scalar(1) + Scalar(small) * y.view()(i, j);
      }
      copy(x, v.block);
      copy(y, w.block);
      const typename TypeParam::Small room(context, m + 1, b), room_low(context, m, b + 2), plain(context, b, b);
      const Pair c{room.block(1, m + 1, 0, b), room_low.block(0, m, 1, b + 1)};
      const Pair gram{typename TypeParam::Small(context, b, b), typename TypeParam::Small(context, b, b)};
      const std::int64_t before = context.reductions();
      InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space>(context)
          .add_dd(v.block, w.block, c)
          .add(w.block, w.block, plain)
          .add_dd(w.block, w.block, gram)
          .reduce();
      EXPECT_EQ(context.reductions(), before + 1);
      const Wide xs = gathered_copy(v.block), ys = gathered_copy(w.block);
      const auto high = c.high.to_host(), low = c.low.to_host();
      const auto gram_high = gram.high.to_host(), plain_host = plain.to_host();
      for (std::size_t j = 0; j < b; ++j) {
        for (std::size_t i = 0; i < m; ++i) {
          Value exact = 0;
          for (std::size_t row = 0; row < xs.size(); ++row) exact += std::conj(xs[row][i]) * ys[row][j];
          const Value error = testing::widened(high(i, j)) + testing::widened(low(i, j)) - exact;
          // The oracle's own error in long double, and that of single precision's two halves on each rank.
          const double u = static_cast<double>(std::numeric_limits<long double>::epsilon()) / 2;
          const double half = std::is_same_v<RealOf<Scalar>, float> ? gamma<Scalar>(1) : 0;
          ASSERT_LE(static_cast<double>(std::abs(error)),
                    8 * u * static_cast<double>(k * (k + 3)) + half * half * static_cast<double>(2 * k));
        }
        for (std::size_t i = 0; i < b; ++i) {
          EXPECT_EQ(testing::widened(gram_high(i, j)), std::conj(testing::widened(gram_high(j, i))));
          EXPECT_LE(std::abs(testing::widened(gram_high(i, j)) - testing::widened(plain_host(i, j))),
                    4 * gamma<Scalar>(static_cast<double>(chain(k, context))) * static_cast<double>(k));
        }
      }
      v.expect_intact();
    }
  }
}

TYPED_TEST(OperationsTest, SeveralInnerProductsAreOneReductionWithTheSameBits) {
  using Scalar = typename TypeParam::Scalar;
  using Products = InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space>;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(333, context.communicator());
  const typename TestFixture::Guarded v(context, rows, 6, 1);
  const typename TestFixture::Guarded w(context, rows, 4, 2);
  const typename TypeParam::Small s(context, 6, 4), g(context, 4, 4), s1(context, 6, 4), g1(context, 4, 4);
  const std::int64_t before = context.reductions();
  Products products(context);
  products.add(v.block, w.block, s).add(w.block, w.block, g);
  products.reduce();
  products.reduce();
  EXPECT_EQ(context.reductions(), before + 1);
  inner_product(v.block, w.block, s1);
  inner_product(w.block, w.block, g1);
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 6; ++i) EXPECT_EQ(s.to_host()(i, j), s1.to_host()(i, j));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(g.to_host()(i, j), g1.to_host()(i, j));
  }
  const typename TypeParam::Small all(context, 3, 4), dots = all.block(1, 2, 0, 4), apart(context, 1, 4);
  Products(context).add(v.block, w.block, s).add_dots(w.block, w.block, dots).reduce();
  EXPECT_EQ(context.reductions(), before + 4);
  column_dots(w.block, w.block, apart);
  for (int j = 0; j < 4; ++j) {
    EXPECT_EQ(dots.to_host()(0, j), apart.to_host()(0, j));
    EXPECT_EQ(all.to_host()(0, j), Scalar(0));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(s.to_host()(i, j), s1.to_host()(i, j));
  }
  expect_parts(message_of<ShapeError>([&] { products.add_dots(v.block, w.block, dots); }), {"same width"});
  for (int i = 0; i < 16; ++i) products.add(w.block, w.block, g);
  expect_parts(message_of<ShapeError>([&] { products.add(w.block, w.block, g); }), {"more than 16"});
}

TYPED_TEST(OperationsTest, SmallResultsHaveTheSameBitsOnEveryRankAndThreadCount) {
  const Context one = Context::world(1);
  const auto rows = RowDistribution::uniform(5001, one.communicator());
  const auto run = [&](int threads) {
    const Context context = Context::world(threads);
    const typename TestFixture::Guarded v(context, rows, 5, 3);
    const typename TypeParam::Small c(context, 5, 5);
    const typename TypeParam::Small d(context, 1, 5);
    inner_product(v.block, v.block, c);
    column_dots(v.block, v.block, d);
    std::vector<double> bits;
    for (int j = 0; j < 5; ++j) {
      for (int i = 0; i < 5; ++i) {
        bits.push_back(static_cast<double>(testing::widened(c.to_host()(i, j)).real()));
        bits.push_back(static_cast<double>(testing::widened(c.to_host()(i, j)).imag()));
      }
      bits.push_back(static_cast<double>(testing::widened(d.to_host()(0, j)).real()));
    }
    return bits;
  };
  const auto bits = run(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads), bits);
  auto highest = bits;
  one.communicator().max(std::span(highest));
  EXPECT_EQ(highest, bits);
}

TYPED_TEST(OperationsTest, UpdateMatchesTheSum) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  for (const std::int64_t k : this->sizes_) {
    const auto rows = testing::splits(k, context.communicator()).back();
    for (const auto& [m, b] : {std::pair{1, 1}, {5, 3}, {4, 16}, {0, 2}, {33, 7}}) {
      for (const auto& [alpha, beta] :
           {std::pair{Scalar(1), Scalar(0)}, {Scalar(-1), Scalar(1)}, {Scalar(2), Scalar(-0.5)}}) {
        const typename TestFixture::Guarded v(context, rows, m, 1);
        const typename TestFixture::Guarded w(context, rows, b, 2);
        const auto c = this->random_small(context, m, b, 5);
        const Wide before = testing::local_copy(w.block);
        if (beta == Scalar(0)) fill(w.block, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
        const std::int64_t reductions = context.reductions();
        update(alpha, v.block, c, beta, w.block);
        EXPECT_EQ(context.reductions(), reductions);
        const auto values = c.to_host();
        const auto x = testing::on_host(v.block), y = testing::on_host(w.block);
        for (std::int64_t i = 0; i < w.block.local_rows(); ++i) {
          for (std::int64_t j = 0; j < b; ++j) {
            const Value old = testing::widened(beta) * before[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
            Value exact = old;
            long double magnitude = std::abs(old);
            for (std::int64_t l = 0; l < m; ++l) {
              const Value term =
                  testing::widened(alpha) * testing::widened(x.view()(i, l)) * testing::widened(values(l, j));
              exact += term;
              magnitude += std::abs(term);
            }
            this->expect_near(y.view()(i, j), exact,
                              gamma<Scalar>(static_cast<double>(m + 4)) * static_cast<double>(magnitude), "W");
          }
        }
        w.expect_intact();
      }
    }
  }
}

TYPED_TEST(OperationsTest, MultiplyInPlaceMatchesTheSum) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  for (const std::int64_t k : this->sizes_) {
    const auto rows = RowDistribution::uniform(k, context.communicator());
    for (const auto& [m, n] : {std::pair{1, 1}, {5, 3}, {16, 16}, {33, 20}}) {
      for (const auto triangle : {kernels::Triangle::general, kernels::Triangle::upper}) {
        const typename TestFixture::Guarded v(context, rows, m, 1);
        const auto c = this->random_small(context, m, n, 5);
        const Wide before = testing::local_copy(v.block);
        const int first = triangle == kernels::Triangle::upper ? 0 : m - n;
        multiply_in_place(v.block, c, triangle, first);
        const auto values = c.to_host();
        const auto after = testing::on_host(v.block);
        for (std::int64_t i = 0; i < v.block.local_rows(); ++i) {
          const auto& row = before[static_cast<std::size_t>(i)];
          for (std::int64_t j = 0; j < m; ++j) {
            if (j < first || j >= first + n) {
              ASSERT_EQ(testing::widened(after.view()(i, j)), row[static_cast<std::size_t>(j)]);
              continue;
            }
            Value exact = 0;
            long double magnitude = 0;
            for (std::int64_t l = 0; l < (triangle == kernels::Triangle::upper ? j + 1 : m); ++l) {
              const Value term = row[static_cast<std::size_t>(l)] * testing::widened(values(l, j - first));
              exact += term;
              magnitude += std::abs(term);
            }
            this->expect_near(after.view()(i, j), exact,
                              gamma<Scalar>(static_cast<double>(m + 3)) * static_cast<double>(magnitude), "V C");
          }
        }
        v.expect_intact();
      }
    }
  }
}

TYPED_TEST(OperationsTest, SweepIsItsStepsOneAfterTheOther) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  for (const std::int64_t k : this->sizes_) {
    for (const auto& rows : testing::splits(k, context.communicator())) {
      for (const auto& [m, b] : {std::pair{0, 3}, {5, 2}, {16, 8}}) {
        const typename TestFixture::Guarded v(context, rows, m, 1), w(context, rows, b, 2), steps(context, rows, b, 2);
        const auto s = this->random_small(context, m, b, 5), x = this->random_small(context, b, b, 6);
        const typename TypeParam::Small p(context, m, b), g(context, b, b), expected_p(context, m, b),
            expected_g(context, b, b);
        const typename TypeParam::Vector pieces[] = {v.block.columns(0, m / 3), v.block.columns(m / 3, m)};
        const std::int64_t before = context.reductions();
        InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space>(context)
            .add_swept(pieces, &s, w.block, &x, kernels::Triangle::upper, &p, g)
            .reduce();
        EXPECT_EQ(context.reductions(), before + 1);
        update(Scalar(-1), pieces[0], s.block(0, m / 3, 0, b), Scalar(1), steps.block);
        update(Scalar(-1), pieces[1], s.block(m / 3, m, 0, b), Scalar(1), steps.block);
        multiply_in_place(steps.block, x, kernels::Triangle::upper);
        if (m > 0) inner_product(v.block, steps.block, expected_p);
        inner_product(steps.block, steps.block, expected_g);
        EXPECT_EQ(testing::local_copy(w.block), testing::local_copy(steps.block));
        // Entries of V, S and X are at most sqrt(2) in absolute value, so those of W are at most these.
        const double largest = std::sqrt(2.0) * b * (std::sqrt(2.0) + 2.0 * m);
        for (const auto& [found, expected] :
             {std::pair{p.to_host(), expected_p.to_host()}, {g.to_host(), expected_g.to_host()}}) {
          for (std::size_t j = 0; j < found.extent(1); ++j) {
            for (std::size_t i = 0; i < found.extent(0); ++i) {
              this->expect_near(
                  found(i, j), testing::widened(expected(i, j)),
                  gamma<Scalar>(static_cast<double>(2 * k + 6)) * static_cast<double>(k) * largest * largest,
                  "products");
            }
          }
        }
        typename TestFixture::Guarded alone(context, rows, b, 2);
        gram_schmidt_sweep(pieces, &s, alone.block, &x, kernels::Triangle::upper);
        EXPECT_EQ(testing::local_copy(alone.block), testing::local_copy(steps.block));
        v.expect_intact();
        w.expect_intact();
      }
    }
  }
}

// The same verdict and the same numbers on host and device, however many block vectors V comes as.
TYPED_TEST(OperationsTest, ASweepTakesAnyNumberOfBlockVectors) {
  using Scalar = typename TypeParam::Scalar;
  using Products = InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space>;
  const Context context = Context::world(2);
  constexpr std::int64_t k = 300, b = 2;
  const auto rows = RowDistribution::uniform(k, context.communicator());
  for (const std::int64_t m : {4, 5, 8, 9, 15, 16}) {
    const typename TestFixture::Guarded v(context, rows, m, 1), w(context, rows, b, 2), steps(context, rows, b, 2);
    const auto s = this->random_small(context, m, b, 5), x = this->random_small(context, b, b, 6);
    const typename TypeParam::Small p(context, m, b), g(context, b, b), expected_p(context, m, b),
        expected_g(context, b, b);
    std::vector<typename TypeParam::Vector> pieces;
    for (std::int64_t j = 0; j < m; ++j) pieces.push_back(v.block.column(j));
    if (m == 16) {  // and one more product than fit
      EXPECT_THROW(Products(context).add_swept(pieces, &s, w.block, &x, kernels::Triangle::upper, &p, g), ShapeError);
      EXPECT_EQ(testing::local_copy(w.block), testing::local_copy(steps.block));
      gram_schmidt_sweep(pieces, &s, w.block, &x, kernels::Triangle::upper);
    } else {
      Products(context).add_swept(pieces, &s, w.block, &x, kernels::Triangle::upper, &p, g).reduce();
    }
    for (std::int64_t j = 0; j < m; ++j)
      update(Scalar(-1), v.block.column(j), s.block(j, j + 1, 0, b), Scalar(1), steps.block);
    multiply_in_place(steps.block, x, kernels::Triangle::upper);
    EXPECT_EQ(testing::local_copy(w.block), testing::local_copy(steps.block)) << m << " block vectors";
    v.expect_intact();
    w.expect_intact();
    if (m == 16) continue;
    inner_product(v.block, steps.block, expected_p);
    inner_product(steps.block, steps.block, expected_g);
    // Entries of V, S and X are at most sqrt(2) in absolute value, so those of W are at most these.
    const double largest = std::sqrt(2.0) * b * (std::sqrt(2.0) + 2.0 * static_cast<double>(m));
    const double bound = gamma<Scalar>(2 * k + 6) * k * largest * largest;
    for (const auto& [found, expected] :
         {std::pair{p.to_host(), expected_p.to_host()}, {g.to_host(), expected_g.to_host()}}) {
      for (std::size_t j = 0; j < found.extent(1); ++j) {
        for (std::size_t i = 0; i < found.extent(0); ++i) {
          this->expect_near(found(i, j), testing::widened(expected(i, j)), bound, "products");
        }
      }
    }
  }
}

TYPED_TEST(OperationsTest, ColumnDotsAndNorms) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  for (const std::int64_t k : this->sizes_) {
    for (const auto& rows : testing::splits(k, context.communicator())) {
      const typename TestFixture::Guarded v(context, rows, 5, 1);
      const typename TestFixture::Guarded w(context, rows, 5, 2);
      const typename TypeParam::Small dots(context, 1, 5);
      const typename TypeParam::RealSmall norms(context, 1, 5);
      const std::int64_t before = context.reductions();
      column_dots(v.block, w.block, dots);
      column_norms(v.block, norms);
      EXPECT_EQ(context.reductions(), before + 2);
      const Wide x = gathered_copy(v.block);
      const Wide y = gathered_copy(w.block);
      // Runs of 128 rows, halved at most log2(rows) times, and 64 pieces.
      const double bound = gamma<Scalar>(128 + 64 + 6 + context.communicator().size() + 2);
      for (std::size_t j = 0; j < 5; ++j) {
        Value exact = 0;
        long double magnitude = 0;
        long double square = 0;
        for (std::size_t row = 0; row < x.size(); ++row) {
          exact += std::conj(x[row][j]) * y[row][j];
          magnitude += std::abs(x[row][j]) * std::abs(y[row][j]);
          square += std::norm(x[row][j]);
        }
        this->expect_near(dots.to_host()(0, j), exact, bound * static_cast<double>(magnitude), "dots");
        EXPECT_NEAR(static_cast<double>(norms.to_host()(0, j)), static_cast<double>(std::sqrt(square)),
                    bound * static_cast<double>(std::sqrt(square)));
      }
    }
  }
}

TYPED_TEST(OperationsTest, ElementwiseOperationsActOnTheirColumnsAlone) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(3);
  const Scalar nan(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  for (const std::int64_t k : {0, 1, 7, 5000}) {
    const auto rows = RowDistribution::uniform(k, context.communicator());
    const typename TestFixture::Guarded v(context, rows, 5, 1);
    const typename TestFixture::Guarded w(context, rows, 5, 2);
    const typename TestFixture::Guarded u(context, rows, 5, 3);
    const auto factors = this->random_small(context, 1, 5, 4);
    const auto f = factors.to_host();
    const auto expect_all = [&](const auto& block, auto exact) {
      const auto host = testing::on_host(block.block);
      for (std::int64_t i = 0; i < block.block.local_rows(); ++i) {
        for (std::int64_t j = 0; j < 5; ++j) {
          const auto [value, magnitude] = exact(i, j);
          this->expect_near(host.view()(i, j), value, gamma<Scalar>(3) * static_cast<double>(magnitude), "entry");
        }
      }
      block.expect_intact();
    };
    const Wide x = testing::local_copy(v.block);
    const Wide y = testing::local_copy(w.block);
    const auto X = [&](std::int64_t i, std::int64_t j) {
      return x[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    };
    const auto Y = [&](std::int64_t i, std::int64_t j) {
      return y[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    };

    axpby(Scalar(2), v.block, Scalar(-3), w.block);
    expect_all(w, [&](auto i, auto j) {
      return std::pair(2.0L * X(i, j) - 3.0L * Y(i, j), 2 * std::abs(X(i, j)) + 3 * std::abs(Y(i, j)));
    });
    fill(w.block, nan);
    axpby(Scalar(2), v.block, Scalar(0), w.block);
    expect_all(w, [&](auto i, auto j) { return std::pair(2.0L * X(i, j), 0.0L); });
    fill(u.block, nan);
    axpby(Scalar(0), u.block, Scalar(0.5), w.block);
    expect_all(w, [&](auto i, auto j) { return std::pair(X(i, j), 0.0L); });
    copy(v.block, u.block);
    copy(u.block, u.block);
    expect_all(u, [&](auto i, auto j) { return std::pair(X(i, j), 0.0L); });
    scale(u.block, Scalar(-4));
    expect_all(u, [&](auto i, auto j) { return std::pair(-4.0L * X(i, j), 0.0L); });
    scale_columns(v.block, factors);
    expect_all(v, [&](auto i, auto j) {
      return std::pair(X(i, j) * testing::widened(f(0, j)), std::abs(X(i, j)) * std::abs(testing::widened(f(0, j))));
    });
    fill(u.block, nan);
    scale(u.block, Scalar(0));
    expect_all(u, [&](auto, auto) { return std::pair(Value(0), 0.0L); });
  }
}

TYPED_TEST(OperationsTest, RefusesOperandsThatDoNotFit) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(20, context.communicator());
  const Vector v(context, rows, 4, "basis");
  const Vector w(context, rows, 2, "block");
  fill(w, Scalar(5));
  const Vector shorter(context, RowDistribution::uniform(19, context.communicator()), 2, "shorter");
  const Vector elsewhere(Context::world(1), rows, 2, "elsewhere");
  using Small = typename TypeParam::Small;
  const Small c(context, 4, 2);
  const Small wrong(context, 3, 2);
  const std::int64_t before = context.reductions();
  expect_parts(message_of<ShapeError>([&] { inner_product(v, w, wrong); }),
               {"inner_product", "basis (20 x 4)", "block (20 x 2)", "C is 3 x 2", "expected 4 x 2"});
  expect_parts(message_of<ShapeError>([&] { inner_product(v, shorter, c); }),
               {"inner_product", "basis (20 x 4)", "shorter (19 x 2)", "same distribution"});
  expect_parts(message_of<ShapeError>([&] { inner_product(v, elsewhere, c); }), {"same context"});
  const Small stray(elsewhere.context(), 4, 2);
  expect_parts(message_of<ShapeError>([&] { update(Scalar(1), v, stray, Scalar(0), w); }),
               {"update", "C belongs to another context", "basis (20 x 4)"});
  expect_parts(message_of<ShapeError>([&] { update(Scalar(1), v, wrong, Scalar(0), w); }), {"update", "C is 3 x 2"});
  expect_parts(message_of<ShapeError>([&] { update(Scalar(1), v, c, Scalar(0), shorter); }), {"update", "shorter"});
  expect_parts(message_of<ShapeError>([&] { multiply_in_place(w, c); }),
               {"multiply_in_place", "block (20 x 2)", "C is 4 x 2"});
  expect_parts(message_of<ShapeError>([&] { multiply_in_place(w, c, kernels::Triangle::general, 1); }),
               {"multiply_in_place", "columns from 1 on", "no more columns than V has there"});
  expect_parts(message_of<ShapeError>([&] { column_dots(v, w, Small(context, 1, 4)); }), {"column_dots", "same width"});
  expect_parts(message_of<ShapeError>([&] { column_dots(v, v, Small(context, 4, 1)); }),
               {"dots is 4 x 1", "expected 1 x 4"});
  expect_parts(message_of<ShapeError>([&] { column_norms(v, typename TypeParam::RealSmall(context, 1, 3)); }),
               {"column_norms", "norms is 1 x 3"});
  expect_parts(message_of<ShapeError>([&] { axpby(Scalar(1), v, Scalar(1), w); }), {"axpby", "same width"});
  expect_parts(message_of<ShapeError>([&] { copy(v, w); }), {"copy", "same width"});
  expect_parts(message_of<ShapeError>([&] { scale_columns(v, Small(context, 1, 5)); }),
               {"scale_columns", "factors is 1 x 5"});
  EXPECT_EQ(context.reductions(), before);
  const auto host = testing::on_host(w);
  for (std::int64_t i = 0; i < w.local_rows(); ++i) EXPECT_EQ(host.view()(i, 1), Scalar(5));
}

}  // namespace
}  // namespace blockvec
