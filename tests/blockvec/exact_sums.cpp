// Sums over shares of rows by teams of threads, as a device makes them, and their exact sum: in the host's memory and
// with its threads.
#include "blockvec/exact_sums.hpp"

#include <algorithm>
#include <blockvec/operations.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/host_teams.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

template <class K>
class ExactSumsTest : public ::testing::Test {
 protected:
  using Entry = typename K::Scalar;
  using Real = RealOf<Entry>;
  using Kernel = typename ScalarTraits<Entry>::Kernel;
  using Block = typename K::Vector;
  static constexpr std::int64_t share_rows = 64;
  static constexpr int parts = detail::parts_of<Entry>;

  struct Run {
    int threads;
    template <class Body>
    void operator()(int teams, const Body& body) const {
      testing::run_host_teams(teams, threads, Body::scratch_bytes, body);
    }
  };

  static kernels::Matrix<Kernel> rows_of(const Block& v, std::int64_t begin, std::int64_t end) {
    auto a = v.matrix();
    a.data += begin * (a.layout == kernels::Layout::row_major ? a.ld : 1);
    a.rows = end - begin;
    return a;
  }

  template <std::size_t count>
  using Part = std::conditional_t<count == Limbs::extended, detail::ExtendedSum<Entry>, detail::WideSum>;

  /// A rank's rows, and the sums over their shares.
  template <std::size_t count>
  class Share {
   public:
    Share(const Block& v, const Block& w, std::int64_t begin, std::int64_t end)
        : run_{v.width() > 8 ? 64 : 16},  // a thread for each column of a panel
          sums_(static_cast<std::size_t>(v.width() * w.width() * shares_in(end - begin))),
          from_{sums_.data(),
                shares_in(end - begin),
                static_cast<int>(v.width()),
                static_cast<int>(w.width()),
                same_block(v, w),
                false} {
      // The latter half first, as far as there are two.
      const std::int64_t cut = begin + (end - begin) / 2 / share_rows * share_rows;
      for (const auto& [first, last] : {std::pair(cut, end), std::pair(begin, cut)}) {
        detail::sum_shares(rows_of(v, first, last), rows_of(w, first, last),
                           from_.gram ? detail::Factors::one : detail::Factors::two, share_rows,
                           shares_in(first - begin), from_.shares, sums_.data(), run_);
      }
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// What it tells the other ranks: its largest numbers and the limbs, as a device finds them.
    void append_to(std::vector<std::int64_t>& numbers) const {
      const std::size_t at = numbers.size(), real_numbers = static_cast<std::size_t>(from_.entries() * parts);
      numbers.resize(at + real_numbers * (1 + count));
      std::int64_t* const largest = numbers.data() + at;
      run_(from_.entries(), detail::LimbsOfShares<Entries, count>{from_, largest, largest + real_numbers});
    }
    /// visit(i, x) for the numbers that add up to real number i, and those of Gram matrices in all places.
    template <class Visit>
    void for_numbers(const Visit& visit) const {
      for (int entry = 0; entry < from_.entries(); ++entry) {
        double sign = 1;
        const auto* const sums = from_.of_entry(entry, sign);
        for (int part = 0; part < parts; ++part) {
          for (int share = 0; share < from_.shares; ++share) {
            const DoubleDouble sum = sums[share].part[part].sum();
            const double factor = part == 0 ? 1 : sign;
            visit(static_cast<std::size_t>(entry * parts + part), DoubleDouble{factor * sum.high, factor * sum.low});
          }
        }
      }
    }

   private:
    using Entries = detail::EntriesOfShares<Entry, Part<count>>;
    static int shares_in(std::int64_t rows) { return static_cast<int>((rows + share_rows - 1) / share_rows); }

    Run run_;
    std::vector<detail::EntrySum<Entry, Part<count>>> sums_;
    Entries from_;
  };

