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

/// Widths and pitches of two operands in real numbers.
template <class T>
std::array<std::int64_t, 4> real_extents(const Matrix<const T>& a, const Matrix<const T>& b) {
  return {parts<T> * a.columns, parts<T> * b.columns, parts<T> * a.ld, parts<T> * b.ld};
}

template <class T>
CudaTsmttsmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b) {
  const auto beyond = [](const Matrix<const T>& x) { return reinterpret_cast<std::uintptr_t>(x.data) % 16; };
  const bool rows = a.layout == Layout::row_major, aligned = (beyond(a) | beyond(b)) == 0;
  const bool aligned_before =
      !rows && std::is_same_v<T, double> && a.ld % 2 == 0 && b.ld % 2 == 0 && beyond(a) == 8 && beyond(b) == 8;
  const auto [m, n, pitch_a, pitch_b] = real_extents(a, b);
  return {a.rows, m, n, pitch_a, pitch_b, real_bytes<T>, rows, are_same(a, b), parts<T>, aligned, true, aligned_before};
}

template <class T>
CudaTsmmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b, bool reads_output) {
  const auto address = [](const Matrix<const T>& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
  constexpr bool whole = sizeof(T) == 16;  // entries of B have 16 bytes, which may be misaligned as well
  const bool rows = a.layout == Layout::row_major, in_place = overlap(operand("A", a), operand("B", b));
  const bool aligned = (address(a) | (whole ? address(b) : 0)) % 16 == 0, aligned_output = address(b) % 32 == 0;
  const auto [m, n, lda, ldb] = real_extents(a, b);
  return {a.rows,       m,        n,       lda,   ldb,           real_bytes<T>, rows, in_place,
          reads_output, parts<T>, aligned, false, aligned_output};
}

/// Returns alpha or beta as an operand. If it is a value, the operand has no entries.
template <class T>
Operand operand(const char* name, const cuda::Coefficients<T>& x) {
  const std::int64_t entries = x.device == nullptr ? 0 : 1;
  return operand(name, Matrix<const T>{x.device, entries, entries, entries});
}

/// Checks where the operands of a call lie, whose shapes fit, and returns it as kernels take it.
template <class Call>
Call checked(const char* product, Call call, const Operand& other, const Operand& output,
             std::span<std::byte> workspace) {
  const std::array inputs{operand("A", call.a), other, operand("alpha", call.alpha), operand("beta", call.beta)};
  check_device_memory(product, output, inputs, workspace);
  prefer_rows(call.a, call.b);
  return call;
}

template <class T>
cuda::TsmttsmCall<T> checked_tsmttsm(const cuda::TsmttsmCall<T>& call, std::span<std::byte> workspace) {
  check_tsmttsm(call.a, call.b, call.c);
  return checked("tsmttsm", call, operand("B", call.b), operand("C", call.c), workspace);
}

template <class T>
cuda::TsmmCall<T> checked_tsmm(const cuda::TsmmCall<T>& call, std::span<std::byte> workspace) {
  check_tsmm(call.a, call.c, call.b);
  return checked("tsmm", call, operand("C", call.c), operand("B", call.b), workspace);
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
