#include <blockvec/operations.hpp>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/orth/random_blocks.hpp"
#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Between;
using orth::Deficiency;
using orth::Within;

template <class K>
class RandomCases : public ::testing::Test {};
TYPED_TEST_SUITE(RandomCases, testing::AllCases, testing::CaseName);

/// BLOCKVEC_TEST_SEED repeats one run, BLOCKVEC_TEST_CASES makes it longer.
unsigned long from_environment(const char* name, unsigned long otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoul(text, nullptr, 10) : otherwise;
}

/// The words that --orth knows: between blocks, within a block.
std::vector<std::string> words(bool within) {
  const std::string all = orth::known_methods();
  const std::size_t middle = all.find(" / ");
  std::istringstream half(within ? all.substr(middle + 3) : all.substr(0, middle));
  std::vector<std::string> found;
  for (std::string word; std::getline(half >> std::ws, word, ',');) found.push_back(word);
  return found;
}

/// The operand that holds NaN or Inf.
enum class Spoilt { none, w, v, image, image_of_basis };

/// One random case: what is asked, what came of it, and whether that is as promised.
template <class K>
class RandomCase {
 public:
  using Scalar = typename K::Scalar;
  using Columns = HostColumns<Wide<Scalar>>;
  using Tall = typename K::Vector;
  using Pieces = orth::Basis<Scalar, typename K::Layout, typename K::Space>;

  explicit RandomCase(unsigned seed) : generator_(seed), block_(RandomBlocks<Scalar>(generator_)()) {
    static const std::vector<std::string> between = words(false), within = words(true);
    const auto any = [&](const auto& list) { return list[static_cast<std::size_t>(up_to(std::ssize(list) - 1))]; };
    options_ = orth::parse_options(any(between) + "/" + any(within));
    options_.adaptive = generator_.chance(0.7);
    options_.escalate = generator_.chance(0.85);
    options_.deficiency = generator_.chance(0.6)   ? Deficiency::replace
                          : generator_.chance(0.7) ? Deficiency::drop
                                                   : Deficiency::report;
    width_ = generator_.chance(0.5) ? 0 : generator_.integer(1, std::max<std::int64_t>(1, block_.x.columns));
    reproducible_ = generator_.chance(0.1);
    const auto odd = [&](std::int64_t last) { return generator_.chance(0.5) ? 0 : up_to(last); };
    frame_ = {odd(3), odd(7), odd(7)};
    weights_.assign(static_cast<std::size_t>(block_.x.rows), 0);
    has_metric_ = !has_denormals() && generator_.chance(0.15);
    has_images_ = has_metric_ && generator_.chance(0.5);
    if (has_metric_) {
      for (int& weight : weights_) weight = static_cast<int>(generator_.integer(-1, 1));
    }
    if (b() > 0 && generator_.chance(0.05)) {
      const Spoilt operands[] = {Spoilt::w, m() > 0 ? Spoilt::v : Spoilt::w, has_metric_ ? Spoilt::image : Spoilt::w,
                                 has_images_ && m() > 0 ? Spoilt::image_of_basis : Spoilt::w};
      spoilt_ = operands[up_to(3)];
    }
  }

