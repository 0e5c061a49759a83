// The reader of PETSc's binary format on any bytes: it takes them or says what is wrong.
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/local_matrix.hpp"

namespace blockvec::solvers {
namespace {

void read(const std::string& path, PetscScalar scalar) {
  try {
    std::visit([](const auto& matrix) { fuzz::check(matrix); }, read_petsc_binary(path, Communicator::self(), scalar));
  } catch (const InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
}

}  // namespace
}  // namespace blockvec::solvers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blockvec::solvers;
  static blockvec::fuzz::InputFile file;
  const std::string& path = file.hold(data, size);
  for (const auto scalar : {PetscScalar::by_file_size, PetscScalar::real, PetscScalar::complex}) read(path, scalar);
  return 0;
}
