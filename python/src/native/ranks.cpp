// The ranks of an mpi4py communicator. _ranks.py has checked that it is one, and of the same MPI.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <blockvec/config.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "call.hpp"
#include "module.hpp"

#if BLOCKVEC_HAVE_MPI
#include <blockvec/mpi.hpp>
#endif

namespace blockvec::python {
namespace {

namespace nb = nanobind;

struct Ranks {
  Communicator communicator;
};

/// A duplicate of the communicator whose handle lies at that address. Collective.
Ranks ranks_at(std::uintptr_t address, std::size_t handle_bytes) {
#if BLOCKVEC_HAVE_MPI
  if (handle_bytes != sizeof(MPI_Comm)) {
    throw Error("mpi4py was built for another MPI than BlockVec: their communicators have " +
                std::to_string(handle_bytes) + " and " + std::to_string(sizeof(MPI_Comm)) + " bytes");
  }
  return {mpi_communicator(*reinterpret_cast<MPI_Comm*>(address))};
#else
  static_cast<void>(address);
  static_cast<void>(handle_bytes);
  throw Error("this build has no MPI");
#endif
}

/// What MPI says of itself; empty without MPI.
std::string mpi_library() {
#if BLOCKVEC_HAVE_MPI
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
#else
  return {};
#endif
}

}  // namespace

Call call_from(const nb::tuple& given) {
  Call call;
  call.type = nb::cast<char>(given[0]);
  call.by_rows = nb::cast<bool>(given[1]);
  call.threads = nb::cast<int>(given[2]);
  call.stream = nb::cast<std::uintptr_t>(given[3]);
  if (const nb::object ranks = given[4]; !ranks.is_none()) call.ranks = nb::cast<Ranks&>(ranks).communicator;
  return call;
}

void bind_ranks(nb::module_& api) {
  using namespace nb::literals;
  using Numbers = std::vector<std::int64_t>;
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  api.def("mpi_library", &mpi_library);
  nb::class_<Ranks>(api, "Ranks")
      .def(
          "__init__",
          [](Ranks* self, std::uintptr_t address, std::size_t bytes) { new (self) Ranks(ranks_at(address, bytes)); },
          "address"_a, "handle_bytes"_a, unlocked)
      .def_prop_ro("rank", [](const Ranks& self) { return self.communicator.rank(); })
      .def_prop_ro("size", [](const Ranks& self) { return self.communicator.size(); })
      .def(
          "sum",
          [](const Ranks& self, Numbers values) {
            self.communicator.sum(std::span(values));
            return values;
          },
          "values"_a, unlocked)
      .def(
          "max",
          [](const Ranks& self, Numbers values) {
            self.communicator.max(std::span(values));
            return values;
          },
          "values"_a, unlocked)
      .def(
          "agree", [](const Ranks& self) { self.communicator.agree(true, ""); }, unlocked)
      .def(
          "refuse", [](const Ranks& self, const std::string& reason) { self.communicator.refuse(reason); }, "reason"_a,
          unlocked);
}

}  // namespace blockvec::python
