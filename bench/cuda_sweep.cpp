// The mappings of Ernst, Hager, Thies, Wellein 2020 on a CUDA device, width by width, beside BlockVec's own kernels and
// cuBLAS; CSV files in a folder, which a later run continues.
//   cuda_sweep out=FOLDER studies=bandwidth,arithmetic,tsmttsm,tsmm,reduction,occupancy bytes=1073741824 seconds=600
//   commit=... cuda_sweep widths=8,16,33 ...                  of all widths only these
// Exit status 1 if a result differs from the library's by more than rounding explains.
#include "bench/cuda_sweep.hpp"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <thread>
#include <vector>

#include "bench/cuda_roofs.hpp"
#include "bench/cuda_sweep_device.hpp"

namespace bench {

using namespace blockvec::kernels;
namespace study = blockvec::kernels::cuda::study;
using Complex = std::complex<double>;

namespace {

constexpr int widest = 64;
constexpr std::size_t workspace_bytes = std::size_t{1} << 28;
constexpr std::size_t small_bytes = widest * widest * sizeof(Complex);

std::size_t bytes_of(char type) { return type == 'D' ? sizeof(double) : sizeof(Complex); }

}  // namespace

Sweep::Sweep(const Settings& settings)
    : bytes_(std::stoull(settings.at("bytes"))),
      reps_(std::stoi(settings.at("reps"))),
      pause_(std::stoi(settings.at("pause"))),
      seconds_(std::stod(settings.at("seconds"))),
      folder_(settings.at("out")),
      first_(bytes_ + 4096),
      second_(bytes_ + 4096),
      third_(bytes_ + 4096),
      workspace_(workspace_bytes),
      small_(small_bytes),
      result_(small_bytes),
      sink_(64),
      host_small_(small_bytes, '\0') {
  std::stringstream widths(settings.at("widths"));
  for (std::string width; std::getline(widths, width, ',');) widths_.insert(std::stoi(width));
  check(cudaStreamCreate(&stream_));
  check(cublasCreate(&cublas_));
  check(cublasSetStream(cublas_, stream_));
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0));
  fill_random(static_cast<double*>(first_.data), bytes_ / 8, 1, stream_);
  fill_random(static_cast<double*>(second_.data), bytes_ / 8, 2, stream_);
  fill_random(static_cast<double*>(small_.data), small_bytes / 8, 3, stream_);
  check(cudaMemcpyAsync(host_small_.data(), small_.data, small_bytes, cudaMemcpyDeviceToHost, stream_));
  check(cudaStreamSynchronize(stream_));
  measure_roofs();
  describe(settings.at("commit"));
}

Sweep::~Sweep() {
  cublasDestroy(cublas_);
  cudaStreamDestroy(stream_);
}

std::string Sweep::path(const char* name) const { return folder_ + "/" + name + ".csv"; }

bool Sweep::out_of_time() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() > seconds_;
}

std::int64_t Sweep::rows(char type, int width) const {
  return static_cast<std::int64_t>(bytes_ / bytes_of(type)) / width;
}

double Sweep::median(const std::function<void()>& call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_));
  constexpr double slow = 0.1;
  return median_seconds(stream_, 1, reps_, slow, [&](int) { call(); });
}

