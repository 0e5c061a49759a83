#include "src/host/products.hpp"
#include "src/host/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/host/tsmm_simd.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/cache_control.h>

#include "src/host/tsmm_column_major-inl.hpp"
#include "src/host/tsmm_row_major-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {

template <class T>
void rows_of_product(const Product<T>& p, Layout layout, std::int64_t first, std::int64_t rows, T* buffer) {
  layout == Layout::row_major ? by_rows::any_rows(p, first, rows, buffer)
                              : by_columns::any_rows(p, first, rows, buffer);
}
void rows_float(const Product<float>& p, Layout layout, std::int64_t first, std::int64_t rows, float* buffer) {
  rows_of_product(p, layout, first, rows, buffer);
}
void rows_double(const Product<double>& p, Layout layout, std::int64_t first, std::int64_t rows, double* buffer) {
  rows_of_product(p, layout, first, rows, buffer);
}

}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blockvec::kernels::host {

HWY_EXPORT(rows_float);
HWY_EXPORT(rows_double);

void product_rows(const Product<float>& product, Layout layout, std::int64_t first, std::int64_t rows, float* buffer) {
  HWY_DYNAMIC_DISPATCH(rows_float)(product, layout, first, rows, buffer);
  if (product.store == Store::stream) hwy::FlushStream();
}
void product_rows(const Product<double>& product, Layout layout, std::int64_t first, std::int64_t rows,
                  double* buffer) {
  HWY_DYNAMIC_DISPATCH(rows_double)(product, layout, first, rows, buffer);
  if (product.store == Store::stream) hwy::FlushStream();
}

}  // namespace blockvec::kernels::host
#endif
