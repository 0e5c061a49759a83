#pragma once

#include <random>
#include <string>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/launch.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/support/products.hpp"

/// Products on the device against the oracle, entry by entry.
namespace blockvec::kernels::test {

/// How a product is run: as a caller would, with alpha and beta in device memory, on so few blocks that every stage
/// of a ring is filled several times, or there with the configuration of a longer call.
enum class Way { plain, device_scalars, few_blocks, as_longer };

/// The call whose configuration a product takes.
struct Longer {
  std::int64_t rows = 0;
  std::string row = {};  ///< of a table, where it is to be found; empty: anywhere
};

inline const dispatch::CudaDevice& whole_device() { return cuda::current_device({"tests", 0, 0, 0}); }

inline dispatch::CudaDevice few_blocks() {
  dispatch::CudaDevice device = whole_device();
  device.multiprocessors = 2;
  return device;
}

template <class T>
inline constexpr int parts = is_complex<T> ? 2 : 1;

/// Rounding of a sum of n products in double precision, and of the result to T.
template <class T>
double device_gamma(std::int64_t n) {
  return gamma<wide_of<T>>(n) + gamma<real_of<T>>(1);
}

/// What three real products for a complex one (Gauss), sums of split products (SinglePrecision), or such of single
/// precision of `terms` terms add to that.
template <class T>
double sum_error(bool gauss, bool split, std::int64_t k) {
  return (gauss && sizeof(T) == 16 ? gamma<T>(k + 8) : 0) +
         (split ? 2 * gamma<T>(std::min<std::int64_t>(4 * k + 48, 1072)) : 0);
}
template <class T>
double row_error(bool gauss, bool split, bool single, std::int64_t m) {
  return (gauss ? gamma<T>(m + 8) : 0) + (split ? gamma<T>(parts<T> * 4 * m + 48) : 0) + (single ? gamma<T>(m + 3) : 0);
}

/// Of these configurations.
template <class T>
double bound_of(const dispatch::CudaTsmttsm& x, std::int64_t k) {
  const auto* const ring = std::get_if<dispatch::RingTsmttsm>(&x.of_kernel);
  const bool by_3m = ring != nullptr && ring->ring_3m();
  const bool split = x->policy == dispatch::Policy::tf32 || (ring != nullptr && ring->whole_warpgroups());
  return device_gamma<T>(k + 3) + sum_error<T>(by_3m, split, k);
}
template <class T>
double bound_of(const dispatch::CudaTsmm& x, std::int64_t m) {
  using dispatch::CudaKernel;
  using dispatch::Policy;
  const bool split = x->policy == Policy::tf32 || x->kernel == CudaKernel::tf32_warpgroup;
  const bool by_3m = x->policy == Policy::three_m || x->kernel == CudaKernel::registers_3m;
  const auto* const rows = std::get_if<dispatch::RowRing>(&x.of_kernel);
  const bool in_single =
      x->policy == Policy::f32 ||
      (x->policy == Policy::fma && (rows == nullptr || rows->blocks_n > dispatch::widest_exact_narrow));
  return device_gamma<T>(m + 3) + row_error<T>(by_3m, split, sizeof(real_of<T>) == 4 && in_single, m);
}

/// Whether a call may make three real products for complex ones of double precision (tsmttsm of two matrices).
template <class T>
bool may_take_gauss(std::int64_t m, std::int64_t n) {
  return sizeof(T) == 16 && (std::min(m, n) > 32 || m * n > 20 * (m + n));
}

/// Whether calls may make all products of single precision so: the device makes those in double precision slowly.
inline bool is_slow_in_double() {
  constexpr auto kind = static_cast<std::size_t>(dispatch::CudaProducts::f64_tensor);
  return whole_device().product_clocks[kind] > dispatch::h200_product_clocks[kind];
}

/// Of what calls of these shapes choose, at most.
template <class T>
double bound_of_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n) {
  constexpr bool single = sizeof(real_of<T>) == 4;
  constexpr std::int64_t least = is_complex<T> ? 16 : 24;  // of columns, few beyond whole pieces are summed so, too
  return device_gamma<T>(k + 3) + sum_error<T>(may_take_gauss<T>(m, n),
                                               single && (is_slow_in_double() || parts<T> * m * n > least * (m + n)),
                                               k);
}
template <class T>
double bound_of_tsmm(std::int64_t m, std::int64_t n) {
  constexpr bool single = sizeof(real_of<T>) == 4;
  const bool gauss = !single && is_complex<T> && m * n > 24 * (m + n);
  const bool few = parts<T> * n <= 16 && parts<T> * m >= 16;  // columns of B, and enough of A
  const bool split = single && (is_slow_in_double() || parts<T> * m * n >= 8 * (m + n) || few);
  return device_gamma<T>(m + 3) + row_error<T>(gauss, split, single && !split, m);
}

