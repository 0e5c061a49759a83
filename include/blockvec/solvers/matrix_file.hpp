#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/local_matrix.hpp>
#include <string>

namespace blockvec::solvers {

/// Reads a square Hermitian matrix, its rows spread evenly over the ranks: a PETSc binary file, told by its first bytes
/// (read_petsc_binary, the scalars told by its size), else Matrix Market (read_matrix_market). Collective. Throws
/// InputError naming the file, on every rank.
RealOrComplexMatrix read_matrix(const std::string& path, const Communicator& communicator);

}  // namespace blockvec::solvers