double Sweep::in_graph(const std::function<void()>& call) {
  constexpr double wanted = 1e-3;
  constexpr int most_calls = 50;
  const double alone = median(call);
  const int calls = std::clamp(static_cast<int>(wanted / alone), 1, most_calls);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls; ++i) call();
  check(cudaStreamEndCapture(stream_, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  const double seconds = median([&] { check(cudaGraphLaunch(executable, stream_)); });
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  return seconds / calls;
}

void Sweep::measure_roofs() {
  const auto size = static_cast<double>(bytes_) * 1e-9;
  for (int variant = 0; variant < read_variants; ++variant) {
    const double seconds = median([&] { read_all(first_.data, bytes_, sink_.data, variant, stream_); });
    roofs_.read_gbps = std::max(roofs_.read_gbps, size / seconds);
  }
  const double copied =
      median([&] { check(cudaMemcpyAsync(third_.data, first_.data, bytes_, cudaMemcpyDeviceToDevice, stream_)); });
  const double scaled = median([&] {
    scale_all(static_cast<const double*>(first_.data), static_cast<double*>(third_.data), bytes_ / 8, stream_);
  });
  roofs_.copy_gbps = 2 * size / std::min(copied, scaled);
  double flops = 0;
  const double multiplied = median([&] { flops = multiply_add_all(sink(), stream_); });
  roofs_.gflops = flops / multiplied * 1e-9;
}

void Sweep::describe(const std::string& commit) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  int driver = 0;
  int clock = 0;
  int cublas_version = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  check(cublasGetVersion(cublas_, &cublas_version));
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  description_ = format(
      "# %s, %s, commit %s, CUDA driver %d, runtime %d, cuBLAS %d, clock at most %d MHz; %zu bytes an operand, median "
      "of "
      "%d "
      "after 1, pauses of %d ms; roofs: read %.0f GB/s, copy %.0f GB/s, FP64 FMA %.0f GFLOP/s\n",
      device.name, date, commit.c_str(), driver, CUDART_VERSION, cublas_version, clock / 1000, bytes_, reps_, pause_,
      roofs_.read_gbps, roofs_.copy_gbps, roofs_.gflops);
  std::printf("%s", description_.c_str());
}

template <class T>
void Sweep::blockvec_tsmttsm(int width, std::int64_t k) {
  const Matrix<const T> a{static_cast<const T*>(first_.data), k, width, width, Layout::row_major};
  const Matrix<const T> b{static_cast<const T*>(second_.data), k, width, width, Layout::row_major};
  const Matrix<T> c{static_cast<T*>(result_.data), width, width, width, Layout::row_major};
  tsmttsm<T>(Op::conjugate_transpose, T(1), a, b, T(0), c,
             {stream_, {static_cast<std::byte*>(workspace_.data), workspace_.bytes}});
}

template <class T>
void Sweep::blockvec_tsmm(int width, std::int64_t k, void* out) {
  const Matrix<const T> a{static_cast<const T*>(first_.data), k, width, width, Layout::row_major};
  const Matrix<const T> c{static_cast<const T*>(small_.data), width, width, width, Layout::row_major};
  const Matrix<T> b{static_cast<T*>(out), k, width, width, Layout::row_major};
  tsmm<T>(T(1), a, c, T(0), b, Triangle::general,
          {stream_, {static_cast<std::byte*>(workspace_.data), workspace_.bytes}});
}

void Sweep::blockvec_tsmttsm(char type, int width, std::int64_t k) {
  type == 'D' ? blockvec_tsmttsm<double>(width, k) : blockvec_tsmttsm<Complex>(width, k);
}
void Sweep::blockvec_tsmm(char type, int width, std::int64_t k, void* b) {
  type == 'D' ? blockvec_tsmm<double>(width, k, b) : blockvec_tsmm<Complex>(width, k, b);
}

// Row-major operands are their transposes in column-major order.
template <class T>
void Sweep::cublas_tsmttsm(int width, std::int64_t k) {
  gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_C, width, width, static_cast<int>(k), T(1), static_cast<const T*>(second_.data),
       width, static_cast<const T*>(first_.data), width, T(0), static_cast<T*>(result_.data), width);
}
template <class T>
void Sweep::cublas_tsmm(int width, std::int64_t k, void* b) {
  gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, width, static_cast<int>(k), width, T(1), static_cast<const T*>(small_.data),
       width, static_cast<const T*>(first_.data), width, T(0), static_cast<T*>(b), width);
}

