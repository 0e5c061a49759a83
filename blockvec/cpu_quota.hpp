#pragma once

#include <filesystem>

namespace blockvec {

/// Processor time per time that the control groups of this process grant it and its neighbours in them (`docker run
/// --cpus`, a limit of Kubernetes, CPUQuota of systemd): 2.5 for two and a half cores; infinity without a limit.
/// Versions 1 and 2 of control groups. `root` stands for "/", in tests.
double cpu_quota(const std::filesystem::path& root = "/");

}  // namespace blockvec