/// What a longer call of such operands would run, for these: on few blocks, but where each has to have one chunk alone.
template <class Problem>
auto configuration_of(const Longer& longer, const Problem& problem) {
  Problem long_problem = problem;
  if (!problem.row_major) {  // columns are as far apart as before, modulo lines of memory
    const std::int64_t least = std::min(problem.pitch_a, problem.pitch_b);
    const std::int64_t more = std::max<std::int64_t>(0, longer.rows * problem.parts - least + 63) / 64 * 64;
    long_problem.pitch_a += more;
    long_problem.pitch_b += more;
  }
  long_problem.k = longer.rows;
  const auto choice = dispatch::choose(whole_device(), long_problem);
  EXPECT_TRUE(longer.row.empty() || choice.row == longer.row) << choice.row;
  if constexpr (std::is_same_v<Problem, dispatch::CudaTsmmProblem>) {
    if (choice.configuration.in_parts()) return dispatch::choose(few_blocks(), problem).configuration;
  }
  const std::string words = dispatch::words(choice.configuration);
  auto configuration = choice.configuration;
  configuration = {};
  EXPECT_TRUE(dispatch::read_words(dispatch::name_of(choice.configuration->kernel), words, configuration)) << words;
  auto on_all_blocks = configuration;
  if (dispatch::complete(few_blocks(), problem, configuration)) return configuration;
  EXPECT_TRUE(dispatch::complete(whole_device(), problem, on_all_blocks)) << words;
  return on_all_blocks;
}

template <class T>
void run_tsmttsm(Way way, Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                 const Matrix<T>& c, const Longer& longer = {}) {
  const DeviceMemory workspace(cuda_tsmttsm_workspace<T>(a.rows, a.columns, b.columns));
  const CudaExecution execution{nullptr, workspace.bytes()};
  if (way == Way::device_scalars) {
    const DeviceMemory scalars(2 * sizeof(T));
    const T values[] = {alpha, beta};
    expect_success(cudaMemcpy(scalars.as<T>(), values, sizeof values, cudaMemcpyHostToDevice));
    tsmttsm(op, scalars.as<const T>(), a, b, scalars.as<const T>() + 1, c, execution);
    expect_success(cudaDeviceSynchronize());
  } else if (way != Way::plain && c.rows > 0 && c.columns > 0) {
    const dispatch::CudaTsmttsmProblem problem = dispatch::problem_of(a, b);
    const auto configuration = way == Way::few_blocks ? dispatch::choose(few_blocks(), problem).configuration
                                                      : configuration_of(longer, problem);
    const DeviceMemory own(configuration->workspace_bytes);
    cuda::launch_tsmttsm<T>({op, {alpha, nullptr}, {beta, nullptr}, a, b, c}, configuration, {nullptr, own.bytes()});
    expect_success(cudaDeviceSynchronize());
  } else {
    tsmttsm(op, alpha, a, b, beta, c, execution);
    expect_success(cudaDeviceSynchronize());
  }
}

