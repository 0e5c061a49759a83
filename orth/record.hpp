#pragma once

#include <blockvec/context.hpp>
#include <blockvec/orth/orthogonalizer.hpp>

namespace blockvec::orth {

/// The words for methods and reasons, of static storage.
std::string_view word(Between between);
std::string_view word(Within within);
std::string_view word(Reason reason);

/// Enters what a verb did into the context's history, if that is kept.
void record(const Context& context, const char* verb, const Method& asked, const Result& result, std::int64_t columns);

}  // namespace blockvec::orth
