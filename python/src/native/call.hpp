#pragma once

#include <nanobind/nanobind.h>

#include <blockvec/communicator.hpp>
#include <cstdint>
#include <memory>

namespace blockvec::python {

/// What Python says of a call (_homes.py): NumPy's letter of the dtype, the order of tall arrays, and who works on
/// them.
struct Call {
  char type = 'd';
  bool by_rows = true;
  int threads = 0;            ///< 0: as many as suit, on several ranks
  std::uintptr_t stream = 0;  ///< a cudaStream_t; of the device's module only
  Communicator ranks = Communicator::self();
};

/// From a tuple of these, the ranks being None or this module's Ranks (ranks.cpp).
Call call_from(const nanobind::tuple& given);

void bind_ranks(nanobind::module_& api);

}  // namespace blockvec::python
