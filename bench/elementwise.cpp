// What do the element-wise operations of block vectors reach on a device, and the products with square small matrices,
// beside bare kernels on the same bytes?
//   elementwise operations=copy,scale,axpby,fill,fill_random,column_norms,column_dots,multiply_in_place,update
//   types=S,D,C,Z layouts=row,column widths=4,8,56 bytes=1e9 rounds=15
// Each block vector stands alone first, with the leading dimension that its constructor chooses, and is columns of one
// with 64 columns then, if its rows are whole pairs of doubles. Bare kernels move 16 bytes a thread; copies are held
// against the faster of such a kernel and cudaMemcpy2DAsync, random numbers against filling with a constant, norms and
// dots against reading, products in place against scaling, updates against the sum of two multiples.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "bench/cuda_support.hpp"

namespace {

using namespace blockvec;
using Settings = std::map<std::string, std::string>;
using Space = Kokkos::CudaSpace;

const Settings defaults{{"operations",
                         "copy,scale,axpby,fill,fill_random,column_norms,column_dots,multiply_in_place,update"},
                        {"types", "S,D,C,Z"},
                        {"layouts", "row,column"},
                        {"widths", "4,8,56"},
                        {"bytes", "1e9"},
                        {"rounds", "15"}};

// A block as a bare kernel sees it: lines of pairs, so many from one line to the next.
struct Lines {
  double2* data;
  std::int64_t count, pairs, pitch;
};

struct Copied {
  __device__ static void act(const double2* x, double2* y) { *y = *x; }
};
struct Scaled {
  __device__ static void act(const double2*, double2* y) { *y = {1.5 * y->x, 1.5 * y->y}; }
};
struct Combined {
  __device__ static void act(const double2* x, double2* y) { *y = {1.5 * x->x + 0.5 * y->x, 1.5 * x->y + 0.5 * y->y}; }
};
struct Filled {
  __device__ static void act(const double2*, double2* y) { *y = {1.5, 1.5}; }
};
struct Read {  // the compiler cannot know that nothing is written
  __device__ static void act(const double2*, double2* y) {
    const double2 b = *y;
    if (b.x == 1.2345e300) y->y = b.x;
  }
};
struct ReadBoth {
  __device__ static void act(const double2* x, double2* y) {
    const double2 a = *x, b = *y;
    if (a.x == 1.2345e300 && b.x == 1.2345e300) y->y = a.x;
  }
};

// A thread for each pair: a block of threads takes `blockDim.y` short lines.
template <class Act>
__global__ void bare_kernel(Lines from, Lines to) {
  const std::int64_t pair = threadIdx.x;
  const std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (line < to.count) Act::act(from.data + line * from.pitch + pair, to.data + line * to.pitch + pair);
}

// A long line: blocks of threads take stretches of it.
template <class Act>
__global__ void bare_line_kernel(const double2* from, double2* to, std::int64_t pairs) {
  const std::int64_t pair = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pair < pairs) Act::act(from + pair, to + pair);
}

template <class Act>
void bare(const Lines& from, const Lines& to, cudaStream_t stream) {
  constexpr std::int64_t threads = 256;
  const auto blocks = [](std::int64_t items, std::int64_t of_block) {
    return static_cast<unsigned>((items + of_block - 1) / of_block);
  };
  if (to.count == 1) {
    bare_line_kernel<Act><<<blocks(to.pairs, threads), threads, 0, stream>>>(from.data, to.data, to.pairs);
  } else if (to.pairs > threads) {  // few long lines
    for (std::int64_t line = 0; line < to.count; ++line) {
      bare_line_kernel<Act><<<blocks(to.pairs, threads), threads, 0, stream>>>(from.data + line * from.pitch,
                                                                               to.data + line * to.pitch, to.pairs);
    }
  } else {
    const std::int64_t lines = threads / to.pairs;
    bare_kernel<Act>
        <<<blocks(to.count, lines), dim3(static_cast<unsigned>(to.pairs), static_cast<unsigned>(lines)), 0, stream>>>(
            from, to);
  }
  bench::check(cudaGetLastError());
}

template <class V>
Lines lines_of(const V& v) {
  constexpr bool row = std::is_same_v<typename V::Layout, RowMajor>;
  const auto pairs = [](std::int64_t entries) {
    return entries * static_cast<std::int64_t>(sizeof(typename V::Scalar)) / static_cast<std::int64_t>(sizeof(double2));
  };
  const std::int64_t count = row ? v.local_rows() : v.width(), length = row ? v.width() : v.local_rows();
  auto* const data = reinterpret_cast<double2*>(v.data());
  if (v.ld() == length) return {data, 1, pairs(count * length), pairs(count * length)};
  return {data, count, pairs(length), pairs(v.ld())};
}

