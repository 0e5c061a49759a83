// Both products on a CUDA device against its memory and against cuBLAS, on the same operands in one run; CSV to stdout.
//   cuda_vs_cublas types=d products=tsmttsm,tsmm widths=1-64 bytes=4294967296 reps=9 pause=150 commit=...
//   cuda_vs_cublas shapes=512x32,64x8 ...          rectangular ones instead of widths
// Exit status 1 if any product is slower than cuBLAS.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/cuda_roofs.hpp"

namespace {

using namespace blockvec::kernels;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

struct Buffer {
  explicit Buffer(std::size_t size) : bytes(size) { check(cudaMalloc(&data, size)); }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data = nullptr;
  std::size_t bytes;
};

using Settings = std::map<std::string, std::string>;

Settings read_settings(int argc, char** argv) {
  Settings settings{{"types", "d"},       {"products", "tsmttsm,tsmm"},
                    {"widths", "1-64"},   {"shapes", ""},
                    {"ld", "0"},          {"bytes", "4294967296"},
                    {"reps", "9"},        {"pause", "150"},
                    {"layout", "row"},    {"cublas", "1"},
                    {"commit", "unknown"}};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || settings.count(argument.substr(0, equals)) == 0) {
      throw std::runtime_error("unknown argument " + argument);
    }
    settings[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return settings;
}

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> items;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, separator);) items.push_back(item);
  return items;
}

struct Shape {
  std::int64_t m, n;
};

