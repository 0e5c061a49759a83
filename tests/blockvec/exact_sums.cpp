// Sums over shares of rows by teams of threads, as a device makes them, and their exact sum: in the host's memory and
// with its threads.
#include "blockvec/exact_sums.hpp"

#include <blockvec/operations.hpp>
#include <string>
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

  /// V^H W, column by column, from the rows before `cut`, a multiple of share_rows, and those after it.
  template <std::size_t count>
  static std::vector<std::complex<double>> product(const Block& v, const Block& w, std::int64_t cut) {
    using Part = std::conditional_t<count == 4, detail::ExtendedSum<Entry>, detail::WideSum>;
    const std::int64_t rows = v.local_rows();
    const auto m = static_cast<int>(v.width()), b = static_cast<int>(w.width());
    const bool gram = same_block(v, w);
    const Run run{m > 8 ? 64 : 16};  // a thread for each column of a panel
    const auto shares = static_cast<int>((rows + share_rows - 1) / share_rows);
    const auto entries = static_cast<std::size_t>(m * b);
    std::vector<detail::EntrySum<Entry, Part>> sums(entries * static_cast<std::size_t>(shares));
    const auto sum = [&](std::int64_t begin, std::int64_t end) {
      detail::sum_shares(rows_of(v, begin, end), rows_of(w, begin, end), gram, share_rows,
                         static_cast<int>(begin / share_rows), shares, sums.data(), run);
    };
    sum(cut, rows);
    sum(0, cut);
    const detail::EntriesOfShares<Entry, Part> from{sums.data(), shares, m, b, gram, false};
    std::vector<std::int64_t> largest(entries * parts), limbs(entries * parts * count);
    run(from.entries(), detail::LargestOfShares<std::remove_const_t<decltype(from)>>{from, largest.data()});
    run(from.entries(),
        detail::LimbsOfShares<std::remove_const_t<decltype(from)>, count>{from, largest.data(), limbs.data()});
    std::vector<std::complex<double>> result(entries);
    for (std::size_t i = 0; i < entries; ++i) {
      double part[2] = {};
      for (std::size_t p = 0; p < parts; ++p) {
        std::int64_t own[count];
        std::copy_n(limbs.data() + (i * parts + p) * count, count, own);
        const Limbs cutter(largest[i * parts + p]);
        if constexpr (count == 4) {
          double low = 0;
          cutter.value(own, part[p], low);
        } else {
          part[p] = cutter.template value<double>(own);
        }
      }
      result[i] = {part[0], part[1]};
    }
    return result;
  }
};
TYPED_TEST_SUITE(ExactSumsTest, testing::CasesIn<Kokkos::HostSpace>, testing::CaseName);

TYPED_TEST(ExactSumsTest, AreTheProductsInWhateverOrder) {
  using Vector = typename TypeParam::Vector;
  const Context context = Context::self(1);
  for (const auto& [count, m, b] : {std::tuple{1, 1, 1}, {200, 2, 2}, {130, 3, 1}, {130, 34, 2}, {70, 1, 9}}) {
    SCOPED_TRACE(std::to_string(count) + " rows, " + std::to_string(m) + " and " + std::to_string(b) + " columns");
    const Vector all(context, RowDistribution::uniform(count, context.communicator()), m + b + 1);
    fill_random(all, 5);
    const auto v = all.columns(0, m), w = all.columns(m + 1, m + 1 + b);
    for (const bool gram : {false, true}) {
      const auto& x = gram ? w : v;
      const auto plain = this->template product<2>(x, w, 0), extended = this->template product<4>(x, w, 0);
      const std::int64_t cut = count / 2 / 64 * 64;
      EXPECT_TRUE(plain == (this->template product<2>(x, w, cut)));
      EXPECT_TRUE(extended == (this->template product<4>(x, w, cut)));
      const double bound = 2 * static_cast<double>(count) * std::numeric_limits<double>::epsilon();
      for (std::int64_t j = 0; j < b; ++j) {
        for (std::int64_t i = 0; i < x.width(); ++i) {
          std::complex<long double> expected = 0;
          for (std::int64_t row = 0; row < count; ++row) {
            expected += std::conj(testing::widened(x.view()(row, i))) * testing::widened(w.view()(row, j));
          }
          const auto at = static_cast<std::size_t>(i + j * x.width());
          EXPECT_LE(std::abs(std::complex<long double>(plain[at]) - expected), 64 * bound);
          EXPECT_LE(std::abs(std::complex<long double>(extended[at]) - expected), bound);
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec
