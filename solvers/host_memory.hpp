#pragma once

#include <cstddef>
#include <string_view>

namespace blockvec::solvers {

/// Throws OutOfMemoryError naming `what` and the bytes where the system has less memory left than that: it would
/// promise more and end the process later. Small amounts are not asked about.
void expect_memory(std::string_view what, std::size_t bytes);

}  // namespace blockvec::solvers
