// The extension module blockvec._host, or blockvec._device: the library in the memory of one space. One module for all
// that works there, since a Kokkos that is linked statically can be started only once.
#include "module.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <Kokkos_Core.hpp>
#include <blockvec/communicator.hpp>
#include <blockvec/config.hpp>
#include <blockvec/context.hpp>
#include <blockvec/environment.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/version.hpp>
#include <new>
#include <string>

#include "runtime.hpp"

namespace blockvec::python {
namespace {

namespace nb = nanobind;

/// Raises the class of that name in _errors.py.
void raise(const char* name, const std::exception& error) {
  PyErr_SetString(nb::module_::import_("blockvec._errors").attr(name).ptr(), error.what());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const DisagreementError& error) {
    raise("DisagreementError", error);
  } catch (const ShapeError& error) {
    raise("ShapeError", error);
  } catch (const NotFiniteError& error) {
    raise("NotFiniteError", error);
  } catch (const RefusedError& error) {
    raise("RefusedError", error);
  } catch (const NoDeviceError& error) {
    raise("DeviceError", error);
  } catch (const orth::RankError& error) {
    raise("RankError", error);
  } catch (const solvers::InputError& error) {
    raise("InputError", error);
  } catch (const OutOfMemoryError& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const Error& error) {
    raise("BlockVecError", error);
  }
}

nb::dict config() {
  nb::dict found;
  const auto number = [](int value) { return std::to_string(value); };
  found["version"] =
      number(BLOCKVEC_VERSION_MAJOR) + "." + number(BLOCKVEC_VERSION_MINOR) + "." + number(BLOCKVEC_VERSION_PATCH);
  found["commit"] = BLOCKVEC_PYTHON_COMMIT;
  found["kokkos"] = number(KOKKOS_VERSION / 10000) + "." + number(KOKKOS_VERSION / 100 % 100) + "." +
                    number(KOKKOS_VERSION % 100) + " " + Kokkos::DefaultHostExecutionSpace::name();
  found["compiler"] = BLOCKVEC_PYTHON_COMPILER;
  found["mpi"] = BLOCKVEC_HAVE_MPI != 0;
  return found;
}

}  // namespace

NB_MODULE(BLOCKVEC_PYTHON_MODULE, api) {
  using namespace nb::literals;
  nb::register_exception_translator(&translate);
  api.def("start", [] { start(); });
  api.def("stop", [] { stop(); });
  api.def("finish", [] { finish(); });
  api.def("config", &config);
  api.def("available_cores", &available_cores);
  // What a DLPack capsule holds, in the host's memory, as an array of NumPy's.
  api.def(
      "view", [](nb::ndarray<nb::numpy, nb::device::cpu> array) { return array; }, nb::rv_policy::reference);
  bind_ranks(api);
  bind_dense(api);
#ifdef BLOCKVEC_PYTHON_DEVICE
  api.def("use_device", &use_device, "number"_a);
#endif
  bind_solve(api);
}

}  // namespace blockvec::python