  void run(const Context& plain, const Context& reproducible) {
    const Context& context = reproducible_ ? reproducible : plain;
    const auto rows = RowDistribution::uniform(block_.x.rows, context.communicator());
    using Real = std::numeric_limits<RealOf<Scalar>>;
    const auto bad = generator_.chance(0.5) ? Real::quiet_NaN() : Real::infinity();
    const std::int64_t bad_row = up_to(block_.x.rows - 1);
    const auto spoil = [&](Columns& a) { a(bad_row, up_to(a.columns - 1)) = Wide<Scalar>(bad); };
    if (spoilt_ == Spoilt::w) spoil(block_.x);
    if (spoilt_ == Spoilt::v) spoil(block_.v);
    Trial<K> trial(context, rows, weighted(block_.v, -1), weighted(block_.x, -1), frame_);
    const std::int64_t middle = up_to(m()), end = generator_.integer(middle, m());
    const Pieces pieces{trial.v.columns(0, middle), trial.v.columns(middle, end), trial.v.columns(end, m())};
    Tall image_of_basis, image_of_block;
    orth::Metric<Scalar, typename K::Layout, typename K::Space> metric;
    if (has_metric_) {
      metric.apply = [&](const Tall& from, const Tall& to) {
        Columns image = weighted(collect(from), 2);
        if (spoilt_ == Spoilt::image) image(bad_row, image.columns - 1) = Wide<Scalar>(bad);
        distribute<Scalar>(image, to);
      };
    }
    if (has_images_) {
      image_of_basis = Tall(context, rows, m(), "B V");
      image_of_block = Tall(context, rows, b(), "B W");
      Columns image = weighted(block_.v, 1);
      if (spoilt_ == Spoilt::image_of_basis) spoil(image);
      distribute<Scalar>(image, image_of_basis);
      metric.image_of_basis = {image_of_basis.columns(0, middle), image_of_basis.columns(middle, end),
                               image_of_basis.columns(end, m())};
      metric.image_of_block = image_of_block;
    }
    const auto* const given = has_metric_ ? &metric : nullptr;
    orth::Orthogonalizer orthogonalizer(context, options_);
    bool reported = false, refused = false;
    try {
      trial.result = width_ == 0 ? orthogonalizer.project_and_normalize(pieces, trial.w, &trial.s, &trial.r, given)
                                 : orthogonalizer.factorize(pieces, trial.w, &trial.s, &trial.r, width_, given);
    } catch (const orth::RankError& error) {
      trial.result = error.result();
      reported = true;
    } catch (const NotFiniteError&) {
      refused = true;
    }
    result = trial.result;
    SCOPED_TRACE(describe());
    EXPECT_TRUE(spoilt_ == Spoilt::v || trial.guards_hold());
    if (spoilt_ == Spoilt::image_of_basis) {  // it is met where it is used
      EXPECT_TRUE(is_finite(collect(trial.w)));
      EXPECT_TRUE(refused || is_finite(join(collect(trial.w), collect(image_of_block))));
      return;
    }
    // What a method without escalation stops before is not looked at.
    EXPECT_TRUE(refused == (spoilt_ != Spoilt::none) || (width_ > 0 && !options_.escalate && !result.orthonormal));
    if (spoilt_ != Spoilt::none) return;
    const Columns q = weighted(collect(trial.w), 1);
    EXPECT_TRUE(is_finite(q));
    std::vector<std::int64_t> zeros;
    for (std::int64_t j = 0; j < b(); ++j) {
      if (norm(columns_of(q, j, j + 1)) == 0) zeros.push_back(m() + j);
    }
    const double loss = loss_of_orthogonality(join(block_.v, q), zeros);
    const std::int64_t zero_columns = std::ssize(zeros);
    if (reported) {
      EXPECT_EQ(options_.deficiency, Deficiency::report);
      EXPECT_GT(zero_columns, 0);
    }
    EXPECT_TRUE(is_finite(collect(trial.s)) && is_finite(collect(trial.r)));
    if (has_images_ && image_of_block.width() > 0) {
      EXPECT_TRUE(is_finite(collect(image_of_block)));
    }
    EXPECT_LE(result.reductions, most_reductions());
    if (options_.escalate) {
      EXPECT_TRUE(result.orthonormal);
      EXPECT_EQ(result.rank + std::ssize(result.lost), b());
      EXPECT_EQ(reported, !result.lost.empty() && options_.deficiency == Deficiency::report);
      judge(q);
      const std::int64_t room = std::min(b(), block_.x.rows - m());
      EXPECT_EQ(zero_columns, options_.deficiency == Deficiency::replace ? b() - room : b() - result.rank);
    }
    if (result.orthonormal) {
      EXPECT_LE(loss, condition() * rounding_loss<Scalar>(m() + b()));
    }
    if (result.orthonormal || width_ == 0) check_residual(trial, q);
  }

  std::string describe() const {
    return block_.text + ", " + to_string(options_.between) + "/" + to_string(options_.within) +
           (width_ > 0 ? ", factorize by " + std::to_string(width_) : "") +
           (options_.adaptive ? "" : ", not adaptive") + (options_.escalate ? "" : ", no escalation") +
           (reproducible_ ? ", reproducible" : "") + (has_metric_ ? ", in a metric" : "") +
           (has_images_ ? " with images" : "") + (spoilt_ == Spoilt::none ? "" : ", not finite") + ", from " +
           std::to_string(frame_.front) + " + " + std::to_string(frame_.start) + ", apart by " +
           std::to_string(frame_.extra) + ": " + result.describe();
  }
  bool has_denormals() const { return block_.text.find("denormal") != std::string::npos; }

  orth::Result result;

 private:
  std::int64_t m() const { return block_.v.columns; }
  std::int64_t b() const { return block_.x.columns; }
  std::int64_t up_to(std::int64_t last) { return generator_.integer(0, last); }
  double tolerance() const { return static_cast<double>(orth::rank_tolerance<Scalar>(m(), b())); }

  /// D^power A, D being diagonal: under the metric B = D^2, D^-1 X is to D^-1 V what X is to V else. D's entries are
  /// powers of two, so that nothing is rounded.
  Columns weighted(Columns a, int power) const {
    for (std::int64_t j = 0; j < a.columns; ++j) {
      for (std::int64_t i = 0; i < a.rows; ++i) {
        a(i, j) *= std::ldexp(1.0L, power * weights_[static_cast<std::size_t>(i)]);
      }
    }
    return a;
  }
  /// Of D: a share of the length in the metric's terms may be that much more, or less, of the Euclidean one.
  double condition() const { return has_metric_ ? 4 : 1; }

