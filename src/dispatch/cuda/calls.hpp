#pragma once

#include <array>
#include <blockvec/kernels/matrix.hpp>
#include <cstdint>
#include <type_traits>

#include "src/dispatch/cuda/launch.hpp"
#include "src/dispatch/host/checks.hpp"

/// Checks a caller's arguments and turns them into the problem that a kernel is chosen for, which counts real numbers.
/// Calls and explanations both use this, so that they speak of the same kernel.
namespace blockvec::kernels::dispatch {

template <class T>
inline constexpr int parts = std::is_floating_point_v<T> ? 1 : 2;
template <class T>
inline constexpr int real_bytes = static_cast<int>(sizeof(T)) / parts<T>;

/// Makes single columns row-major, because the kernels for rows serve them best.
template <class A, class B>
void prefer_rows(Matrix<A>& a, Matrix<B>& b) {
  if (a.layout == Layout::row_major || a.columns != 1 || b.columns != 1) return;
  a.layout = b.layout = Layout::row_major;
  a.ld = b.ld = 1;
}

/// Whether the operands of tsmttsm are one, so that the product is a Gram matrix.
template <class T>
bool are_same(const Matrix<const T>& a, const Matrix<const T>& b) {
  return a.data == b.data && a.ld == b.ld && a.columns == b.columns;
}

template <class T>
CudaTsmttsmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b) {
  const auto beyond = [](const Matrix<const T>& x) { return reinterpret_cast<std::uintptr_t>(x.data) % 16; };
  const bool columns = a.layout == Layout::column_major && std::is_same_v<T, double>;
  return {a.rows,
          parts<T> * a.columns,
          parts<T> * b.columns,
          parts<T> * a.ld,
          parts<T> * b.ld,
          real_bytes<T>,
          a.layout == Layout::row_major,
          are_same(a, b),
          parts<T>,
          (beyond(a) | beyond(b)) == 0,
          true,
          columns && a.ld % 2 == 0 && b.ld % 2 == 0 && beyond(a) == 8 && beyond(b) == 8};
}

