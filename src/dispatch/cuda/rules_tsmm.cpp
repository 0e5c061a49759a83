#include <algorithm>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

using Problem = CudaTsmmProblem;
using enum CudaKernel;

constexpr CudaKind row_rings[] = {{row_ring, Policy::fma}, {row_ring}, {row_ring, Policy::tf32}};

// Rows follow one another without a gap that is worth a copy of its own.
bool is_tight(const Problem& p) { return p.row_major && streams(p.m, p.pitch_a); }

// A TMA tile of every row tile is as fast as a flat copy, and has fewer results to hold: updates by one or two columns,
// and two squares.
bool prefers_strided(const Problem& p) {
  return (p.reads_output && p.n <= 2 && p.m <= 32) || (p.m == p.n && (p.m == 16 || p.m == 64));
}

bool prefers_row_ring(const CudaDevice&, const Problem& p) {
  if (!is_tight(p) || p.may_skip_a) return false;
  if (p.real_bytes == 4) return p.m <= 256;
  return p.m <= 128 && (p.m <= 64 || p.n <= 64 || stages_results(p)) && !prefers_strided(p);
}

// TMA tiles come at the speed of flat copies, except very short rows. Of updates, those by one column of rows that are
// no whole lines.
bool prefers_boxed_ring(const CudaDevice& device, const Problem& p) {
  const std::int64_t bytes = p.m * p.real_bytes;
  const bool update = p.n == p.parts && bytes <= 256 && p.pitch_a * p.real_bytes % line_bytes != 0;
  return p.row_major && !p.may_skip_a && bytes >= 64 && bytes <= 512 && p.n <= 64 && (!p.reads_output || update) &&
         boxes_a_serve(device, p);
}

// TMA asks for every row on its own, in pieces of 128 bytes: cp.async is faster for short rows that fill such pieces,
// and for all that are misaligned.
bool prefers_plain(const CudaDevice&, const Problem& p) {
  const std::int64_t bytes = p.m * p.real_bytes;
  const bool fills = bytes <= 128 || bytes > 224 || !p.aligned || box_classes(p) > 1;
  return p.row_major && !is_tight(p) && p.n <= 16 && bytes <= 256 && fills;
}

bool prefers_direct(const CudaDevice&, const Problem& p) {
  const std::int64_t n = p.n / p.parts;
  if (p.row_major) return n == 1 && p.m == p.parts && !streams(p.m, p.pitch_a);
  if (n <= 2) return true;
  const bool aligned = p.aligned && p.aligned_output && p.pitch_a * p.real_bytes % 16 == 0;
  if (aligned && p.m > (p.real_bytes == 8 ? 256 : 16)) return false;
  return n <= (p.real_bytes == 4 && p.parts == 1 ? 11 : 8);
}

// Tensor cores would idle, and threads that load for themselves wait for columns that begin anywhere.
bool prefers_column_fma(const CudaDevice& device, const Problem& p) {
  if (waits_for_double(device, p)) return true;
  if (p.m > 2 * p.n) return false;
  const std::int64_t n = p.n / p.parts;
  if (p.real_bytes == 8) return p.parts == 1 && n > 9 && n <= 11;
  const bool adds_to_wide = p.reads_output && p.m * p.n >= 8 * (p.m + p.n);
  const std::int64_t most = adds_to_wide ? (p.parts == 2 ? 9 : 16) : (p.parts == 2 ? 12 : 24);
  return n > 2 && n <= most;
}

// Narrower ones wait for memory, and have kernels that multiply less; so have columns of floats as far as split
// products take them, and rows of floats, which are multiplied in parts of columns.
bool prefers_wide(const CudaDevice& device, const Problem& p) {
  if (p.n <= 96 || p.m <= 96) return false;
  const bool split_columns = device.warpgroups && p.may_split && p.real_bytes == 4 && !p.row_major;
  if (split_columns && p.n <= 64 * p.parts && p.m <= 64 * p.parts) return false;
  if (p.in_place && p.n > section_columns) return p.n <= most_columns_in_place;
  if (p.row_major && boxes_split_serve(device, p)) return false;
  constexpr std::int64_t usual_rows = 128;
  return ceil_div(p.k, usual_rows) * ceil_div(p.n, section_columns) >= device.multiprocessors;
}

// Many columns, whose C would keep other kernels' blocks waiting, and few turns of blocks.
bool prefers_short_k(const CudaDevice& device, const Problem& p) {
  return p.row_major && p.n <= 32 && p.m >= (p.n > 16 ? 256 : 512) &&
         p.k * p.m <= std::int64_t{96000} * device.multiprocessors;
}

