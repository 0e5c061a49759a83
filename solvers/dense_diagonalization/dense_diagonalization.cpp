#include <fmt/core.h>

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/dense_diagonalization.hpp>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "solvers/dense_diagonalization/formed_matrix.hpp"
#include "solvers/dense_diagonalization/spectrum.hpp"
#include "solvers/fitting_units.hpp"
#include "solvers/host_memory.hpp"
#include "solvers/journal.hpp"
#include "solvers/pencil.hpp"

namespace blockvec::solvers {
namespace {

constexpr const char* solver = "dense_diagonalization";

/// There is memory for all that every rank of this machine will hold. One small message.
template <class Scalar>
void require_memory(const Communicator& communicator, std::int64_t rows, bool has_b) {
  const std::int64_t numbers = (has_b ? 9 : 6) * rows * rows;
  const auto bytes = static_cast<std::size_t>(numbers) * sizeof(Scalar);
  const auto ranks = static_cast<std::size_t>(communicator.local_size());
  collectively(communicator, [&] {
    expect_memory(fmt::format("{} of {} rows on {} rank(s) of this machine", solver, rows, ranks), bytes * ranks);
    return true;
  });
}

template <class Vector>
class DenseDiagonalization {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;

  /// The options are checked().
  DenseDiagonalization(const Problem<Vector>& problem, const DenseOptions& options, const Observer& observer)
      : options_(options), pencil_(solver, problem, Real(1), options.orth), journal_(problem, {}, {}, observer) {}

  Result<Vector> solve() {
    journal_.begin();
    Result<Vector> result;
    const SmallMatrix<Scalar> b = pencil_.has_b() ? formed("B") : SmallMatrix<Scalar>();
    if (pencil_.has_b() && !journal_.is_stopped()) {
      require_hermitian(solver, "B", b);
      pencil_.norm_b = longest_column(b);
    }
    const SmallMatrix<Scalar> a = journal_.is_stopped() ? SmallMatrix<Scalar>() : formed("A");
    if (journal_.is_stopped()) {
      result.status = Status::stopped;
      result.why = journal_.why_stopped();
      (void)pencil_.measure(columns(0), options_.tolerance, result);
    } else {
      require_hermitian(solver, "A", a);
      pencil_.norm_a = longest_column(a);
      spectrum_ = spectrum_of(a, b);
      if (!pencil_.has_b()) pencil_.norm_a = spectrum_.largest();
      if (pencil_.deflation().width() > 0) spectrum_.leave_out(all_rows(pencil_.b_deflation()));
      hand_back(result);
    }
    journal_.conclude(result);
    return result;
  }

 private:
  const Context& context() const { return pencil_.context(); }
  Vector columns(std::int64_t width) const { return Vector(context(), pencil_.rows(), width, "eigenvectors"); }

  SmallMatrix<Scalar> formed(const std::string& name) {
    const auto apply = [&](const Vector& x, const Vector& y) {
      name == "A" ? pencil_.apply_a(x, y) : pencil_.apply_b(x, y);
    };
    return formed_matrix<Vector>(context(), pencil_.rows(), apply, [&] {
      Step step;
      step.applications = pencil_.applications();
      journal_.see(std::move(step));
      return !journal_.is_stopped();
    });
  }

  /// A lower bound of the norm: an image of a unit vector.
  static Real longest_column(const SmallMatrix<Scalar>& a) {
    const SmallMatrix<Real> squares(a.context(), 1, a.columns());
    orth::dense::column_squares(a, squares);
    return std::sqrt(orth::dense::max_norm(squares));
  }

  /// Of A, or of the pencil. Where B's factor shows that it is not definite, its spectrum says how far.
  Spectrum<Scalar> spectrum_of(const SmallMatrix<Scalar>& a, const SmallMatrix<Scalar>& b) const {
    try {
      return Spectrum<Scalar>::of(a, b);
    } catch (const Error&) {
      if (!pencil_.has_b()) throw;
      const std::int64_t last = b.rows() - 1;
      const SmallMatrix<Real> values(context(), 1, b.rows());
      orth::dense::eigendecomposition(b, values, b);
      pencil_.require_definite({values.data()[0], values.data()[last * values.ld()]});
      throw;
    }
  }