template <class T>
dispatch::CudaTsmmProblem tsmm_problem(const Matrix<const T>& a, const Matrix<T>& b, T alpha, T beta) {
  dispatch::CudaTsmmProblem problem = dispatch::problem_of(a, Matrix<const T>(b), beta != T(0));
  problem.may_skip_a = alpha == T(0);
  return problem;
}

template <class T>
void run_tsmm(Way way, T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b,
              Triangle triangle, bool in_place, const Longer& longer = {}) {
  const DeviceMemory workspace(cuda_tsmm_workspace<T>(a.rows, a.columns, b.columns));
  // Where the coefficients come from memory, the ticket comes from the workspace.
  const Ticket ticket;
  CudaExecution execution{nullptr, workspace.bytes()};
  if (way != Way::device_scalars) execution.ticket = ticket.get();
  if (way == Way::device_scalars) {
    const DeviceMemory scalars(2 * sizeof(T));
    const T values[] = {alpha, beta};
    expect_success(cudaMemcpy(scalars.as<T>(), values, sizeof values, cudaMemcpyHostToDevice));
    tsmm(scalars.as<const T>(), a, c, scalars.as<const T>() + 1, b, triangle, execution);
    expect_success(cudaDeviceSynchronize());
  } else if (way != Way::plain && b.rows > 0 && b.columns > 0) {
    const dispatch::CudaTsmmProblem problem = tsmm_problem(a, b, alpha, beta);
    const auto configuration = way == Way::few_blocks ? dispatch::choose(few_blocks(), problem).configuration
                                                      : configuration_of(longer, problem);
    const DeviceMemory own(configuration->workspace_bytes);
    execution.workspace = own.bytes();
    cuda::launch_tsmm<T>({{alpha, nullptr}, {beta, nullptr}, a, c, b, triangle}, configuration, execution);
    expect_success(cudaDeviceSynchronize());
  } else if (in_place) {
    const std::int64_t distance = b.data - a.data;
    const Matrix<T> v{b.data - distance, a.rows, a.columns, a.ld, a.layout};
    tsmm_inplace(v, c, triangle, execution, a.layout == Layout::row_major || a.ld == 0 ? distance : distance / a.ld);
    expect_success(cudaDeviceSynchronize());
  } else {
    tsmm(alpha, a, c, beta, b, triangle, execution);
    expect_success(cudaDeviceSynchronize());
  }
  ticket.expect_zero();
}

/// Products on the device, for support/products.hpp and the cases of both products.
struct DeviceRun {
  template <class T>
  using Copy = OnDeviceMatrix<T>;

  Way way = Way::plain;
  Longer longer = {};

  template <class T>
  void tsmttsm(Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c) const {
    run_tsmttsm<T>(way, op, alpha, a, b, beta, c, longer);
  }
  template <class T>
  void tsmm(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b,
            Triangle triangle) const {
    run_tsmm<T>(way, alpha, a, c, beta, b, triangle, false, longer);
  }
  template <class T>
  void tsmm_inplace(const Matrix<T>& v, const Matrix<const T>& c, Triangle triangle, std::int64_t first = 0) const {
    run_tsmm<T>(way, T(1), v, c, T(0), dispatch::columns_of(v, first, c.columns), triangle, true, longer);
  }
  template <class T>
  double sum_bound(std::int64_t k, std::int64_t m, std::int64_t n) const {
    return bound_of_tsmttsm<T>(k, m, n);
  }
  template <class T>
  double row_bound(std::int64_t m, std::int64_t n) const {
    return bound_of_tsmm<T>(m, n);
  }
  std::int64_t rows(std::int64_t k) const { return way == Way::few_blocks ? k + 930 : k; }
  std::string name() const {
    if (way == Way::as_longer) return ", as of " + std::to_string(longer.rows) + " rows " + longer.row;
    return way == Way::few_blocks ? ", few blocks" : way == Way::device_scalars ? ", scalars on the device" : "";
  }
};

