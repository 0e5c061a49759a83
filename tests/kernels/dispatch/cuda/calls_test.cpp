#include "src/dispatch/cuda/calls.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <blockvec/kernels/cuda.hpp>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>

#include "src/cuda/check.cuh"
#include "src/dispatch/cuda/configuration.hpp"

/// Arguments of calls for devices, which are refused before a device is asked for anything: none is needed here.
namespace blockvec::kernels {
namespace {

constexpr Layout row = Layout::row_major;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  } catch (const CudaError& error) {
    return std::string("CudaError ") + error.what();
  }
  return "no error";
}

/// Places that nobody reads or writes.
template <class T = double>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}
constexpr std::uintptr_t a_place = 0x10000, b_place = 0x20000, c_place = 0x30000, w_place = 0x40000;

std::span<std::byte> bytes_at(std::uintptr_t address, std::size_t bytes) { return {at<std::byte>(address), bytes}; }

class CudaArguments : public testing::Test {
 protected:
  const Matrix<double> a{at(a_place), 10, 3, 3, row};
  const Matrix<double> b{at(b_place), 10, 2, 2, row};
  const Matrix<double> c{at(c_place), 3, 2, 2, row};
  const double* const one = at(0x50000);

  std::string tsmttsm_error(const double* alpha, const double* beta, std::span<std::byte> workspace = {}) const {
    return message_of([&] { tsmttsm(Op::transpose, alpha, a, b, beta, c, CudaExecution{nullptr, workspace}); });
  }
  std::string tsmm_error(const double* alpha, const double* beta, std::span<std::byte> workspace = {}) const {
    return message_of([&] { tsmm(alpha, a, c, beta, b, Triangle::general, CudaExecution{nullptr, workspace}); });
  }
  std::string inplace_error(std::span<std::byte> workspace) const {
    return message_of([&] { tsmm_inplace(a, c, Triangle::general, CudaExecution{nullptr, workspace}); });
  }
};

TEST_F(CudaArguments, NullPointersToAlphaAndBeta) {
  const std::string what = " is a null pointer: expected a place in device memory that holds its value";
  EXPECT_EQ(tsmttsm_error(nullptr, one), "tsmttsm: alpha" + what);
  EXPECT_EQ(tsmttsm_error(one, nullptr), "tsmttsm: beta" + what);
  EXPECT_EQ(tsmm_error(nullptr, one), "tsmm: alpha" + what);
  EXPECT_EQ(tsmm_error(one, nullptr), "tsmm: beta" + what);
  const double* const none = nullptr;
  EXPECT_EQ(message_of([&] { explain_cuda_tsmttsm(Op::transpose, one, a, b, none, c, {}); }), "tsmttsm: beta" + what);
  EXPECT_EQ(message_of([&] { explain_cuda_tsmm(none, a, c, one, b, Triangle::general, {}); }), "tsmm: alpha" + what);
}

TEST_F(CudaArguments, AlphaAndBetaLieApartFromTheOutputAtMultiplesOfTheirSize) {
  EXPECT_EQ(tsmttsm_error(one, c.data + 5),
            "tsmttsm: C is 3 x 2 row-major and beta is 1 x 1 row-major share memory: expected C apart from beta");
  EXPECT_EQ(tsmm_error(b.data, one),
            "tsmm: B is 10 x 2 row-major and alpha is 1 x 1 row-major share memory: expected B apart from alpha");
  EXPECT_EQ(tsmm_error(at(0x50004), one),
            "tsmm: alpha is 1 x 1 row-major with data 4 bytes beyond a multiple of 8: expected entries at such "
            "multiples");
}

TEST_F(CudaArguments, WorkspaceWithNullData) {
  EXPECT_EQ(tsmttsm_error(one, one, bytes_at(0, 64)),
            "tsmttsm: workspace of 64 bytes with null data: expected device memory");
  EXPECT_EQ(tsmm_error(one, one, bytes_at(0, 64)),
            "tsmm: workspace of 64 bytes with null data: expected device memory");
  EXPECT_EQ(inplace_error(bytes_at(0, 64)),
            "tsmm_inplace: workspace of 64 bytes with null data: expected device memory");
}

