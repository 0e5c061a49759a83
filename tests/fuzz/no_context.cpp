// orth/options.cpp also writes records of a Context, which no command line has: the fuzzer does without BlockVec.
#include <blockvec/context.hpp>
#include <cstdlib>

namespace blockvec {

History& Context::history() const { std::abort(); }

}  // namespace blockvec