template <class T>
CudaTsmmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b, bool reads_output) {
  const auto address = [](const Matrix<const T>& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
  constexpr bool whole = sizeof(T) == 16;  // entries of B have 16 bytes, which may be misaligned as well
  return {a.rows,
          parts<T> * a.columns,
          parts<T> * b.columns,
          parts<T> * a.ld,
          parts<T> * b.ld,
          real_bytes<T>,
          a.layout == Layout::row_major,
          overlap(operand("A", a), operand("B", b)),
          reads_output,
          parts<T>,
          (address(a) | (whole ? address(b) : 0)) % 16 == 0,
          false,
          address(b) % 32 == 0};
}

/// Returns alpha or beta as an operand. If it is a value, the operand has no entries.
template <class T>
Operand operand(const char* name, const cuda::Coefficients<T>& x) {
  const std::int64_t entries = x.device == nullptr ? 0 : 1;
  return operand(name, Matrix<const T>{x.device, entries, entries, entries});
}

/// Checks the arguments and returns the call. Single columns become rows of one entry, which the kernels serve best.
template <class T>
cuda::TsmttsmCall<T> checked_tsmttsm(cuda::TsmttsmCall<T> call, std::span<std::byte> workspace) {
  check_tsmttsm(call.a, call.b, call.c);
  const std::array inputs{operand("A", call.a), operand("B", call.b), operand("alpha", call.alpha),
                          operand("beta", call.beta)};
  check_device_memory("tsmttsm", operand("C", call.c), inputs, workspace);
  prefer_rows(call.a, call.b);
  return call;
}

template <class T>
cuda::TsmmCall<T> checked_tsmm(cuda::TsmmCall<T> call, std::span<std::byte> workspace) {
  check_tsmm(call.a, call.c, call.b);
  const std::array inputs{operand("A", call.a), operand("C", call.c), operand("alpha", call.alpha),
                          operand("beta", call.beta)};
  check_device_memory("tsmm", operand("B", call.b), inputs, workspace);
  prefer_rows(call.a, call.b);
  return call;
}

template <class T>
cuda::TsmmCall<T> checked_tsmm_inplace(const Matrix<T>& v, const Matrix<const T>& c, Triangle triangle,
                                       std::int64_t first, std::span<std::byte> workspace) {
  check_tsmm_inplace(v, c, first);
  check_device_memory("tsmm_inplace", operand("V", v), std::array{operand("C", c)}, workspace);
  cuda::TsmmCall<T> call{{T(1), nullptr}, {T(0), nullptr}, v, c, columns_of(v, first, c.columns), triangle};
  prefer_rows(call.a, call.b);
  return call;
}

/// Returns alpha or beta of a call: a value, or a place in device memory.
template <class T>
cuda::Coefficients<T> coefficient(const char*, const char*, T value) {
  return {value, nullptr};
}
template <class T>
cuda::Coefficients<T> coefficient(const char* product, const char* name, const T* place) {
  check_coefficient(product, name, place);
  return {T(1), place};
}

/// Returns the checked call. Factor: T or const T*.
template <class T, class Factor>
cuda::TsmttsmCall<T> tsmttsm_call(Op op, Factor alpha, const Matrix<const T>& a, const Matrix<const T>& b, Factor beta,
                                  const Matrix<T>& c, std::span<std::byte> workspace) {
  constexpr const char* product = "tsmttsm";
  return checked_tsmttsm<T>(
      {op, coefficient<T>(product, "alpha", alpha), coefficient<T>(product, "beta", beta), a, b, c}, workspace);
}
template <class T, class Factor>
cuda::TsmmCall<T> tsmm_call(Factor alpha, const Matrix<const T>& a, const Matrix<const T>& c, Factor beta,
                            const Matrix<T>& b, Triangle triangle, std::span<std::byte> workspace) {
  constexpr const char* product = "tsmm";
  return checked_tsmm<T>(
      {coefficient<T>(product, "alpha", alpha), coefficient<T>(product, "beta", beta), a, c, b, triangle}, workspace);
}

/// Whether a call has a result at all.
template <class T>
bool has_result(const cuda::TsmttsmCall<T>& call) {
  return call.c.rows > 0 && call.c.columns > 0;
}
template <class T>
bool has_result(const cuda::TsmmCall<T>& call) {
  return call.b.rows > 0 && call.b.columns > 0;
}

/// Returns the problem for which the kernel of a checked call is chosen.
template <class T>
CudaTsmttsmProblem problem_of(const cuda::TsmttsmCall<T>& call, SinglePrecision single_precision) {
  CudaTsmttsmProblem problem = problem_of(call.a, call.b);
  problem.may_split = single_precision == SinglePrecision::split;
  if (call.alpha.device == nullptr && call.alpha.value == T(0)) problem.k = 0;
  return problem;
}

template <class T>
CudaTsmmProblem problem_of(const cuda::TsmmCall<T>& call, SinglePrecision single_precision) {
  const bool reads_output = call.beta.device != nullptr || call.beta.value != T(0);
  CudaTsmmProblem problem = problem_of(call.a, Matrix<const T>(call.b), reads_output);
  problem.may_split = single_precision == SinglePrecision::split;
  problem.may_skip_a = call.alpha.device != nullptr || call.alpha.value == T(0);
  return problem;
}

/// Explains the choice of a kernel for any device, whether it is present or not.
template <class Problem>
CudaExplanation explain(const CudaDevice& device, const Problem& problem) {
  const auto choice = choose(device, problem);
  const double seconds = choice.prediction.seconds;
  return {name_of(choice.configuration->kernel),
          words(choice.configuration),
          choice.row.empty() ? "model" : "measured " + std::string(choice.row),
          seconds,
          tall_bytes(problem) / seconds * 1e-9,
          name_of(choice.prediction.bound)};
}

}  // namespace blockvec::kernels::dispatch
