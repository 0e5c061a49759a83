#pragma once

#include <blockvec/scalar.hpp>

/// Lists of the template arguments that the library compiles; used for explicit instantiations alone.
#define BLOCKVEC_FOR_SCALARS(apply) \
  apply(float) apply(double) apply(::blockvec::Complex<float>) apply(::blockvec::Complex<double>)

#define BLOCKVEC_FOR_LAYOUTS(apply, Scalar) apply(Scalar, ::blockvec::RowMajor) apply(Scalar, ::blockvec::ColumnMajor)

#define BLOCKVEC_FOR_SCALARS_AND_LAYOUTS(apply)           \
  BLOCKVEC_FOR_LAYOUTS(apply, float)                      \
  BLOCKVEC_FOR_LAYOUTS(apply, double)                     \
  BLOCKVEC_FOR_LAYOUTS(apply, ::blockvec::Complex<float>) \
  BLOCKVEC_FOR_LAYOUTS(apply, ::blockvec::Complex<double>)
