#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/local_matrix.hpp>
#include <string>

/// @file
/// Sparse matrices in PETSc's binary format, as MatView() writes and MatLoad() reads them (PETSc manual page MatLoad).
namespace blockvec::solvers {

/// The numbers in a PETSc binary file, which does not say itself what they are.
enum class PetscScalar {
  by_file_size,  ///< the matrix is all that the file holds: its length tells
  real,          ///< double precision; behind the matrix there may be more
  complex
};

/// Does the file begin as a matrix of PETSc's, with indices of 32 or 64 bits? False where it cannot be read. Not
/// collective.
bool is_petsc_binary(const std::string& path);

/// Reads a square Hermitian matrix, its rows spread evenly over the ranks. Each rank reads the lengths, columns and
/// values of its own rows and nothing else, at their places in the file. Taken are sparse matrices with indices of 32
/// bits and values of 64 bits, big-endian. Every entry may differ from the one across the diagonal by at most 4 eps
/// times the Frobenius norm; to find out, each rank sends its entries in other ranks' columns to these. Entries that
/// are given twice are summed. Memory: 24 bytes an entry of this rank (32 if complex), half as much again to read and
/// sort them, and for a while the entries that it sends and receives. Collective: two sums of a word for each rank, two
/// messages for each doubling of the ranks, one for each neighbour, ten small ones. Throws InputError "FILE: at byte
/// OFFSET: ..." on every rank, if any rank finds fault with the file.
RealOrComplexMatrix read_petsc_binary(const std::string& path, const Communicator& communicator,
                                      PetscScalar scalar = PetscScalar::by_file_size);

/// Writes all entries of a matrix of less than 2^31 rows and nonzeros, entries of one column summed. The first rank
/// begins the file, then each writes its own rows to their places. Collective. Throws InputError on every rank if the
/// file cannot be written, or holds no such matrix.
template <class Scalar>
void write_petsc_binary(const std::string& path, const RowDistribution& rows, const RowSource<Scalar>& source,
                        const Communicator& communicator);

}  // namespace blockvec::solvers
