#include <gtest/gtest.h>

#include <blockvec/kernels/error.hpp>
#include <complex>
#include <cstdint>
#include <string>

#include "src/dispatch/cuda/launch.hpp"
#include "src/dispatch/cuda/configuration.hpp"

/// Configurations whose kernel does not fit the call are refused before anything is launched: no device is needed.
namespace blockvec::kernels::cuda {
namespace {

/// Places that nobody reads or writes.
template <class T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

template <class Configuration>
Configuration configuration(const char* kernel, const char* words) {
  Configuration x{};
  EXPECT_TRUE(dispatch::read_words(kernel, words, x));
  if constexpr (std::is_same_v<Configuration, dispatch::CudaTsmm>) {
    x->blocks = 1;
  } else {
    x->partials = 1;
  }
  return x;
}

template <class Launch>
std::string message_of(Launch&& launch) {
  try {
    launch();
  } catch (const CudaError& error) {
    return std::string("CudaError ") + error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

template <class T>
void expect_tsmttsm_refused(const char* kernel, const char* words, Layout layout = Layout::row_major) {
  const auto x = configuration<dispatch::CudaTsmttsm>(kernel, words);
  const std::int64_t ld = layout == Layout::row_major ? 8 : 1000;
  const Matrix<const T> a{at<T>(0x10000), 1000, 8, ld, layout}, b{at<T>(0x40000), 1000, 8, ld, layout};
  const TsmttsmCall<T> call{
      Op::transpose, {T(1), nullptr}, {T(0), nullptr}, a, b, {at<T>(0x70000), 8, 8, 8, Layout::row_major}};
  EXPECT_EQ(message_of([&] { launch_tsmttsm(call, x, {}); }),
            "tsmttsm with K = 1000, M = 8, N = 8: no kernel of this type for \"" + dispatch::name_of(x->kernel) + ' ' +
                dispatch::words(x) + '"');
}

template <class T>
void expect_tsmm_refused(const char* kernel, const char* words, Layout layout = Layout::row_major) {
  const auto x = configuration<dispatch::CudaTsmm>(kernel, words);
  const std::int64_t ld = layout == Layout::row_major ? 8 : 1000;
  const Matrix<const T> a{at<T>(0x10000), 1000, 8, ld, layout}, c{at<T>(0x70000), 8, 8, 8, Layout::row_major};
  const TsmmCall<T> call{{T(1), nullptr},  {T(0), nullptr}, a, c, {at<T>(0x40000), 1000, 8, ld, layout},
                         Triangle::general};
  EXPECT_EQ(message_of([&] { launch_tsmm(call, x, {}); }),
            "tsmm with K = 1000, M = 8, N = 8: no kernel of this type for \"" + dispatch::name_of(x->kernel) + ' ' +
                dispatch::words(x) + '"');
}

constexpr auto by_columns = Layout::column_major;

TEST(CudaKernelOf, RefusesTsmttsmOfTheWrongType) {
  expect_tsmttsm_refused<double>("tf32_warpgroup", "tile 1x4 rows 32 fold 1");
  expect_tsmttsm_refused<double>("ring", "policy 3m tile 1x4 rows 32 fold 1");
  expect_tsmttsm_refused<float>("tf32_warpgroup", "policy 3m tile 1x4 rows 32 fold 1");
  expect_tsmttsm_refused<double>("gram", "blocks 4 rows 32 fold 1");
}

TEST(CudaKernelOf, RefusesTilesThatAreNotCompiled) {
  expect_tsmttsm_refused<double>("ring", "tile 7x7 rows 32 fold 1");
  expect_tsmttsm_refused<double>("direct", "tile 7x7 fold 1");
  expect_tsmm_refused<double>("row_ring", "tile 9x9 rows 32");
  expect_tsmm_refused<double>("strided", "tile 9x9");
}

TEST(CudaKernelOf, RefusesTsmmOfTheWrongType) {
  expect_tsmm_refused<float>("short_k", "tile 4x4");
  expect_tsmm_refused<std::complex<double>>("short_k", "tile 4x4");
  expect_tsmm_refused<double>("row_ring", "policy tf32 tile 2x4 rows 32");
  expect_tsmm_refused<double>("strided", "policy 3m tile 1x4");
  expect_tsmm_refused<double>("column_ring", "policy tf32 tile 4x2", by_columns);
}

}  // namespace
}  // namespace blockvec::kernels::cuda
