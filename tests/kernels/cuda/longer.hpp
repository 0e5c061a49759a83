#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/kernels/cuda/products.hpp"

/// Short products with the configurations that long calls run: several chunks for each of few blocks.
namespace blockvec::kernels::test {

/// A call, as tables and benchmarks name it.
struct Call {
  std::string product;  ///< tsmttsm, gram, tsmm, update, tsmm_inplace
  Layout layout;
  std::int64_t k, m, n;
  /// Of row-major A, and of B where m = n; 0: without gaps. Column-major: what follows each column.
  std::int64_t ld = 0;
  std::int64_t offset = 0;  ///< entries before the first

  bool reduces() const { return product == "tsmttsm" || product == "gram"; }
  bool one() const { return product == "gram" || product == "tsmm_inplace"; }
  bool rows() const { return layout == Layout::row_major; }
  std::int64_t ld_a() const { return rows() ? std::max(ld, m) : k + ld; }
  std::int64_t ld_b() const { return !rows() || one() || m == n ? ld_a() : n; }
};

inline std::string name(const Call& x) {
  return x.product + (x.rows() ? " row-major " : " column-major ") + shape(x.k, x.m, x.n) + "ld " +
         std::to_string(x.ld) + " offset " + std::to_string(x.offset);
}

/// What the call runs. Nothing is read: its operands lie nowhere.
template <class T, class Visit>
auto visit_choice(const dispatch::CudaDevice& device, const Call& x, Visit&& visit) {
  const auto place = [&](std::uintptr_t lines) { return reinterpret_cast<const T*>(lines << 40) + x.offset; };
  const Matrix<const T> a{place(1), x.k, x.m, x.ld_a(), x.layout};
  const Matrix<const T> b{x.one() ? place(1) : place(2), x.k, x.n, x.ld_b(), x.layout};
  if (x.reduces()) return visit(dispatch::choose(device, dispatch::problem_of(a, b)));
  return visit(dispatch::choose(device, dispatch::problem_of(a, b, x.product == "update")));
}

/// Rows of a chunk, in those of the matrix.
inline std::int64_t chunk_of(const dispatch::CudaTsmttsm& x) { return std::int64_t{x->fold} * std::max(x->rows, 1); }
inline std::int64_t chunk_of(const dispatch::CudaTsmm& x) { return std::max(x->rows, 1); }
inline std::int64_t chunks_per_ticket(const dispatch::CudaTsmttsm&) { return 1; }
inline std::int64_t chunks_per_ticket(const dispatch::CudaTsmm& x) { return x->chunks_per_ticket; }

/// Enough for each of two blocks to fill all stages and some again, and a last chunk that is not full. Where there is
/// one stage, chunks for a few blocks.
template <class Configuration>
std::int64_t several_chunks(const Configuration& x) {
  const std::int64_t chunk = chunk_of(x);
  if (x->stages == 1) return 4 * chunk + chunk / 2 + 3;
  return std::max<std::int64_t>(2 * chunk * (x->stages + chunks_per_ticket(x) + 1) + chunk / 2, 700) + 3;
}

/// So many rows of such operands, with the call's configuration.
template <class T>
void expect_as_longer(const Call& x, std::int64_t k, const std::string& row = {}) {
  const DeviceRun run{Way::as_longer, {x.k, row}};
  // Columns lie as far apart as the call's, modulo lines of memory.
  const std::int64_t gap = x.rows() ? 0 : (x.ld_a() % 64 - k % 64 + 64) % 64;
  const Placement a{x.layout, Layout::row_major, x.rows() ? x.ld_a() - x.m : gap, x.offset};
  const bool alike = x.ld_b() == x.ld_a();
  const Placement b{x.layout, Layout::row_major, x.rows() ? x.ld_b() - x.n : gap, alike ? x.offset : 0};
  if (x.reduces()) {
    expect_tsmttsm<T>(run, k, x.m, x.n, a, b, ops[(x.m + x.n) % 2], T(1), T(0), x.one());
  } else if (x.one()) {
    expect_tsmm_inplace<T>(run, k, x.m, x.n, a);
  } else {
    expect_tsmm<T>(run, k, x.m, x.n, a, b, T(1), x.product == "update" ? value<T>(0.5, -1) : T(0));
  }
}

/// The same of as many rows as try all that the configuration has.
template <class T>
void expect_as_longer(const Call& x, const std::string& row = {}) {
  SCOPED_TRACE(name(x));
  const std::int64_t k =
      visit_choice<T>(whole_device(), x, [](const auto& choice) { return several_chunks(choice.configuration); });
  expect_as_longer<T>(x, k, row);
}

/// Rows of which the longer operand has 4 GiB, as benchmarks do.
template <class T>
std::int64_t usual_rows(std::int64_t width) {
  return (std::int64_t{1} << 32) / static_cast<std::int64_t>(sizeof(T)) / width;
}

}  // namespace blockvec::kernels::test
