#pragma once

/// @file
/// Block vectors, all of it; the orthogonalisation methods are in <blockvec/orth/orthogonalizer.hpp>.
#include <blockvec/block_vector.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/communicator.hpp>
#include <blockvec/context.hpp>
#include <blockvec/environment.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/row_distribution.hpp>
#include <blockvec/small_matrix.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/version.hpp>
