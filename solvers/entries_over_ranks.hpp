#pragma once

#include <blockvec/row_distribution.hpp>
#include <string>
#include <vector>

#include "solvers/hermitian_entries.hpp"

/// Entries of a file's matrix on their way to the ranks that hold their rows. Everything here is collective.
namespace blockvec::solvers {

/// The Frobenius norm of a matrix from those of what each rank has of it. Throws InputError naming `path` on every rank
/// where it overflows. One sum of a word for each rank.
double norm_over_ranks(const std::string& path, const Communicator& communicator, double mine);

/// Hands each entry to the rank that holds its row. What comes back are this rank's rows: entries of the lowest rank
/// first, each rank's in the order in which it had them. Two messages for each doubling of the ranks, one for each
/// neighbour, two agreements. Memory: twice the entries, or these and what comes back.
template <class Scalar>
std::vector<MatrixEntry<Scalar>> sent_to_owners(const RowDistribution& rows, const Communicator& communicator,
                                                std::vector<MatrixEntry<Scalar>> entries);

/// Throws InputError on every rank if the matrix of these rows, by sort_and_sum(), is not Hermitian (check_hermitian).
/// Each rank sends its entries in other ranks' columns to these. Messages: as of norm_over_ranks() and
/// sent_to_owners(), and two agreements.
template <class Scalar>
void require_hermitian(const std::string& path, const RowDistribution& rows, const Communicator& communicator,
                       const std::vector<MatrixEntry<Scalar>>& entries);

}  // namespace blockvec::solvers