void Sweep::cublas_tsmttsm(char type, int width, std::int64_t k) {
  type == 'D' ? cublas_tsmttsm<double>(width, k) : cublas_tsmttsm<Complex>(width, k);
}
void Sweep::cublas_tsmm(char type, int width, std::int64_t k, void* b) {
  type == 'D' ? cublas_tsmm<double>(width, k, b) : cublas_tsmm<Complex>(width, k, b);
}

void Sweep::launch(const study::TsmttsmKernel& kernel, std::int64_t k, int blocks) {
  const std::int64_t parts = kernel.parts(blocks);
  const int entries = kernel.m * kernel.n;
  if (static_cast<std::size_t>(parts * entries) * bytes_of(kernel.type) > workspace_.bytes) {
    throw std::runtime_error("partial sums exceed the workspace");
  }
  const bool atomic =
      kernel.reduction == study::Reduction::thread_atomic || kernel.reduction == study::Reduction::block_atomic;
  if (atomic) {
    check(cudaMemsetAsync(result_.data, 0, static_cast<std::size_t>(entries) * bytes_of(kernel.type), stream_));
  }
  study::TsmttsmArguments arguments{first_.data, second_.data, parts > 0 ? workspace_.data : result_.data, k};
  void* pointers[] = {&arguments};
  check(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(blocks)),
                         dim3(static_cast<unsigned>(kernel.threads)), pointers, 0, stream_));
  if (parts == 0) return;
  study::SumArguments sum{workspace_.data, result_.data, parts, entries};
  void* sum_pointers[] = {&sum};
  check(cudaLaunchKernel(study::sum_kernel(kernel.type),
                         dim3(static_cast<unsigned>((entries + study::sum_entries - 1) / study::sum_entries)),
                         dim3(study::sum_threads), sum_pointers, 0, stream_));
}

void Sweep::launch(const study::TsmmKernel& kernel, std::int64_t k, int blocks) {
  study::TsmmArguments arguments{first_.data, small_.data, second_.data, k};
  void* pointers[] = {&arguments, host_small_.data()};
  check(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(blocks)),
                         dim3(static_cast<unsigned>(kernel.threads)), pointers, dynamic_bytes(kernel), stream_));
}

std::size_t dynamic_bytes(const study::TsmmKernel& kernel) {
  if (kernel.source != study::Source::shared) return 0;
  return static_cast<std::size_t>(kernel.m) * static_cast<std::size_t>(kernel.n) * bytes_of(kernel.type);
}

Resources resources_of(const void* function, int threads, std::size_t shared) {
  if (shared > 48 * 1024) {
    check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  }
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, function));
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared));
  return {attributes.numRegs, attributes.localSizeBytes, blocks};
}

}  // namespace bench

namespace {

const bench::Settings defaults{{"out", "."},    {"studies", "bandwidth,arithmetic,tsmttsm,tsmm,reduction,occupancy"},
                               {"reps", "5"},   {"bytes", "1073741824"},
                               {"pause", "10"}, {"seconds", "600"},
                               {"widths", ""},  {"commit", "unknown"}};

}  // namespace

int main(int argc, char** argv) try {
  const bench::Settings settings = bench::read_settings(argc, argv, defaults);
  const std::map<std::string, int (*)(bench::Sweep&)> studies{
      {"bandwidth", bench::study_bandwidth},    {"arithmetic", bench::study_arithmetic},
      {"tsmttsm", bench::study_widths_tsmttsm}, {"tsmm", bench::study_widths_tsmm},
      {"reduction", bench::study_reduction},    {"occupancy", bench::study_occupancy}};
  bench::Sweep sweep(settings);
  int wrong = 0;
  std::stringstream names(settings.at("studies"));
  for (std::string name; std::getline(names, name, ',');) wrong += studies.at(name)(sweep);
  if (sweep.out_of_time()) std::printf("out of time: the next run continues\n");
  std::printf("%d wrong results\n", wrong);
  return wrong == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cuda_sweep: %s\n", error.what());
  return 2;
}
