#pragma once

#include <blockvec/kernels/spmmv.hpp>
#include <cstdint>
#include <string>

#include "src/dispatch/cuda/launch.hpp"

/// Sparse matrix times block vector: which kernel serves a call.
namespace blockvec::kernels::dispatch {

/// What the choice looks at. Strides and addresses of X, Z and Y count together.
struct SpmmvProblem {
  int scalar_bytes;
  std::int64_t width;
  bool row_major;              ///< all of them
  std::uint64_t misalignment;  ///< bits of addresses and, in bytes, of leading dimensions
};

enum class SpmmvKernel : std::uint8_t { sell, sell_columns };

struct SpmmvConfiguration {
  SpmmvKernel kernel;
  int vector;           ///< neighbouring columns of a lane
  int lanes;            ///< that share a row
  bool whole;           ///< a lane's columns come in one access
  std::int64_t blocks;  ///< of columns, one after the other

  bool operator==(const SpmmvConfiguration&) const = default;
};

/// Lanes of a row take at most this many bytes of it: X's rows that neighbouring rows share stay in the cache, and the
/// matrix is read often enough from memory only where it is the smaller part.
inline constexpr int most_spmmv_bytes = 128;
constexpr int most_spmmv_lanes(int vector, int scalar_bytes) { return most_spmmv_bytes / (vector * scalar_bytes); }

SpmmvConfiguration choose(const SpmmvProblem& problem);
/// "sell vector 2 lanes 4"
std::string words(const SpmmvConfiguration& configuration);

}  // namespace blockvec::kernels::dispatch

namespace blockvec::kernels::cuda {

template <class T>
struct SpmmvCall {
  T alpha, shift, beta;
  SellMatrix<T> a;
  Matrix<const T> x, z;
  Matrix<T> y;
};

/// Launches what the configuration says, and the kernel for long rows; the arguments have been checked.
template <class T>
void launch_spmmv(const SpmmvCall<T>& call, const dispatch::SpmmvConfiguration& configuration, CUstream_st* stream);

}  // namespace blockvec::kernels::cuda
