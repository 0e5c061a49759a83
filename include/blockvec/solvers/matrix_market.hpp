#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/local_matrix.hpp>
#include <string>

/// @file
/// Matrix Market files (Boisvert, Pozo, Remington, "The Matrix Market exchange formats", NISTIR 5935, 1996).
namespace blockvec::solvers {

/// Reads a square Hermitian matrix, its rows spread evenly over the ranks; every rank reads the whole file, plain or
/// gzipped, and keeps its rows. Taken are coordinate and array files; real, integer, complex and pattern (ones);
/// symmetric, hermitian, and general if every entry differs from the one across the diagonal by at most 4 eps times the
/// Frobenius norm. Words may be in any case, exponents may have a D, integers are rounded to double. Comments and blank
/// lines may stand anywhere, lines may end in CR LF, indices begin at 1. Entries that are given twice are summed; of a
/// symmetric or hermitian matrix only one triangle may be given, either one in coordinate files. Memory: 24 bytes an
/// entry of this rank (32 if complex), half as much again to sort them; while a general matrix is read also the entries
/// of other ranks' rows in this rank's columns. What a header promises costs nothing before it is read. Collective.
/// Throws InputError "FILE:LINE: ..." on every rank, if any rank finds fault with the file.
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
