#include "src/host/products.hpp"
#include "src/host/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/host/tsmttsm_simd.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "src/host/tsmttsm_column_major-inl.hpp"
#include "src/host/tsmttsm_row_major-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {

void rows_float(const RowMajorPair<float>& p, const SumPlan& plan, std::int64_t part, float* levels, float* out) {
  by_rows::part(p, plan, part, levels, out);
}
void rows_double(const RowMajorPair<double>& p, const SumPlan& plan, std::int64_t part, double* levels, double* out) {
  by_rows::part(p, plan, part, levels, out);
}
void columns_float(const ColumnMajorPair<float>& p, const SumPlan& plan, std::int64_t part, float* levels, float* out) {
  by_columns::any_part(p, plan, part, levels, out);
}
void columns_double(const ColumnMajorPair<double>& p, const SumPlan& plan, std::int64_t part, double* levels,
                    double* out) {
  by_columns::any_part(p, plan, part, levels, out);
}

}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blockvec::kernels::host {

std::int64_t row_major_entries(std::int64_t m, std::int64_t n) {
  // Either side may stand along the lanes, filled up to whole vectors, and a folded side fills at most one.
  constexpr std::int64_t lanes = 16;
  const std::int64_t wide = ceil_div(n, lanes) * lanes;
  const std::int64_t high = ceil_div(m, lanes) * lanes;
  return std::max({m * wide, n * high, lanes * lanes});
}

HWY_EXPORT(rows_float);
HWY_EXPORT(rows_double);
HWY_EXPORT(columns_float);
HWY_EXPORT(columns_double);

void part_of_product(const RowMajorPair<float>& pair, const SumPlan& plan, std::int64_t part, float* levels,
                     float* out) {
  HWY_DYNAMIC_DISPATCH(rows_float)(pair, plan, part, levels, out);
}
void part_of_product(const RowMajorPair<double>& pair, const SumPlan& plan, std::int64_t part, double* levels,
                     double* out) {
  HWY_DYNAMIC_DISPATCH(rows_double)(pair, plan, part, levels, out);
}
void part_of_product(const ColumnMajorPair<float>& pair, const SumPlan& plan, std::int64_t part, float* levels,
                     float* out) {
  HWY_DYNAMIC_DISPATCH(columns_float)(pair, plan, part, levels, out);
}
void part_of_product(const ColumnMajorPair<double>& pair, const SumPlan& plan, std::int64_t part, double* levels,
                     double* out) {
  HWY_DYNAMIC_DISPATCH(columns_double)(pair, plan, part, levels, out);
}

}  // namespace blockvec::kernels::host
#endif