  /// The real numbers of V^H W in high and low parts, as devices come to them: `cuts`, multiples of share_rows, are the
  /// ends of the ranks' rows.
  template <std::size_t count>
  static std::vector<Real> product(const Block& v, const Block& w, std::vector<std::int64_t> cuts) {
    cuts.push_back(v.local_rows());
    const auto reals = static_cast<std::size_t>(v.width() * w.width()) * parts;
    std::vector<std::int64_t> all;
    std::int64_t begin = 0;
    for (const std::int64_t cut : cuts) {
      Share<count>(v, w, begin, cut).append_to(all);
      begin = cut;
    }
    std::vector<Real> sums(2 * reals);
    const detail::SumOfRanks<Real, count> sum{all.data(),
                                              all.data() + reals,
                                              static_cast<std::int64_t>(reals * (1 + count)),
                                              static_cast<int>(cuts.size()),
                                              sums.data(),
                                              static_cast<std::int64_t>(reals)};
    for (std::size_t i = 0; i < reals; ++i) sum(static_cast<std::int64_t>(i));
    return sums;
  }

  /// The same as hosts do it, from the same sums over shares: the largest of all, then the limbs of one after the
  /// other.
  template <std::size_t count>
  static std::vector<Real> on_host(const Block& v, const Block& w) {
    const auto reals = static_cast<std::size_t>(v.width() * w.width()) * parts;
    const Share<count> share(v, w, 0, v.local_rows());
    std::vector<std::int64_t> largest(reals), limbs(count * reals);
    share.for_numbers(
        [&](std::size_t i, const DoubleDouble& x) { largest[i] = std::max(largest[i], magnitude_bits(x.high)); });
    const auto of_number = [&](std::size_t i, const auto& body) {
      std::int64_t own[count];
      std::copy_n(limbs.data() + i * count, count, own);
      body(Limbs(largest[i]), own);
      std::copy_n(own, count, limbs.data() + i * count);
    };
    share.for_numbers([&](std::size_t i, const DoubleDouble& x) {
      of_number(i, [&](const Limbs& cutter, std::int64_t(&own)[count]) {
        cutter.add(x.high, own);
        if constexpr (count == Limbs::extended) cutter.add(x.low, own);
      });
    });
    std::vector<Real> sums(2 * reals);
    for (std::size_t i = 0; i < reals; ++i) {
      of_number(i, [&](const Limbs& cutter, std::int64_t(&own)[count]) {
        if constexpr (count == Limbs::extended) {
          cutter.value(own, sums[i], sums[i + reals]);
        } else {
          sums[i] = cutter.template value<Real>(own);
        }
      });
    }
    return sums;
  }

  static bool same_bits(const std::vector<Real>& x, const std::vector<Real>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(Real)) == 0;
  }
};
TYPED_TEST_SUITE(ExactSumsTest, testing::CasesIn<Kokkos::HostSpace>, testing::CaseName);

TYPED_TEST(ExactSumsTest, AreTheProductsInWhateverOrder) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::self(1);
  for (const auto& [count, m, b] : {std::tuple{1, 1, 1}, {200, 2, 2}, {130, 3, 1}, {130, 34, 2}, {70, 1, 9}}) {
    SCOPED_TRACE(std::to_string(count) + " rows, " + std::to_string(m) + " and " + std::to_string(b) + " columns");
    const Vector all(context, RowDistribution::uniform(count, context.communicator()), m + b + 1);
    fill_random(all, 5);
    const auto v = all.columns(0, m), w = all.columns(m + 1, m + 1 + b);
    for (const bool gram : {false, true}) {
      const auto& x = gram ? w : v;
      const auto plain = this->template product<Limbs::plain>(x, w, {}),
                 extended = this->template product<Limbs::extended>(x, w, {});
      const double bound = 2 * static_cast<double>(count) * std::numeric_limits<double>::epsilon();
      const double at_the_end = 2 * static_cast<double>(count) * epsilon<Scalar>;  // where plain sums are rounded
      for (std::int64_t j = 0; j < b; ++j) {
        for (std::int64_t i = 0; i < x.width(); ++i) {
          std::complex<long double> expected = 0;
          for (std::int64_t row = 0; row < count; ++row) {
            expected += std::conj(testing::widened(x.view()(row, i))) * testing::widened(w.view()(row, j));
          }
          constexpr auto reals = static_cast<std::size_t>(TestFixture::parts);
          const auto at = static_cast<std::size_t>(i + j * x.width()) * reals;
          const auto number = [&](const auto& sums, std::size_t first) {
            return std::complex<long double>(sums[first], reals == 2 ? sums[first + 1] : 0);
          };
          EXPECT_LE(std::abs(number(plain, at) - expected), 64 * bound + at_the_end);
          const auto both = number(extended, at) + number(extended, at + extended.size() / 2);
          EXPECT_LE(std::abs(both - expected), bound + at_the_end * epsilon<Scalar>);
        }
      }
    }
  }
}

