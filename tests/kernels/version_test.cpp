#include <gtest/gtest.h>

#include <blockvec/version.hpp>
#include <string>

namespace {

TEST(Version, is_that_of_the_header) {
  const std::string header = "BlockVec " + std::to_string(BLOCKVEC_VERSION_MAJOR) + "." +
                             std::to_string(BLOCKVEC_VERSION_MINOR) + "." + std::to_string(BLOCKVEC_VERSION_PATCH) +
                             ",";
  EXPECT_EQ(std::string(blockvec::version()).substr(0, header.size()), header);
}

TEST(Version, names_the_parts_of_this_build) {
  const std::string version = blockvec::version();
#if BLOCKVEC_HAVE_CUDA
  EXPECT_NE(version.find("CUDA"), std::string::npos) << version;
#else
  EXPECT_EQ(version.find("CUDA"), std::string::npos) << version;
#endif
  EXPECT_NE(version.find(" libraries"), std::string::npos) << version;
}

}  // namespace
