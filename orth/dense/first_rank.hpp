#pragma once

#include <algorithm>
#include <blockvec/context.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstdint>
#include <exception>
#include <string>

namespace blockvec::orth {

/// What libraries compute of replicated data goes through here: LAPACK chooses its instructions by the processor, its
/// threads and its settings, so ranks would differ in bits, and then in what they decide. compute(values) fills `count`
/// numbers on the first rank; all ranks get them. One reduction of count + 1 numbers, to which the other ranks add
/// zeros: no message on one rank. An exception of the first rank is an Error with its text on the others. Collective.
template <class Real, class Compute>
void on_first_rank(const Context& context, std::int64_t count, Real* values, const Compute& compute) {
  WorkspaceScope<> scope(context);
  Real* const message = scope.take<Real>(static_cast<std::size_t>(count) + 1);
  std::fill_n(message, count + 1, Real(0));
  Real& failed = message[count];  // how many letters of a text stand where the numbers would
  std::exception_ptr error;
  const bool first = context.communicator().rank() == 0;
  if (first) {
    try {
      compute(message);
    } catch (const std::exception& exception) {
      error = std::current_exception();
      const std::string text = exception.what();
      std::fill_n(message, count, Real(0));
      const std::int64_t letters = std::min(count, static_cast<std::int64_t>(text.size()));
      for (std::int64_t i = 0; i < letters; ++i) {
        message[i] = static_cast<Real>(static_cast<unsigned char>(text[static_cast<std::size_t>(i)]));
      }
      failed = static_cast<Real>(std::max<std::int64_t>(letters, 1));
    }
  }
  context.sum(message, count + 1, static_cast<std::uint64_t>(count) * 31 + 11);
  if (error) std::rethrow_exception(error);
  if (failed > 0) {
    std::string text;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(failed); ++i) {
      text += static_cast<char>(static_cast<unsigned char>(message[i]));
    }
    throw Error("on the first rank: " + text);
  }
  std::copy_n(message, count, values);
}

}  // namespace blockvec::orth
