#pragma once

/// @file
/// The version of BlockVec. CMake reads the three lines with numbers; nothing else states the version.

/// A new one may change any interface.
#define BLOCKVEC_VERSION_MAJOR 0
/// Before 1.0 a new one may change interfaces, too; later it adds to them only.
#define BLOCKVEC_VERSION_MINOR 1
/// A new one changes no interface.
#define BLOCKVEC_VERSION_PATCH 0

namespace blockvec {

/// This build of the library in one line: its version, commit and options, such as "BlockVec 0.1.0, commit 1037a66,
/// Release, shared libraries, Kokkos 3.4.00, MPI". What a report of a fault should contain.
const char* version() noexcept;

}  // namespace blockvec