TEST_F(CudaArguments, WorkspaceSharesMemoryWithAnOperand) {
  const auto what = [](const std::string& shape, const std::string& name) {
    return shape + " and workspace of 64 bytes share memory: expected workspace apart from " + name;
  };
  EXPECT_EQ(tsmttsm_error(one, one, bytes_at(a_place + 239, 64)), "tsmttsm: " + what("A is 10 x 3 row-major", "A"));
  EXPECT_EQ(tsmttsm_error(one, one, bytes_at(b_place - 63, 64)), "tsmttsm: " + what("B is 10 x 2 row-major", "B"));
  EXPECT_EQ(tsmttsm_error(one, one, bytes_at(c_place, 64)), "tsmttsm: " + what("C is 3 x 2 row-major", "C"));
  EXPECT_EQ(tsmttsm_error(at(w_place + 8), one, bytes_at(w_place, 64)),
            "tsmttsm: " + what("alpha is 1 x 1 row-major", "alpha"));
  EXPECT_EQ(tsmm_error(one, one, bytes_at(a_place, 64)), "tsmm: " + what("A is 10 x 3 row-major", "A"));
  EXPECT_EQ(tsmm_error(one, one, bytes_at(b_place, 64)), "tsmm: " + what("B is 10 x 2 row-major", "B"));
  EXPECT_EQ(tsmm_error(one, one, bytes_at(c_place + 47, 64)), "tsmm: " + what("C is 3 x 2 row-major", "C"));
  EXPECT_EQ(tsmm_error(one, at(w_place), bytes_at(w_place, 64)), "tsmm: " + what("beta is 1 x 1 row-major", "beta"));
  EXPECT_EQ(inplace_error(bytes_at(a_place, 64)), "tsmm_inplace: " + what("V is 10 x 3 row-major", "V"));
  EXPECT_EQ(inplace_error(bytes_at(c_place, 64)), "tsmm_inplace: " + what("C is 3 x 2 row-major", "C"));
}

TEST_F(CudaArguments, ExplanationsRefuseWhatCallsRefuse) {
  EXPECT_EQ(message_of([&] { explain_cuda_tsmttsm(Op::transpose, 1.0, a, c, 0.0, c, {}); }),
            "tsmttsm: A is 10 x 3 row-major and B is 3 x 2 row-major: expected as many rows in both");
  EXPECT_EQ(message_of([&] { explain_cuda_tsmm(1.0, a, c, 0.0, a, Triangle::general, {}); }),
            "tsmm: A is 10 x 3 row-major, B is 10 x 3 row-major and C is 3 x 2 row-major: expected C to be 3 x 3");
  EXPECT_EQ(message_of([&] { explain_cuda_tsmm_inplace(b, c, Triangle::general, {}); }),
            "tsmm_inplace: V is 10 x 2 row-major and C is 3 x 2 row-major: expected C to be 2 x n with n at most 2");
}

TEST_F(CudaArguments, NothingToDoAsksForNoDevice) {
  const Matrix<double> empty{nullptr, 10, 0, 0, row};
  const Matrix<double> no_result{nullptr, 3, 0, 0, row};
  EXPECT_EQ(message_of([&] { tsmttsm(Op::transpose, 1.0, a, empty, 0.0, no_result, CudaExecution{}); }), "no error");
  EXPECT_EQ(message_of([&] { tsmm(1.0, a, no_result, 0.0, empty, Triangle::general, CudaExecution{}); }), "no error");
  EXPECT_EQ(explain_cuda_tsmm(1.0, a, no_result, 0.0, empty, Triangle::general, {}).kernel, "none");
}

TEST(CudaDeviceErrors, DevicesThatAreTooOld) {
  const cuda::Product product{"tsmm_inplace", 1000, 4, 2};
  EXPECT_EQ(message_of([&] { cuda::check_capability(1, 7, 5, product); }),
            "CudaError tsmm_inplace with K = 1000, M = 4, N = 2: device 1 has compute capability 7.5: expected at "
            "least 8.0");
  EXPECT_EQ(message_of([&] { cuda::check_capability(0, 8, 0, product); }), "no error");
  EXPECT_EQ(message_of([&] { cuda::check_capability(0, 10, 3, product); }), "no error");
}

