// Sparse matrix times a row-major block vector on a CUDA device, beside cuSPARSE and, where the build has it for CUDA,
// Kokkos Kernels on the same operands in one run.
//   spmmv out=DIRECTORY matrices=laplacian256;laplacian100;ring24;ring20;graphene1024;FILE.mtx widths=1;2;4;8;16;32
//   commit=...
// Writes DIRECTORY/spmmv.csv. gbps: bytes of the least traffic (spmmv_bytes) in the time of a call. cusparse_ms: the
// best of SpMM with ALG2 and ALG3, for one column of SpMV with ALG1 and ALG2. ratio: cusparse_ms / ms. kokkos_ms:
// KokkosSparse::spmv's default, or 0.
#include <cusparse.h>

#include <algorithm>
#include <blockvec/kernels/spmmv.hpp>
#include <complex>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/cuda_card.hpp"
#include "bench/cuda_report.hpp"
#include "bench/cuda_support.hpp"
#include "bench/settings.hpp"
#include "bench/spmmv_kokkos.hpp"
#include "bench/spmmv_matrices.hpp"

namespace {

using namespace bench;
using namespace blockvec::kernels;

void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

/// A copy in device memory.
template <class N>
struct OnDevice {
  explicit OnDevice(const std::vector<N>& from) : buffer(std::max<std::size_t>(1, from.size() * sizeof(N))) {
    bench::check(cudaMemcpy(buffer.data, from.data(), from.size() * sizeof(N), cudaMemcpyHostToDevice));
  }
  N* get() const { return static_cast<N*>(buffer.data); }
  Buffer buffer;
};

template <class T>
struct SellOnDevice {
  explicit SellOnDevice(const SellArrays<T>& a)
      : chunk_begin(a.chunk_begin),
        row(a.row),
        column(a.column),
        value(a.value),
        long_row(a.long_row),
        long_begin(a.long_begin),
        view(a.view()) {
    view.chunk_begin = chunk_begin.get();
    view.row = a.row.empty() ? nullptr : row.get();
    view.column = column.get();
    view.value = value.get();
    view.long_row = long_row.get();
    view.long_begin = long_begin.get();
  }
  OnDevice<std::int64_t> chunk_begin;
  OnDevice<std::int32_t> row, column;
  OnDevice<T> value;
  OnDevice<std::int32_t> long_row;
  OnDevice<std::int64_t> long_begin;
  SellMatrix<T> view;
};

/// cuSPARSE's product, by the algorithm that takes the shortest time.
template <class T>
double cusparse_seconds(cusparseHandle_t handle, const Sparse<T>& a, const OnDevice<std::int32_t>& row_begin,
                        const OnDevice<std::int32_t>& column, const OnDevice<T>& value, T* x, T* y, std::int64_t width,
                        int reps) {
  constexpr cudaDataType type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_C_64F;
  const T one(1), zero(0);
  cusparseSpMatDescr_t matrix = nullptr;
  check(cusparseCreateCsr(&matrix, a.rows, a.rows, static_cast<std::int64_t>(a.column.size()), row_begin.get(),
                          column.get(), value.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          type));
  double best = 1e9;
  if (width == 1) {
    cusparseDnVecDescr_t from = nullptr, to = nullptr;
    check(cusparseCreateDnVec(&from, a.rows, x, type));
    check(cusparseCreateDnVec(&to, a.rows, y, type));
    for (const auto algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) {
      std::size_t bytes = 0;
      constexpr auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
      check(cusparseSpMV_bufferSize(handle, op, &one, matrix, from, &zero, to, type, algorithm, &bytes));
      const Buffer memory(std::max<std::size_t>(1, bytes));
      check(cusparseSpMV_preprocess(handle, op, &one, matrix, from, &zero, to, type, algorithm, memory.data));
      best = std::min(best, median_seconds(nullptr, 2, reps, 1, [&](int) {
                        check(cusparseSpMV(handle, op, &one, matrix, from, &zero, to, type, algorithm, memory.data));
                      }));
    }
    cusparseDestroyDnVec(from);
    cusparseDestroyDnVec(to);
  } else {
    cusparseDnMatDescr_t from = nullptr, to = nullptr;
    check(cusparseCreateDnMat(&from, a.rows, width, width, x, type, CUSPARSE_ORDER_ROW));
    check(cusparseCreateDnMat(&to, a.rows, width, width, y, type, CUSPARSE_ORDER_ROW));
    for (const auto algorithm : {CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
      std::size_t bytes = 0;
      constexpr auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
      check(cusparseSpMM_bufferSize(handle, op, op, &one, matrix, from, &zero, to, type, algorithm, &bytes));
      const Buffer memory(std::max<std::size_t>(1, bytes));
      check(cusparseSpMM_preprocess(handle, op, op, &one, matrix, from, &zero, to, type, algorithm, memory.data));
      best =
          std::min(best, median_seconds(nullptr, 2, reps, 1, [&](int) {
                     check(cusparseSpMM(handle, op, op, &one, matrix, from, &zero, to, type, algorithm, memory.data));
                   }));
    }
    cusparseDestroyDnMat(from);
    cusparseDestroyDnMat(to);
  }
  cusparseDestroySpMat(matrix);
  return best;
}

template <class T>
void measure(const std::string& name, const Sparse<T>& a, const std::map<std::string, std::string>& settings,
             cusparseHandle_t handle, Report& report) {
  const int reps = std::stoi(settings.at("reps"));
  const auto entries = static_cast<std::int64_t>(a.column.size());
  const OnDevice<std::int32_t> row_begin(a.row_begin), column(a.column);
  const OnDevice<T> value(a.value);
  const SellOnDevice<T> sell(
      sell_arrays(CsrMatrix<T, std::int32_t>{a.rows, a.rows, a.row_begin.data(), a.column.data(), a.value.data()}));
  for (const std::string& word : split(settings.at("widths"), ';')) {
    const std::int64_t width = std::stoll(word);
    const Buffer x_memory(static_cast<std::size_t>(a.rows * width) * sizeof(T));
    const Buffer y_memory(x_memory.bytes);
    bench::check(cudaMemset(x_memory.data, 0, x_memory.bytes));
    const Matrix<T> x{static_cast<T*>(x_memory.data), a.rows, width, width};
    const Matrix<T> y{static_cast<T*>(y_memory.data), a.rows, width, width};
    const double seconds =
        median_seconds(nullptr, 2, reps, 1, [&](int) { spmmv<T>(T(1), sell.view, T(0), x, T(0), y, y, nullptr); });
    const double peer = settings.at("cusparse") == "1"
                            ? cusparse_seconds(handle, a, row_begin, column, value, x.data, y.data, width, reps)
                            : 0;
#if BLOCKVEC_BENCH_KOKKOS_KERNELS
    const DeviceRows<T> rows{a.rows, entries, row_begin.get(), column.get(), value.get()};
    const double kokkos =
        settings.at("kokkos") == "1"
            ? median_seconds(nullptr, 2, reps, 1, [&](int) { kokkos_kernels_spmmv<T>(rows, x.data, y.data, width); })
            : 0;
#else
    const double kokkos = 0;
#endif
    const std::string key = name + ',' + std::to_string(a.rows) + ',' + std::to_string(entries) + ',' +
                            (std::is_same_v<T, double> ? 'D' : 'Z') + ',' + word;
    report.add(key, "%s,%.4f,%.0f,%.4f,%.2f,%.4f", explain_spmmv<T>(sell.view, x, y, y).c_str(), 1e3 * seconds,
               1e-9 * spmmv_bytes<T>(a.rows, a.rows, entries, width, false) / seconds, 1e3 * peer, peer / seconds,
               1e3 * kokkos);
  }
}

void run(const std::map<std::string, std::string>& settings) {
  cusparseHandle_t handle = nullptr;
  check(cusparseCreate(&handle));
  Report report(
      settings.at("out") + "/spmmv.csv", "matrix,rows,nonzeros,type,width,format,ms,gbps,cusparse_ms,ratio,kokkos_ms",
      [&] { return "# " + state_of_card("name,driver_version") + ", commit " + settings.at("commit") + '\n'; });
  for (const std::string& name : split(settings.at("matrices"), ';')) {
    const auto number = [&](const std::string& kind) { return std::stoi(name.substr(kind.size())); };
    if (name.ends_with(".mtx")) {
      measure(name.substr(name.rfind('/') + 1), matrix_market(name), settings, handle, report);
    } else if (name.starts_with("laplacian")) {
      measure(name, laplacian(number("laplacian")), settings, handle, report);
    } else if (name.starts_with("ring")) {
      measure(name, heisenberg_ring(number("ring")), settings, handle, report);
    } else if (name.starts_with("graphene")) {
      measure(name, graphene(number("graphene")), settings, handle, report);
    } else {
      throw std::runtime_error("unknown matrix " + name);
    }
  }
  cusparseDestroy(handle);
}

}  // namespace

int main(int argc, char** argv) {
  try {
#if BLOCKVEC_BENCH_KOKKOS_KERNELS
    const KokkosScope kokkos;
#endif
    run(read_settings(argc, argv,
                      {{"out", "."},
                       {"matrices", "laplacian256;laplacian100;ring24;ring20;graphene1024"},
                       {"widths", "1;2;4;8;16;32"},
                       {"reps", "9"},
                       {"cusparse", "1"},
                       {"kokkos", "1"},
                       {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spmmv: %s\n", error.what());
    return 2;
  }
}
