#pragma once

/// @file
/// The version of BlockVec. CMake reads the three lines with numbers; nothing else states the version.

/// A new one may change any interface.
#define BLOCKVEC_VERSION_MAJOR 0
/// Before 1.0 a new one may change interfaces, too; later it adds to them only.
#define BLOCKVEC_VERSION_MINOR 1
/// A new one changes no interface.
#define BLOCKVEC_VERSION_PATCH 0
