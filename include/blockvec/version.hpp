#pragma once

/// The version of BlockVec. CMake reads these three lines; nothing else states the version.
#define BLOCKVEC_VERSION_MAJOR 0
#define BLOCKVEC_VERSION_MINOR 1
#define BLOCKVEC_VERSION_PATCH 0
