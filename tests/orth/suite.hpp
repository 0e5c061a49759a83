#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/scalar.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

/// Matrices with known condition, built the same on every rank, and measures of how well they were orthogonalised, in a
/// precision beyond the one tested. The families are those of the BlockStab suite (Carson, Lund, Rozloznik, Thomas
/// 2022), written anew.
namespace blockvec::test {

template <class Scalar>
struct WideOf {
  using type = long double;
};
template <class Real>
struct WideOf<Complex<Real>> {
  using type = std::complex<long double>;
};
template <class Scalar>
using Wide = typename WideOf<Scalar>::type;

inline long double conjugate(long double x) { return x; }
inline std::complex<long double> conjugate(const std::complex<long double>& x) { return std::conj(x); }

template <class Scalar>
Wide<Scalar> widen(const Scalar& x) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {x.real(), x.imag()};
  } else {
    return x;
  }
}

template <class Scalar>
Scalar narrow(const Wide<Scalar>& x) {
  using Real = RealOf<Scalar>;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {static_cast<Real>(x.real()), static_cast<Real>(x.imag())};
  } else {
    return static_cast<Real>(x);
  }
}

/// A column-major matrix on the host.
template <class T>
struct HostColumns {
  std::int64_t rows = 0, columns = 0;
  std::vector<T> entries;

  HostColumns() = default;
  HostColumns(std::int64_t rows_, std::int64_t columns_)
      : rows(rows_), columns(columns_), entries(static_cast<std::size_t>(rows_ * columns_), T(0)) {}
  T& operator()(std::int64_t i, std::int64_t j) { return entries[static_cast<std::size_t>(i + j * rows)]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return entries[static_cast<std::size_t>(i + j * rows)]; }
};

template <class T>
HostColumns<T> product(const HostColumns<T>& a, const HostColumns<T>& b) {
  HostColumns<T> c(a.rows, b.columns);
  for (std::int64_t j = 0; j < b.columns; ++j) {
    for (std::int64_t l = 0; l < a.columns; ++l) {
      for (std::int64_t i = 0; i < a.rows; ++i) c(i, j) += a(i, l) * b(l, j);
    }
  }
  return c;
}

/// A^H B.
template <class T>
HostColumns<T> gram(const HostColumns<T>& a, const HostColumns<T>& b) {
  HostColumns<T> c(a.columns, b.columns);
  for (std::int64_t j = 0; j < b.columns; ++j) {
    for (std::int64_t i = 0; i < a.columns; ++i) {
      T sum(0);
      for (std::int64_t k = 0; k < a.rows; ++k) sum += conjugate(a(k, i)) * b(k, j);
      c(i, j) = sum;
    }
  }
  return c;
}

template <class T>
double norm(const HostColumns<T>& a) {
  long double sum = 0;
  for (const T& x : a.entries) sum += std::norm(x);
  return static_cast<double>(std::sqrt(sum));
}

template <class T>
HostColumns<T> join(const HostColumns<T>& a, const HostColumns<T>& b) {
  HostColumns<T> c(a.rows, a.columns + b.columns);
  std::copy(a.entries.begin(), a.entries.end(), c.entries.begin());
  std::copy(b.entries.begin(), b.entries.end(), c.entries.begin() + static_cast<std::ptrdiff_t>(a.entries.size()));
  return c;
}

/// Generators draw from one engine, so a test names one seed.
template <class Scalar>
class Generator {
 public:
  using T = Wide<Scalar>;
  using Columns = HostColumns<T>;
  explicit Generator(unsigned seed) : engine_(seed) {}

