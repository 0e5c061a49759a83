#pragma once

#include <memory>
#include <variant>

#include "options.hpp"
#include "row_source.hpp"

namespace blockvec::examples {

/// The generated problem that the options name, real or complex. Throws InputError where its sizes make no sense.
std::variant<std::unique_ptr<RowSource<double>>, std::unique_ptr<RowSource<Complex<double>>>> make_problem(
    const ProgramOptions& options);

}  // namespace blockvec::examples
