#pragma once

#include <gtest/gtest.h>

#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/dense_diagonalization.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/rounded_products.hpp"

/// The iterative block solvers, as one suite of tests sees them.
namespace blockvec::solvers {

struct Lobpcg {
  using Options = LobpcgOptions;
  static constexpr const char* name = "lobpcg";
  static constexpr bool takes_preconditioners = true;
  /// Iterations after which nothing has converged on a grid of some hundred points.
  static constexpr std::int64_t too_few = 4;
  /// Iterations from vectors that are right.
  static constexpr std::int64_t from_solution = 3;
  template <class Vector>
  static Result<Vector> solve(const Problem<Vector>& problem, const Options& options, const Observer& observer = {}) {
    return lobpcg<Vector>(problem, options, observer);
  }
  static Options with(std::int64_t wanted) { return {.wanted = wanted}; }
  /// What else is iterated beside the wanted columns.
  static std::vector<Options> variants(std::int64_t wanted) {
    return {{.wanted = wanted, .guard = 0}, {.wanted = wanted, .guard = 3}, {.wanted = wanted}};
  }
  /// What a preconditioner is to save.
  template <class Vector>
  static std::int64_t effort(const Result<Vector>& result) {
    return result.iterations;
  }
  static std::string describe(const Options& options) { return "guard " + std::to_string(options.guard); }
};

struct ChebyshevSubspace {
  using Options = ChebyshevOptions;
  static constexpr const char* name = "chebyshev";
  static constexpr bool takes_preconditioners = false;
  static constexpr std::int64_t too_few = 2, from_solution = 3;
  template <class Vector>
  static Result<Vector> solve(const Problem<Vector>& problem, const Options& options, const Observer& observer = {}) {
    return chebyshev_subspace<Vector>(problem, options, observer);
  }
  static Options with(std::int64_t wanted) { return {.wanted = wanted}; }
  static std::vector<Options> variants(std::int64_t wanted) {
    return {{.wanted = wanted, .extra = 0}, {.wanted = wanted, .extra = 3}, {.wanted = wanted}};
  }
  template <class Vector>
  static std::int64_t effort(const Result<Vector>& result) {
    return result.iterations;
  }
  static std::string describe(const Options& options) { return "extra " + std::to_string(options.extra); }
};

/// The same with filters in single precision, which are given A's own products, rounded.
struct ChebyshevInSingle : ChebyshevSubspace {
  static constexpr const char* suite = "chebyshev_in_single";
  template <class Vector>
  static Result<Vector> solve(Problem<Vector> problem, const Options& options, const Observer& observer = {}) {
    problem.a_single = rounded_products(problem.a);
    return chebyshev_subspace<Vector>(problem, options, observer);
  }
};

struct JacobiDavidson {
  using Options = JacobiDavidsonOptions;
  static constexpr const char* name = "jacobi_davidson";
  static constexpr bool takes_preconditioners = true;
  static constexpr std::int64_t too_few = 4;
  /// The look for copies takes its time however good the start is.
  static constexpr std::int64_t from_solution = std::numeric_limits<std::int64_t>::max();
  template <class Vector>
  static Result<Vector> solve(const Problem<Vector>& problem, const Options& options, const Observer& observer = {}) {
    return jacobi_davidson<Vector>(problem, options, observer);
  }
  static Options with(std::int64_t wanted) { return {.wanted = wanted}; }
  static std::vector<Options> variants(std::int64_t wanted) {
    return {{.wanted = wanted, .block = 1},
            {.wanted = wanted, .block = 2},
            {.wanted = wanted, .block = 3},
            {.wanted = wanted, .block = 4}};
  }
  /// An iteration takes 1 product, or some 20.
  template <class Vector>
  static std::int64_t effort(const Result<Vector>& result) {
    return result.applications;
  }
  static std::string describe(const Options& options) { return "block " + std::to_string(options.block); }
};

/// Lanczos at an end of the spectrum, for pairs. It has restarts in place of iterations.
struct Lanczos {
  using Options = LanczosOptions;
  static constexpr const char* name = "block_lanczos";
  template <class Vector>
  static Result<Vector> solve(const Problem<Vector>& problem, const Options& options, const Observer& observer = {}) {
    return block_lanczos<Vector>(problem, options, observer);
  }
  static Options with(std::int64_t wanted) { return {.wanted = wanted}; }
};

/// The whole spectrum, of pairs that are not too large for it.
struct Dense {
  using Options = DenseOptions;
  static constexpr const char* name = "dense_diagonalization";
  static constexpr std::int64_t most_rows = 1000;
  template <class Vector>
  static Result<Vector> solve(const Problem<Vector>& problem, const Options& options, const Observer& observer = {}) {
    return dense_diagonalization<Vector>(problem, options, observer);
  }
  static Options with(std::int64_t wanted) { return {.wanted = wanted}; }
};

using Drivers = testing::Types<Lobpcg, ChebyshevSubspace, ChebyshevInSingle, JacobiDavidson>;
using PairDrivers = testing::Types<Lobpcg, ChebyshevSubspace, JacobiDavidson, Lanczos, Dense>;
struct DriverNames {
  template <class Driver>
  static std::string GetName(int) {
    if constexpr (requires { Driver::suite; }) return Driver::suite;
    return Driver::name;
  }
};

template <class Driver, class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const typename Driver::Options& options) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return Driver::template solve<Vector>({a}, options);
}

/// On the host and, where there is one, on the device.
template <class Driver, class Scalar, class Layout = RowMajor>
void expect_right(const RowSource<Scalar>& source, const typename Driver::Options& options,
                  const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", nev " << options.wanted << ", "
                                  << Driver::describe(options));
  expect_right(solve<Driver, Scalar, Layout>(source, options), options, source.size(), exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_right(solve<Driver, Scalar, Layout, Kokkos::CudaSpace>(source, options), options, source.size(), exact);
#endif
}

}  // namespace blockvec::solvers
