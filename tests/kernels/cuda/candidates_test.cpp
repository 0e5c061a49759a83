#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/configuration.hpp"
#include "tests/kernels/cuda/products.hpp"

/// Every configuration that a table can name, for one shape of each kind, against the oracle; few blocks have all
/// chunks between them.
namespace blockvec::kernels {
namespace {

using namespace test;

class CudaCandidates : public OnDevice {};

template <class T>
void expect_all_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, bool same) {
  const Op op = (m + n) % 2 == 0 ? Op::conjugate_transpose : Op::transpose;
  std::mt19937 random(static_cast<unsigned>(k + 100 * m + n));
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> other(k, n, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, 0, 0, mark<T>());
  a.fill(random);
  other.fill(random);
  GuardedMatrix<T>& b = same ? a : other;
  using Wide = wide_of<T>;
  GuardedMatrix<Wide> expected = widened(c, Layout::row_major);
  reference::tsmttsm(op, Wide(1), widened(a, Layout::column_major).view(), widened(b, Layout::column_major).view(),
                     Wide(0), expected.view());
  const std::vector<double> scale = absolute_product(a, b);
  const OnDeviceMatrix<T> device_a(a);
  const OnDeviceMatrix<T> device_other(other);
  const OnDeviceMatrix<T>& device_b = same ? device_a : device_other;
  const Matrix<const T> view_a = device_a.view();
  const Matrix<const T> view_b = device_b.view();
  const auto problem = dispatch::problem_of(view_a, view_b);
  for (const auto& candidate : dispatch::candidates(few_blocks(), problem, dispatch::Search::all)) {
    if (left_out()) continue;
    SCOPED_TRACE(dispatch::name_of(candidate->kernel) + ' ' + dispatch::words(candidate) + " for M " +
                 std::to_string(m) + " N " + std::to_string(n));
    c.fill_with(poison<T>());
    OnDeviceMatrix<T> device_c(c);
    const DeviceMemory workspace(candidate->workspace_bytes);
    cuda::launch_tsmttsm<T>({op, {T(1), nullptr}, {T(0), nullptr}, view_a, view_b, device_c.view()}, candidate,
                            {nullptr, workspace.bytes()});
    expect_success(cudaDeviceSynchronize());
    device_c.download();
    ASSERT_TRUE(c.guards_hold());
    const double bound = bound_of<T>(candidate, k) + gamma<Wide>(k + 3);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_LE(std::abs(Wide(c(i, j)) - expected(i, j)), bound * scale[static_cast<std::size_t>(i * n + j)])
            << "entry " << i << ", " << j;
        if (same) {
          ASSERT_EQ(c(i, j), std::conj(c(j, i))) << "entry " << i << ", " << j;
        }
      }
    }
  }
}

struct Sides {
  std::int64_t m, n;
};
// Every warp tile serves at least one of these, alone and beside others.
const std::vector<Sides> sides{{1, 1},   {3, 3},   {4, 4},   {8, 8},   {15, 15}, {20, 20},  {32, 32},
                               {40, 40}, {48, 48}, {56, 56}, {64, 64}, {61, 8},  {128, 16}, {16, 1},
                               {96, 96}, {4, 8},   {6, 7},   {290, 1}, {510, 30}};
const Placement tight{Layout::row_major, Layout::row_major, 0, 0};
const Placement padded{Layout::row_major, Layout::column_major, 9, 1};
const Placement columns{Layout::column_major, Layout::row_major, 3, 1};
// The same on multiples of 16 bytes, of 1157 rows and of even widths.
const Placement padded_evenly{Layout::row_major, Layout::column_major, 12, 0};
const Placement columns_evenly{Layout::column_major, Layout::row_major, 3, 0};
// And each column elsewhere in its 16 bytes; or all at lines of memory.
const Placement columns_oddly{Layout::column_major, Layout::row_major, 4, 1};
const Placement columns_in_lines{Layout::column_major, Layout::row_major, 27, 0};

