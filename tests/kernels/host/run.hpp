#pragma once

#include "tests/kernels/support/products.hpp"
#include "tests/kernels/support/targets.hpp"

/// Products on the host, for products.hpp and the cases of both products.
namespace blockvec::kernels::test {

struct HostRun {
  template <class T>
  class Copy {
   public:
    explicit Copy(GuardedMatrix<T>& matrix) : view_(matrix.view()) {}
    const Matrix<T>& view() const { return view_; }
    void download() {}

   private:
    Matrix<T> view_;
  };

  HostExecution execution = {};

  template <class T>
  void tsmttsm(Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c) const {
    kernels::tsmttsm(op, alpha, a, b, beta, c, execution);
  }
  template <class T>
  void tsmm(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b,
            Triangle triangle) const {
    kernels::tsmm(alpha, a, c, beta, b, triangle, execution);
  }
  template <class T>
  void tsmm_inplace(const Matrix<T>& v, const Matrix<const T>& c, Triangle triangle, std::int64_t first) const {
    kernels::tsmm_inplace(v, c, triangle, execution, first);
  }
  template <class T>
  double sum_bound(std::int64_t k, std::int64_t, std::int64_t) const {
    return gamma<T>(summation_depth(k) + 3);
  }
  template <class T>
  double row_bound(std::int64_t m, std::int64_t) const {
    return gamma<T>(m + 3);
  }
  std::int64_t rows(std::int64_t k) const { return k; }
  std::string name() const { return ""; }
};

/// What the cases are typed by: a scalar type, a fixture, and in which ways products run.
template <class T>
struct OnHost {
  using Scalar = T;
  using Fixture = testing::Test;

  template <class Case>
  static void in_every_way(Case&& one) {
    for (const std::int64_t target : supported_targets()) {
      const OnTarget on(target);
      one(HostRun{});
    }
  }
  /// Where alpha and beta come from.
  template <class Case>
  static void with_all_scalars(Case&& one) {
    one(HostRun{});
  }
};

}  // namespace blockvec::kernels::test
