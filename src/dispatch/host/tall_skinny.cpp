#include <hwy/targets.h>

#include <algorithm>
#include <blockvec/kernels/explain.hpp>
#include <complex>
#include <cstdint>
#include <tuple>

#include "src/dispatch/host/checks.hpp"
#include "src/dispatch/host/configuration.hpp"
#include "src/host/scratch.hpp"
#include "src/host/sweep.hpp"
#include "src/host/tsmm.hpp"
#include "src/host/tsmttsm.hpp"
#include "src/host/tsmttsm_dd.hpp"

namespace blockvec::kernels {
namespace {

// C = beta C where nothing is added; beta = 0 does not read it.
template <class T>
void scale(T beta, const Matrix<T>& c) {
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T& entry = c.layout == Layout::row_major ? c.data[i * c.ld + j] : c.data[i + j * c.ld];
      entry = beta == T(0) ? T(0) : beta * entry;
    }
  }
}

bool empty(std::int64_t rows, std::int64_t columns) { return rows == 0 || columns == 0; }

double words(std::int64_t k, std::int64_t width) { return static_cast<double>(k) * static_cast<double>(width); }

std::string layout_and_target(Layout layout) {
  const std::int64_t targets = hwy::SupportedTargets();
  const char* const target = (targets & HWY_AVX3) != 0   ? "AVX3"
                             : (targets & HWY_AVX2) != 0 ? "AVX2"
                             : (targets & HWY_NEON) != 0 ? "NEON"
                                                         : "plain code";
  return std::string(layout == Layout::row_major ? "row-major " : "column-major ") + target;
}

}  // namespace

std::int64_t summation_depth(std::int64_t k) {
  if (k <= host::min_chunk_rows) return std::max<std::int64_t>(k, 0);
  // In a chunk, then in the tree of a part, level by level, then in the tree of the parts.
  const std::int64_t levels = host::tree_levels(host::ceil_div(k, host::min_chunk_rows));
  constexpr std::int64_t part_levels = 6;
  static_assert(std::int64_t{1} << part_levels == host::max_parts);
  return std::min(k, host::max_chunk_rows) + host::fan_out * levels + part_levels;
}

template <class T>
double tsmttsm_bytes(std::int64_t k, std::int64_t m, std::int64_t n, bool same_operand) {
  return sizeof(T) * (same_operand ? words(k, m) : words(k, m) + words(k, n));
}

template <class T>
double tsmm_bytes(std::int64_t k, std::int64_t m, std::int64_t n, bool reads_output) {
  return sizeof(T) * (words(k, m) + (reads_output ? 2 : 1) * words(k, n));
}

template <class T>
double product_flops(std::int64_t k, std::int64_t m, std::int64_t n) {
  const double products = words(k, m) * static_cast<double>(n);
  return (std::is_floating_point_v<T> ? 2 : 8) * products;
}

template <class T>
std::size_t tsmttsm_workspace(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout) {
  if (k <= 0 || m <= 0 || n <= 0) return 0;
  return dispatch::configure_tsmttsm<T>(k, m, n, layout).workspace_bytes;
}

template <class T>
std::size_t tsmm_workspace(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, int threads) {
  if (k <= 0 || m < 0 || n <= 0) return 0;
  return dispatch::configure_tsmm<T>(k, m, n, layout, threads).workspace_bytes;
}

template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c, HostExecution execution) {
  dispatch::check_tsmttsm(a, b, c);
  dispatch::check_execution("tsmttsm", execution.threads, execution.workspace,
                            tsmttsm_workspace<T>(a.rows, a.columns, b.columns, a.layout));
  if (empty(c.rows, c.columns)) return;
  if (alpha == T(0) || a.rows == 0) return scale(beta, c);
  const auto configuration = dispatch::configure_tsmttsm<T>(a.rows, a.columns, b.columns, a.layout);
  const host::Scratch scratch("tsmttsm", execution.workspace, configuration.workspace_bytes);
  host::tsmttsm(op, alpha, a, b, beta, c, configuration, execution.threads, scratch.data<host::real_t<T>>());
}

template <class T>
std::size_t tsmttsm_dd_workspace(std::int64_t k, std::int64_t m, std::int64_t n, int threads) {
  if (k <= 0 || m <= 0 || n <= 0) return 0;
  return dispatch::configure_tsmttsm_dd<T>(k, m, n, threads).workspace_bytes;
}

template <class T>
void tsmttsm_dd(Op op, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, Matrix<T> high,
                Matrix<T> low, HostExecution execution) {
  dispatch::check_tsmttsm(a, b, high);
  dispatch::check_tsmttsm(a, b, low);
  dispatch::check_execution("tsmttsm_dd", execution.threads, execution.workspace,
                            tsmttsm_dd_workspace<T>(a.rows, a.columns, b.columns, execution.threads));
  if (empty(high.rows, high.columns)) return;
  if (a.rows == 0) {
    scale(T(0), high);
    return scale(T(0), low);
  }
  const auto configuration = dispatch::configure_tsmttsm_dd<T>(a.rows, a.columns, b.columns, execution.threads);
  const host::Scratch scratch("tsmttsm_dd", execution.workspace, configuration.workspace_bytes);
  host::tsmttsm_dd(op, a, b, high, low, configuration, scratch.data<double>());
}

