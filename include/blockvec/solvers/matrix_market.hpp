#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/local_matrix.hpp>
#include <string>

/// @file
/// Matrix Market files (Boisvert, Pozo, Remington, "The Matrix Market exchange formats", NISTIR 5935, 1996).
namespace blockvec::solvers {

/// Reads a square Hermitian matrix, its rows spread evenly over the ranks. Each rank reads an even part of the file's
/// bytes, and sends each entry, and its mirror image, to the rank that holds the row. A gzipped file cannot be cut:
/// each rank expands it up to the end of its part of the entries. The matrix is the same, bit for bit, on any number of
/// ranks. Taken are coordinate and array files; real, integer, complex and pattern (ones); symmetric, hermitian, and
/// general if every entry differs from the one across the diagonal by at most 4 eps times the Frobenius norm. Words may
/// be in any case, exponents may have a D, integers are rounded to double. Comments and blank lines may stand anywhere,
/// lines may end in CR LF, indices begin at 1. Entries that are given twice are summed in the order of the file; of a
/// symmetric or hermitian matrix only one triangle may be given, either one in coordinate files. What a header promises
/// costs nothing before it is read. Memory: this rank's part of the text (one line, on one rank and of a gzipped file);
/// 24 bytes (32 if complex) for each entry of its part and each of its rows, half as much again to sort them; of a
/// general matrix also the entries in other ranks' columns. Collective: two messages for each doubling of the ranks and
/// one for each neighbour, both twice for a general matrix; sums of a word for each rank, and small messages. Throws
/// InputError "FILE:LINE: ..." on every rank, if any rank finds fault with the file.
RealOrComplexMatrix read_matrix_market(const std::string& path, const Communicator& communicator);

/// Writes the lower triangle of a Hermitian matrix in coordinate format, 17 digits: real symmetric, or complex
/// hermitian. Ranks write one after the other. Collective. Throws InputError on every rank if the file cannot be
/// written.
template <class Scalar>
void write_matrix_market(const std::string& path, const RowDistribution& rows, const RowSource<Scalar>& source,
                         const Communicator& communicator);

/// Writes a block vector as a dense array, real or complex, 17 digits. Collective, as above.
template <class Scalar, class Layout>
void write_matrix_market(const std::string& path, const BlockVector<Scalar, Layout>& v);

}  // namespace blockvec::solvers
