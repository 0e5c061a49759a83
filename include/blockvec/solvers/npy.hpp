#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/local_matrix.hpp>
#include <string>

/// Dense matrices in NumPy's format .npy (numpy.lib.format; NEP 1), as numpy.save writes them.
namespace blockvec::solvers {

/// Does the file begin as one of NumPy's? False where it cannot be read. Not collective.
bool is_npy(const std::string& path);

/// Reads a square Hermitian matrix, its rows spread evenly over the ranks. The file is mapped to memory, not copied: it
/// must not change while the matrix is in use. Taken are versions 1 to 3, float32, float64, complex64 and complex128 in
/// the machine's byte order, of which single precision comes as double; C order, and Fortran order, whose columns are
/// the conjugates of rows. What follows the matrix in the file is not looked at.
/// Every entry may differ from the conjugate of the one across the diagonal by at most 4 eps of the file's precision
/// times the Frobenius norm, and none is NaN or Inf. To find out, each rank reads its own rows twice, and the columns
/// of its own rows in rows before them once, by `threads` threads (0: as many as OpenMP would take). Collective: one
/// sum and three agreements. Throws InputError naming the file and what is wrong with it on every rank, if any rank
/// finds fault with it.
RealOrComplexMatrix read_npy(const std::string& path, const Communicator& communicator, int threads = 1);

}  // namespace blockvec::solvers
