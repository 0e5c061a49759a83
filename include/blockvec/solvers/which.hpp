#pragma once

namespace blockvec::solvers {

/// Which end of the spectrum is wanted, in the order of real numbers.
enum class Which { smallest, largest };

}  // namespace blockvec::solvers
