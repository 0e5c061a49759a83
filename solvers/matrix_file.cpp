#include <blockvec/solvers/matrix_file.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <span>

namespace blockvec::solvers {

RealOrComplexMatrix read_matrix(const std::string& path, const Communicator& communicator) {
  std::int64_t is_petsc = is_petsc_binary(path) ? 1 : 0;
  communicator.max(std::span(&is_petsc, 1));
  return is_petsc != 0 ? read_petsc_binary(path, communicator) : read_matrix_market(path, communicator);
}

}  // namespace blockvec::solvers
