// What does a call of the CUDA products cost the host? Operands of 2,048 rows in double precision, so that the device
// is done sooner than the next call comes where its kernels are few; medians over rounds of 100 calls in a row:
//   launch_cost rounds=41 commit=...
// host_us: until the calls have returned; end_to_end_us: until the device is idle as well.
#include <cuda_runtime.h>

#include <algorithm>
#include <blockvec/kernels/cuda.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/cuda_card.hpp"
#include "bench/settings.hpp"
#include "bench/verdict.hpp"

namespace {

using namespace blockvec::kernels;
using Seconds = std::chrono::duration<double>;

using bench::check;

template <class T>
T* allocate(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)));
  check(cudaMemset(memory, 0, count * sizeof(T)));
  return static_cast<T*>(memory);
}

template <class Call>
void measure(const std::string& name, int rounds, const Call& call) {
  constexpr int calls = 100;
  std::vector<double> host, end_to_end;
  for (int round = -1; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const auto returned = std::chrono::steady_clock::now();
    check(cudaDeviceSynchronize());
    const auto end = std::chrono::steady_clock::now();
    if (round < 0) continue;
    host.push_back(1e6 * Seconds(returned - begin).count() / calls);
    end_to_end.push_back(1e6 * Seconds(end - begin).count() / calls);
  }
  std::printf("%s,%.2f,%.2f\n", name.c_str(), bench::median(host), bench::median(end_to_end));
}

struct Shape {
  std::int64_t m, n, ld;
};

int run(int rounds) {
  constexpr std::int64_t k = 2048, most = 64, widest = 72;
  const std::size_t bytes =
      std::max(cuda_tsmttsm_workspace<double>(k, most, most), cuda_tsmm_workspace<double>(k, most, most));
  auto* const v = allocate<double>(k * widest);
  auto* const c = allocate<double>(most * most);
  CudaExecution execution;
  execution.workspace = {allocate<std::byte>(bytes), bytes};
  execution.ticket = allocate<unsigned>(1);
  check(cudaStreamCreate(&execution.stream));
  std::printf("call,host_us,end_to_end_us\n");
  for (const Shape& s : {Shape{64, 8, 64}, {64, 64, 64}, {8, 8, 64}, {20, 12, 65}}) {
    const Matrix<double> small{c, s.m, s.n, s.m, Layout::column_major};
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      const bool rows = layout == Layout::row_major;
      const std::string shape = std::to_string(s.m) + " x " + std::to_string(s.n) + (rows ? " by rows" : " by columns");
      const Matrix<double> a{v, k, s.m, rows ? s.ld : k, layout}, b{v, k, s.n, rows ? s.ld : k, layout};
      measure("tsmttsm " + shape, rounds,
              [&] { tsmttsm<double>(Op::conjugate_transpose, 1.0, a, b, 0.0, small, execution); });
      measure("tsmm_inplace " + shape, rounds, [&] { tsmm_inplace<double>(a, small, Triangle::general, execution); });
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto settings = bench::read_settings(argc, argv, {{"rounds", "41"}, {"commit", "unknown"}});
    std::printf("# %s, commit %s\n", bench::state_of_card("name").c_str(), settings.at("commit").c_str());
    return run(std::stoi(settings.at("rounds")));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
