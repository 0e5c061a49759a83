#pragma once

#include <bit>
#include <complex>

namespace blockvec::solvers {

/// The compiler's vectors; that of one number is the number.
template <class Real, int count>
struct VectorOf {
  typedef Real Type __attribute__((vector_size(count * sizeof(Real))));
};
template <class Real>
struct VectorOf<Real, 1> {
  using Type = Real;
};

/// A vector that stands anywhere among numbers.
template <class Vector>
struct [[gnu::packed, gnu::may_alias]] Anywhere {
  Vector vector;
};
template <class Vector, class Real>
[[gnu::always_inline]] inline const Anywhere<Vector>& at(const Real* place) {
  return *reinterpret_cast<const Anywhere<Vector>*>(place);
}
template <class Vector, class Real>
[[gnu::always_inline]] inline Anywhere<Vector>& at(Real* place) {
  return *reinterpret_cast<Anywhere<Vector>*>(place);
}

/// `count` numbers in registers: packs of 32 bytes, and smaller ones for the rest. Inlined into functions for different
/// processors, and never passed between functions.
template <class Real, int count>
struct Packs {
  static constexpr int most = 32 / sizeof(Real);
  static constexpr int size = count >= most ? most : std::bit_floor(static_cast<unsigned>(count));
  using Pack = typename VectorOf<Real, size>::Type;

  [[gnu::always_inline]] void add(Real factor, const Real* x) {
    pack += factor * at<Pack>(x).vector;
    rest.add(factor, x + size);
  }
  /// Adds i times pairs of real and imaginary parts.
  [[gnu::always_inline]] void add_turned(const Packs& pairs) {
    if constexpr (size == 2) {
      pack += Pack{-1, 1} * __builtin_shufflevector(pairs.pack, pairs.pack, 1, 0);
    } else if constexpr (size == 4) {
      pack += Pack{-1, 1, -1, 1} * __builtin_shufflevector(pairs.pack, pairs.pack, 1, 0, 3, 2);
    } else {
      static_assert(size == 8);
      pack +=
          Pack{-1, 1, -1, 1, -1, 1, -1, 1} * __builtin_shufflevector(pairs.pack, pairs.pack, 1, 0, 3, 2, 5, 4, 7, 6);
    }
    rest.add_turned(pairs.rest);
  }
  [[gnu::always_inline]] void add(const Packs& other) {
    pack += other.pack;
    rest.add(other.rest);
  }
  [[gnu::always_inline]] void scale(Real factor) {
    pack *= factor;
    rest.scale(factor);
  }
  [[gnu::always_inline]] void store(Real* to) const {
    at<Pack>(to).vector = pack;
    rest.store(to + size);
  }
  Pack pack = {};
  Packs<Real, count - size> rest;
};
template <class Real>
struct Packs<Real, 0> {
  [[gnu::always_inline]] void add(Real, const Real*) {}
  [[gnu::always_inline]] void add_turned(const Packs&) {}
  [[gnu::always_inline]] void add(const Packs&) {}
  [[gnu::always_inline]] void scale(Real) {}
  [[gnu::always_inline]] void store(Real*) const {}
};

/// `width` columns of one row of a sum of products, each of a number and a row.
template <class Scalar, int width>
struct RowSums {
  [[gnu::always_inline]] void add(Scalar value, const Scalar* row) { sums.add(value, row); }
  [[gnu::always_inline]] void add(const RowSums& other) { sums.add(other.sums); }
  [[gnu::always_inline]] void scale(Scalar factor) { sums.scale(factor); }
  [[gnu::always_inline]] void store(Scalar* to) const { sums.store(to); }
  Packs<Scalar, width> sums;
};
/// The products with real and imaginary parts of the numbers meet at the end: until then nothing changes places.
template <class Real, int width>
struct RowSums<std::complex<Real>, width> {
  [[gnu::always_inline]] void add(std::complex<Real> value, const std::complex<Real>* row) {
    by_real.add(value.real(), reinterpret_cast<const Real*>(row));
    by_imag.add(value.imag(), reinterpret_cast<const Real*>(row));
  }
  [[gnu::always_inline]] void add(const RowSums& other) {
    by_real.add(other.by_real);
    by_imag.add(other.by_imag);
  }
  [[gnu::always_inline]] void scale(std::complex<Real> factor) {
    by_real.add_turned(by_imag);
    by_imag = by_real;
    by_real.scale(factor.real());
    by_imag.scale(factor.imag());
  }
  [[gnu::always_inline]] void store(std::complex<Real>* to) const {
    Packs<Real, 2 * width> sums = by_real;
    sums.add_turned(by_imag);
    sums.store(reinterpret_cast<Real*>(to));
  }
  Packs<Real, 2 * width> by_real, by_imag;
};

}  // namespace blockvec::solvers
