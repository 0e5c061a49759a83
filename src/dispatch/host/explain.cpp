#include <hwy/targets.h>

#include <blockvec/kernels/explain.hpp>
#include <complex>

#include "src/dispatch/host/configuration.hpp"
#include "src/host/real.hpp"

namespace blockvec::kernels {
namespace {

std::string layout_and_target(Layout layout) {
  const std::int64_t targets = hwy::SupportedTargets();
  const char* const target = (targets & HWY_AVX3) != 0   ? "AVX3"
                             : (targets & HWY_AVX2) != 0 ? "AVX2"
                             : (targets & HWY_NEON) != 0 ? "NEON"
                                                         : "plain code";
  return std::string(layout == Layout::row_major ? "row-major " : "column-major ") + target;
}

}  // namespace

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

template std::string explain_tsmttsm<float>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmttsm<double>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmttsm<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmttsm<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmm<float>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmm<double>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmm<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::string explain_tsmm<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, Layout);

}  // namespace blockvec::kernels
