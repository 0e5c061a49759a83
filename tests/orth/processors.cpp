#include <lapacke.h>

#include <blockvec/operations.hpp>
#include <blockvec/orth/dense.hpp>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tests/orth/support.hpp"

/// Everything that is replicated has the same bits on every rank, whatever processor a rank's BLAS believes to be on.
namespace blockvec::test {
namespace {

/// All bytes of what a rank was told.
class Bytes {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&value);
    values_.insert(values_.end(), bytes, bytes + sizeof(T));
  }
  template <class Scalar, class Space>
  void add(const SmallMatrix<Scalar, Space>& a) {
    const auto host = a.to_host();
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      for (std::int64_t i = 0; i < a.rows(); ++i) add(host(i, j));
    }
  }
  void add(const orth::Result& result) {
    add(result.rank);
    add(result.condition_estimate);
    add(result.orthonormal);
    add(result.sweeps);
    add(result.reductions);
    add(result.applications);
    add(result.passes);
    add(result.method.between);
    add(result.method.within);
    add(result.method.has_between);
    add(result.method.has_within);
    add(result.reason);
    for (const std::int64_t j : result.lost) add(j);
  }
  bool same_on_all_ranks(const Communicator& communicator) const {
    std::int64_t sizes[2] = {static_cast<std::int64_t>(values_.size()), -static_cast<std::int64_t>(values_.size())};
    communicator.max(std::span(sizes));
    if (sizes[0] != -sizes[1]) return false;
    auto low = values_, high = values_;
    if (low.empty()) return true;
    communicator.min(std::span(low));
    communicator.max(std::span(high));
    return low == high;
  }

 private:
  std::vector<std::int64_t> values_;
};

template <class K>
class Processors : public ::testing::Test {
 public:
  using ScalarType = typename K::Scalar;
  Context context = Context::world(1);
  Generator<ScalarType> generator{12};
};
template <class Space>
using SomeCases = ::testing::Types<testing::Case<double, RowMajor, Space>, testing::Case<float, ColumnMajor, Space>,
                                   testing::Case<Complex<double>, RowMajor, Space>>;
TYPED_TEST_SUITE(Processors, testing::InEverySpace<SomeCases>, testing::CaseName);

std::vector<std::string> words(bool within) {
  const std::string all = orth::known_methods();
  const std::size_t middle = all.find(" / ");
  std::istringstream half(within ? all.substr(middle + 3) : all.substr(0, middle));
  std::vector<std::string> found;
  for (std::string word; std::getline(half >> std::ws, word, ',');) found.push_back(word);
  return found;
}

TYPED_TEST(Processors, EveryMethodGivesTheSameBits) {
  using Scalar = typename TestFixture::ScalarType;
  constexpr std::int64_t count = 150, m = 60, b = 34;  // products beyond small ones, eigenvectors of wide matrices
  const auto rows = RowDistribution::uniform(count, this->context.communicator());
  const auto v = this->generator.orthonormal(count, m);
  const auto kappa = [](double power) { return std::pow(static_cast<double>(epsilon<Scalar>), -power); };
  Trial<TypeParam> easy(this->context, rows, v, this->generator.with_condition(count, b, kappa(0.2)));
  Trial<TypeParam> hard(this->context, rows, v, this->generator.with_condition(count, b, kappa(0.7)));
  const std::int64_t widths[] = {0, 12, b};  // 0: project_and_normalize; else of factorize's blocks
  std::size_t next = 0;
  for (const std::string& between : words(false)) {
    for (const std::string& within : words(true)) {
      auto& trial = next % 2 == 0 ? easy : hard;
      const std::int64_t width = widths[next++ / 2 % 3];
      SCOPED_TRACE(between + "/" + within + ", width " + std::to_string(width));
      distribute<Scalar>(trial.x, trial.w);
      orth::Orthogonalizer orthogonalizer(this->context, orth::parse_options(between + "/" + within));
      const auto result = width == 0 ? orthogonalizer.project_and_normalize(trial.v, trial.w, &trial.s, &trial.r)
                                     : orthogonalizer.factorize(trial.v, trial.w, &trial.s, &trial.r, width);
      Bytes bytes;
      bytes.add(result);
      bytes.add(trial.s);
      bytes.add(trial.r);
      EXPECT_TRUE(bytes.same_on_all_ranks(this->context.communicator())) << result.describe();
    }
    next += between.size();  // so that every method within meets several widths
  }
}

TYPED_TEST(Processors, DenseOperationsGiveTheSameBits) {
  using Scalar = typename TestFixture::ScalarType;
  for (const std::int64_t n : {8, 32, 33, 60}) {
    const auto x = this->generator.random(n, n);
    const auto square = rounded<Scalar>(gram(x, x));
    const typename TypeParam::Small a(this->context, n, n), z(this->context, n, n), c(this->context, n, n);
    const auto host = a.to_host();
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) host(i, j) = narrow<Scalar>(square(i, j));
    }
    a.from_host(host);
    const typename TypeParam::RealSmall values(this->context, 1, n);
    orth::dense::eigendecomposition(a, values, z);
    for (const bool conjugate : {false, true}) {
      orth::dense::multiply(Scalar(1), a, conjugate, z, conjugate, Scalar(0), c);
      Bytes bytes;
      bytes.add(values);
      bytes.add(z);
      bytes.add(c);
      EXPECT_TRUE(bytes.same_on_all_ranks(this->context.communicator())) << "n = " << n;
    }
    Bytes bytes;
    orth::dense::svd(c, c, values, z);
    bytes.add(values);
    bytes.add(z);
    bytes.add(c);
    orth::dense::generalized_eigendecomposition(c, a, values, z);
    bytes.add(values);
    bytes.add(z);
    EXPECT_TRUE(bytes.same_on_all_ranks(this->context.communicator())) << "n = " << n;
  }
}

/// Says whether the tests above had anything to find: LAPACK's own eigenvectors, from each rank.
TEST(ProcessorsOfRanks, AreAsDifferentAsTheirLapack) {
  constexpr lapack_int n = 60;
  Generator<double> generator(3);
  const auto x = generator.random(n, n);
  const auto square = rounded<double>(gram(x, x));
  std::vector<double> a, values(n);
  for (const long double entry : square.entries) a.push_back(static_cast<double>(entry));
  ASSERT_EQ(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', n, a.data(), n, values.data()), 0);
  Bytes bytes;
  for (const double entry : a) bytes.add(entry);
  const Context context = Context::world(1);
  const bool same = bytes.same_on_all_ranks(context.communicator());
  if (context.communicator().rank() == 0) {
    std::printf("LAPACK gives %s bits on %d ranks: these tests had %s\n", same ? "the same" : "different",
                context.communicator().size(), same ? "nothing to find" : "something to find");
  }
}

}  // namespace
}  // namespace blockvec::test
