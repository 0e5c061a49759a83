#include <blockvec/solvers/matrix_file.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <blockvec/solvers/npy.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <span>

namespace blockvec::solvers {

RealOrComplexMatrix read_matrix(const std::string& path, const Communicator& communicator, int threads) {
  std::int64_t is_of[] = {is_petsc_binary(path) ? 1 : 0, is_npy(path) ? 1 : 0};
  communicator.max(std::span(is_of));
  if (is_of[0] != 0) return read_petsc_binary(path, communicator);
  return is_of[1] != 0 ? read_npy(path, communicator, threads) : read_matrix_market(path, communicator);
}

}  // namespace blockvec::solvers
