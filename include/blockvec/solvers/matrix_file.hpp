#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/local_matrix.hpp>
#include <string>

namespace blockvec::solvers {

/// Reads a square Hermitian matrix, its rows spread evenly over the ranks: a PETSc binary file (read_petsc_binary, the
/// scalars told by its size) or one of NumPy's (read_npy), both told by their first bytes, else Matrix Market
/// (read_matrix_market). `threads` threads of each rank look through dense files; 0: as many as OpenMP would take.
/// Collective. Throws InputError naming the file, on every rank.
RealOrComplexMatrix read_matrix(const std::string& path, const Communicator& communicator, int threads = 1);

}  // namespace blockvec::solvers
