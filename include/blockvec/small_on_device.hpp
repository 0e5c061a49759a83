#pragma once

#include <algorithm>
#include <blockvec/small_matrix.hpp>
#include <blockvec/transfer.hpp>

namespace blockvec::detail {

/// A copy of a small matrix of the host in the memory of Space, for what is ordered after it on the context's instance.
/// The original may change as soon as this returns: CUDA takes pageable memory into its own before. No wait.
template <class Space, class Scalar>
SmallMatrix<Scalar, Space> on_device(WorkspaceScope<Space>& scope, const SmallMatrix<Scalar>& c) {
  const auto copy = SmallMatrix<Scalar, Space>::scratch(scope, c.rows(), c.columns());
  const std::size_t bytes = static_cast<std::size_t>(c.rows() * c.columns()) * sizeof(Scalar);
  if (c.ld() == c.rows()) {
    copy_lines<Space>(scope.context(), c.data(), bytes, copy.data(), bytes, bytes, 1);
    return copy;
  }
  // Pieces of pageable memory would be copied one by one.
  WorkspaceScope<> host_scope(scope.context());
  const auto whole = SmallMatrix<Scalar>::scratch(host_scope, c.rows(), c.columns());
  for (std::int64_t j = 0; j < c.columns(); ++j)
    std::copy_n(c.data() + j * c.ld(), c.rows(), whole.data() + j * c.rows());
  copy_lines<Space>(scope.context(), whole.data(), bytes, copy.data(), bytes, bytes, 1);
  return copy;
}

}  // namespace blockvec::detail
