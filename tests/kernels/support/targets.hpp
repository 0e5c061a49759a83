#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace blockvec::kernels::test {

/// The SIMD targets that are compiled into the kernels and that this processor supports, plain code included.
inline std::vector<std::int64_t> supported_targets() {
  std::vector<std::int64_t> targets;
  for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_NEON, HWY_SCALAR}) {
    if ((hwy::SupportedTargets() & target) != 0 || target == HWY_SCALAR) targets.push_back(target);
  }
  return targets;
}

/// While it lives, the kernels run on one target.
class OnTarget {
 public:
  explicit OnTarget(std::int64_t target) { choose(target); }
  ~OnTarget() { choose(0); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();  // so that the next call chooses again
  }
};

}  // namespace blockvec::kernels::test
