#pragma once

#include <blockvec/solvers/row_source.hpp>
#include <memory>
#include <variant>

#include "options.hpp"

namespace blockvec::examples {

/// The generated problem that the options name, real or complex. Throws InputError where its sizes make no sense.
std::variant<std::unique_ptr<solvers::RowSource<double>>, std::unique_ptr<solvers::RowSource<Complex<double>>>>
make_problem(const ProgramOptions& options);

}  // namespace blockvec::examples