namespace {

// Runs a product whose operands have been checked.
template <class T>
void run_tsmm(const char* product, T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta,
              const Matrix<T>& b, Triangle triangle, const HostExecution& execution) {
  dispatch::check_execution(product, execution.threads, execution.workspace,
                            tsmm_workspace<T>(a.rows, a.columns, b.columns, a.layout, execution.threads));
  if (empty(b.rows, b.columns)) return;
  const auto configuration = dispatch::configure_tsmm<T>(a.rows, a.columns, b.columns, a.layout, execution.threads);
  const host::Scratch scratch(product, execution.workspace, configuration.workspace_bytes);
  host::tsmm(alpha, a, c, beta, b, triangle, configuration, scratch.data<host::real_t<T>>());
}

}  // namespace

template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle, HostExecution execution) {
  dispatch::check_tsmm(a, c, b);
  run_tsmm("tsmm", alpha, a, c, beta, b, triangle, execution);
}

template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle, HostExecution execution,
                  std::int64_t first) {
  dispatch::check_tsmm_inplace(v, c, first);
  run_tsmm<T>("tsmm_inplace", T(1), v, c, T(0), dispatch::columns_of(v, first, c.columns), triangle, execution);
}

template <class T>
std::size_t gram_schmidt_sweep_workspace(std::int64_t k, std::span<const std::int64_t> m, std::int64_t n, bool with_p,
                                         bool with_g, Layout layout, int threads) {
  if (k <= 0 || m.size() > dispatch::SweepConfiguration::most_pieces || n <= 0) return 0;
  return dispatch::configure_sweep<T>(k, m, n, with_p, with_g, layout, threads).workspace_bytes;
}

template <class T>
void gram_schmidt_sweep(std::span<const std::type_identity_t<Matrix<const T>>> v,
                        std::type_identity_t<Matrix<const T>> s, Matrix<T> w, std::type_identity_t<Matrix<const T>> x,
                        Triangle triangle, std::type_identity_t<Matrix<T>> p, std::type_identity_t<Matrix<T>> g,
                        HostExecution execution) {
  using dispatch::operand;
  constexpr std::size_t most = dispatch::SweepConfiguration::most_pieces;
  if (v.size() > most) throw ShapeError("gram_schmidt_sweep: V is more than four matrices");
  dispatch::Operand operands[most];
  std::int64_t columns[most];
  for (std::size_t i = 0; i < v.size(); ++i) {
    operands[i] = operand("V", v[i]);
    columns[i] = v[i].columns;
  }
  dispatch::check_sweep({operands, v.size()}, operand("S", s), operand("W", w), operand("X", x), operand("P", p),
                        operand("G", g));
  const auto configuration = dispatch::configure_sweep<T>(w.rows, {columns, v.size()}, w.columns, p.columns > 0,
                                                          g.columns > 0, w.layout, execution.threads);
  dispatch::check_execution("gram_schmidt_sweep", execution.threads, execution.workspace,
                            empty(w.rows, w.columns) ? 0 : configuration.workspace_bytes);
  if (empty(w.rows, w.columns)) {
    scale(T(0), p);
    return scale(T(0), g);
  }
  const host::Scratch scratch("gram_schmidt_sweep", execution.workspace, configuration.workspace_bytes);
  host::gram_schmidt_sweep<T>({v, s, w, x, triangle, p, g}, configuration, scratch.data<host::real_t<T>>());
}

template <class T>
std::string explain_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout) {
  if (k <= 0 || m <= 0 || n <= 0) return "nothing to multiply";
  const dispatch::TsmttsmConfiguration c = dispatch::configure_tsmttsm<T>(k, m, n, layout);
  return layout_and_target(layout) + (c.packed ? " packed by rows" : "") + ", chunks of " +
         std::to_string(c.plan.chunk_rows) + " rows, " + std::to_string(c.plan.parts) + " parts";
}

template <class T>
std::string explain_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout) {
  if (k <= 0 || n <= 0) return "nothing to multiply";
  using R = host::real_t<T>;
  constexpr int parts = host::real_parts<T>;
  const std::string target = layout_and_target(layout);
  if (layout == Layout::column_major) return target + ", tiles of 4 vectors";
  const std::int64_t rows = host::row_major_blocks<R>(parts * m, parts * n).rows;
  return target + ", blocks of " + std::to_string(rows) + " rows";
}

/// Instantiates the functions: an explicit instantiation of this struct defines constants that hold their addresses.
template <class T>
struct HostProducts {
  static constexpr auto workspaces =
      std::tuple{&tsmttsm_workspace<T>, &tsmttsm_dd_workspace<T>, &tsmm_workspace<T>, &gram_schmidt_sweep_workspace<T>};
  static constexpr auto products =
      std::tuple{&tsmttsm<T>, &tsmttsm_dd<T>, &tsmm<T>, &tsmm_inplace<T>, &gram_schmidt_sweep<T>};
  static constexpr auto explanations = std::tuple{&explain_tsmttsm<T>, &explain_tsmm<T>};
  static constexpr auto traffic = std::tuple{&tsmttsm_bytes<T>, &tsmm_bytes<T>, &product_flops<T>};
};
template struct HostProducts<float>;
template struct HostProducts<double>;
template struct HostProducts<std::complex<float>>;
template struct HostProducts<std::complex<double>>;

}  // namespace blockvec::kernels
