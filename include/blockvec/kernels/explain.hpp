#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <cstdint>
#include <string>

/// @file
/// Which kernel a product would run on, in words: for reports, benchmarks and the curious.
namespace blockvec::kernels {

///@{
/// A short name, e.g. "row-major AVX3, chunks of 96 rows, 64 parts", for operands of these extents and this layout.
template <class T>
std::string explain_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout);
template <class T>
std::string explain_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout);
///@}

}  // namespace blockvec::kernels
