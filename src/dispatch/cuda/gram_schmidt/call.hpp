#pragma once

#include <array>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <cstdint>
#include <optional>
#include <span>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/gram_schmidt/sweep.hpp"
#include "src/dispatch/cuda/launch.hpp"

/// Between the dispatch, which knows no CUDA, and the kernel.
namespace blockvec::kernels::cuda {

/// W <- [V W] C where C has columns, then P = [V W]^H R where P has columns; R is the image of W, or W itself.
template <class T>
struct SweepCall {
  std::span<const Matrix<const T>> v;
  Matrix<T> w;
  Matrix<const T> image;  ///< no columns: W
  Matrix<const T> c;
  Matrix<T> p;
  SweepConditions conditions;
};

template <class T>
Product product_of(const SweepCall<T>& call) {
  Product product{"gram_schmidt_sweep", call.w.rows, 0, call.w.columns};
  for (const auto& piece : call.v) product.m += piece.columns;
  return product;
}

/// V's matrices and W, those that are neighbours in memory as one. The last one ends with W's columns.
template <class T>
struct SweepMatrices {
  std::array<Matrix<T>, dispatch::most_sweep_matrices> of;
  std::size_t count = 0;

  explicit SweepMatrices(const SweepCall<T>& call) {
    for (const auto& piece : call.v) append(piece);
    append(call.w);
  }

 private:
  void append(const Matrix<const T>& next) {
    if (next.columns == 0) return;
    if (count > 0) {
      Matrix<T>& last = of[count - 1];
      const std::int64_t step = last.layout == Layout::row_major ? 1 : last.ld;
      if (next.ld == last.ld && next.data == last.data + last.columns * step) {
        last.columns += next.columns;
        return;
      }
    }
    of[count++] = {const_cast<T*>(next.data), next.rows, next.columns, next.ld, next.layout};
  }
};

/// Launches what the configuration says for `all`; the arguments have been checked.
template <class T>
void launch_sweep(const SweepCall<T>& call, const SweepMatrices<T>& all, const dispatch::CudaSweep& configuration,
                  const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda

namespace blockvec::kernels::dispatch {

/// Whether tensor maps can describe the rows of a matrix.
template <class T>
bool has_aligned_rows(const Matrix<const T>& a) {
  constexpr std::int64_t unit = 16;
  return a.layout == Layout::row_major && reinterpret_cast<std::uintptr_t>(a.data) % unit == 0 &&
         a.ld * static_cast<std::int64_t>(sizeof(T)) % unit == 0;
}

/// The configuration for a call whose matrices are `all`; none if the kernel does not serve it.
template <class T>
std::optional<CudaSweep> configure_sweep(const CudaDevice& device, const cuda::SweepCall<T>& call,
                                         const cuda::SweepMatrices<T>& all) {
  std::array<std::int64_t, most_sweep_matrices> widths{};
  bool aligned = call.image.columns == 0 || has_aligned_rows(call.image);
  for (std::size_t i = 0; i < all.count; ++i) {
    widths[i] = parts<T> * all.of[i].columns;
    aligned = aligned && has_aligned_rows<T>(all.of[i]);
  }
  if (!aligned) return {};
  return configure_sweep(device, {call.w.rows,
                                  {widths.data(), all.count},
                                  parts<T> * call.w.columns,
                                  real_bytes<T>,
                                  call.c.columns > 0,
                                  call.image.columns > 0});
}

}  // namespace blockvec::kernels::dispatch
