#include <gtest/gtest.h>

#include <blockvec/operations.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <sstream>

namespace blockvec::orth {
namespace {

TEST(Options, NamesAreReadAndWritten) {
  for (const Between between :
       {Between::bcgs, Between::bmgs, Between::bcgs2, Between::bcgsi_a, Between::pip, Between::pip_plus,
        Between::pipi_plus, Between::pip_dd, Between::p_1s, Between::p_2s, Between::p_adaptive, Between::two_stage}) {
    for (const Within within : {Within::cgs, Within::cgs2, Within::cholqr, Within::cholqr2, Within::svqb,
                                Within::shifted_cholqr3, Within::dd_cholqr, Within::dd_cholqr2, Within::tsqr,
                                Within::rand_cholqr, Within::rand_cholqr_gauss, Within::pivoted_cholqr}) {
      const Options options = parse_options(to_string(between) + "/" + to_string(within));
      EXPECT_EQ(options.between, between);
      EXPECT_EQ(options.within, within);
    }
  }
}

TEST(Options, AMissingHalfKeepsItsDefault) {
  EXPECT_EQ(parse_options("bcgs2").between, Between::bcgs2);
  EXPECT_EQ(parse_options("bcgs2").within, Options{}.within);
  EXPECT_EQ(parse_options("/svqb").between, Options{}.between);
  EXPECT_EQ(parse_options("/svqb").within, Within::svqb);
  EXPECT_EQ(parse_options("pip/").between, Between::pip);
  EXPECT_EQ(parse_options("").between, Options{}.between);
}

TEST(Options, UnknownWordsAreNamedWithTheKnownOnes) {
  for (const char* text : {"pipi", "bcgs2/qr", "bcgs2/cgs2/cgs", "PIP", " pip"}) {
    try {
      parse_options(text);
      FAIL() << "expected an Error for " << text;
    } catch (const Error& error) {
      EXPECT_EQ(
          std::string(error.what()),
          "orthogonalisation \"" + std::string(text) +
              "\": expected BETWEEN/WITHIN, either may be missing; BETWEEN is one of bcgs, bmgs, bcgs2, "
              "bcgsi+a, pip, pip+, pipi+, pip-dd, p-1s, p-2s, p-1s2s, two-stage, "
              "WITHIN is one of cgs, cgs2, cholqr, cholqr2, svqb, scholqr3, dd-cholqr, dd-cholqr2, tsqr, rand-cholqr, "
              "rand-cholqr-gauss, pcholqr");
    }
  }
}

TEST(Result, IsDescribedInOneLine) {
  Result result;
  result.rank = 8;
  result.method = {Between::pipi_plus, Within::cholqr2, true, true};
  result.sweeps = 2;
  result.reductions = 2;
  result.passes = 31;
  result.condition_estimate = 1234;
  EXPECT_EQ(result.describe(), "rank 8, pipi+/cholqr2, 2 sweeps, 2 reductions, 31.0 passes, condition >= 1.2e+03");
  result.sweeps = 1;
  result.reductions = 1;
  result.reason = Reason::breakdown;
  result.orthonormal = false;
  result.method.has_between = false;
  EXPECT_EQ(result.describe(),
            "rank 8, cholqr2, 1 sweep, 1 reduction, 31.0 passes, condition >= 1.2e+03, the Cholesky factorisation "
            "broke down, "
            "not orthonormal");
  std::ostringstream stream;
  stream << result.method << ", " << Reason::no_room;
  EXPECT_EQ(stream.str(), "cholqr2, columns were dependent and there are too few rows to replace them");
}

TEST(Result, IsKeptInTheHistoryOfItsContext) {
  const Context context = Context::self(1);
  const auto rows = RowDistribution::uniform(40, context.communicator());
  const BlockVector<double> x(context, rows, 6, "X");
  Orthogonalizer orthogonalizer(context, parse_options("pipi+/cholqr"));
  fill_random(x, 1);
  EXPECT_EQ(orthogonalizer.normalize(x.columns(0, 2)).rank, 2);
  EXPECT_EQ(context.history().count(), 0) << "off by default";
  context.history().start();
  EXPECT_EQ(orthogonalizer.normalize(x.columns(0, 2)).rank, 2);
  EXPECT_EQ(orthogonalizer.project(x.columns(0, 2), x.columns(2, 4)).rank, 2);
  copy(x.column(0), x.column(3));
  EXPECT_EQ(orthogonalizer.project_and_normalize(x.columns(0, 2), x.columns(2, 4)).rank, 1);
  fill_random(x, 1);
  EXPECT_EQ(orthogonalizer.factorize(x, nullptr, 2).rank, 6);
  const auto entries = context.history().entries();
  ASSERT_EQ(entries.size(), 4U);
  const char* const verbs[] = {"normalize", "project", "project_and_normalize", "factorize"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(entries[i].verb, verbs[i]);
  EXPECT_EQ(entries[0].used[0], "");
  EXPECT_EQ(entries[1].used[1], "");
  EXPECT_EQ(entries[2].asked[1], "cholqr");
  EXPECT_EQ(entries[2].reason, to_string(Reason::rank_deficient));
  EXPECT_EQ(entries[2].rank, 1);
  EXPECT_EQ(entries[3].columns, 6);
  EXPECT_EQ(context.history().count(""), 3);
}

}  // namespace
}  // namespace blockvec::orth
