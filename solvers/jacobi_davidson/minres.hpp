#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/blockvec.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace blockvec::solvers {
namespace minres {

/// The numbers that a column has, a row each.
enum Number { alpha, beta, beta_before, phi, first, share, dbar, epsilon_next, cosine, sine, is_done, number_count };
/// The factors of its vectors. Those of one axpby_columns() stand together.
enum Factor {
  of_z,
  of_shift,
  of_residual,
  of_residual_before,
  of_v,
  of_last_step,
  of_older_step,
  of_step,
  factor_count
};

/// What a step comes to.
enum class Verdict : unsigned { none, is_over, goes_on, is_indefinite, is_not_finite };

/// A small matrix in a kernel.
template <class T>
struct Here {
  T* data;
  std::int64_t ld, columns;
  KOKKOS_FUNCTION T& operator()(std::int64_t i, std::int64_t j) const { return data[i + j * ld]; }
};

/// dots = v^H (A - theta) v becomes the factors of the last two residuals. By one thread: columns are few.
template <class Scalar>
struct TakeProduct {
  using Real = RealOf<Scalar>;
  Here<Real> number;
  Here<Scalar> factor, dots;

  KOKKOS_FUNCTION void operator()(int) const {
    for (std::int64_t j = 0; j < number.columns; ++j) {
      const bool done = number(is_done, j) != 0;
      const Real before = number(beta_before, j);
      number(alpha, j) = real_part(dots(0, j));
      factor(of_residual, j) = Scalar(done ? Real(0) : -number(alpha, j) / number(beta, j));
      factor(of_residual_before, j) = Scalar(done || !(before > 0) ? Real(0) : -number(beta, j) / before);
    }
  }
};

/// dots = residual^H z becomes all other factors, and what is removed from z for a projected preconditioner, s = (B
/// x)^H z, the factors of M B x.
template <class Scalar>
struct TakeNorm {
  using Real = RealOf<Scalar>;
  Here<Real> number;
  Here<Scalar> factor, dots, s, inverse;
  unsigned* word;
  bool begins, is_projected;

  KOKKOS_FUNCTION void operator()(int) const {
    Verdict verdict = Verdict::is_over;
    const auto raise = [&](Verdict to) { verdict = verdict < to ? to : verdict; };
    for (std::int64_t j = 0; j < number.columns; ++j) {
      const Real whole = real_part(dots(0, j)), removed = is_projected ? remove(j) : Real(0), square = whole - removed;
      if (!(square - square == 0)) {
        raise(Verdict::is_not_finite);
        continue;
      }
      if (square < 0 && -square > std::sqrt(epsilon<Real>) * ((whole < 0 ? -whole : whole) + removed)) {
        raise(Verdict::is_indefinite);
        continue;
      }
      number(beta_before, j) = number(beta, j);
      number(beta, j) = square > 0 ? std::sqrt(square) : Real(0);
      if (begins) {
        number(phi, j) = number(first, j) = number(beta, j);
        number(is_done, j) = number(beta, j) > 0 ? Real(0) : Real(1);
      } else {
        rotate(j);
      }
      const bool done = number(is_done, j) != 0;
      factor(of_z, j) = Scalar(done ? Real(0) : 1 / number(beta, j));
      if (!done) raise(Verdict::goes_on);
    }
    *static_cast<volatile unsigned*>(word) = static_cast<unsigned>(verdict);
  }

  /// s_j becomes G^-1 s_j, G^-1 = R^-1 R^-H. Returns s_j^H G^-1 s_j.
  KOKKOS_FUNCTION Real remove(std::int64_t j) const {
    Real square = 0;
    for (std::int64_t i = s.columns - 1; i >= 0; --i) {  // from below: row i needs those above it
      Scalar sum(0);
      for (std::int64_t l = 0; l <= i; ++l) sum += conjugate(inverse(l, i)) * s(l, j);
      s(i, j) = sum;
      square += real_part(conjugate(sum) * sum);
    }
    for (std::int64_t i = 0; i < s.columns; ++i) {
      Scalar sum(0);
      for (std::int64_t l = i; l < s.columns; ++l) sum += inverse(i, l) * s(l, j);
      s(i, j) = sum;
    }
    return square;
  }

  /// A Givens rotation, the factors of the step, and whether it was the column's last.
  KOKKOS_FUNCTION void rotate(std::int64_t j) const {
    const auto set_step = [&](Real v, Real last, Real older, Real step) {
      factor(of_v, j) = Scalar(v);
      factor(of_last_step, j) = Scalar(last);
      factor(of_older_step, j) = Scalar(older);
      factor(of_step, j) = Scalar(step);
    };
    if (number(is_done, j) != 0) return set_step(0, 0, 0, 0);
    const Real c = number(cosine, j), s_before = number(sine, j), d = number(dbar, j);
    const Real older = number(epsilon_next, j), last = c * d + s_before * number(alpha, j);
    const Real gbar = s_before * d - c * number(alpha, j), gamma = std::hypot(gbar, number(beta, j));
    number(epsilon_next, j) = s_before * number(beta, j);
    number(dbar, j) = -c * number(beta, j);
    if (!(gamma > 0)) {
      number(is_done, j) = 1;
      return set_step(0, 0, 0, 0);
    }
    number(cosine, j) = gbar / gamma;
    number(sine, j) = number(beta, j) / gamma;
    set_step(1 / gamma, -last / gamma, -older / gamma, number(cosine, j) * number(phi, j));
    number(phi, j) *= number(sine, j);
    const Real start = number(first, j);
    if (number(phi, j) <= number(share, j) * start || !(number(beta, j) > epsilon<Real> * start))
      number(is_done, j) = 1;
  }
};

}  // namespace minres