TEST_F(CudaCandidates, OfTsmttsm) {
  for (const Sides& s : sides) {
    expect_all_tsmttsm<double>(1157, s.m, s.n, tight, false);
    expect_all_tsmttsm<float>(1157, s.m, s.n, tight, false);
    if (s.m == s.n) expect_all_tsmttsm<double>(1157, s.m, s.n, tight, true);
    if (HasFatalFailure()) return;
  }
  for (const Sides& s : {Sides{24, 28}, Sides{40, 33}, Sides{33, 50}, Sides{48, 48}, Sides{64, 64}, Sides{61, 57}}) {
    expect_all_tsmttsm<std::complex<double>>(1157, s.m, s.n, tight, false);
    expect_all_tsmttsm<std::complex<float>>(1157, s.m, s.n, tight, false);
    if (HasFatalFailure()) return;
  }
  for (const Placement& place : {padded, columns, padded_evenly, columns_evenly}) {
    for (const Sides& s : {Sides{1, 2}, Sides{8, 8}, Sides{33, 33}, Sides{64, 8}}) {
      expect_all_tsmttsm<double>(1157, s.m, s.n, place, false);
      if (s.m == s.n) expect_all_tsmttsm<double>(1157, s.m, s.n, place, true);
      if (HasFatalFailure()) return;
    }
    expect_all_tsmttsm<float>(1157, 18, 34, place, false);
    expect_all_tsmttsm<std::complex<float>>(1157, 18, 3, place, false);
    expect_all_tsmttsm<std::complex<float>>(1157, 32, 32, place, false);
    expect_all_tsmttsm<std::complex<float>>(1157, 61, 57, place, false);
    expect_all_tsmttsm<std::complex<double>>(1157, 3, 18, place, false);
    Placement odd = place;  // entries begin within 16 bytes
    odd.shift = 1;
    expect_all_tsmttsm<std::complex<double>>(1157, 33, 17, odd, false);
  }
}

TEST_F(CudaCandidates, OfTsmttsmOfColumns) {
  for (const Placement& place : {columns, columns_evenly, columns_oddly, columns_in_lines}) {
    for (const Sides& s : {Sides{3, 3}, Sides{18, 34}, Sides{49, 64}, Sides{61, 57}}) {
      expect_all_tsmttsm<float>(1157, s.m, s.n, place, false);
      if (HasFatalFailure()) return;
    }
    for (const Sides& s : {Sides{2, 2}, Sides{18, 18}, Sides{21, 21}, Sides{30, 29}, Sides{64, 35}}) {
      expect_all_tsmttsm<std::complex<float>>(1157, s.m, s.n, place, false);
      if (HasFatalFailure()) return;
    }
    expect_all_tsmttsm<double>(1157, 3, 3, place, false);
    expect_all_tsmttsm<double>(1157, 20, 33, place, false);
    expect_all_tsmttsm<float>(1157, 40, 40, place, true);
    expect_all_tsmttsm<double>(1157, 100, 70, place, false);
    expect_all_tsmttsm<double>(1157, 100, 100, place, true);
  }
}

