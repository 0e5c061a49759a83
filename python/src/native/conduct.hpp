#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <blockvec/kernels/error.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "runtime.hpp"

namespace blockvec::python {

namespace nb = nanobind;

/// How a call that runs without the interpreter's lock meets Python: Ctrl-C and the end of the process end it, and
/// exceptions of Python functions that it calls come out as they were. The library may replace an exception by one of
/// its own on the way, so the first one is kept. What other ranks hear of it is one line.
class Conduct {
 public:
  /// Runs body() with the interpreter's lock.
  template <class Body>
  decltype(auto) in_python(Body&& body) {
    const nb::gil_scoped_acquire lock;
    try {
      check();
      return body();
    } catch (const nb::python_error& error) {
      if (!first_) first_ = std::current_exception();
      throw Error(in_one_line(error));
    } catch (...) {
      if (!first_) first_ = std::current_exception();
      throw;
    }
  }

  /// Looks for Ctrl-C from time to time: to be called as often as is convenient.
  void look() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_ && !is_stopping()) return;
    next_look_ = now + std::chrono::milliseconds(50);
    in_python([] {});
  }

  /// Runs body() without the lock.
  template <class Body>
  void without_lock(Body&& body) {
    try {
      const nb::gil_scoped_release released;
      body();
    } catch (...) {
      if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
      throw;
    }
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  static std::string in_one_line(const nb::python_error& error) {
    return nb::cast<std::string>(error.type().attr("__name__")) + ": " + nb::str(error.value()).c_str();
  }
  static void check() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (is_stopping()) {  // this thread is a daemon, and SystemExit ends it without a word
      PyErr_SetNone(PyExc_SystemExit);
      throw nb::python_error();
    }
  }

  std::exception_ptr first_;
  std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace blockvec::python