/// Runs of MINRES, a column each, that advance together: the numbers of all columns (Paige, Saunders 1975, SIAM J.
/// Numer. Anal. 12, 617). They stay in the memory of the vectors, where a step turns its two reductions into the
/// factors of its vectors. The host waits once a step, to hear whether it was the last.
template <class Scalar, class Space>
class Minres {
 public:
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar, Space>;
  using Verdict = minres::Verdict;

  Minres(const Context& context, std::int64_t most_columns)
      : context_(context),
        numbers_(context, minres::number_count, most_columns),
        factors_(context, minres::factor_count, most_columns),
        dots_(context, 1, most_columns),
        s_(context, most_columns, most_columns),
        inverse_(context, most_columns, most_columns),
        word_(context, sizeof(unsigned)) {}

  /// Begins with theta.size() columns. A column is done when its residual has come down to `share` of what it was.
  void begin(const std::vector<Real>& theta, const std::vector<Real>& share) {
    columns_ = static_cast<std::int64_t>(theta.size());
    has_begun_ = false;
    HostMatrix<Real> numbers("BlockVec::solvers::minres", minres::number_count, theta.size());
    HostMatrix<Scalar> factors("BlockVec::solvers::minres", minres::factor_count, theta.size());
    for (std::size_t j = 0; j < theta.size(); ++j) {
      numbers(minres::cosine, j) = -1;
      numbers(minres::share, j) = share[j];
      factors(minres::of_shift, j) = Scalar(-theta[j]);
    }
    numbers_.block(0, minres::number_count, 0, columns_).from_host(numbers);
    factors_.block(0, minres::factor_count, 0, columns_).from_host(factors);
  }

  /// Factors for axpby_columns: of z in v, of v in (A - theta) v, and of the step in the solution.
  Small normalizing() const { return rows(minres::of_z, 1); }
  Small shifting() const { return rows(minres::of_shift, 1); }
  Small advancing() const { return rows(minres::of_step, 1); }
  /// Of the last residual and of the one before it, in the next one.
  Small orthogonalizing(std::int64_t terms) const { return rows(minres::of_residual, terms); }
  /// Of v, of the last step and of the one before it, in the next one.
  Small stepping(std::int64_t terms) const { return rows(minres::of_v, terms); }

  /// Where the two reductions of a step put v^H (A - theta) v and residual^H z.
  Small dots() const { return dots_.block(0, 1, 0, columns_); }
  /// Where the second one puts (B x)^H z for a projected preconditioner, which takes M B x G^-1 (B x)^H z off z; then
  /// the factors of M B x.
  Small removed() const { return s_.block(0, columns_, 0, columns_); }
  /// R^-1, G = R^H R.
  void set_inverse(const HostMatrix<Scalar>& inverse) const {
    inverse_.block(0, columns_, 0, columns_).from_host(inverse);
  }

  /// From dots() to orthogonalizing().
  void take_product() const { run(minres::TakeProduct<Scalar>{here(numbers_), here(factors_), here(dots_)}); }
  /// From dots(), and removed() where the preconditioner is projected, to all other factors.
  void take_norm(bool is_projected) {
    *word() = 0;
    run(minres::TakeNorm<Scalar>{here(numbers_), here(factors_), here(dots_), here(s_), here(inverse_), word(),
                                 !has_begun_, is_projected});
    has_begun_ = true;
  }
  /// What the last take_norm() came to. Waits for it.
  Verdict verdict() const {
    context_.template await<Space>(word());
    return static_cast<Verdict>(*word());
  }

 private:
  template <class T>
  minres::Here<T> here(const SmallMatrix<T, Space>& a) const {
    return {a.data(), a.ld(), columns_};
  }
  Small rows(std::int64_t first, std::int64_t count) const { return factors_.block(first, first + count, 0, columns_); }
  unsigned* word() const { return reinterpret_cast<unsigned*>(word_.data()); }
  template <class Body>
  void run(const Body& body) const {
    if constexpr (is_host_space<Space>) {
      body(0);
    } else {
      static const std::string label("BlockVec::solvers::minres");  // kept: a call allocates nothing
      Kokkos::parallel_for(
          label, Kokkos::RangePolicy<ExecutionSpaceOf<Space>>(context_.template execution_space<Space>(), 0, 1), body);
    }
  }

  Context context_;
  std::int64_t columns_ = 0;
  bool has_begun_ = false;
  SmallMatrix<Real, Space> numbers_;
  Small factors_, dots_, s_, inverse_;
  KeptMemory<StagingSpaceOf<Space>> word_;
};

}  // namespace blockvec::solvers
