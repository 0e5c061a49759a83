#include <gtest/gtest.h>

#include <blockvec/orth/orthogonalizer.hpp>
#include <sstream>

namespace blockvec::orth {
namespace {

TEST(Options, NamesAreReadAndWritten) {
  for (const Inter inter : {Inter::bcgs, Inter::bmgs, Inter::bcgs2, Inter::bcgsi_a, Inter::pip, Inter::pip_plus,
                            Inter::pipi_plus, Inter::p_1s, Inter::p_2s, Inter::p_adaptive, Inter::two_stage}) {
    for (const Intra intra : {Intra::cgs, Intra::cgs2, Intra::cholqr, Intra::cholqr2, Intra::svqb}) {
      const Options options = parse_options(to_string(inter) + "/" + to_string(intra));
      EXPECT_EQ(options.inter, inter);
      EXPECT_EQ(options.intra, intra);
    }
  }
}

TEST(Options, AMissingHalfKeepsItsDefault) {
  EXPECT_EQ(parse_options("bcgs2").inter, Inter::bcgs2);
  EXPECT_EQ(parse_options("bcgs2").intra, Options{}.intra);
  EXPECT_EQ(parse_options("/svqb").inter, Options{}.inter);
  EXPECT_EQ(parse_options("/svqb").intra, Intra::svqb);
  EXPECT_EQ(parse_options("pip/").inter, Inter::pip);
  EXPECT_EQ(parse_options("").inter, Options{}.inter);
}

TEST(Options, UnknownWordsAreNamedWithTheKnownOnes) {
  for (const char* text : {"pipi", "bcgs2/qr", "bcgs2/cgs2/cgs", "PIP", " pip"}) {
    try {
      parse_options(text);
      FAIL() << "expected an Error for " << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "orthogonalisation \"" + std::string(text) +
                    "\": expected BETWEEN/WITHIN, either may be missing; BETWEEN is one of bcgs, bmgs, bcgs2, "
                    "bcgsi+a, pip, pip+, pipi+, p-1s, p-2s, p-1s2s, two-stage, "
                    "WITHIN is one of cgs, cgs2, cholqr, cholqr2, svqb");
    }
  }
}

TEST(Result, IsDescribedInOneLine) {
  Result result;
  result.rank = 8;
  result.method = {Inter::pipi_plus, Intra::cholqr2, true, true};
  result.sweeps = 2;
  result.reductions = 2;
  result.passes = 31;
  result.condition_estimate = 1234;
  EXPECT_EQ(result.describe(), "rank 8, pipi+/cholqr2, 2 sweeps, 2 reductions, 31.0 passes, condition >= 1.2e+03");
  result.sweeps = 1;
  result.reductions = 1;
  result.reason = Reason::breakdown;
  result.orthonormal = false;
  result.method.has_inter = false;
  EXPECT_EQ(result.describe(),
            "rank 8, cholqr2, 1 sweep, 1 reduction, 31.0 passes, condition >= 1.2e+03, the Cholesky factorisation "
            "broke down, "
            "not orthonormal");
  std::ostringstream stream;
  stream << result.method << ", " << Reason::no_room;
  EXPECT_EQ(stream.str(), "cholqr2, columns were dependent and there are too few rows to replace them");
}

}  // namespace
}  // namespace blockvec::orth
