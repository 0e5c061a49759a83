#pragma once

#include <blockvec/context.hpp>

namespace blockvec::detail {

/// The attainable bandwidth of a memory space, as reports compare with it.
template <class Space>
MachineBandwidth measure_bandwidth(const Context& context);

}  // namespace blockvec::detail
