#pragma once

#include <fmt/core.h>

#include <blockvec/solvers/collective.hpp>
#include <span>
#include <string>
#include <type_traits>

namespace blockvec::solvers {

/// Throws InputError naming `path` on every rank, if what any rank knows of the file (its size, its header) is not what
/// the first rank knows. Collective: one small message, one agreement.
template <class Known>
void require_same_file(const std::string& path, const Communicator& communicator, const Known& mine) {
  static_assert(std::is_trivially_copyable_v<Known>);
  Known first = mine;
  communicator.broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
  collectively(communicator, [&] {
    if (!(first == mine)) throw InputError(fmt::format("{}: the first rank has another file of this name", path));
    return true;
  });
}

}  // namespace blockvec::solvers
