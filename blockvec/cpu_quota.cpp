#include "blockvec/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace blockvec {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

double ratio_of(double quota, double period) { return quota > 0 && period > 0 ? quota / period : no_limit; }

/// A group of version 2 says "150000 100000", or "max 100000".
double unified_quota(const std::filesystem::path& group) {
  double quota = 0, period = 0;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return ratio_of(quota, period);
}

/// A group of version 1 has the quota -1 where it has no limit.
double legacy_quota(const std::filesystem::path& group) {
  double quota = 0, period = 0;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return ratio_of(quota, period);
}

}  // namespace

double cpu_quota(const std::filesystem::path& root) {
  const std::filesystem::path groups = root / "sys/fs/cgroup";
  double least = no_limit;
  std::ifstream of_process(root / "proc/self/cgroup");
  for (std::string line; std::getline(of_process, line);) {
    // number:controllers:path, where version 2 names no controllers
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_unified = controllers.empty();
    if (!is_unified && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::vector<std::filesystem::path> mounts =
        is_unified ? std::vector{groups, groups / "unified"} : std::vector{groups / controllers, groups / "cpu"};
    for (const std::filesystem::path& mount : mounts) {
      // All groups above count. A container sees its own group as the top, whatever the path says.
      for (auto group = std::filesystem::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
        least = std::min(least, is_unified ? unified_quota(mount / group) : legacy_quota(mount / group));
        if (group.empty()) break;
      }
    }
  }
  return least;
}

}  // namespace blockvec