// Few columns of B. For updates, `strided` by 3xTF32 is as fast.
bool few_prefer_warpgroup(const CudaDevice&, const Problem& p) { return splits_few_columns(p) && !p.reads_output; }
bool few_prefer_strided(const CudaDevice&, const Problem& p) { return splits_few_columns(p) && !prefers_per_warp(p); }

// Narrower products wait for memory anyway. As measured on an H200, updates by row_ring take longer, except if chunks
// are short. So the limit for updates is lower. Few columns have rules of their own.
bool prefers_warpgroup(const CudaDevice&, const Problem& p) {
  if (splits_few_columns(p)) return false;
  if (!p.reads_output) return p.m * p.n >= 16 * (p.m + p.n);
  return p.m * p.n >= 8 * (p.m + p.n) && p.m + 2 * p.n > 48;
}
bool prefers_strided_tf32(const CudaDevice&, const Problem& p) {
  return p.m * p.n >= 16 * (p.m + p.n) && !prefers_per_warp(p);
}

// `strided` is better for columns that do not fit into a stage at once, and for more results than registers hold.
bool prefers_column_ring(const CudaDevice&, const Problem& p) {
  const bool few_results = p.m >= 128 ? p.m >= 4 * p.n : p.m > 4 * p.n;
  return !few_results && p.n <= (p.parts == 2 ? 96 : 64);
}
// Narrower products are faster without tensor cores.
bool prefers_column_tf32(const CudaDevice&, const Problem& p) { return p.m * p.n >= 4 * (p.m + p.n); }

// Devices that multiply slowly in double precision.
bool rows_wait_for_double(const CudaDevice& device, const Problem& p) {
  return p.row_major && !prefers_row_ring(device, p) && waits_for_double(device, p);
}
bool views_wait_for_double(const CudaDevice& device, const Problem& p) {
  return !is_tight(p) && rows_wait_for_double(device, p);
}
bool columns_wait_for_double(const CudaDevice& device, const Problem& p) {
  return (!p.row_major || prefers_direct(device, p)) && waits_for_double(device, p);
}

constexpr Rule<Problem> rules[] = {
    {only<tf32_warpgroup>, Place::instead, "single precision, tight rows of many columns, few columns of B",
     few_prefer_warpgroup, "kernel_house.md: 26 % (to 56) over row_ring tf32"},
    {only<strided, Policy::tf32>, Place::instead, "single precision, other rows of many columns, few columns of B",
     few_prefer_strided, "kernel_house.md: 35 % (to 53) over strided and row_ring"},
    {only<column_ring, Policy::fma>, Place::beside,
     "column-major squares of 3 to 24 (S), 3 to 12 (C), 10 and 11 (D) columns", prefers_column_fma,
     "kernel_house.md: 14 % (to 39) over column_ring tf32 and direct"},
    {only<direct, Policy::f32>, Place::beside,
     "columns of single precision, up to 16 of B, where memory would wait for double precision",
     columns_wait_for_double, "not measured: no such device was there"},
    {row_rings, Place::beside, "rows of single precision, where memory would wait for double precision",
     rows_wait_for_double, "not measured: no such device was there"},
    {only<direct, Policy::f32>, Place::if_none, "views of rows of single precision, where memory would wait likewise",
     views_wait_for_double, "not measured: no such device was there"},
    {only<direct>, Place::if_none, "column-major, up to 8 columns of B (S: 11); one column out of a wider matrix",
     prefers_direct, "kernel_house.md: 2 to 48 % over strided"},
    {only<wide>, Place::beside, "more than 96 columns of A and of B", prefers_wide,
     "kernel_house.md: 17 % over strided; in place 35 to 45 % over parts"},
    {row_rings, Place::beside, "tight rows, to 128 columns (S, C: 256)", prefers_row_ring,
     "cuda_vs_cublas.csv: 95 to 101 % of the roof, M = N = 1..64"},
    {row_rings, Place::if_none, "views of rows of 64 to 512 bytes; updates by one column", prefers_boxed_ring,
     "kernel_house.md: -4 to 20 % over strided; updates 13 to 55 % over per_warp"},
    {only<per_warp>, Place::if_none, "narrow views that are misaligned or overwritten",
     [](const CudaDevice&, const Problem& p) { return prefers_per_warp(p); },
     "kernel_house.md: 7 % (to 24) over strided"},
    {only<short_k>, Place::beside, "double, few rows of at least 256 columns, up to 32 columns of B", prefers_short_k,
     "kernel_house.md: 24 % over strided at K = 16384"},
    {only<column_ring>, Place::if_none, "double and complex double, column-major, 9 to 64 columns", prefers_column_ring,
     "kernel_house.md: 14 % (to 40) over strided"},
    {only<column_ring, Policy::tf32>, Place::if_none, "single precision, column-major, 25 to 64 (C: 13 to 64) columns",
     prefers_column_tf32, "kernel_house.md: 61 % (to 78) over strided"},
    {only<strided, Policy::plain>, Place::if_none,
     "views of rows of up to 256 bytes, up to 16 columns of B: mostly updates", prefers_plain,
     "kernel_house.md: 14 to 54 % over strided, up to 20 % over row_ring"},
    {only<strided>, Place::if_none, "any stride, either layout", always,
     "cuda_vs_cublas.csv: 92 to 101 % of the roof on views"},
    {row_rings, Place::if_none, "rows, where nothing has been found: devices without bulk copies", always,
     "compute_80.csv"},
    {only<per_warp>, Place::if_none, "views of rows, where nothing has been found: devices without bulk copies", always,
     "compute_80.csv"},
    {only<direct>, Place::if_none, "columns, where nothing has been found: devices without bulk copies", always,
     "compute_80.csv"},
    {only<registers_3m>, Place::beside, "complex double, 33 to 64 columns of A, more than 16 of B", always,
     "kernel_house.md: 9 % (to 23) over strided 3m"},
    {only<strided, Policy::three_m>, Place::unless_previous, "complex double, squares from 49 columns on", always,
     "kernel_house.md: 17 % over strided"},
    {only<tf32_warpgroup>, Place::beside, "single precision, tight rows from 32 (C: 18) columns on", prefers_warpgroup,
     "kernel_house.md: 26 % (to 56) over row_ring tf32"},
    {only<strided, Policy::tf32>, Place::unless_previous, "single precision, other rows from 32 real columns on",
     prefers_strided_tf32, "kernel_house.md: 35 % (to 53) over strided and row_ring"},
    {only<general>, Place::beside, "the remainder, whatever its layout and stride", always,
     "the only kernel that takes everything"},
};

