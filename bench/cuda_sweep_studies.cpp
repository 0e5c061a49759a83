#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "bench/cuda_report.hpp"
#include "bench/cuda_sweep.hpp"
#include "bench/cuda_sweep_device.hpp"

namespace bench {

using namespace blockvec::kernels;
namespace study = blockvec::kernels::cuda::study;

namespace {

constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
const char* const reductions[] = {"none", "thread", "block", "thread_atomic", "block_atomic"};
const char* const changes[] = {"none", "few_sums", "few_sums_few_rows"};
const char* const sources[] = {"registers", "shared", "global", "constant"};

std::size_t reals(char type) { return type == 'D' ? 1 : 2; }

/// gamma(n), with the factor that complex products need.
double gamma(char type, double n) {
  const double nu = n * unit_roundoff * (type == 'D' ? 1 : 4);
  return nu / (1 - nu);
}

struct Speed {
  double microseconds, gbps, gflops;
};
Speed speed(char type, int width, std::int64_t k, double seconds) {
  const bool real = type == 'D';
  const double bytes =
      real ? tsmttsm_bytes<double>(k, width, width) : tsmttsm_bytes<std::complex<double>>(k, width, width);
  const double flops =
      real ? product_flops<double>(k, width, width) : product_flops<std::complex<double>>(k, width, width);
  return {seconds * 1e6, bytes / seconds * 1e-9, flops / seconds * 1e-9};
}

/// By type and width, so that kernels of one problem are measured side by side.
template <class Kernel>
void sort_by_problem(std::vector<Kernel>& kernels) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Kernel& x, const Kernel& y) { return std::tie(x.type, x.m) < std::tie(y.type, y.m); });
}

int full_waves(const Sweep& sweep, int blocks_per_multiprocessor, std::int64_t k, std::int64_t rows) {
  const std::int64_t needed = (k + rows - 1) / rows;
  return static_cast<int>(std::min<std::int64_t>(needed, blocks_per_multiprocessor * sweep.multiprocessors()));
}

std::vector<double> read_result(const Sweep& sweep, char type, int width) {
  std::vector<double> values(static_cast<std::size_t>(width * width) * reals(type));
  check(cudaMemcpyAsync(values.data(), sweep.result(), values.size() * sizeof(double), cudaMemcpyDeviceToHost,
                        sweep.stream()));
  check(cudaStreamSynchronize(sweep.stream()));
  return values;
}

/// The largest difference; infinity where one is NaN.
double difference(const std::vector<double>& x, const std::vector<double>& y) {
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double one = std::abs(x[i] - y[i]);
    if (!(one <= most)) most = std::isnan(one) ? std::numeric_limits<double>::infinity() : one;
  }
  return most;
}

/// How far two sums of K products of numbers below 1 may be apart: rows that a thread sums one after the other, then
/// the threads of a block, then the blocks.
double bound_of(const study::TsmttsmKernel& kernel, std::int64_t k, int blocks) {
  const double additions = static_cast<double>(k) / blocks / kernel.rows + kernel.rows + blocks;
  return 2 * gamma(kernel.type, additions + 3) * static_cast<double>(k);
}

/// One row of a study of widths; what is measured beside has no threads and resources.
struct Row {
  int threads;
  std::int64_t k;
  Resources resources;
  Speed speed;
  double error;  ///< over its bound
};

/// Returns 1 if the result is wrong: `error` is over its bound.
int report_wrong(const std::string& key, double error) {
  if (error <= 1) return 0;
  std::fprintf(stderr, "wrong: %s: %.3g times the bound\n", key.c_str(), error);
  return 1;
}

int add(Report& table, const std::string& key, const Row& row) {
  table.add(key, "%d,%lld,%d,%d,%zu,%.2f,%.1f,%.1f,%.2g", row.threads, static_cast<long long>(row.k),
            row.resources.blocks, row.resources.registers, row.resources.local_bytes, row.speed.microseconds,
            row.speed.gbps, row.speed.gflops, row.error);
  return report_wrong(key, row.error);
}

