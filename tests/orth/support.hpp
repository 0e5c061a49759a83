#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/orth/matrices.hpp"
#include "tests/support/cases.hpp"

namespace blockvec::test {

/// Factor of error bounds for complex arithmetic.
template <class Scalar>
inline constexpr double complex_factor = ScalarTraits<Scalar>::is_complex ? 2.8284271247461903 : 1.0;

/// A first-order bound of what rounding leaves in ||I - Q^H Q||_F for n columns whose last sweep was certified: entries
/// of the Gram matrix carry a few eps each, a <= 8 times over.
template <class Scalar>
double rounding_loss(std::int64_t columns) {
  return 8 * complex_factor<Scalar> * static_cast<double>(epsilon<Scalar>) *
         static_cast<double>(std::max<std::int64_t>(columns, 1));
}

/// The same for the residual of X = V S + Q R, columns scaled to unit length: products of m + b terms, in a few sweeps.
template <class Scalar>
double rounding_residual(std::int64_t columns) {
  return 8 * complex_factor<Scalar> * static_cast<double>(epsilon<Scalar>) *
         static_cast<double>(std::max<std::int64_t>(columns, 1));
}

/// Where a block vector begins and how far apart its lines are, in entries: a view may have any of that.
struct Frame {
  std::int64_t front = 0;  ///< columns before the first
  std::int64_t start = 0;  ///< entries between an aligned address and the first one
  std::int64_t extra = 0;  ///< entries between the end of a line and the next one
};

/// A basis and a block beside it in one allocation with room to spare, their values, and what orthogonalising them
/// gave.
template <class K>
struct Trial {
  using Scalar = typename K::Scalar;
  using Columns = HostColumns<Wide<Scalar>>;
  using Tall = typename K::Vector;

  Trial(const Context& context, const RowDistribution& rows, const Columns& v_, const Columns& x_)
      : v_given(rounded<Scalar>(v_)),
        x(rounded<Scalar>(x_)),
        storage(context, rows, v_.columns + x_.columns + 1, "basis") {
    begin(0);
  }
  Trial(const Context& context, const RowDistribution& rows, const Columns& v_, const Columns& x_, const Frame& frame)
      : v_given(rounded<Scalar>(v_)), x(rounded<Scalar>(x_)) {
    const std::int64_t width = frame.front + v_.columns + x_.columns + 1;
    const bool by_rows = std::is_same_v<typename K::Layout, RowMajor>;
    const std::int64_t lines = by_rows ? rows.local_rows() : width, length = by_rows ? width : rows.local_rows();
    memory = Memory("memory", static_cast<std::size_t>(frame.start + lines * (length + frame.extra)));
    storage = Tall::wrap(context, rows, memory.data() + frame.start, width, length + frame.extra, "basis");
    begin(frame.front);
  }

  const orth::Result& run(const orth::Options& options) {
    orth::Orthogonalizer orthogonalizer(storage.context(), options);
    return result = orthogonalizer.project_and_normalize(v, w, &s, &r);
  }

  double loss() const {
    std::vector<std::int64_t> zeros;
    const Columns q = collect(w);
    for (std::int64_t j = 0; j < q.columns; ++j) {
      bool zero = true;
      for (std::int64_t i = 0; i < q.rows; ++i) zero = zero && q(i, j) == Wide<Scalar>(0);
      if (zero) zeros.push_back(v_given.columns + j);
    }
    zero_columns = static_cast<std::int64_t>(zeros.size());
    return loss_of_orthogonality(join(v_given, q), zeros);
  }
  double residual() const { return relative_residual(x, v_given, collect(s), collect(w), collect(r)); }
  double basis_loss() const { return loss_of_orthogonality(v_given); }
  bool guards_hold() const {
    const auto v_now = collect(v);
    const auto guards = join(collect(storage.columns(0, front)), collect(storage.column(storage.width() - 1)));
    for (const auto& entry : guards.entries) {
      if (entry != Wide<Scalar>(7)) return false;
    }
    return v_now.entries == v_given.entries;
  }
  /// ||X^H X - [S; R]^H [S; R]||_F / ||X||_F^2.
  double cholesky_residual() const {
    const auto s_ = collect(s), r_ = collect(r);
    Columns defect = gram(x, x);
    const Columns ss = gram(s_, s_), rr = gram(r_, r_);
    for (std::size_t i = 0; i < defect.entries.size(); ++i) defect.entries[i] -= ss.entries[i] + rr.entries[i];
    const double length = norm(x);
    return norm(defect) / (length * length);
  }

  using Memory = Kokkos::View<Scalar*, typename K::Space>;
  Memory memory;
  Columns v_given, x;
  std::int64_t front = 0;
  Tall storage, v, w;
  typename K::Small s, r;
  orth::Result result;
  mutable std::int64_t zero_columns = 0;

 private:
  void begin(std::int64_t front_) {
    front = front_;
    const std::int64_t m = v_given.columns, b = x.columns;
    v = storage.columns(front, front + m);
    w = storage.columns(front + m, front + m + b);
    s = typename K::Small(storage.context(), m, b, "S");
    r = typename K::Small(storage.context(), b, b, "R");
    fill(storage, Scalar(7));  // guards beside V and W
    distribute<Scalar>(v_given, v);
    distribute<Scalar>(x, w);
  }
};

}  // namespace blockvec::test