/// What the cases are typed by: a scalar type, a fixture, and in which ways products run.
template <class T>
struct OnCuda {
  using Scalar = T;
  using Fixture = OnDevice;

  template <class Case>
  static void in_every_way(Case&& one) {
    one(DeviceRun{Way::plain});
    one(DeviceRun{Way::few_blocks});
  }
  /// Where alpha and beta come from.
  template <class Case>
  static void with_all_scalars(Case&& one) {
    one(DeviceRun{Way::plain});
    one(DeviceRun{Way::device_scalars});
  }
};
inline constexpr DeviceRun plain_run{Way::plain};
inline constexpr DeviceRun run_on_few_blocks{Way::few_blocks};

/// B = alpha A C + beta B with every configuration that a call may choose, or tuning, on two multiprocessors;
/// `check(b, configuration)` sees each result, until it fails.
template <class T, class Check>
void run_every_tsmm(T alpha, GuardedMatrix<T>& a, GuardedMatrix<T>& c, T beta, const GuardedMatrix<T>& before,
                    dispatch::Search search, Check&& check) {
  const OnDeviceMatrix<T> device_a(a);
  const OnDeviceMatrix<T> device_c(c);
  const Matrix<const T> view_a = device_a.view();
  GuardedMatrix<T> b = before;
  OnDeviceMatrix<T> device_b(b);
  const Ticket ticket;
  for (const auto& x : candidates(few_blocks(), tsmm_problem(view_a, device_b.view(), alpha, beta), search)) {
    if (left_out()) continue;
    SCOPED_TRACE(dispatch::name_of(x->kernel) + ' ' + dispatch::words(x));
    b.memory() = before.memory();
    device_b.upload();
    const DeviceMemory workspace(x->workspace_bytes);
    cuda::launch_tsmm<T>(
        {{alpha, nullptr}, {beta, nullptr}, view_a, device_c.view(), device_b.view(), Triangle::general}, x,
        {nullptr, workspace.bytes(), SinglePrecision::split, ticket.get()});
    expect_success(cudaDeviceSynchronize());
    ticket.expect_zero();
    device_b.download();
    ASSERT_TRUE(b.guards_hold());
    ASSERT_NO_FATAL_FAILURE(check(b, x));
  }
}

/// The same of random numbers, with the oracle's results.
template <class T>
void expect_every_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, T alpha, T beta,
                       dispatch::Search search = dispatch::Search::usual) {
  SCOPED_TRACE("tsmm " + shape(k, m, n) + name(place));
  std::mt19937 random = random_of(k, m, n);
  GuardedMatrix<T> a = placed(k, m, place, poison<T>());
  GuardedMatrix<T> c = small_placed(m, n, place, poison<T>());
  GuardedMatrix<T> before = placed(k, n, beside(place), mark<T>());
  a.fill(random);
  c.fill(random);
  fill_result(before, beta, random);
  using Wide = wide_of<T>;
  GuardedMatrix<Wide> expected = widened(before, Layout::row_major);
  reference::tsmm(Wide(alpha), widened(a, Layout::row_major).view(), widened(c, Layout::column_major).view(),
                  Wide(beta), expected.view());
  // One bound for all entries by the largest magnitude of those of A, B and C.
  const double largest = is_complex<T> ? std::sqrt(2.0) : 1.0;
  const double scale = std::abs(alpha) * largest * largest * static_cast<double>(m);
  run_every_tsmm(alpha, a, c, beta, before, search, [&](const GuardedMatrix<T>& b, const dispatch::CudaTsmm& x) {
    const double bound = (bound_of<T>(x, m) + gamma<Wide>(m + 3)) * scale + error_of_old(beta, value<T>(largest, 0));
    for (std::int64_t row = 0; row < k; ++row) {
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_LE(std::abs(Wide(b(row, j)) - expected(row, j)), bound) << "entry " << row << ", " << j;
      }
    }
  });
}

}  // namespace blockvec::kernels::test