std::vector<Shape> shapes_of(const Settings& settings) {
  std::vector<Shape> shapes;
  for (const std::string& item : split(settings.at("shapes"), ',')) {
    const auto sides = split(item, 'x');
    shapes.push_back({std::stoll(sides.at(0)), std::stoll(sides.at(1))});
  }
  if (!shapes.empty()) return shapes;
  for (const std::string& item : split(settings.at("widths"), ',')) {
    const auto ends = split(item, '-');
    for (std::int64_t w = std::stoll(ends.front()); w <= std::stoll(ends.back()); ++w) shapes.push_back({w, w});
  }
  return shapes;
}

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings),
        bytes_(std::stoull(settings.at("bytes"))),
        reps_(std::stoi(settings.at("reps"))),
        pause_(std::stoi(settings.at("pause"))),
        first_(bytes_ + 4096),
        second_(bytes_ + 4096),
        small_(std::size_t{16} << 20),
        result_(std::size_t{16} << 20) {
    check(cublasCreate(&cublas_));
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&stop_));
    bench::fill_random(static_cast<double*>(first_.data), bytes_ / 8, 1, nullptr);
    bench::fill_random(static_cast<double*>(second_.data), bytes_ / 8, 2, nullptr);
    check(cudaDeviceSynchronize());
    for (int variant = 0; variant < bench::read_variants; ++variant) {
      pause();
      const double speed = static_cast<double>(bytes_) / median([&] { read(variant); }, reps_) * 1e-9;
      if (speed > read_) best_read_ = variant;
      read_ = std::max(read_, speed);
    }
    pause();
    const auto twice = 2 * static_cast<double>(bytes_) * 1e-9;
    copy_ =
        twice /
        median([&] { check(cudaMemcpyAsync(second_.data, first_.data, bytes_, cudaMemcpyDeviceToDevice, nullptr)); },
               reps_);
    scale_ = twice / median(
                         [&] {
                           bench::scale_all(static_cast<double*>(first_.data), static_cast<double*>(second_.data),
                                            bytes_ / 8, nullptr);
                         },
                         reps_);
  }

  void print_header() const {
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0));
    int driver = 0;
    int runtime = 0;
    int clock = 0;
    int cublas_version = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
    cublasGetVersion(cublas_, &cublas_version);
    const std::time_t now = std::time(nullptr);
    char date[32];
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    std::printf("# %s, %s, commit %s, CUDA driver %d, runtime %d, cuBLAS %d, clock at most %d MHz\n", device.name, date,
                settings_.at("commit").c_str(), driver, runtime, cublas_version, clock / 1000);
    std::printf(
        "# %zu bytes an operand, median of %d after 2, pauses of %d ms; roofs: read %.0f GB/s, copy %.0f, scale %.0f\n",
        bytes_, reps_, pause_, read_, copy_, scale_);
    std::printf("product,type,layout,m,n,lda,k,gbps,roof_gbps,share,cublas_gbps,ratio,kernel,configuration\n");
  }

  template <class T>
  void run(const std::string& product, const char* type, Shape s) {
    const bool gram = product == "gram";
    const bool in_place = product == "tsmm_inplace";
    const bool rows = settings_.at("layout") == "row";
    const bool reduces = product == "tsmttsm" || gram;
    const bool adds = product == "update";
    const std::int64_t ld = std::stoll(settings_.at("ld"));
    const std::int64_t wide = std::max({s.m, s.n, ld});
    const std::int64_t k = static_cast<std::int64_t>(bytes_ / sizeof(T)) / wide;
    const Matrix<T> a{static_cast<T*>(first_.data), k, s.m, rows ? std::max(ld, s.m) : k,
                      rows ? Layout::row_major : Layout::column_major};
    Matrix<T> b{static_cast<T*>(gram || in_place ? first_.data : second_.data), k, s.n, rows ? std::max(ld, s.n) : k,
                a.layout};
    if (in_place) b.ld = a.ld;
    fill_small<T>(s);
    const Matrix<T> c{static_cast<T*>(reduces ? result_.data : small_.data), s.m, s.n, rows ? s.n : s.m, a.layout};
    const Buffer workspace(std::max<std::size_t>(
        16, std::max(cuda_tsmttsm_workspace<T>(k, s.m, s.n), cuda_tsmm_workspace<T>(k, s.m, s.n))));
    const CudaExecution execution{nullptr, {static_cast<std::byte*>(workspace.data), workspace.bytes}};
    const T beta = adds ? T(1) : T(0);
    const auto ours = [&] {
      if (reduces) {
        tsmttsm<T>(Op::conjugate_transpose, T(1), a, b, T(0), c, execution);
      } else if (in_place) {
        tsmm_inplace<T>(a, c, Triangle::general, execution);
      } else {
        tsmm<T>(T(1), a, c, beta, b, Triangle::general, execution);
      }
    };
    const double bytes = reduces ? tsmttsm_bytes<T>(k, s.m, s.n, gram) : tsmm_bytes<T>(k, s.m, s.n, adds);
    // The roof is measured again beside each product: neither may have the cooler card.
    pause();
    double roof = std::max(copy_, scale_);
    if (reduces) roof = std::max(read_, static_cast<double>(bytes_) / median([&] { read(best_read_); }, reps_) * 1e-9);
    pause();
    const double gbps = bytes / median(ours, reps_) * 1e-9;
    double cublas = 0;
    if (settings_.at("cublas") == "1" && !in_place) {
      pause();
      cublas = bytes / median([&] { gemm(reduces, s, k, a, b, c, beta); }, std::min(reps_, 5)) * 1e-9;
    }
    const std::string words =
        reduces ? explain_cuda_tsmttsm<T>(a, b) : explain_cuda_tsmm<T>(a, Matrix<const T>(b), adds);
    std::printf("%s,%s,%s,%lld,%lld,%lld,%lld,%.0f,%.0f,%.4f,%.0f,%.3f,%s,%s\n", product.c_str(), type,
                rows ? "row" : "column", static_cast<long long>(s.m), static_cast<long long>(s.n),
                static_cast<long long>(a.ld), static_cast<long long>(k), gbps, roof, gbps / roof, cublas,
                cublas > 0 ? gbps / cublas : 0, words.substr(0, words.find(' ')).c_str(),
                words.substr(words.find(' ') + 1).c_str());
    std::fflush(stdout);
    if (cublas > gbps) ++behind_;
  }

  int behind() const { return behind_; }

 private:
  void pause() const { std::this_thread::sleep_for(std::chrono::milliseconds(pause_)); }

  void read(int variant) { bench::read_all(first_.data, bytes_, small_.data, variant, nullptr); }

  double median(const std::function<void()>& call, int reps) {
    std::vector<double> seconds;
    for (int i = 0; i < reps + 2; ++i) {
      check(cudaEventRecord(start_, nullptr));
      call();
      check(cudaEventRecord(stop_, nullptr));
      check(cudaEventSynchronize(stop_));
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, start_, stop_));
      if (i >= 2) seconds.push_back(milliseconds * 1e-3);
    }
    std::nth_element(seconds.begin(), seconds.begin() + reps / 2, seconds.end());
    return seconds[static_cast<std::size_t>(reps / 2)];
  }

  // Small enough that products in place neither grow nor vanish.
  template <class T>
  void fill_small(Shape s) {
    std::vector<T> small(static_cast<std::size_t>(s.m * s.n), T(1) / static_cast<T>(static_cast<float>(s.m)));
    check(cudaMemcpy(small_.data, small.data(), small.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

  // Row-major operands are their transposes in column-major order.
  template <class T>
  void gemm(bool reduces, Shape s, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c, T beta) {
    const bool rows = a.layout == Layout::row_major;
    const T one(1);
    const int m = static_cast<int>(s.m);
    const int n = static_cast<int>(s.n);
    const int long_side = static_cast<int>(k);
    const int lda = static_cast<int>(a.ld);
    const int ldb = static_cast<int>(b.ld);
    const int ldc = static_cast<int>(c.ld);
    if (reduces && rows) {
      call(CUBLAS_OP_N, CUBLAS_OP_C, n, m, long_side, one, b.data, ldb, a.data, lda, T(0), c.data, ldc);
    } else if (reduces) {
      call(CUBLAS_OP_C, CUBLAS_OP_N, m, n, long_side, one, a.data, lda, b.data, ldb, T(0), c.data, ldc);
    } else if (rows) {
      call(CUBLAS_OP_N, CUBLAS_OP_N, n, long_side, m, one, c.data, ldc, a.data, lda, beta, b.data, ldb);
    } else {
      call(CUBLAS_OP_N, CUBLAS_OP_N, long_side, n, m, one, a.data, lda, c.data, ldc, beta, b.data, ldb);
    }
  }

  void call(cublasOperation_t x, cublasOperation_t y, int m, int n, int k, float alpha, const float* a, int lda,
            const float* b, int ldb, float beta, float* c, int ldc) {
    check(cublasSgemm(cublas_, x, y, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
  }
  void call(cublasOperation_t x, cublasOperation_t y, int m, int n, int k, double alpha, const double* a, int lda,
            const double* b, int ldb, double beta, double* c, int ldc) {
    check(cublasDgemm(cublas_, x, y, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
  }
  void call(cublasOperation_t x, cublasOperation_t y, int m, int n, int k, std::complex<float> alpha,
            const std::complex<float>* a, int lda, const std::complex<float>* b, int ldb, std::complex<float> beta,
            std::complex<float>* c, int ldc) {
    check(cublasCgemm(cublas_, x, y, m, n, k, reinterpret_cast<cuComplex*>(&alpha),
                      reinterpret_cast<const cuComplex*>(a), lda, reinterpret_cast<const cuComplex*>(b), ldb,
                      reinterpret_cast<cuComplex*>(&beta), reinterpret_cast<cuComplex*>(c), ldc));
  }
  void call(cublasOperation_t x, cublasOperation_t y, int m, int n, int k, std::complex<double> alpha,
            const std::complex<double>* a, int lda, const std::complex<double>* b, int ldb, std::complex<double> beta,
            std::complex<double>* c, int ldc) {
    check(cublasZgemm(cublas_, x, y, m, n, k, reinterpret_cast<cuDoubleComplex*>(&alpha),
                      reinterpret_cast<const cuDoubleComplex*>(a), lda, reinterpret_cast<const cuDoubleComplex*>(b),
                      ldb, reinterpret_cast<cuDoubleComplex*>(&beta), reinterpret_cast<cuDoubleComplex*>(c), ldc));
  }

  Settings settings_;
  std::size_t bytes_;
  int reps_;
  int pause_;
  Buffer first_, second_, small_, result_;
  cublasHandle_t cublas_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
  double read_ = 0;
  int best_read_ = 0;
  double copy_ = 0;
  double scale_ = 0;
  int behind_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = read_settings(argc, argv);
  Bench bench(settings);
  bench.print_header();
  for (const std::string& type : split(settings.at("types"), ',')) {
    for (const std::string& product : split(settings.at("products"), ',')) {
      for (const Shape shape : shapes_of(settings)) {
        if (type == "s") bench.run<float>(product, "S", shape);
        if (type == "d") bench.run<double>(product, "D", shape);
        if (type == "c") bench.run<std::complex<float>>(product, "C", shape);
        if (type == "z") bench.run<std::complex<double>>(product, "Z", shape);
      }
    }
  }
  return bench.behind() == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cuda_vs_cublas: %s\n", error.what());
  return 2;
}