TYPED_TEST(ExactSumsTest, BringGramMatricesWithProducts) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  using Sum = detail::EntrySum<Scalar, detail::WideSum>;
  const Context context = Context::self(1);
  constexpr std::int64_t count = 150, share = TestFixture::share_rows, shares = 3;
  const typename TestFixture::Run run{64};
  for (const auto& [m, b] : {std::pair{0, 8}, {1, 1}, {2, 2}, {9, 3}, {24, 8}, {33, 5}, {56, 8}}) {
    SCOPED_TRACE(std::to_string(m) + " and " + std::to_string(b) + " columns");
    const Vector all(context, RowDistribution::uniform(count, context.communicator()), m + b);
    fill_random(all, 8);
    const auto v = this->rows_of(all.columns(0, m), 0, count), w = this->rows_of(all.columns(m, m + b), 0, count);
    std::vector<Sum> together(static_cast<std::size_t>((m + b) * b * shares)), product(together.size()),
        gram(together.size());
    detail::sum_shares(v, w, detail::Factors::two_and_gram, share, 0, shares, together.data(), run);
    detail::sum_shares(v, w, detail::Factors::two, share, 0, shares, product.data(), run);
    detail::sum_shares(w, w, detail::Factors::one, share, 0, shares, gram.data(), run);
    const double bound = 4 * static_cast<double>(share) * std::numeric_limits<double>::epsilon();
    for (std::int64_t i = 0; i < m + b; ++i) {
      for (std::int64_t j = std::max<std::int64_t>(0, i - m); j < b; ++j) {  // what is below the diagonal is left out
        const auto& apart = i < m ? product : gram;
        const std::int64_t row = i < m ? i : i - m;
        for (std::int64_t k = 0; k < shares; ++k) {
          const Sum& one = together[static_cast<std::size_t>((i * b + j) * shares + k)];
          const Sum& other = apart[static_cast<std::size_t>((row * b + j) * shares + k)];
          for (int part = 0; part < TestFixture::parts; ++part)
            EXPECT_NEAR(one.part[part].value, other.part[part].value, bound) << i << ' ' << j << ' ' << k;
        }
      }
    }
  }
}

// Ranks of many, few and no rows, of rows that are zero, tiny beside those of others, or not finite.
TYPED_TEST(ExactSumsTest, HaveTheHostsBitsOnAnyRanks) {
  using Vector = typename TypeParam::Vector;
  const Context context = Context::self(1);
  constexpr std::int64_t count = 450, share = TestFixture::share_rows;
  for (const double given : {1.0, 1e-7, 1e-18, 0.0, HUGE_VAL, std::nan("")}) {
    const auto factor = static_cast<RealOf<typename TypeParam::Scalar>>(given);
    SCOPED_TRACE("factor " + std::to_string(factor));
    const Vector all(context, RowDistribution::uniform(count, context.communicator()), 5);
    fill_random(all, 6);
    for (std::int64_t row = share; row < 3 * share; ++row) {
      for (std::int64_t j = 0; j < 4; ++j) all.view()(row, j) *= factor;
    }
    const auto v = all.columns(0, 3), w = all.columns(3, 5);
    for (const bool gram : {false, true}) {
      const auto& x = gram ? w : v;
      const auto plain = this->template on_host<Limbs::plain>(x, w);
      const auto extended = this->template on_host<Limbs::extended>(x, w);
      EXPECT_EQ(std::isfinite(plain[0]), std::isfinite(factor));
      for (const std::vector<std::int64_t>& cuts :
           std::vector<std::vector<std::int64_t>>{{},
                                                  {share},
                                                  {share, 3 * share},
                                                  {0, 0, 2 * share, 5 * share, 5 * share},
                                                  {share, 2 * share, 3 * share}}) {
        SCOPED_TRACE(std::to_string(cuts.size() + 1) + " ranks");
        EXPECT_TRUE(this->same_bits(this->template product<Limbs::plain>(x, w, cuts), plain));
        EXPECT_TRUE(this->same_bits(this->template product<Limbs::extended>(x, w, cuts), extended));
      }
    }
  }
}