  T number() {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      const double real = normal_(engine_);
      return {real, normal_(engine_)};
    } else {
      return normal_(engine_);
    }
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }

  Columns random(std::int64_t rows, std::int64_t columns) {
    Columns a(rows, columns);
    for (T& x : a.entries) x = number();
    return a;
  }

  /// Random orthonormal columns (rows >= columns), by Gram-Schmidt done three times in wide precision.
  Columns orthonormal(std::int64_t rows, std::int64_t columns) {
    Columns q = random(rows, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      for (int pass = 0; pass < 3; ++pass) {
        for (std::int64_t i = 0; i < j; ++i) {
          T dot(0);
          for (std::int64_t k = 0; k < rows; ++k) dot += conjugate(q(k, i)) * q(k, j);
          for (std::int64_t k = 0; k < rows; ++k) q(k, j) -= q(k, i) * dot;
        }
        long double square = 0;
        for (std::int64_t k = 0; k < rows; ++k) square += std::norm(q(k, j));
        for (std::int64_t k = 0; k < rows; ++k) q(k, j) /= std::sqrt(square);
      }
    }
    return q;
  }

  /// U Sigma V^H with singular values spaced evenly in the logarithm from 1 to 1 / kappa.
  Columns with_condition(std::int64_t rows, std::int64_t columns, double kappa) {
    return with_condition(orthonormal(rows, columns), kappa);
  }
  /// The same for given U.
  Columns with_condition(Columns u, double kappa) {
    const std::int64_t rows = u.rows, columns = u.columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      const double share = columns > 1 ? static_cast<double>(j) / static_cast<double>(columns - 1) : 0.0;
      for (std::int64_t k = 0; k < rows; ++k) u(k, j) *= static_cast<long double>(std::pow(kappa, -share));
    }
    return product(u, adjoint(orthonormal(columns, columns)));
  }

  /// Blocks that are well-conditioned each, but nearly alike: the k-th is a mixture of orthonormal columns in which
  /// those of its own have weight kappa^(-k/(blocks-1)).
  Columns glued(std::int64_t rows, std::int64_t blocks, std::int64_t width, double kappa) {
    const Columns u = orthonormal(rows, blocks * width);
    Columns x(rows, blocks * width);
    for (std::int64_t k = 0; k < blocks; ++k) {
      const auto weight =
          static_cast<long double>(std::pow(kappa, -static_cast<double>(k) / static_cast<double>(blocks - 1)));
      for (std::int64_t j = 0; j < width; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) x(i, k * width + j) = u(i, j) + weight * u(i, k * width + j);
      }
    }
    return x;
  }

  /// The first block is random; every next one is the one before it plus a perturbation of relative size 1/kappa times
  /// a matrix of condition kappa.
  Columns piled(std::int64_t rows, std::int64_t blocks, std::int64_t width, double kappa) {
    Columns x(rows, blocks * width);
    Columns last = with_condition(rows, width, 10);
    for (std::int64_t k = 0; k < blocks; ++k) {
      if (k > 0) {
        const Columns change = with_condition(rows, width, kappa);
        for (std::size_t i = 0; i < last.entries.size(); ++i) last.entries[i] += change.entries[i];
      }
      std::copy(last.entries.begin(), last.entries.end(), x.entries.begin() + k * rows * width);
    }
    return x;
  }

  /// A row of ones above a multiple of the identity (rows > columns).
  static Columns laeuchli(std::int64_t rows, std::int64_t columns, double small) {
    Columns x(rows, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      x(0, j) = T(1);
      x(j + 1, j) = T(static_cast<long double>(small));
    }
    return x;
  }

  /// Powers of a diagonal operator on a random vector, each scaled to unit length.
  Columns monomial(std::int64_t rows, std::int64_t columns, double ratio) {
    Columns x(rows, columns);
    for (std::int64_t i = 0; i < rows; ++i) x(i, 0) = number();
    for (std::int64_t j = 0; j < columns; ++j) {
      long double square = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        if (j > 0)
          x(i, j) = x(i, j - 1) *
                    static_cast<long double>(1 + (ratio - 1) * static_cast<double>(i) / static_cast<double>(rows));
        square += std::norm(x(i, j));
      }
      for (std::int64_t i = 0; i < rows; ++i) x(i, j) /= std::sqrt(square);
    }
    return x;
  }

  /// U Sigma V^H with singular values 1 in the first half of the columns; the others fall evenly in the logarithm to
  /// 1e-20, beyond what double precision tells from zero, or are zero.
  Columns stewart(std::int64_t rows, std::int64_t columns, bool extreme) {
    Columns u = orthonormal(rows, columns);
    for (std::int64_t j = columns / 2; j < columns; ++j) {
      const double power = -20 * static_cast<double>(j - columns / 2 + 1) / static_cast<double>(columns - columns / 2);
      for (std::int64_t k = 0; k < rows; ++k) u(k, j) *= extreme ? 0 : static_cast<long double>(std::pow(10, power));
    }
    return product(u, adjoint(orthonormal(columns, columns)));
  }

  /// Random but for every third column, which is a multiple of the one before it.
  Columns rank_deficient(std::int64_t rows, std::int64_t columns) {
    Columns x = random(rows, columns);
    for (std::int64_t j = 2; j < columns; j += 3) {
      for (std::int64_t i = 0; i < rows; ++i) x(i, j) = x(i, j - 1) * 3.0L;
    }
    return x;
  }

  /// The first columns of the Hilbert matrix.
  static Columns hilbert(std::int64_t rows, std::int64_t columns) {
    Columns x(rows, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) x(i, j) = T(1.0L / static_cast<long double>(i + j + 1));
    }
    return x;
  }

  /// Krylov blocks of a diagonal operator with eigenvalues in [1, 10], as s-step methods build them: `width` steps from
  /// the last column of the block before, made unit; in the monomial basis, or in Newton's with Leja points as shifts.
  Columns steps(std::int64_t rows, std::int64_t blocks, std::int64_t width, bool newton) {
    Columns x(rows, blocks * width);
    const auto value = [&](std::int64_t i) {
      return 1 + 9 * static_cast<long double>(i) / static_cast<long double>(std::max<std::int64_t>(rows - 1, 1));
    };
    std::vector<long double> shifts(static_cast<std::size_t>(width), 0);
    for (std::size_t s = 0; s < shifts.size() && newton; ++s) {
      long double best = -1;
      for (std::int64_t i = 0; i < rows; ++i) {
        long double distance = s == 0 ? value(i) : 1;
        for (std::size_t t = 0; t < s; ++t) distance *= std::abs(value(i) - shifts[t]);
        if (distance > best) {
          best = distance;
          shifts[s] = value(i);
        }
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) x(i, 0) = number();
    for (std::int64_t j = 0; j < x.columns; ++j) {
      const long double shift = j % width > 0 ? shifts[static_cast<std::size_t>(j % width - 1)] : 0;
      long double square = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        if (j > 0) x(i, j) = x(i, j - 1) * (value(i) - shift);
        square += std::norm(x(i, j));
      }
      if (j % width > 0) continue;
      for (std::int64_t i = 0; i < rows; ++i) x(i, j) /= std::sqrt(square);
    }
    return x;
  }

  static Columns adjoint(const Columns& a) {
    Columns b(a.columns, a.rows);
    for (std::int64_t j = 0; j < a.columns; ++j) {
      for (std::int64_t i = 0; i < a.rows; ++i) b(j, i) = conjugate(a(i, j));
    }
    return b;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

template <class T>
HostColumns<T> columns_of(const HostColumns<T>& a, std::int64_t begin, std::int64_t end) {
  HostColumns<T> b(a.rows, end - begin);
  std::copy(a.entries.begin() + begin * a.rows, a.entries.begin() + end * a.rows, b.entries.begin());
  return b;
}

/// Rounds to Scalar and back: what the tested code is given.
template <class Scalar>
HostColumns<Wide<Scalar>> rounded(HostColumns<Wide<Scalar>> a) {
  for (auto& x : a.entries) x = widen<Scalar>(narrow<Scalar>(x));
  return a;
}

/// ||I - Q^H Q||_F; columns of zeros, if told, count as they should be.
template <class T>
double loss_of_orthogonality(const HostColumns<T>& q, const std::vector<std::int64_t>& zero_columns = {}) {
  HostColumns<T> defect = gram(q, q);
  for (std::int64_t j = 0; j < q.columns; ++j) defect(j, j) -= T(1);
  for (const std::int64_t j : zero_columns) defect(j, j) += T(1);
  return norm(defect);
}

/// ||X - V S - Q R||_F / ||X||_F, columns of X scaled to unit length first; columns of zeros count absolutely.
template <class T>
double relative_residual(const HostColumns<T>& x, const HostColumns<T>& v, const HostColumns<T>& s,
                         const HostColumns<T>& q, const HostColumns<T>& r) {
  HostColumns<T> rest = x;
  const HostColumns<T> vs = product(v, s), qr = product(q, r);
  long double worst = 0;
  for (std::int64_t j = 0; j < x.columns; ++j) {
    long double error = 0, length = 0;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      error += std::norm(x(i, j) - vs(i, j) - qr(i, j));
      length += std::norm(x(i, j));
    }
    worst += length > 0 ? error / length : error;
  }
  return static_cast<double>(std::sqrt(worst));
}

/// ||X^H X - R^H R||_F / ||X||_F^2.
template <class T>
double cholesky_residual(const HostColumns<T>& x, const HostColumns<T>& r) {
  HostColumns<T> defect = gram(x, x);
  const HostColumns<T> rr = gram(r, r);
  for (std::size_t i = 0; i < defect.entries.size(); ++i) defect.entries[i] -= rr.entries[i];
  const double length = norm(x);
  return norm(defect) / (length * length);
}

}  // namespace blockvec::test
