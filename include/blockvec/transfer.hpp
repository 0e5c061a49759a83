#pragma once

#include <blockvec/context.hpp>
#include <cstddef>

namespace blockvec::detail {

/// Copies `lines` pieces of `bytes` bytes that begin from_pitch and to_pitch bytes apart, within Space or between it
/// and host memory; they do not overlap. On a device ordered on the context's instance, and done by the time of a
/// fence: the host may touch staging memory only after one. Throws CudaError.
template <class Space>
void copy_lines(const Context& context, const void* from, std::size_t from_pitch, void* to, std::size_t to_pitch,
                std::size_t bytes, std::size_t lines);

}  // namespace blockvec::detail