// Tiles of few columns, each for one width.
TEST_F(CudaCandidates, OfNarrowGramMatrices) {
  for (const Placement& place : {columns, columns_evenly, columns_oddly, columns_in_lines, tight, padded}) {
    for (std::int64_t width = 2; width <= 12; ++width) {
      expect_all_tsmttsm<float>(1157, width, width, place, true);
      if (width <= 4) expect_all_tsmttsm<double>(1157, width, width, place, true);
      if (width <= 6) expect_all_tsmttsm<std::complex<float>>(1157, width, width, place, true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(CudaCandidates, OfGramMatrices) {
  for (const Placement& place : {tight, padded, columns, columns_evenly, columns_oddly}) {
    for (const std::int64_t width : {5, 17, 33, 50, 57, 66, 80, 101, 125}) {
      expect_all_tsmttsm<float>(1157, width, width, place, true);
      if (HasFatalFailure()) return;
    }
    for (const std::int64_t width : {9, 28, 33, 57}) {
      expect_all_tsmttsm<std::complex<float>>(1157, width, width, place, true);
      expect_all_tsmttsm<std::complex<double>>(1157, width, width, place, true);
      if (HasFatalFailure()) return;
    }
  }
}

// Blocks of whole warpgroups take sections of A's columns, the last ones with few or none for some warps.
TEST_F(CudaCandidates, OfTsmttsmOfManyColumns) {
  for (const Placement& place : {tight, padded, padded_evenly, columns, columns_evenly, columns_in_lines}) {
    for (const Sides& s : {Sides{130, 31}, Sides{201, 28}, Sides{256, 32}, Sides{100, 61}}) {
      expect_all_tsmttsm<float>(1157, s.m, s.n, place, false);
      if (HasFatalFailure()) return;
    }
    for (const Sides& s : {Sides{65, 24}, Sides{100, 31}, Sides{128, 32}, Sides{143, 19}}) {
      expect_all_tsmttsm<std::complex<float>>(1157, s.m, s.n, place, false);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(CudaCandidates, OfWideGramMatrices) {
  for (const Placement& place : {tight, padded, columns, columns_evenly}) {
    expect_all_tsmttsm<double>(301, 290, 290, place, true);
    expect_all_tsmttsm<float>(301, 290, 290, place, true);
  }
}

TEST_F(CudaCandidates, OfTsmm) {
  for (const Sides& s : sides) {
    expect_every_tsmm<double>(1157, s.m, s.n, tight, 1, 0.0, dispatch::Search::all);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaCandidates, OfUpdates) {
  for (const Sides& s : sides) {
    expect_every_tsmm<double>(1157, s.m, s.n, tight, 1, 0.5, dispatch::Search::all);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaCandidates, OfTsmmInSinglePrecision) {
  for (const Sides& s : sides) {
    expect_every_tsmm<float>(1157, s.m, s.n, tight, 1, 0.0F, dispatch::Search::all);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaCandidates, OfComplexTsmm) {
  for (const Sides& s : {Sides{24, 28}, Sides{40, 40}, Sides{33, 50}, Sides{64, 64}, Sides{61, 57}, Sides{128, 8}}) {
    expect_every_tsmm<std::complex<double>>(1157, s.m, s.n, tight, 1, {0.5, -0.25}, dispatch::Search::all);
    expect_every_tsmm<std::complex<float>>(1157, s.m, s.n, tight, 1, {0.5F, -0.25F}, dispatch::Search::all);
    expect_every_tsmm<std::complex<float>>(1157, s.m, s.n, tight, 1, 0, dispatch::Search::all);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaCandidates, OfTsmmOfViews) {
  for (const Placement& place : {padded, columns}) {
    for (const Sides& s : {Sides{8, 8}, Sides{16, 1}, Sides{31, 1}, Sides{33, 33}, Sides{64, 8}}) {
      expect_every_tsmm<double>(1157, s.m, s.n, place, 1, 0.5, dispatch::Search::all);
    }
  }
  for (const Placement& place : {columns, columns_evenly}) {
    for (const Sides& s : {Sides{24, 24}, Sides{130, 9}, Sides{60, 64}}) {
      expect_every_tsmm<double>(1157, s.m, s.n, place, 1, 0.0, dispatch::Search::all);
      expect_every_tsmm<float>(1157, s.m, s.n, place, 1, 0.5F, dispatch::Search::all);
      if (HasFatalFailure()) return;
    }
    expect_every_tsmm<std::complex<double>>(1157, 20, 33, place, 1, {0.5, -0.25}, dispatch::Search::all);
    expect_every_tsmm<std::complex<float>>(1157, 20, 33, place, 1, {0.5F, -0.25F}, dispatch::Search::all);
  }
}

// Of many columns of A and few of B, and of narrow views.
TEST_F(CudaCandidates, OfFewColumnsInSinglePrecision) {
  struct Case {
    std::int64_t m, n, pad;
  };
  for (const Case& x : {Case{64, 8, 0}, Case{128, 5, 0}, Case{128, 16, 64}, Case{301, 8, 3}, Case{512, 3, 0},
                        Case{16, 8, 48}, Case{12, 5, 4}, Case{8, 1, 56}, Case{32, 8, 32}}) {
    const Placement place{Layout::row_major, Layout::row_major, x.pad, 0};
    for (const float beta : {0.0F, 0.5F}) {
      expect_every_tsmm<float>(677, x.m, x.n, place, 1, beta, dispatch::Search::all);
      expect_every_tsmm<std::complex<float>>(677, x.m, x.n, place, 1, {beta, -beta / 2}, dispatch::Search::all);
      if (HasFatalFailure()) return;
    }
  }
}

// C stays in registers or in the blocks, or comes along panel by panel.
TEST_F(CudaCandidates, OfComplexTsmmOfManyColumns) {
  for (const Placement& place : {tight, padded, padded_evenly, columns, columns_evenly}) {
    for (const Sides& s : {Sides{31, 31}, Sides{64, 32}, Sides{300, 30}}) {
      expect_every_tsmm<std::complex<double>>(1157, s.m, s.n, place, 1, {0.5, -0.25}, dispatch::Search::all);
      expect_every_tsmm<std::complex<float>>(1157, s.m, s.n, place, 1, {0.5F, -0.25F}, dispatch::Search::all);
      expect_every_tsmm<std::complex<float>>(1157, s.m, s.n, place, 1, 0, dispatch::Search::all);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(CudaCandidates, OfUpdatesInSinglePrecision) {
  for (const Placement& place : {tight, padded, padded_evenly}) {
    for (const Sides& s : {Sides{64, 32}, Sides{61, 33}, Sides{300, 100}}) {
      expect_every_tsmm<float>(1157, s.m, s.n, place, 1, 1.0F, dispatch::Search::all);
      expect_every_tsmm<float>(1157, s.m, s.n, place, 1, 0.5F, dispatch::Search::all);
      if (HasFatalFailure()) return;
    }
  }
}

// C stays in the blocks, or comes along panel by panel; chunks end within a pair of rows, or not.
TEST_F(CudaCandidates, OfTsmmOfManyColumns) {
  for (const Sides& s : {Sides{64, 8}, Sides{200, 16}, Sides{130, 30}, Sides{515, 30}}) {
    expect_every_tsmm<double>(1157, s.m, s.n, columns_evenly, 1, 0.5, dispatch::Search::all);
    expect_every_tsmm<double>(2052, s.m, s.n, {Layout::column_major, Layout::row_major, 8, 2}, 2, 0.0,
                              dispatch::Search::all);
    for (const float beta : {0.0F, 0.5F}) {
      expect_every_tsmm<float>(1157, s.m, s.n, columns_evenly, 1, beta, dispatch::Search::all);
      expect_every_tsmm<std::complex<float>>(1157, s.m, s.n, columns_evenly, 1, beta, dispatch::Search::all);
    }
    if (HasFatalFailure()) return;
  }
}

// Such as come in boxes: rows begin at multiples of 16 bytes.
TEST_F(CudaCandidates, OfTsmmOfAlignedViews) {
  struct Case {
    std::int64_t m, n, pad;
  };
  for (const Case& x :
       {Case{8, 8, 56}, Case{24, 4, 40}, Case{7, 7, 9}, Case{33, 33, 31}, Case{96, 70, 32}, Case{8, 6, 8}}) {
    const Placement place{Layout::row_major, Layout::row_major, x.pad, 0};
    expect_every_tsmm<double>(677, x.m, x.n, place, 1, 0.5, dispatch::Search::all);
    expect_every_tsmm<double>(677, x.m, x.n, place, 1, 0.0);
    expect_every_tsmm<double>(677, x.m, x.n, {place.layout, Layout::column_major, x.pad, 2}, 2, 0.0,
                              dispatch::Search::all);
    expect_every_tsmm<float>(677, x.m, x.n, {place.layout, place.small_layout, 4 - x.m % 4 + x.pad / 4 * 4, 0}, 1,
                             0.5F);
    expect_every_tsmm<std::complex<double>>(677, x.m, x.n, place, 1, {0.5, -0.25});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace blockvec::kernels
