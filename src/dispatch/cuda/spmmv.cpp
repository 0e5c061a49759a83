#include "src/dispatch/cuda/spmmv.hpp"

#include <blockvec/kernels/error.hpp>
#include <complex>
#include <tuple>

#include "src/dispatch/host/spmmv_checks.hpp"

namespace blockvec::kernels {
namespace dispatch {
namespace {

template <class T>
std::uint64_t misalignment(const Matrix<T>& a) {
  return reinterpret_cast<std::uintptr_t>(a.data) | static_cast<std::uint64_t>(a.ld) * sizeof(T);
}

/// A single column is a row-major matrix as well.
template <class T>
void prefer_rows(Matrix<T>& a) {
  if (a.columns == 1 && a.layout == Layout::column_major) a = {a.data, a.rows, 1, 1, Layout::row_major};
}

template <class T>
cuda::SpmmvCall<T> checked(cuda::SpmmvCall<T> call) {
  const bool reads_z = call.beta != T(0);
  const Operand x = operand("X", call.x);
  const Operand z = operand("Z", call.z);
  const Operand y = operand("Y", call.y);
  check_spmmv(operand(call.a), call.shift != T(0), x, reads_z, z, y);
  for (const Operand* const of : {&x, &y}) check_alignment("spmmv", *of);
  if (reads_z) {
    check_alignment("spmmv", z);
  } else {
    call.z = call.y;
  }
  prefer_rows(call.x);
  prefer_rows(call.z);
  prefer_rows(call.y);
  return call;
}

template <class T>
SpmmvProblem problem_of(const cuda::SpmmvCall<T>& call) {
  const bool by_rows = call.x.layout == Layout::row_major && call.y.layout == Layout::row_major;
  return {sizeof(T), call.y.columns, by_rows,
          misalignment(call.x) | misalignment(call.z) | misalignment(call.y)};
}

}  // namespace
}  // namespace dispatch

template <class T>
void spmmv(T alpha, const SellMatrix<T>& a, T shift, std::type_identity_t<Matrix<const T>> x, T beta,
           std::type_identity_t<Matrix<const T>> z, Matrix<T> y, CUstream_st* stream) {
  const cuda::SpmmvCall<T> call = dispatch::checked<T>({alpha, shift, beta, a, x, z, y});
  if (y.rows == 0 || y.columns == 0) return;
  cuda::launch_spmmv(call, dispatch::choose(dispatch::problem_of(call)), stream);
}

template <class T>
std::string explain_spmmv(const SellMatrix<T>& a, std::type_identity_t<Matrix<const T>> x,
                          std::type_identity_t<Matrix<const T>> z, Matrix<T> y) {
  const cuda::SpmmvCall<T> call = dispatch::checked<T>({T(1), T(0), T(1), a, x, z, y});
  if (y.rows == 0 || y.columns == 0) return "none";
  if (a.long_rows == a.rows) return "long rows";
  return dispatch::words(dispatch::choose(dispatch::problem_of(call)));
}

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct SparseProducts {
  static constexpr std::tuple<void (*)(T, const SellMatrix<T>&, T, Matrix<const T>, T, Matrix<const T>, Matrix<T>,
                                       CUstream_st*),
                              std::string (*)(const SellMatrix<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>)>
      functions{&spmmv<T>, &explain_spmmv<T>};
};
template struct SparseProducts<float>;
template struct SparseProducts<double>;
template struct SparseProducts<std::complex<float>>;
template struct SparseProducts<std::complex<double>>;

}  // namespace blockvec::kernels
