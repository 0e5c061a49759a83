#pragma once

#include <blockvec/small_matrix.hpp>
#include <blockvec/transfer.hpp>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace blockvec {

/// A small matrix and what on_host's body does with it.
template <class Scalar_, class Space_, bool reads_, bool writes_>
struct HostOperand {
  using Scalar = Scalar_;                      ///< of the entries
  using Space = Space_;                        ///< where the matrix lies
  static constexpr bool is_read = reads_;      ///< it is copied to the host before
  static constexpr bool is_written = writes_;  ///< it is copied back after
  const SmallMatrix<Scalar, Space>& matrix;    ///< the matrix itself
};

/// The body reads it only.
template <class Scalar, class Space>
HostOperand<Scalar, Space, true, false> reads(const SmallMatrix<Scalar, Space>& a) {
  return {a};
}
/// The body sets every entry.
template <class Scalar, class Space>
HostOperand<Scalar, Space, false, true> writes(const SmallMatrix<Scalar, Space>& a) {
  return {a};
}
/// The body may read and write; what it does not write stays as it is.
template <class Scalar, class Space>
HostOperand<Scalar, Space, true, true> updates(const SmallMatrix<Scalar, Space>& a) {
  return {a};
}

namespace detail {

/// A copy in staging memory that the host sees as a matrix of its own.
template <class Operand>
SmallMatrix<typename Operand::Scalar> staged(WorkspaceScope<StagingSpaceOf<typename Operand::Space>>& scope,
                                             const Operand& operand) {
  using Scalar = typename Operand::Scalar;
  const auto& a = operand.matrix;
  const auto rows = static_cast<std::size_t>(a.rows()), columns = static_cast<std::size_t>(a.columns());
  const SmallMatrix<Scalar> copy(
      scope.context(), typename SmallMatrix<Scalar>::View(scope.template take<Scalar>(rows * columns), rows, columns));
  if constexpr (Operand::is_read) {
    copy_lines<typename Operand::Space>(scope.context(), a.data(), static_cast<std::size_t>(a.ld()) * sizeof(Scalar),
                                        copy.data(), rows * sizeof(Scalar), rows * sizeof(Scalar), columns);
  }
  return copy;
}

template <class Operand, class Copy>
void write_back(const Operand& operand, const Copy& copy) {
  if constexpr (Operand::is_written) {
    constexpr std::size_t size = sizeof(typename Operand::Scalar);
    const auto& a = operand.matrix;
    const auto rows = static_cast<std::size_t>(a.rows()), columns = static_cast<std::size_t>(a.columns());
    copy_lines<typename Operand::Space>(a.context(), copy.data(), rows * size, a.data(),
                                        static_cast<std::size_t>(a.ld()) * size, rows * size, columns);
  }
}

}  // namespace detail

/// Calls body on the host with the matrices of the operands, and returns what it returns:
///
///     on_host([](const auto& g, const auto& r) { ... }, reads(G), writes(R));
///
/// Matrices on the host are passed as they are. From a device, what is read comes through staging memory, in the order
/// of the context's instance and after a wait for it, and what is written goes back, unless body throws; operands that
/// share memory are then apart. No allocation once the staging memory is warm.
template <class Body, class First, class... Others>
auto on_host(Body&& body, const First& first, const Others&... others) {
  using Space = typename First::Space;
  if constexpr (is_host_space<Space>) {
    return body(first.matrix, others.matrix...);
  } else {
    const Context& context = first.matrix.context();
    WorkspaceScope<StagingSpaceOf<Space>> scope(context);
    const std::tuple copies{detail::staged(scope, first), detail::staged(scope, others)...};
    context.template fence<Space>();
    const auto write_back = [&] {
      std::apply(
          [&](const auto& first_copy, const auto&... other_copies) {
            detail::write_back(first, first_copy);
            (detail::write_back(others, other_copies), ...);
          },
          copies);
    };
    if constexpr (std::is_void_v<decltype(std::apply(body, copies))>) {
      std::apply(body, copies);
      write_back();
    } else {
      auto result = std::apply(body, copies);
      write_back();
      return result;
    }
  }
}

}  // namespace blockvec