template <class Scalar, class Layout>
void measure(const Settings& settings, std::int64_t rows, std::int64_t width, bool is_view) {
  using V = BlockVector<Scalar, Layout, Space>;
  const Context context = Context::self();
  const cudaStream_t stream = context.execution_space<Space>().cuda_stream();
  const auto distribution = RowDistribution::uniform(rows, context.communicator());
  const std::int64_t first = 8, all = std::max<std::int64_t>(64, first + width);
  const V wide_v(context, distribution, is_view ? all : width, "v"), wide_w(context, distribution, wide_v.width(), "w");
  const V v = is_view ? wide_v.columns(first, first + width) : wide_v;
  const V w = is_view ? wide_w.columns(first, first + width) : wide_w;
  fill_random(v, 1);
  fill_random(w, 2);
  const SmallMatrix<Scalar, Space> dots(context, 1, width);
  const SmallMatrix<RealOf<Scalar>, Space> norms(context, 1, width);
  const SmallMatrix<Scalar, Space> square(context, width, width);
  HostMatrix<Scalar> values("values", static_cast<std::size_t>(width), static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < width; ++i) {  // a permutation: entries neither grow nor vanish
    values(static_cast<std::size_t>(i), static_cast<std::size_t>((i + 1) % width)) = Scalar(1);
  }
  square.from_host(values);
  const Lines from = lines_of(v), to = lines_of(w);
  const int rounds = std::stoi(settings.at("rounds"));
  const auto seconds = [&](auto call) { return bench::median_seconds(stream, 3, rounds, 1.0, [&](int) { call(); }); };
  const auto report = [&](const std::string& operation, int passes, double own, double bare_seconds) {
    const double bytes = passes * static_cast<double>(rows * width) * sizeof(Scalar);
    std::printf("%s,%s,%s,%lld,%lld,%lld,%.1f,%.1f,%.3f\n", operation.c_str(),
                std::is_same_v<Layout, RowMajor> ? "row" : "column", std::string(scalar_name<Scalar>()).c_str(),
                static_cast<long long>(rows), static_cast<long long>(width), static_cast<long long>(w.ld()),
                1e-9 * bytes / own, 1e-9 * bytes / bare_seconds, bare_seconds / own);
    std::fflush(stdout);
  };
  for (const std::string& operation : bench::split(settings.at("operations"), ',')) {
    if (operation == "copy") {
      const auto library = [&] {
        bench::check(cudaMemcpy2DAsync(to.data, static_cast<std::size_t>(to.pitch) * sizeof(double2), from.data,
                                       static_cast<std::size_t>(from.pitch) * sizeof(double2),
                                       static_cast<std::size_t>(to.pairs) * sizeof(double2),
                                       static_cast<std::size_t>(to.count), cudaMemcpyDeviceToDevice, stream));
      };
      const auto whole = [&] {
        bench::check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(to.pairs) * sizeof(double2),
                                     cudaMemcpyDeviceToDevice, stream));
      };
      const double fastest =
          std::min(seconds([&] { bare<Copied>(from, to, stream); }), to.count == 1 ? seconds(whole) : seconds(library));
      report(operation, 2, seconds([&] { copy(v, w); }), fastest);
    } else if (operation == "scale") {
      report(operation, 2, seconds([&] { scale(w, Scalar(1.5)); }), seconds([&] { bare<Scaled>(from, to, stream); }));
    } else if (operation == "axpby") {
      report(operation, 3, seconds([&] { axpby(Scalar(1.5), v, Scalar(0.5), w); }),
             seconds([&] { bare<Combined>(from, to, stream); }));
    } else if (operation == "fill") {
      report(operation, 1, seconds([&] { fill(w, Scalar(1.5)); }), seconds([&] { bare<Filled>(from, to, stream); }));
    } else if (operation == "fill_random") {
      report(operation, 1, seconds([&] { fill_random(w, 1); }), seconds([&] { bare<Filled>(from, to, stream); }));
    } else if (operation == "column_norms") {
      report(operation, 1, seconds([&] { column_norms(w, norms); }), seconds([&] { bare<Read>(from, to, stream); }));
    } else if (operation == "column_dots") {
      report(operation, 2, seconds([&] { column_dots(v, w, dots); }),
             seconds([&] { bare<ReadBoth>(from, to, stream); }));
    } else if (operation == "multiply_in_place") {
      report(operation, 2, seconds([&] { multiply_in_place(w, square); }),
             seconds([&] { bare<Scaled>(from, to, stream); }));
    } else if (operation == "update") {
      report(operation, 3, seconds([&] { update(Scalar(1), v, square, Scalar(-1), w); }),
             seconds([&] { bare<Combined>(from, to, stream); }));
    } else {
      throw Error("elementwise: unknown operation " + operation);
    }
  }
}

template <class Scalar>
void measure_all(const Settings& settings) {
  for (const std::string& layout : bench::split(settings.at("layouts"), ',')) {
    for (const std::string& width_text : bench::split(settings.at("widths"), ',')) {
      const std::int64_t width = std::stoll(width_text);
      const auto row_bytes = static_cast<double>(width) * sizeof(Scalar);
      for (const bool is_view : {false, true}) {
        if (is_view && layout == "row" && width * static_cast<std::int64_t>(sizeof(Scalar)) % 16 != 0) continue;
        // A view's whole block has to fit in memory; rows are even, so that lines are whole pairs.
        const double most = std::stod(settings.at("bytes")) / (is_view && width < 16 ? 4 : 1);
        const std::int64_t rows = static_cast<std::int64_t>(most / row_bytes) / 64 * 64;
        if (layout == "row") {
          measure<Scalar, RowMajor>(settings, rows, width, is_view);
        } else {
          measure<Scalar, ColumnMajor>(settings, rows, width, is_view);
        }
      }
    }
  }
}

int run(const Settings& settings) {
  std::printf("operation,layout,type,rows,columns,ld,gbps,bare_gbps,share\n");
  for (const std::string& type : bench::split(settings.at("types"), ',')) {
    if (type == "S") measure_all<float>(settings);
    if (type == "D") measure_all<double>(settings);
    if (type == "C") measure_all<Complex<float>>(settings);
    if (type == "Z") measure_all<Complex<double>>(settings);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] { return run(bench::read_settings(argc, argv, defaults)); });
}
