#pragma once

#include <cstdint>

namespace blockvec::testing {

/// How often this program has called operator new so far. For programs that compile count_allocations.cpp.
std::int64_t allocations_so_far();

}  // namespace blockvec::testing
