#include <blockvec/operations.hpp>
#include <cstdlib>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Deficiency;

template <class K>
class RandomCases : public ::testing::Test {};
TYPED_TEST_SUITE(RandomCases, testing::AllCases, testing::CaseName);

/// BLOCKVEC_TEST_SEED repeats one run, BLOCKVEC_TEST_CASES makes it longer.
unsigned long from_environment(const char* name, unsigned long otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoul(text, nullptr, 10) : otherwise;
}

/// A block made of a few independent columns, mixed, scaled, with zeros and duplicates among them.
template <class Scalar>
struct RandomBlock {
  HostColumns<Wide<Scalar>> v, x;
  std::int64_t true_rank = 0;
  std::string text;
};

template <class Scalar>
RandomBlock<Scalar> draw(Generator<Scalar>& generator) {
  RandomBlock<Scalar> block;
  const std::int64_t rows = generator.integer(1, 60), b = generator.integer(0, 12);
  const std::int64_t m = generator.integer(0, std::min<std::int64_t>(20, rows));
  const std::int64_t independent = generator.integer(0, std::min(b, rows - m));
  // What is new in a column is orthogonal to V and to what was new before, so that the rank is beyond doubt.
  const auto directions = generator.orthonormal(rows, m + independent);
  HostColumns<Wide<Scalar>> fresh(rows, independent);
  block.v = {rows, m};
  std::copy(directions.entries.begin(), directions.entries.begin() + rows * m, block.v.entries.begin());
  std::copy(directions.entries.begin() + rows * m, directions.entries.end(), fresh.entries.begin());
  block.v = rounded<Scalar>(block.v);
  block.x = {rows, b};
  // Which columns bring something new: the first of them all may be zero or in V's range.
  std::int64_t used = 0;
  for (std::int64_t j = 0; j < b; ++j) {
    const bool brings = used < independent && (b - j <= independent - used || generator.chance(0.6));
    auto mixture = product(block.v, generator.random(m, 1));
    if (generator.chance(0.3)) std::fill(mixture.entries.begin(), mixture.entries.end(), Wide<Scalar>(0));
    for (std::int64_t l = 0; l < used; ++l) {
      const Wide<Scalar> weight =
          generator.number() * (brings ? 0.3L / std::sqrt(static_cast<long double>(used)) : 1.0L);
      for (std::int64_t i = 0; i < rows; ++i) mixture(i, 0) += weight * fresh(i, l);
    }
    if (!brings && generator.chance(0.2)) std::fill(mixture.entries.begin(), mixture.entries.end(), Wide<Scalar>(0));
    for (std::int64_t i = 0; i < rows; ++i) block.x(i, j) = mixture(i, 0) + (brings ? fresh(i, used) : Wide<Scalar>(0));
    used += brings ? 1 : 0;
  }
  block.true_rank = used;
  const double range = std::is_same_v<RealOf<Scalar>, float> ? 18 : 150;
  const bool wild = generator.chance(0.3);
  for (std::int64_t j = 0; j < b && wild; ++j) {
    const auto scale = std::pow(
        10.0L, static_cast<long double>(generator.integer(-1000, 1000)) * static_cast<long double>(range) / 1000.0L);
    for (std::int64_t i = 0; i < rows; ++i) block.x(i, j) *= scale;
  }
  block.text = std::to_string(rows) + " rows, m = " + std::to_string(m) + ", b = " + std::to_string(b) + ", rank " +
               std::to_string(used) + (wild ? ", wild scales" : "");
  return block;
}

TYPED_TEST(RandomCases, AreOrthonormalOrSayWhatIsMissing) {
  using Scalar = typename TypeParam::Scalar;
  const auto seed = static_cast<unsigned>(from_environment("BLOCKVEC_TEST_SEED", 4711));
  const unsigned long cases = from_environment("BLOCKVEC_TEST_CASES", 600);
  const Context context = Context::self(1);
  const char* const methods[] = {"pipi+/cholqr2",   "pipi+/cholqr2", "pipi+/svqb",        "bcgs/cgs",
                                 "bcgs2/cgs2",      "bcgs2/svqb",    "pip/cholqr",        "bcgs2/scholqr3",
                                 "bcgs/dd-cholqr2", "bcgs/tsqr",     "bcgs2/rand-cholqr", "bcgs2/rand-cholqr-gauss",
                                 "bcgs2/pcholqr"};
  for (unsigned long i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
    const unsigned this_seed = seed + static_cast<unsigned>(i);
    Generator<Scalar> generator(this_seed);
    const auto block = draw<Scalar>(generator);
    auto options = orth::parse_options(methods[generator.integer(0, std::ssize(methods) - 1)]);
    options.adaptive = generator.chance(0.7);
    options.deficiency = generator.chance(0.7) ? Deficiency::replace : Deficiency::drop;
    const std::int64_t rows = block.x.rows, m = block.v.columns, b = block.x.columns;
    Trial<TypeParam> trial(context, RowDistribution::uniform(rows, context.communicator()), block.v, block.x);
    const auto result = trial.run(options);
    SCOPED_TRACE("BLOCKVEC_TEST_SEED=" + std::to_string(this_seed) + ": " + block.text + ", " +
                 to_string(options.inter) + "/" + to_string(options.intra) + ": " + result.describe());
    EXPECT_EQ(result.rank, block.true_rank);
    EXPECT_EQ(result.rank + static_cast<std::int64_t>(result.lost.size()), b);
    EXPECT_TRUE(result.orthonormal);
    EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
    const double tolerance =
        static_cast<double>(orth::rank_tolerance<Scalar>(m, b)) * std::sqrt(static_cast<double>(b));
    // Shifted CholQR3 puts blocks back by a product with what it had divided by.
    const double factor = options.intra == orth::Intra::shifted_cholqr3 ? 16 : 4;
    EXPECT_LE(trial.residual(), factor * rounding_residual<Scalar>(m + b) + tolerance);
    const std::int64_t room = std::min(b, rows - m);
    EXPECT_EQ(trial.zero_columns, options.deficiency == Deficiency::replace ? b - room : b - result.rank);
    EXPECT_TRUE(trial.guards_hold());
  }
}

}  // namespace
}  // namespace blockvec::test