// The rows that go through the workspace at a time (a slab) if no kernel multiplies in place. Up to 128 columns, a slab
// stays in the cache until it is copied back. For more columns, the parts of a slab have so much work that few slabs
// are better.
std::int64_t slab_rows(std::int64_t k, std::int64_t n, int real_bytes) {
  const std::int64_t bytes = std::int64_t{n > 128 ? 128 : 32} << 20;
  return std::min(k, std::max<std::int64_t>(bytes / (n * real_bytes) / 1024 * 1024, 256));
}

CudaChoice<CudaTsmm> choose_whole(const CudaDevice& device, const CudaTsmmProblem& problem) {
  return row_or_best<CudaTsmm>(device, problem, [&](auto& found) { found = candidates(device, problem); });
}

bool has_no_fast_kernel(const CudaChoice<CudaTsmm>& choice) {
  const CudaKernel kernel = choice.configuration->kernel;
  return kernel == CudaKernel::none || kernel == CudaKernel::general;
}

// Whether parts of a product may be faster than all of it: it has no fast kernel, or multiplies in double precision
// where memory waits for that. In place, parts need room in the workspace, which may have none.
bool may_gain_by_parts(const CudaDevice& device, const CudaTsmmProblem& p, const CudaChoice<CudaTsmm>& whole) {
  const CudaProducts products = whole.prediction.products;
  const bool in_double = products == CudaProducts::f64_fma || products == CudaProducts::f64_tensor;
  const bool has_room = !p.in_place || !wide_serves_in_place(device, p.k, p.n);
  return has_no_fast_kernel(whole) || (has_room && in_double && waits_for_double(device, p));
}

