#pragma once

#include <blockvec/kernels/error.hpp>

namespace blockvec::solvers {

/// What somebody gave the program is not what it takes: a file, an option. The message says where. Thrown on every rank
/// alike.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace blockvec::solvers