  static bool is_finite(const Columns& a) {
    return std::all_of(a.entries.begin(), a.entries.end(), [](const auto& x) { return std::isfinite(std::norm(x)); });
  }

  /// No hang: a first look, with out-of-range columns 3 reductions and one for each few columns of V; twelve sweeps
  /// with methods of up to seven within; four rounds of columns, each projected up to five times; and three attempts in
  /// up to eight passes to replace each column.
  std::int64_t most_reductions() const {
    const std::int64_t blocks = width_ == 0 ? 1 : (b() + width_ - 1) / width_ * 2;
    return blocks * (4 + m() + 12 * 7) + (4 * 6 + 3 * 8) * b() * (width_ == 0 ? 1 : 2) +
           (options_.between == Between::bmgs ? 12 * blocks * (m() + b()) : 0);
  }

  /// Whether the right columns were called dependent, block by block. What took their place counts for later blocks.
  void judge(const Columns& q) {
    Span<Scalar> span;
    for (std::int64_t j = 0; j < m(); ++j) span.add(block_.v, j);
    const std::int64_t width = width_ == 0 ? std::max<std::int64_t>(b(), 1) : width_;
    for (std::int64_t begin = 0; begin < b(); begin += width) {
      const std::int64_t end = std::min(b(), begin + width);
      const Span<Scalar> before = span;
      std::string wrong = judge_lost(span, block_.x, begin, end, result.lost, tolerance(), false);
      if (!wrong.empty() && options_.within == Within::pivoted_cholqr) {
        span = before;
        wrong = judge_lost(span, block_.x, begin, end, result.lost, tolerance(), true);
      }
      EXPECT_EQ(wrong, "");
      for (const std::int64_t j : result.lost) {
        if (j >= begin && j < end && options_.deficiency == Deficiency::replace) span.add(q, j);
      }
    }
  }

  /// X = V S + Q R by columns: rounding errors relative to what is added up, lost columns' rests, and the denormal
  /// steps of S and R.
  void check_residual(const Trial<K>& trial, const Columns& q) {
    const Columns s = collect(trial.s), r = collect(trial.r);
    const Columns vs = product(block_.v, s), qr = product(q, r);
    // Shifted CholQR3 puts blocks back by a product with what it had divided by; SVQB goes through up to six factors.
    const bool many = options_.within == Within::shifted_cholqr3 || options_.within == Within::svqb;
    const double relative = condition() * (many ? 16 : 4) * rounding_residual<Scalar>(m() + b());
    const double rest = tolerance() * std::sqrt(static_cast<double>(b()));
    const double floor = 4 * static_cast<double>(m() + b()) * static_cast<double>(denormal_step<Scalar>);
    const double size = std::max(1.0, norm(q) / std::sqrt(static_cast<double>(b())));
    for (std::int64_t j = 0; j < b(); ++j) {
      const Columns x_j = columns_of(block_.x, j, j + 1);
      Columns error = x_j;
      for (std::int64_t i = 0; i < x_j.rows; ++i) error(i, 0) -= vs(i, j) + qr(i, j);
      const double whole =
          norm(x_j) + (result.orthonormal ? 0 : norm(columns_of(s, j, j + 1)) + size * norm(columns_of(r, j, j + 1)));
      EXPECT_LE(norm(error), (relative + rest) * whole + floor) << "column " << j;
    }
  }

  Generator<Scalar> generator_;
  RandomBlock<Scalar> block_;
  orth::Options options_;
  std::int64_t width_ = 0;  // of factorize's blocks; 0: project_and_normalize
  bool reproducible_ = false;
  Frame frame_;
  bool has_metric_ = false, has_images_ = false;
  std::vector<int> weights_;
  Spoilt spoilt_ = Spoilt::none;
};

TYPED_TEST(RandomCases, AreOrthonormalOrSayWhatIsMissing) {
  const auto first = static_cast<unsigned>(from_environment("BLOCKVEC_TEST_SEED", 4711));
  const unsigned long cases = from_environment("BLOCKVEC_TEST_CASES", 4000);
  const Context plain = Context::self(1), reproducible = Context::self(1, Summation::reproducible);
  unsigned long denormal = 0, deficient = 0, escalated = 0, done = 0;
  for (; done < cases && !::testing::Test::HasFailure(); ++done) {
    const unsigned seed = first + static_cast<unsigned>(done);
    SCOPED_TRACE("BLOCKVEC_TEST_SEED=" + std::to_string(seed));
    RandomCase<TypeParam> one(seed);
    one.run(plain, reproducible);
    denormal += one.has_denormals() ? 1 : 0;
    deficient += one.result.lost.empty() ? 0 : 1;
    escalated += one.result.reason == orth::Reason::none ? 0 : 1;
  }
  std::printf("seeds %u to %lu: %lu cases, %lu with denormal columns, %lu with dependent columns, %lu escalated\n",
              first, first + done - 1, done, denormal, deficient, escalated);
}

}  // namespace
}  // namespace blockvec::test
