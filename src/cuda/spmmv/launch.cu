#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "src/cuda/check.cuh"
#include "src/cuda/spmmv/long_rows.cuh"
#include "src/cuda/spmmv/product.cuh"
#include "src/cuda/spmmv/sell.cuh"
#include "src/cuda/spmmv/sell_columns.cuh"
#include "src/dispatch/cuda/spmmv.hpp"
#include "src/real.hpp"

namespace blockvec::kernels::cuda {
namespace {

/// From a configuration to kernels.
template <class T>
class SpmmvLaunch {
 public:
  using Real = real_t<T>;
  static constexpr int parts = real_parts<T>;

  SpmmvLaunch(const SpmmvCall<T>& call, const dispatch::SpmmvConfiguration& configuration, CUstream_st* stream)
      : call_(call),
        configuration_(configuration),
        stream_(stream),
        name_{"spmmv", call.a.rows, call.a.columns, call.y.columns},
        product_(product()) {}

  void run() const {
    if (call_.a.long_rows < call_.a.rows) launch_chunks();
    if (call_.a.long_rows > 0) launch_long_rows();
  }

 private:
  void launch_chunks() const {
    if (configuration_.kernel == dispatch::SpmmvKernel::sell_columns) {
      launch(sell_columns_kernel<Real, parts>, ceil(product_.chunks * 32, sell_columns_threads), configuration_.blocks,
             sell_columns_threads, product_);
    } else {
      launch_sell();
    }
  }

  // A few rows take a block each; many take eight threads a column.
  void launch_long_rows() const {
    constexpr std::int64_t few = 1024;
    const std::int64_t rows = call_.a.long_rows;
    int columns = 1;
    while (columns < 32 && columns < product_.width) columns *= 2;
    const int of_row = rows <= few ? long_rows_threads : std::max(32, 8 * columns);
    launch(long_rows_kernel<Real, parts>, ceil(rows, long_rows_threads / of_row), ceil(product_.width, columns),
           long_rows_threads, product_, rows, of_row, columns);
  }

  static std::int64_t ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

  template <class U>
  static auto reals(U* from) {
    return reinterpret_cast<std::conditional_t<std::is_const_v<U>, const Real, Real>*>(from);
  }

  SparseProduct<Real> product() const {
    const auto& [alpha, shift, beta, a, x, z, y] = call_;
    const auto strides = [](const auto& m, std::int64_t& row, std::int64_t& column) {
      const bool rows = m.layout == Layout::row_major;
      row = parts * (rows ? m.ld : 1);
      column = parts * (rows ? 1 : m.ld);
    };
    const auto put = [](Real(&to)[2], const T& from) {
      for (int i = 0; i < parts; ++i) to[i] = reinterpret_cast<const Real*>(&from)[i];
    };
    SparseProduct<Real> p{};
    p.chunk_begin = a.chunk_begin;
    p.row = a.row;
    p.column = a.column;
    p.value = reals(a.value);
    p.long_row = a.long_row;
    p.long_begin = a.long_begin;
    p.chunks = a.chunks();
    p.rows = a.rows;
    p.width = static_cast<int>(y.columns);
    p.x = reals(x.data);
    p.z = reals(z.data);
    p.y = reals(y.data);
    strides(x, p.x_row, p.x_column);
    p.diagonal_x = p.x + a.diagonal * p.x_row;
    strides(z, p.z_row, p.z_column);
    strides(y, p.y_row, p.y_column);
    put(p.alpha, alpha);
    put(p.shift, shift);
    put(p.beta, beta);
    p.multiplies = alpha != T(0);
    p.shifts = p.multiplies && shift != T(0);
    p.adds = beta != T(0);
    return p;
  }

  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), std::int64_t blocks, std::int64_t column_blocks, int threads,
              const Arguments&... arguments) const {
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(column_blocks));
    kernel<<<grid, threads, 0, stream_>>>(arguments...);
    check(cudaGetLastError(), name_);
  }

  void launch_sell() const {
    constexpr int full = 16 / static_cast<int>(sizeof(T));
    const auto& c = configuration_;
    if (c.vector == full && (full > 1 || c.whole)) return launch_vector<full, true>();
    if constexpr (sizeof(T) == 16) {
      return launch_vector<1, false>();
    } else {
      return launch_vector<1, true>();
    }
  }

  template <int vector, bool whole, int lanes = 1>
  void launch_vector() const {
    if (configuration_.lanes == lanes) return launch_lanes<vector, lanes, whole>();
    if constexpr (lanes < dispatch::most_spmmv_lanes(vector, sizeof(T))) {
      launch_vector<vector, whole, 2 * lanes>();
    } else {
      throw Error(words(name_) + ": no kernel for \"" + dispatch::words(configuration_) + '"');
    }
  }

  template <int vector, int lanes, bool whole>
  void launch_lanes() const {
    constexpr int warps = sell_threads / 32;
    launch(sell_kernel<Real, parts, vector, lanes, whole>,
           ceil(product_.chunks * SellShape<lanes>::parts_of_chunk, warps), configuration_.blocks, sell_threads,
           product_);
  }

  const SpmmvCall<T>& call_;
  const dispatch::SpmmvConfiguration& configuration_;
  CUstream_st* stream_;
  Product name_;
  SparseProduct<Real> product_;
};

}  // namespace

template <class T>
void launch_spmmv(const SpmmvCall<T>& call, const dispatch::SpmmvConfiguration& configuration, CUstream_st* stream) {
  current_device({"spmmv", call.a.rows, call.a.columns, call.y.columns});
  SpmmvLaunch<T>(call, configuration, stream).run();
}

template void launch_spmmv(const SpmmvCall<float>&, const dispatch::SpmmvConfiguration&, CUstream_st*);
template void launch_spmmv(const SpmmvCall<double>&, const dispatch::SpmmvConfiguration&, CUstream_st*);
template void launch_spmmv(const SpmmvCall<std::complex<float>>&, const dispatch::SpmmvConfiguration&, CUstream_st*);
template void launch_spmmv(const SpmmvCall<std::complex<double>>&, const dispatch::SpmmvConfiguration&, CUstream_st*);

}  // namespace blockvec::kernels::cuda