/// Measures cuBLAS and the library where the table lacks them; the library's result is the one that is left.
void add_libraries(Sweep& sweep, Report& table, char type, int width, const char* key_end,
                   const std::function<void()>& cublas, const std::function<void()>& blockvec) {
  const std::int64_t k = sweep.rows(type, width);
  for (const bool ours : {false, true}) {
    const auto& call = ours ? blockvec : cublas;
    const std::string key = format("%c,%d,%s,%s", type, width, ours ? "blockvec" : "cublas", key_end);
    if (!table.has(key)) {
      add(table, key, {0, k, {}, speed(type, width, k, sweep.median(call)), 0});
    } else if (ours) {
      call();
    }
  }
}

}  // namespace

int study_widths_tsmttsm(Sweep& sweep) {
  std::vector<study::TsmttsmKernel> kernels = study::all_tsmttsm_kernels();
  std::erase_if(kernels, [&](const study::TsmttsmKernel& kernel) {
    return kernel.reduction != study::Reduction::block || kernel.change != study::Change::none ||
           !sweep.wants(kernel.m);
  });
  sort_by_problem(kernels);
  Report table(sweep.path("tsmttsm"),
               "type,m,kernel,tile_m,tile_n,transposed,leap_frog,least_blocks,threads,k,blocks_per_sm,registers,"
               "local_bytes,microseconds,gbps,gflops,error",
               [&] { return sweep.description(); });
  int wrong = 0;
  std::vector<double> expected;
  char type = 0;
  int width = 0;
  for (const study::TsmttsmKernel& kernel : kernels) {
    if (sweep.out_of_time()) break;
    const std::int64_t k = sweep.rows(kernel.type, kernel.m);
    if (kernel.type != type || kernel.m != width) {
      type = kernel.type;
      width = kernel.m;
      add_libraries(
          sweep, table, type, width, "0,0,0,0,0", [&] { sweep.cublas_tsmttsm(type, width, k); },
          [&] { sweep.blockvec_tsmttsm(type, width, k); });
      expected = read_result(sweep, type, width);
    }
    const std::string key = format("%c,%d,study,%d,%d,%d,%d,%d", type, width, kernel.tile_m, kernel.tile_n,
                                   kernel.transposed, kernel.leap_frog, kernel.least_blocks);
    if (table.has(key)) continue;
    const Resources resources = resources_of(kernel.function, kernel.threads, 0);
    const int blocks = full_waves(sweep, resources.blocks, k, kernel.rows);
    const double seconds = sweep.median([&] { sweep.launch(kernel, k, blocks); });
    const double error = difference(read_result(sweep, type, width), expected) / bound_of(kernel, k, blocks);
    wrong += add(table, key, {kernel.threads, k, resources, speed(type, width, k, seconds), error});
  }
  return wrong;
}

int study_widths_tsmm(Sweep& sweep) {
  std::vector<study::TsmmKernel> kernels = study::all_tsmm_kernels();
  std::erase_if(kernels, [&](const study::TsmmKernel& kernel) { return !sweep.wants(kernel.m); });
  sort_by_problem(kernels);
  Report table(sweep.path("tsmm"),
               "type,m,kernel,threads_per_row,unroll,transposed,source,threads,k,blocks_per_sm,registers,local_bytes,"
               "microseconds,gbps,gflops,error",
               [&] { return sweep.description(); });
  int wrong = 0;
  char type = 0;
  int width = 0;
  for (const study::TsmmKernel& kernel : kernels) {
    if (sweep.out_of_time()) break;
    const std::int64_t k = sweep.rows(kernel.type, kernel.m);
    if (kernel.type != type || kernel.m != width) {
      type = kernel.type;
      width = kernel.m;
      add_libraries(
          sweep, table, type, width, "0,0,0,none", [&] { sweep.cublas_tsmm(type, width, k, sweep.third()); },
          [&] { sweep.blockvec_tsmm(type, width, k, sweep.third()); });
    }
    const std::string key = format("%c,%d,study,%d,%d,%d,%s", type, width, kernel.threads_per_row, kernel.unroll,
                                   kernel.transposed, sources[static_cast<int>(kernel.source)]);
    if (table.has(key)) continue;
    const Resources resources = resources_of(kernel.function, kernel.threads, dynamic_bytes(kernel));
    const int blocks = full_waves(sweep, resources.blocks, k, static_cast<std::int64_t>(kernel.rows) * kernel.unroll);
    const double seconds = sweep.median([&] { sweep.launch(kernel, k, blocks); });
    double most = 0;
    largest_difference(static_cast<const double*>(sweep.second()), static_cast<const double*>(sweep.third()),
                       static_cast<std::size_t>(k * width) * reals(type), sweep.sink(), sweep.stream());
    check(cudaMemcpyAsync(&most, sweep.sink(), sizeof most, cudaMemcpyDeviceToHost, sweep.stream()));
    check(cudaStreamSynchronize(sweep.stream()));
    const double error = most / (2 * gamma(type, width + 3) * width);
    wrong += add(table, key, {kernel.threads, k, resources, speed(type, width, k, seconds), error});
  }
  return wrong;
}

