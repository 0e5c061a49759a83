// The reader of NumPy's files on any bytes: it takes them or says what is wrong.
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/npy.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/local_matrix.hpp"

namespace blockvec::solvers {
namespace {

void read(const std::string& path) {
  try {
    std::visit([](const auto& matrix) { fuzz::check(matrix); }, read_npy(path, Communicator::self()));
  } catch (const InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
}

}  // namespace
}  // namespace blockvec::solvers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static blockvec::fuzz::InputFile file;
  blockvec::solvers::read(file.hold(data, size));
  return 0;
}
