#pragma once

#include <blockvec/kernels/error.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <string>

namespace blockvec::python {

/// From words such as "bcgs2/svqb". Throws InputError for others.
inline orth::Options orth_options(const std::string& words) {
  try {
    return orth::parse_options(words);
  } catch (const Error& error) {
    throw solvers::InputError(error.what());
  }
}

}  // namespace blockvec::python
