#pragma once

#include <random>
#include <string>

#include "src/cuda/launch.hpp"
#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_problems.hpp"
#include "src/dispatch/cuda_words.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/support/products.hpp"

/// Products on the device against the oracle, entry by entry.
namespace blockvec::kernels::test {

/// How a product is run: as a caller would, with alpha and beta in device memory, or on so few blocks that every stage
/// of a ring is filled several times.
enum class Way { plain, device_scalars, few_blocks };

inline dispatch::CudaDevice few_blocks() {
  dispatch::CudaDevice device = cuda::current_device({"few_blocks", 0, 0, 0});
  device.multiprocessors = 2;
  return device;
}

template <class T>
inline constexpr int parts = is_complex<T> ? 2 : 1;

/// Rounding of a sum of n products in double precision, and of the result to T.
template <class T>
double device_gamma(std::int64_t n) {
  return gamma<std::conditional_t<is_complex<T>, std::complex<double>, double>>(n) + gamma<T>(2);
}

/// Complex products of so wide operands are made of three real ones (Gauss), those of single precision of TF32
/// (SinglePrecision), which costs so much accuracy.
template <class T>
double fewer_products_gamma(std::int64_t k, std::int64_t m, std::int64_t n) {
  if (sizeof(real_of<T>) == 8) return is_complex<T> && m * n > 20 * (m + n) ? gamma<T>(k + 8) : 0.0;
  return parts<T> * m * n > 24 * (m + n) ? 2 * gamma<T>(std::min<std::int64_t>(4 * k + 48, 1072)) : 0.0;
}

/// The same of tsmm.
template <class T>
double fewer_tsmm_gamma(std::int64_t m, std::int64_t n) {
  if (sizeof(real_of<T>) == 8) return is_complex<T> && m * n > 24 * (m + n) ? gamma<T>(m + 8) : 0.0;
  return parts<T> * m * n >= 10 * (m + n) ? gamma<T>(parts<T> * 4 * m + 48) : 0.0;
}

template <class T>
void run_tsmttsm(Way way, Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                 const Matrix<T>& c) {
  const DeviceMemory workspace(cuda_tsmttsm_workspace<T>(a.rows, a.columns, b.columns));
  const CudaExecution execution{nullptr, workspace.bytes()};
  if (way == Way::device_scalars) {
    const DeviceMemory scalars(2 * sizeof(T));
    const T values[] = {alpha, beta};
    expect_success(cudaMemcpy(scalars.as<T>(), values, sizeof values, cudaMemcpyHostToDevice));
    tsmttsm(op, scalars.as<const T>(), a, b, scalars.as<const T>() + 1, c, execution);
    expect_success(cudaDeviceSynchronize());
  } else if (way == Way::few_blocks && c.rows > 0 && c.columns > 0) {
    const dispatch::CudaTsmttsmProblem problem = dispatch::problem_of(a, b);
    const auto configuration = dispatch::configure_cuda_tsmttsm(few_blocks(), problem);
    const DeviceMemory own(configuration.workspace_bytes);
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
              Triangle triangle, bool in_place) {
  const DeviceMemory workspace(cuda_tsmm_workspace<T>(a.rows, a.columns, b.columns));
  const CudaExecution execution{nullptr, workspace.bytes()};
  if (way == Way::device_scalars) {
    const DeviceMemory scalars(2 * sizeof(T));
    const T values[] = {alpha, beta};
    expect_success(cudaMemcpy(scalars.as<T>(), values, sizeof values, cudaMemcpyHostToDevice));
    tsmm(scalars.as<const T>(), a, c, scalars.as<const T>() + 1, b, triangle, execution);
    expect_success(cudaDeviceSynchronize());
  } else if (way == Way::few_blocks && b.rows > 0 && b.columns > 0) {
    const auto configuration = dispatch::configure_cuda_tsmm(few_blocks(), tsmm_problem(a, b, alpha, beta));
    const DeviceMemory own(configuration.workspace_bytes);
    cuda::launch_tsmm<T>({{alpha, nullptr}, {beta, nullptr}, a, c, b, triangle}, configuration, {nullptr, own.bytes()});
    expect_success(cudaDeviceSynchronize());
  } else if (in_place) {
    Matrix<T> v = b;
    v.columns = a.columns;
    tsmm_inplace(v, c, triangle, execution);
    expect_success(cudaDeviceSynchronize());
  } else {
    tsmm(alpha, a, c, beta, b, triangle, execution);
    expect_success(cudaDeviceSynchronize());
  }
}

/// Products on the device, for support/products.hpp and the cases of both products.
struct DeviceRun {
  template <class T>
  using Copy = OnDeviceMatrix<T>;

  Way way = Way::plain;

  template <class T>
  void tsmttsm(Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c) const {
    run_tsmttsm<T>(way, op, alpha, a, b, beta, c);
  }
  template <class T>
  void tsmm(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b,
            Triangle triangle) const {
    run_tsmm<T>(way, alpha, a, c, beta, b, triangle, false);
  }
  template <class T>
  void tsmm_inplace(const Matrix<T>& v, const Matrix<const T>& c, Triangle triangle) const {
    Matrix<T> first = v;
    first.columns = c.columns;
    run_tsmm<T>(way, T(1), v, c, T(0), first, triangle, true);
  }
  template <class T>
  double sum_bound(std::int64_t k, std::int64_t m, std::int64_t n) const {
    return device_gamma<T>(k + 3) + fewer_products_gamma<T>(k, m, n);
  }
  template <class T>
  double row_bound(std::int64_t m, std::int64_t n) const {
    return fewer_tsmm_gamma<T>(m, n);
  }
  std::int64_t rows(std::int64_t k) const { return way == Way::few_blocks ? k + 930 : k; }
  std::string name() const {
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

/// B = alpha A C + beta B with every configuration that a call may choose, or tuning, on two multiprocessors; `check`
/// sees each result, until it fails.
template <class T, class Check>
void run_every_tsmm(T alpha, GuardedMatrix<T>& a, GuardedMatrix<T>& c, T beta, const GuardedMatrix<T>& before,
                    dispatch::Search search, Check&& check) {
  const OnDeviceMatrix<T> device_a(a);
  const OnDeviceMatrix<T> device_c(c);
  const Matrix<const T> view_a = device_a.view();
  GuardedMatrix<T> b = before;
  OnDeviceMatrix<T> device_b(b);
  for (const auto& x : candidates(few_blocks(), tsmm_problem(view_a, device_b.view(), alpha, beta), search)) {
    SCOPED_TRACE(dispatch::name_of(x.kernel) + ' ' + dispatch::words(x));
    b.memory() = before.memory();
    device_b.upload();
    const DeviceMemory workspace(x.workspace_bytes);
    cuda::launch_tsmm<T>(
        {{alpha, nullptr}, {beta, nullptr}, view_a, device_c.view(), device_b.view(), Triangle::general}, x,
        {nullptr, workspace.bytes()});
    expect_success(cudaDeviceSynchronize());
    device_b.download();
    ASSERT_TRUE(b.guards_hold());
    ASSERT_NO_FATAL_FAILURE(check(b));
  }
}

/// The same of random numbers, with the oracle's results.
template <class T>
void expect_every_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, T alpha, T beta,
                       dispatch::Search search = dispatch::Search::usual) {
  SCOPED_TRACE("tsmm " + shape(k, m, n) + name(place));
  std::mt19937 random = random_of(k, m, n);
  const Placement place_b = beside(place);
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> before(k, n, place.layout, place_b.pad, place_b.offset, mark<T>());
  a.fill(random);
  c.fill(random);
  fill_result(before, beta, random);
  GuardedMatrix<T> expected = before;
  reference::tsmm(alpha, a.view(), c.view(), beta, expected.view());
  // One bound for all entries by the largest magnitude of those of A, B and C.
  const double largest = is_complex<T> ? std::sqrt(2.0) : 1.0;
  const double bound =
      (2 * gamma<T>(m + 3) + fewer_tsmm_gamma<T>(m, n)) * std::abs(alpha) * largest * largest * static_cast<double>(m) +
      (beta == T(0) ? 0 : 2 * gamma<T>(2) * std::abs(beta) * largest);
  run_every_tsmm(alpha, a, c, beta, before, search, [&](const GuardedMatrix<T>& b) {
    for (std::int64_t row = 0; row < k; ++row) {
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_LE(std::abs(b(row, j) - expected(row, j)), bound) << "entry " << row << ", " << j;
      }
    }
  });
}

}  // namespace blockvec::kernels::test
