#include <blockvec/kernels/tall_skinny.hpp>
#include <complex>
#include <cstdint>

namespace blockvec::kernels {
namespace {

double words(std::int64_t k, std::int64_t width) { return static_cast<double>(k) * static_cast<double>(width); }

}  // namespace

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

template double tsmttsm_bytes<float>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmttsm_bytes<double>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmttsm_bytes<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmttsm_bytes<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmm_bytes<float>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmm_bytes<double>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmm_bytes<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, bool);
template double tsmm_bytes<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, bool);
template double product_flops<float>(std::int64_t, std::int64_t, std::int64_t);
template double product_flops<double>(std::int64_t, std::int64_t, std::int64_t);
template double product_flops<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t);
template double product_flops<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t);

}  // namespace blockvec::kernels