TEST(CudaDeviceErrors, FailedCallsNameProductAndShape) {
  const cuda::Product product{"tsmttsm", 1000, 4, 2};
  EXPECT_EQ(message_of([&] { cuda::check(cudaErrorInvalidValue, product); }),
            "CudaError tsmttsm with K = 1000, M = 4, N = 2: cudaErrorInvalidValue, invalid argument");
  EXPECT_EQ(message_of([&] { cuda::check(cudaSuccess, product); }), "no error");
}

TEST_F(CudaArguments, NoDevice) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) GTEST_SKIP() << "there is a device";
  const auto begins = [](const std::string& head, const std::function<void()>& call) {
    const std::string text = message_of(call);
    EXPECT_EQ(text.find("CudaError " + head + " with K = 10, M = 3, N = 2: cudaError"), 0U) << text;
  };
  const CudaExecution execution{nullptr, bytes_at(0x1000000, 1 << 20)};
  begins("tsmttsm", [&] { tsmttsm(Op::transpose, 1.0, a, b, 0.0, c, execution); });
  begins("tsmttsm", [&] { tsmttsm(Op::transpose, one, a, b, one, c, execution); });
  begins("tsmm", [&] { tsmm(1.0, a, c, 0.0, b, Triangle::general, execution); });
  begins("tsmm", [&] { tsmm(one, a, c, one, b, Triangle::general, execution); });
  begins("tsmm_inplace", [&] { tsmm_inplace(a, c, Triangle::general, execution); });
  begins("cuda_tsmttsm_workspace", [&] { cuda_tsmttsm_workspace<double>(10, 3, 2); });
  begins("cuda_tsmm_workspace", [&] { cuda_tsmm_workspace<double>(10, 3, 2); });
  begins("tsmttsm", [&] { explain_cuda_tsmttsm(Op::transpose, 1.0, a, b, 0.0, c, {}); });
  begins("tsmm", [&] { explain_cuda_tsmm(one, a, c, one, b, Triangle::general, {}); });
  begins("tsmm_inplace", [&] { explain_cuda_tsmm_inplace(a, c, Triangle::general, {}); });
}

const dispatch::CudaDevice h200{132, 232448, true, "NVIDIA H200", 90, 1.9e9, 4.6e12, 4.2e12, true};

/// The words of an explanation, which are those of what the same call launches.
template <class Call>
std::string explained(const Call& call, SinglePrecision single_precision = SinglePrecision::split) {
  const auto problem = dispatch::problem_of(call, single_precision);
  const CudaExplanation why = dispatch::explain(h200, problem);
  const auto chosen = dispatch::choose(h200, problem).configuration;
  EXPECT_EQ(why.kernel, dispatch::name_of(chosen->kernel));
  EXPECT_EQ(why.configuration, dispatch::words(chosen));
  return why.kernel + ' ' + why.configuration;
}

template <class T>
cuda::TsmmCall<T> tsmm_call(std::int64_t width, const cuda::Coefficients<T>& alpha, const cuda::Coefficients<T>& beta) {
  const std::int64_t k = 1 << 20;
  return dispatch::checked_tsmm<T>({alpha,
                                    beta,
                                    {at<T>(std::uintptr_t{1} << 32), k, width, width, row},
                                    {at<T>(c_place), width, width, width, row},
                                    {at<T>(std::uintptr_t{2} << 32), k, width, width, row},
                                    Triangle::general},
                                   {});
}

TEST(CudaExplain, SaysKernelConfigurationSourceAndBound) {
  const CudaExplanation x = dispatch::explain({131, 232448, true, "no row's"},
                                              dispatch::CudaTsmttsmProblem{100000000, 8, 8, 8, 8, 8, true, false});
  EXPECT_EQ(x.kernel, "ring");
  EXPECT_EQ(x.configuration.find("tile 1x1 "), 0U) << x.configuration;
  EXPECT_EQ(x.configuration.find(','), std::string::npos);
  EXPECT_FALSE(x.source.empty());
  EXPECT_EQ(x.bound, "memory");
  EXPECT_NEAR(x.gbps * x.seconds, 12.8, 1e-6);
  for (const std::string& part : {x.kernel, x.configuration, x.source, x.bound}) {
    EXPECT_NE(x.text().find(part), std::string::npos) << x.text();
  }
  const CudaExplanation y = dispatch::explain({108, 166912, false, "another one", 80, 1.4e9, 1.4e12, 1.3e12},
                                              dispatch::CudaTsmmProblem{1000, 8, 8, 8, 8, 8, true, false, false});
  EXPECT_EQ(y.kernel, "general");
  EXPECT_EQ(y.source, "model");
}

