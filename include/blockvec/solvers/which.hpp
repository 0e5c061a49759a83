#pragma once

namespace blockvec::solvers {

enum class Which { smallest, largest };  ///< algebraically

}  // namespace blockvec::solvers