/// The sum of some numbers by limbs relative to the largest of them.
template <std::size_t count>
DoubleDouble sum_of(const std::vector<double>& numbers) {
  std::int64_t largest = 0, limbs[count] = {};
  for (const double x : numbers) largest = std::max(largest, magnitude_bits(x));
  const Limbs cutter(largest);
  for (const double x : numbers) cutter.add(x, limbs);
  DoubleDouble sum{0, 0};
  if constexpr (count == Limbs::extended) {
    cutter.value(limbs, sum.high, sum.low);
  } else {
    sum.high = cutter.template value<double>(limbs);
  }
  return sum;
}

TEST(Limbs, HoldWhatTheySay) {
  const double huge = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  const double eps = std::numeric_limits<double>::epsilon();
  for (int exponent = -900; exponent <= 900; exponent += 37) {  // units change at multiples of 40
    const auto x = [&](double value, int lower = 0) { return std::ldexp(value, exponent - lower); };
    EXPECT_EQ(sum_of<Limbs::plain>({x(1), x(1, 79), x(-1)}).high, x(1, 79));
    EXPECT_EQ(sum_of<Limbs::plain>({x(1), x(1, 53)}).high, x(1)) << "a tie goes to the even number";
    EXPECT_EQ(sum_of<Limbs::plain>({x(1), x(1, 53), x(1, 79)}).high, x(1 + eps));
    EXPECT_EQ(sum_of<Limbs::plain>({x(-1), x(-1, 53), x(1, 79)}).high, x(-1));
    EXPECT_EQ(sum_of<Limbs::plain>({x(1.25), x(-1, 30), x(0.75)}).high, x(2 - std::ldexp(1.0, -30)));
    EXPECT_EQ(sum_of<Limbs::extended>({x(1), x(1, 121), x(-1)}).high, x(1, 121));
    const auto both = sum_of<Limbs::extended>({x(1), x(1, 60), x(-1, 105)});
    EXPECT_EQ(both.high, x(1));
    EXPECT_EQ(both.low, x(std::ldexp(1.0, -60) - std::ldexp(1.0, -105)));
    const auto negative = sum_of<Limbs::extended>({x(-1), x(1, 41), x(1, 100)});
    EXPECT_EQ(negative.high, x(-1 + std::ldexp(1.0, -41)));
    EXPECT_EQ(negative.low, x(1, 100));
  }
  EXPECT_EQ(sum_of<Limbs::plain>({tiny, tiny, tiny}).high, 3 * tiny);
  EXPECT_EQ(sum_of<Limbs::plain>({huge, huge, -huge, tiny}).high, huge);
  EXPECT_EQ(sum_of<Limbs::plain>({}).high, 0);
  // A sum may have so many terms at most.
  std::int64_t limbs[Limbs::plain] = {};
  const double most = 1 - eps / 2;
  const Limbs cutter(magnitude_bits(most));
  for (std::int64_t i = 0; i < Limbs::most_terms; ++i) cutter.add(-most, limbs);
  EXPECT_EQ(cutter.value<double>(limbs), -most * static_cast<double>(Limbs::most_terms));
  std::int64_t many[Limbs::extended] = {};
  for (std::int64_t i = 0; i < Limbs::most_terms; ++i) cutter.add(-most, many);
  double high = 0, low = 0;
  cutter.value(many, high, low);
  const double terms = static_cast<double>(Limbs::most_terms);
  EXPECT_EQ(high, -most * terms);
  EXPECT_EQ(low, std::fma(-most, terms, most * terms));
}

}  // namespace
}  // namespace blockvec
