#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <exception>
#include <optional>
#include <string>

namespace blockvec::solvers {

/// Runs body(), which must not communicate, on every rank. If it throws on any, every rank throws an InputError with
/// the message of the lowest such rank: nobody is left waiting. One small message.
template <class Body>
auto collectively(const Communicator& communicator, Body&& body) {
  std::optional<decltype(body())> result;
  std::string message;
  try {
    result.emplace(body());
  } catch (const std::exception& error) {
    message = error.what();
  }
  try {
    communicator.agree(result.has_value(), message);
  } catch (const Error& error) {
    throw InputError(error.what());
  }
  return std::move(*result);
}

}  // namespace blockvec::solvers