// Divides a product into parts: the widest ones that have a fast kernel, or narrower ones if that gains time.
CudaChoice<CudaTsmm> choose_in_parts(const CudaDevice& device, const CudaTsmmProblem& problem) {
  CudaTsmmProblem part = problem;
  if (problem.in_place) {
    part.in_place = false;
    part.k = slab_rows(problem.k, problem.n, problem.real_bytes);
    part.pitch_b = problem.row_major ? problem.n : problem.parts * part.k;
    part.aligned_output = true;
  }
  const auto in_parts_of = [&](std::int64_t n) {
    part.n = n;
    CudaChoice<CudaTsmm> one = choose_whole(device, part);
    one.configuration.part_columns = n / problem.parts;
    one.prediction.seconds *= static_cast<double>(ceil_div(problem.n, n));
    return one;
  };
  CudaChoice<CudaTsmm> last = in_parts_of(problem.n);
  CudaChoice<CudaTsmm> choice = last;
  for (std::int64_t count = 2; may_gain_by_parts(device, part, last) && part.n > 8 * problem.parts; ++count) {
    last = in_parts_of(round_up(ceil_div(problem.n, count), 8 * problem.parts));
    if (has_no_fast_kernel(choice) || last.prediction.seconds < choice.prediction.seconds) choice = last;
  }
  choice.configuration.part_rows = problem.in_place ? part.k : 0;
  choice.configuration->workspace_bytes =
      cuda_tsmm_workspace(device, problem.k, problem.m, problem.n, problem.real_bytes);
  if (problem.in_place) {
    const double copied = 2 * static_cast<double>(part.k * problem.n) * problem.real_bytes / device.copy_bandwidth;
    choice.prediction.seconds = (choice.prediction.seconds + launch_seconds + copied) * static_cast<double>(problem.k) /
                                static_cast<double>(part.k);
  }
  return choice;
}

}  // namespace

const TsmmEntry<NoTsmm> NoTsmm::entry{};

bool complete(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration) {
  return std::visit([&](auto& c) { return complete(device, problem, c); }, configuration.of_kernel);
}

std::vector<CudaTsmm> candidates(const CudaDevice& device, const CudaTsmmProblem& problem, Search search) {
  std::vector<CudaTsmm> found;
  add_candidates(rules, device, problem, search, found);
  return found;
}

CudaPrediction predict(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration) {
  return std::visit([&](const auto& c) { return predict(device, c.entry.work(device, problem, c)); },
                    configuration.of_kernel);
}

CudaChoice<CudaTsmm> choose(const CudaDevice& device, const CudaTsmmProblem& problem) {
  const CudaChoice<CudaTsmm> whole = choose_whole(device, problem);
  if (!may_gain_by_parts(device, problem, whole)) return whole;
  const bool none = whole.configuration->kernel == CudaKernel::none;
  const CudaChoice<CudaTsmm> in_parts = choose_in_parts(device, problem);
  return none || in_parts.prediction.seconds < whole.prediction.seconds ? in_parts : whole;
}

std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes) {
  if (k <= 0 || m < 0 || n <= 0) return 0;
  // The workspace holds C, padded to whole panels (K slices) and tiles, and the ticket that hands out chunks. For
  // products in parts it also holds all of C and, in place, a slab of results.
  const auto packed = static_cast<std::size_t>((m + 128) * std::max<std::int64_t>(2 * n, 64));
  const auto whole = static_cast<std::size_t>(m * n * real_bytes);
  const std::int64_t slab_entries = wide_serves_in_place(device, k, n) ? 0 : slab_rows(k, n, real_bytes) * n;
  const auto slab = static_cast<std::size_t>(slab_entries * real_bytes);
  return slab + whole + packed * sizeof(double) + 6 * workspace_alignment;
}

bool waits_for_double(const CudaDevice& device, const CudaTsmmProblem& p) {
  const auto tiles = static_cast<double>(ceil_div(p.n, 8) * ceil_div(p.m, 4)) / 64;
  const std::int64_t width = p.m + (p.reads_output ? 2 : 1) * p.n;
  return p.real_bytes == 4 && p.may_split && waits_for_double(device, tiles, static_cast<double>(width * p.real_bytes));
}

// TMA tiles are as fast where rows are whole lines of memory and B is another matrix. 3xTF32 of TMA tiles is slower
// where complex rows lie at odd multiples of 8 bytes.
bool prefers_per_warp(const CudaTsmmProblem& p) {
  const std::int64_t distance = p.pitch_a * p.real_bytes;
  const bool is_odd = p.real_bytes == 4 && p.parts == 2 && (!p.aligned || box_classes(p) > 1) && !p.in_place;
  const std::int64_t widest = is_odd ? 64 : 32;
  return p.row_major && !streams(p.m, p.pitch_a) && p.n <= widest && p.m <= widest &&
         (!p.aligned || distance % line_bytes != 0 || p.in_place);
}

bool splits_few_columns(const CudaTsmmProblem& p) {
  if (p.real_bytes != 4 || !p.row_major || !p.may_split || p.n > 16) return false;
  if (streams(p.m, p.pitch_a)) return p.m >= (p.reads_output ? 64 : 128);
  return p.m >= 128 || (p.m == 64 && p.n > 8 && !p.reads_output);
}

}  // namespace blockvec::kernels::dispatch