TEST(CudaExplain, CountsWhereAlphaAndBetaAre) {
  const cuda::Coefficients<double> one{1, nullptr}, zero{0, nullptr}, anything{1, at(0x50000)};
  const std::string plain = explained(tsmm_call<double>(48, one, zero));
  EXPECT_EQ(plain.find("row_ring "), 0U) << plain;
  EXPECT_EQ(explained(tsmm_call<double>(48, one, anything)), explained(tsmm_call<double>(48, one, one)));
  EXPECT_NE(explained(tsmm_call<double>(48, one, anything)), plain);
  EXPECT_TRUE(dispatch::problem_of(tsmm_call<double>(64, one, anything), SinglePrecision::split).reads_output);
  EXPECT_FALSE(dispatch::problem_of(tsmm_call<double>(64, one, zero), SinglePrecision::split).reads_output);
  EXPECT_TRUE(dispatch::problem_of(tsmm_call<double>(64, anything, zero), SinglePrecision::split).may_skip_a);
  EXPECT_TRUE(dispatch::problem_of(tsmm_call<double>(64, zero, zero), SinglePrecision::split).may_skip_a);
  EXPECT_FALSE(dispatch::problem_of(tsmm_call<double>(64, one, zero), SinglePrecision::split).may_skip_a);
}

TEST(CudaExplain, CountsHowSinglePrecisionMayBeFormed) {
  const auto call = tsmm_call<float>(64, {1, nullptr}, {0, nullptr});
  EXPECT_NE(explained(call), explained(call, SinglePrecision::plain));
  const Matrix<const float> a{at<float>(std::uintptr_t{1} << 32), 1 << 20, 64, 64, row};
  const Matrix<const float> b{at<float>(std::uintptr_t{2} << 32), 1 << 20, 64, 64, row};
  const auto sum = [&](float alpha) {
    const Matrix<float> c{at<float>(c_place), 64, 64, 64, row};
    return dispatch::checked_tsmttsm<float>({Op::transpose, {alpha, nullptr}, {0, nullptr}, a, b, c}, {});
  };
  EXPECT_NE(explained(sum(1)), explained(sum(1), SinglePrecision::plain));
  EXPECT_EQ(explained(sum(0)), "none nothing to multiply");
}

/// Single columns are taken as rows by calls, and so they are explained.
TEST(CudaExplain, TakesSingleColumnsAsRows) {
  const Matrix<double> a{at(std::uintptr_t{1} << 32), 1 << 20, 1, 1 << 20, Layout::column_major};
  const Matrix<double> b{at(std::uintptr_t{2} << 32), 1 << 20, 1, 1 << 20, Layout::column_major};
  const Matrix<double> c{at(c_place), 1, 1, 1, row};
  const auto as_rows = [](Matrix<double> x) {
    x.layout = row;
    x.ld = 1;
    return x;
  };
  const auto tsmm_of = [&](const Matrix<double>& x, const Matrix<double>& y) {
    return explained(dispatch::checked_tsmm<double>({{1, nullptr}, {0, nullptr}, x, c, y, Triangle::general}, {}));
  };
  const auto tsmttsm_of = [&](const Matrix<double>& x, const Matrix<double>& y) {
    return explained(dispatch::checked_tsmttsm<double>({Op::transpose, {1, nullptr}, {0, nullptr}, x, y, c}, {}));
  };
  EXPECT_EQ(tsmm_of(a, b), tsmm_of(as_rows(a), as_rows(b)));
  EXPECT_EQ(tsmttsm_of(a, b), tsmttsm_of(as_rows(a), as_rows(b)));
}

}  // namespace
}  // namespace blockvec::kernels