  /// By how much the eigenvalue may be off with this backward error.
  Real error_of(double backward_error, std::int64_t i) const {
    return pencil_.eigenvalue_error_of(backward_error, spectrum_.value(i), spectrum_.length(i));
  }
  /// How far the eigenvalue is from what is wanted most; in an interval no one is nearer than another one inside.
  Real rank(std::int64_t i) const {
    const Real value = spectrum_.value(i);
    if (options_.interval) {
      const auto from = static_cast<Real>(options_.interval->from), to = static_cast<Real>(options_.interval->to);
      return std::max<Real>({0, from - value, value - to});
    }
    if (options_.target) return std::abs(value - static_cast<Real>(*options_.target));
    return options_.which == Which::smallest ? value : -value;
  }
  /// LAPACK is backward stable: the backward error of what it finds, roughly.
  double rounding() const { return static_cast<double>(spectrum_.vectors().rows()) * epsilon<Scalar>; }
  bool is_inside(std::int64_t i) const { return rank(i) <= error_of(rounding(), i); }

  void hand_back(Result<Vector>& result) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(spectrum_.count()));
    std::iota(order.begin(), order.end(), 0);
    if (options_.interval) {
      std::erase_if(order, [&](std::int64_t i) { return !is_inside(i); });
    } else {
      std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return rank(i) < rank(j); });
    }
    const auto inside = std::ssize(order), count = std::min<std::int64_t>(inside, options_.wanted);
    order.resize(static_cast<std::size_t>(count));
    const Vector x = columns(count);
    take_rows(spectrum_.vectors(), order, x);
    const bool is_right = pencil_.measure(x, options_.tolerance, result);
    for (const std::int64_t i : order)
      result.residual_estimates.push_back(static_cast<double>(error_of(rounding(), i) / spectrum_.length(i)));
    if (options_.interval && inside > count) {
      result.why = fmt::format("{} eigenvalues lie there, and {} were asked for at most", inside, count);
    } else if (!is_right) {
      result.why = "residuals recomputed from A stay above the tolerance";
      if (pencil_.has_b())
        result.why += fmt::format(": B has a condition of {:.0e} or more", spectrum_.condition_of_b());
    } else {
      result.status = Status::converged;
      result.last_level_cut = is_last_level_cut(order);
    }
    tell(result, is_right);
  }

  /// Is there another eigenvalue like the last one, or, of an interval, one at its ends?
  bool is_last_level_cut(const std::vector<std::int64_t>& order) const {
    const auto same = [&](std::int64_t i) { return error_of(10 * options_.tolerance, i); };
    if (options_.interval) {
      for (std::int64_t i = 0; i < spectrum_.count(); ++i) {
        const auto distance = [&](double end) { return std::abs(spectrum_.value(i) - static_cast<Real>(end)); };
        if (std::min(distance(options_.interval->from), distance(options_.interval->to)) <= same(i)) return true;
      }
      return false;
    }
    const Real last = rank(order.back()) + same(order.back());
    std::int64_t alike = 0;
    for (std::int64_t i = 0; i < spectrum_.count(); ++i) alike += rank(i) <= last ? 1 : 0;
    return alike > std::ssize(order);
  }

  /// The last step: all that is found.
  void tell(const Result<Vector>& result, bool is_right) {
    Step step;
    step.applications = result.applications;
    step.residuals = result.residual_norms;
    if (is_right) {
      step.converged = std::ssize(result.eigenvalues);
      step.eigenvalues = result.eigenvalues;
      step.residual_norms = result.residual_norms;
    }
    journal_.see(std::move(step));
  }

  DenseOptions options_;
  Pencil<Vector> pencil_;
  Journal<Vector> journal_;
  Spectrum<Scalar> spectrum_;
};

}  // namespace

template <class Vector>
Result<Vector> dense_diagonalization(const Problem<Vector>& problem, const DenseOptions& options,
                                     const Observer& observer) {
  constexpr std::uint64_t seed = 1;
  require_operands(solver, problem);
  const auto& a = problem.a;
  const DenseOptions filled = checked(options, a.rows().global_rows(), problem.deflation.width());
  require_memory<typename Vector::Scalar>(a.context().communicator(), a.rows().global_rows(), problem.b.has_value());
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double unit) {
    DenseOptions in_units = filled;
    if (filled.target) in_units.target = *filled.target / unit;
    if (filled.interval) in_units.interval = {filled.interval->from / unit, filled.interval->to / unit};
    return DenseDiagonalization<Vector>(own, in_units, seen).solve();
  };
  return solve_in_fitting_units(problem, observer, seed, solve);
}

#define BLOCKVEC_DENSE_DIAGONALIZATION(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> dense_diagonalization( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const DenseOptions&, const Observer&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_DENSE_DIAGONALIZATION)

}  // namespace blockvec::solvers
