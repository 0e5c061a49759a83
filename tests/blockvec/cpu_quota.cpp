#include "blockvec/cpu_quota.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace blockvec {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// A folder that stands for "/".
class Root {
 public:
  Root() : path_(std::filesystem::temp_directory_path() / ("blockvec_cpu_quota_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~Root() { std::filesystem::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text << '\n';
  }
  double quota() const { return cpu_quota(path_); }

 private:
  std::filesystem::path path_;
};

TEST(CpuQuota, IsNoneWhereNothingSaysSo) {
  const Root root;
  EXPECT_EQ(root.quota(), no_limit);
  root.write("proc/self/cgroup", "0::/\nnonsense\n1:cpu");
  EXPECT_EQ(root.quota(), no_limit);
  root.write("sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(root.quota(), no_limit);
  root.write("sys/fs/cgroup/cpu.max", "");
  EXPECT_EQ(root.quota(), no_limit);
}

TEST(CpuQuota, OfAContainer) {
  const Root root;
  root.write("proc/self/cgroup", "0::/");
  root.write("sys/fs/cgroup/cpu.max", "250000 100000");
  EXPECT_EQ(root.quota(), 2.5);
}

TEST(CpuQuota, IsTheLeastOfAllGroupsAbove) {
  const Root root;
  root.write("proc/self/cgroup", "0::/user.slice/app.scope");
  root.write("sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000");
  root.write("sys/fs/cgroup/user.slice/cpu.max", "300000 100000");
  EXPECT_EQ(root.quota(), 3);
  root.write("sys/fs/cgroup/user.slice/app.scope/cpu.max", "50000 100000");
  EXPECT_EQ(root.quota(), 0.5);
}

TEST(CpuQuota, OfTheFirstVersionOfControlGroups) {
  const Root root;
  root.write("proc/self/cgroup", "5:cpuset:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/");
  root.write("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "10000");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(root.quota(), no_limit);
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000");
  EXPECT_EQ(root.quota(), 1.5) << "the container's own group is the top of what it sees";
}

}  // namespace
}  // namespace blockvec
