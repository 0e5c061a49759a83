#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// Candidates of tsmttsm that load operands straight into registers, for any layout, stride and alignment.
namespace blockvec::kernels::dispatch {

/// The bytes that are moved for a row of `width` numbers, on average. Memory moves 64 bytes at a time.
double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes);

}  // namespace blockvec::kernels::dispatch
