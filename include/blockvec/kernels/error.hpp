#pragma once

#include <stdexcept>
#include <string>

namespace blockvec {

/// Base of every exception that BlockVec throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Operands do not fit one another or an argument is out of its range: the message names the
/// operands, their shapes and what was expected. Outputs are untouched.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A matrix or vector holds NaN or Inf where finite values are required: the message names it and the column.
class NotFiniteError : public Error {
 public:
  using Error::Error;
};

/// Memory could not be had: the message names what it was for and the bytes asked for.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

}  // namespace blockvec