int study_reduction(Sweep& sweep) {
  constexpr std::int64_t rows_a_thread = 4;  // fewer threads where K is short
  std::vector<study::TsmttsmKernel> kernels = study::all_tsmttsm_kernels();
  const auto problem = [](const study::TsmttsmKernel& x) {
    return std::make_tuple(x.m, x.tile_m, x.tile_n, x.transposed, x.leap_frog, x.least_blocks);
  };
  std::set<decltype(problem(kernels[0]))> wanted;
  for (const study::TsmttsmKernel& kernel : kernels) {
    if (kernel.reduction == study::Reduction::thread) wanted.insert(problem(kernel));
  }
  std::erase_if(kernels, [&](const study::TsmttsmKernel& kernel) {
    return kernel.type != 'D' || kernel.change != study::Change::none || wanted.count(problem(kernel)) == 0 ||
           !sweep.wants(kernel.m);
  });
  sort_by_problem(kernels);
  Report table(sweep.path("reduction"), "m,k,kernel,tile_m,tile_n,blocks,microseconds,gbps,gflops,error",
               [&] { return sweep.description(); });
  int wrong = 0;
  std::vector<double> expected;
  for (const std::int64_t k :
       {1'000, 3'000, 10'000, 30'000, 100'000, 300'000, 1'000'000, 3'000'000, 10'000'000, 30'000'000, 100'000'000}) {
    int width = 0;
    for (const study::TsmttsmKernel& kernel : kernels) {
      if (sweep.out_of_time()) return wrong;
      if (k > sweep.rows('D', kernel.m)) continue;
      if (kernel.m != width) {
        width = kernel.m;
        for (const bool ours : {false, true}) {
          const std::string key = format("%d,%lld,%s", width, static_cast<long long>(k), ours ? "blockvec" : "cublas");
          if (table.has(key)) continue;
          const double seconds = sweep.in_graph(
              [&] { ours ? sweep.blockvec_tsmttsm('D', width, k) : sweep.cublas_tsmttsm('D', width, k); });
          const Speed one = speed('D', width, k, seconds);
          table.add(key, "0,0,0,%.2f,%.1f,%.1f,0", one.microseconds, one.gbps, one.gflops);
        }
        sweep.blockvec_tsmttsm('D', width, k);
        expected = read_result(sweep, 'D', width);
      }
      const std::string key =
          format("%d,%lld,%s", width, static_cast<long long>(k), reductions[static_cast<int>(kernel.reduction)]);
      if (table.has(key)) continue;
      const Resources resources = resources_of(kernel.function, kernel.threads, 0);
      const int blocks = full_waves(sweep, resources.blocks, k, kernel.rows * rows_a_thread);
      const double seconds = sweep.in_graph([&] { sweep.launch(kernel, k, blocks); });
      const Speed one = speed('D', width, k, seconds);
      double error = 0;
      if (kernel.reduction != study::Reduction::none) {
        sweep.launch(kernel, k, blocks);
        error = difference(read_result(sweep, 'D', width), expected) / bound_of(kernel, k, blocks);
      }
      table.add(key, "%d,%d,%d,%.2f,%.1f,%.1f,%.2g", kernel.tile_m, kernel.tile_n, blocks, one.microseconds, one.gbps,
                one.gflops, error);
      wrong += report_wrong(key, error);
    }
  }
  return wrong;
}

