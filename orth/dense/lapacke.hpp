#pragma once

// LAPACKE with C++'s complex types: they must be known, and named, before its header is read.
// clang-format off
#include <complex>
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>
// clang-format on