int study_occupancy(Sweep& sweep) {
  std::vector<study::TsmttsmKernel> kernels = study::all_tsmttsm_kernels();
  std::erase_if(kernels, [](const study::TsmttsmKernel& kernel) {
    return kernel.reduction != study::Reduction::none || kernel.least_blocks != 1;
  });
  Report table(sweep.path("occupancy"),
               "m,tile_m,tile_n,leap_frog,change,blocks_per_sm,warps_per_sm,most_blocks,registers,microseconds,gbps,"
               "gflops",
               [&] { return sweep.description(); });
  constexpr int warp = 32;
  for (const study::TsmttsmKernel& kernel : kernels) {
    const std::int64_t k = sweep.rows(kernel.type, kernel.m);
    const Resources resources = resources_of(kernel.function, kernel.threads, 0);
    // Beyond what fits, some blocks wait for others: the second wave.
    const int most = resources.blocks + resources.blocks / 2;
    for (int blocks = 1; blocks <= most; ++blocks) {
      if (sweep.out_of_time()) return 0;
      const std::string key = format("%d,%d,%d,%d,%s,%d", kernel.m, kernel.tile_m, kernel.tile_n, kernel.leap_frog,
                                     changes[static_cast<int>(kernel.change)], blocks);
      if (table.has(key)) continue;
      const double seconds = sweep.median([&] { sweep.launch(kernel, k, blocks * sweep.multiprocessors()); });
      const Speed one = speed(kernel.type, kernel.m, k, seconds);
      table.add(key, "%d,%d,%d,%.2f,%.1f,%.1f", blocks * kernel.threads / warp, resources.blocks, resources.registers,
                one.microseconds, one.gbps, one.gflops);
    }
  }
  return 0;
}

int study_bandwidth(Sweep& sweep) {
  constexpr int most_warps = 64;
  constexpr int warps_a_block = sum_block_threads / 32;
  Report table(sweep.path("bandwidth"), "loads,warps_per_sm,blocks,gbps,latency_ns",
               [&] { return sweep.description(); });
  const std::size_t count = sweep.bytes() / sizeof(double);
  for (const int loads : {1, 4, 8}) {
    for (int warps = 0; warps <= most_warps; warps = std::max(warps_a_block, 2 * warps)) {
      if (sweep.out_of_time()) return 0;
      const std::string key = format("%d,%d", loads, warps);
      if (table.has(key)) continue;
      // 0 stands for one block on the whole device, which reads less: it is slow.
      const int blocks = warps == 0 ? 1 : warps / warps_a_block * sweep.multiprocessors();
      const std::size_t numbers = warps == 0 ? count / 256 : count;
      const double seconds = sweep.median([&] {
        sum_all(static_cast<const double*>(sweep.first()), numbers, sweep.sink(), loads, blocks, sweep.stream());
      });
      const double rate = static_cast<double>(numbers * sizeof(double)) / seconds;
      const double in_flight = static_cast<double>(blocks) * sum_block_threads * loads * sizeof(double);
      table.add(key, "%d,%.1f,%.1f", blocks, rate * 1e-9, in_flight / rate * 1e9);
    }
  }
  return 0;
}

int study_arithmetic(Sweep& sweep) {
  constexpr int warps_a_block = sum_block_threads / 32;
  Report table(sweep.path("arithmetic"), "tile_m,tile_n,warps_per_sm,gflops", [&] { return sweep.description(); });
  for (const int tile_m : {4, 8}) {
    for (const int blocks : {1, 2, 3, 4}) {
      const std::string key = format("%d,8,%d", tile_m, blocks * warps_a_block);
      if (table.has(key) || (tile_m == 8 && blocks > 2)) continue;  // what registers hold
      double flops = 0;
      const double seconds =
          sweep.median([&] { flops = multiply_tiles(sweep.sink(), tile_m, blocks, sweep.stream()); });
      table.add(key, "%.1f", flops / seconds * 1e-9);
    }
  }
  return 0;
}

}  // namespace bench
