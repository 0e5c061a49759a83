#include "src/dispatch/cuda/configuration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"
#include "src/tuning/rows.hpp"

/// Configurations of the CUDA kernels, their model and their tables: none of it needs a device.
namespace blockvec::kernels::dispatch {
namespace {

// With bulk copies and much shared memory; without; and with few multiprocessors.
const std::vector<CudaDevice> devices{{132, 232448, true, "NVIDIA H200", 90, 1.9e9, 4.6e12, 4.2e12, true},
                                      {108, 166912, false, "another one", 80, 1.4e9, 1.4e12, 1.3e12},
                                      {2, 232448, true, "a small one", 90}};

const std::vector<std::int64_t> widths{1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 96, 127, 128, 512};
const std::vector<std::int64_t> lengths{1, 15, 16, 1000, 100000, 5000000, (std::int64_t{1} << 31) + 3};

template <class Visit>
void for_each_tsmttsm(const std::vector<std::int64_t>& ks, Visit&& visit) {
  for (const CudaDevice& device : devices) {
    for (const std::int64_t k : ks) {
      for (const std::int64_t m : widths) {
        for (const std::int64_t n : {m, std::int64_t{1}, std::int64_t{32}}) {
          for (const int bytes : {4, 8}) {
            for (const bool rows : {true, false}) {
              for (const std::int64_t pad : {0, 1, 100}) {
                const CudaTsmttsmProblem p{k, m, n, m + pad, n + pad, bytes, rows, false};
                visit(device, p);
                if (pad == 0 && m % 2 == 0 && n % 2 == 0) {
                  CudaTsmttsmProblem complex = p;
                  complex.parts = 2;
                  complex.aligned = true;
                  visit(device, complex);
                }
                if (m != n) continue;
                CudaTsmttsmProblem gram = p;
                gram.same = true;
                visit(device, gram);
              }
            }
          }
        }
      }
    }
  }
}

template <class Visit>
void for_each_tsmm(const std::vector<std::int64_t>& ks, Visit&& visit) {
  for (const CudaDevice& device : devices) {
    for (const std::int64_t k : ks) {
      for (const std::int64_t m : widths) {
        for (const std::int64_t n : {m, std::int64_t{1}, std::int64_t{32}}) {
          for (const int bytes : {4, 8}) {
            for (const bool rows : {true, false}) {
              for (const bool adds : {true, false}) {
                visit(device, CudaTsmmProblem{k, m, n, m, n, bytes, rows, false, adds});
                if (m % 2 == 0 && n % 2 == 0) {
                  visit(device, CudaTsmmProblem{k, m, n, m, n, bytes, rows, false, adds, 2, true, false, true});
                }
                if (n <= m && !adds) visit(device, CudaTsmmProblem{k, m, n, m, m, bytes, rows, true, false});
              }
            }
          }
        }
      }
    }
  }
}

std::string name(const CudaTsmttsmProblem& p) {
  return "K " + std::to_string(p.k) + " M " + std::to_string(p.m) + " N " + std::to_string(p.n) + " pitch " +
         std::to_string(p.pitch_a) + (p.row_major ? " rows " : " columns ") + std::to_string(p.real_bytes);
}
std::string name(const CudaTsmmProblem& p) {
  return "K " + std::to_string(p.k) + " M " + std::to_string(p.m) + " N " + std::to_string(p.n) +
         (p.row_major ? " rows " : " columns ") + std::to_string(p.real_bytes);
}

// The configuration of a kernel through whose stages chunks go, or null.
const RingTsmttsm* ring_of(const CudaTsmttsm& c) { return std::get_if<RingTsmttsm>(&c.of_kernel); }
const RowRing* ring_of(const CudaTsmm& c) { return std::get_if<RowRing>(&c.of_kernel); }

// Chunks of which each begins at the same place of a line as the others.
bool has_whole_lines(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const int parts = c.warpgroup_3m() ? 2 : 1;  // rows of complex numbers are even
  return parts * c.rows % least_rows(p.real_bytes) == 0;
}
bool has_whole_lines(const CudaTsmmProblem& p, const RowRing& c) {
  return c.rows * p.pitch_a * p.real_bytes % line_bytes == 0;
}

int warps_of(const RingTsmttsm& c) { return c.warps_m * c.warps_n; }
int warps_of(const RowRing& c) { return c.warps; }

int most_warps(const RingTsmttsm& c) { return ring_warps(c); }
int most_warps(const RowRing& c) {
  return c.policy == Policy::tf32 ? split_warps({c.tile_n, c.blocks_n}) : computing_warps;
}

// Sets of warps that take whole stages in turn; warpgroups share long ones.
int in_turn(const RingTsmttsm& c) {
  return c.whole_warpgroups() && !c.warpgroup_3m() && c.rows >= 64 ? 1 : c.groups / c.split;
}
int in_turn(const RowRing& c) { return c.groups; }

// Thread blocks, or partial sums, of which each has at least one thread block.
std::int64_t blocks_of(const CudaTsmttsm& c) { return c->partials; }
std::int64_t blocks_of(const CudaTsmm& c) { return c->blocks; }

bool comes_in_boxes(const CudaTsmttsm& c) { return ring_of(c) != nullptr && ring_of(c)->feeds != flat_both; }
bool comes_in_boxes(const CudaTsmm& c) {
  return std::visit([](const auto& x) { return std::derived_from<std::decay_t<decltype(x)>, Strided>; }, c.of_kernel) &&
         c->policy != Policy::plain;
}

template <class Problem, class Configuration>
void expect_legal(const CudaDevice& device, const Problem& p, const Configuration& c, std::size_t workspace) {
  const auto* const ring = ring_of(c);
  EXPECT_LE(c->shared_bytes + (ring != nullptr ? static_bytes : 0), device.shared_bytes);
  EXPECT_LE(c->workspace_bytes, workspace);
  EXPECT_GE(blocks_of(c), 1);
  EXPECT_TRUE(device.bulk_copies || !comes_in_boxes(c)) << words(c);
  EXPECT_TRUE(is_compiled(p, c)) << words(c);
  if (ring == nullptr) return;
  EXPECT_LE(warps_of(*ring) * ring->groups, most_warps(*ring));
  EXPECT_EQ(ring->stages % in_turn(*ring), 0);
  EXPECT_GE(ring->stages, 1);
  EXPECT_LE(ring->stages, max_stages);
  EXPECT_TRUE(has_whole_lines(p, *ring)) << words(c);
}

TEST(CudaConfiguration, EveryCandidateOfTsmttsmIsLegal) {
  for_each_tsmttsm({16, 100000, lengths.back()}, [](const CudaDevice& device, const CudaTsmttsmProblem& p) {
    SCOPED_TRACE(name(p));
    const std::size_t workspace = cuda_tsmttsm_workspace(device, p.k, p.m, p.n);
    const auto found = candidates(device, p, Search::all);
    ASSERT_FALSE(found.empty());
    for (const CudaTsmttsm& c : found) expect_legal(device, p, c, workspace);
  });
}

TEST(CudaConfiguration, EveryCandidateOfTsmmIsLegal) {
  for_each_tsmm({16, 100000, lengths.back()}, [](const CudaDevice& device, const CudaTsmmProblem& p) {
    SCOPED_TRACE(name(p));
    const std::size_t workspace = cuda_tsmm_workspace(device, p.k, p.m, p.n, p.real_bytes);
    const auto found = candidates(device, p, Search::all);
    const CudaTsmm chosen = choose(device, p).configuration;
    EXPECT_NE(chosen->kernel, CudaKernel::none);
    EXPECT_LE(chosen->workspace_bytes, workspace);
    ASSERT_TRUE(!found.empty() || (p.in_place && chosen.part_rows > 0));
    for (const CudaTsmm& c : found) expect_legal(device, p, c, workspace);
  });
}

// The workspace has no slab then, whatever the stride and the alignment.
TEST(CudaConfiguration, ManyColumnsAreMultipliedInPlace) {
  for (const std::int64_t n : {130, 200, 256, 258, 514, 1000, 1500, 2048}) {
    for (const std::int64_t k : {4, 129, 1000003}) {
      for (const auto& [parts, real_bytes] : {std::pair{1, 4}, {1, 8}, {2, 4}, {2, 8}}) {
        for (const std::int64_t pad : {0, 1, 2, 3}) {
          for (const int bits : {0, 1, 2, 3}) {
            const bool rows = bits % 2 == 0;
            const std::int64_t pitch = rows ? n + parts * pad : parts * (k + pad);
            CudaTsmmProblem p{k, n, n, pitch, pitch, real_bytes, rows, true, false, parts, bits / 2 == 0, false, true};
            const CudaTsmm chosen = choose(devices[0], p).configuration;
            EXPECT_TRUE(chosen->kernel != CudaKernel::none && !chosen.in_parts()) << name(p) << ": " << words(chosen);
            if (const auto* const wide = std::get_if<Wide>(&chosen.of_kernel)) {
              EXPECT_TRUE(wide->in_cluster == (wide->sections > 1) && wide->blocks % wide->sections == 0) << name(p);
            }
            EXPECT_LE(chosen->workspace_bytes, cuda_tsmm_workspace(devices[0], k, n, n, real_bytes)) << name(p);
          }
        }
      }
    }
  }
}

// No sums of single precision for those who want it plain.
TEST(CudaConfiguration, PlainProductsAreSummedInDoublePrecision) {
  for (std::int64_t width = 1; width <= 64; ++width) {
    for (const int parts : {1, 2}) {
      for (const bool rows : {true, false}) {
        const std::int64_t n = parts * width;
        const std::int64_t pitch = rows ? n : parts * 1000001;
        CudaTsmmProblem p{1000001, n, n, pitch, pitch, 4, rows, false, false, parts, true, false, true};
        p.may_split = false;
        for (const CudaTsmm& c : candidates(devices[0], p, Search::all)) {
          EXPECT_TRUE(c->kernel != CudaKernel::tf32_warpgroup && c->policy != Policy::tf32)
              << name(p) << ": " << words(c);
          const auto* const rows_of = std::get_if<RowRing>(&c.of_kernel);
          const bool in_single =
              c->policy == Policy::fma && (rows_of == nullptr || rows_of->blocks_n > widest_exact_narrow);
          EXPECT_FALSE(in_single) << name(p) << ": " << words(c);
        }
      }
    }
  }
}

// Kernels that read complex columns entry by entry want these at multiples of their size.
TEST(CudaConfiguration, ComplexColumnsMayBeginWithinEntries) {
  for (std::int64_t width = 1; width <= 64; ++width) {
    CudaTsmmProblem p{1000001, 2 * width, 2 * width, 2000002, 2000002, 8, false, false, false, 2};
    for (const CudaTsmm& c : candidates(devices[0], p, Search::all)) {
      EXPECT_NE(c->kernel, CudaKernel::column_ring) << name(p) << ": " << words(c);
      EXPECT_NE(c->kernel, CudaKernel::registers_3m) << name(p) << ": " << words(c);
      EXPECT_NE(c->policy, Policy::three_m) << name(p) << ": " << words(c);
    }
  }
}

TEST(CudaConfiguration, DevicesWithoutBulkCopiesHaveRings) {
  const CudaDevice& device = devices[1];
  ASSERT_FALSE(device.bulk_copies);
  for (std::int64_t width = 1; width <= 64; ++width) {
    const CudaTsmttsmProblem reduces{1000000, width, width, width, width, 8, true, false};
    EXPECT_EQ(choose(device, reduces).configuration->kernel, CudaKernel::ring) << name(reduces);
    const CudaTsmmProblem maps{1000000, width, width, width, width, 8, true, false, false};
    const CudaKind ring{CudaKernel::row_ring, width <= 4 ? Policy::fma : Policy::usual};
    EXPECT_EQ(static_cast<const CudaKind&>(*choose(device, maps).configuration.operator->()), ring) << name(maps);
  }
}

// Blocks for about half of the sections, each of as many products as any other.
TEST(CudaConfiguration, WideGramMatricesAreComputedOnceOverTheDiagonal) {
  const int blocks[] = {2, 5, 8, 13};
  for (int side = 2; side <= 5; ++side) {
    const std::int64_t width = pair_side * side;
    for (const bool rows : {true, false}) {
      const CudaTsmttsmProblem p{1000000, width, width, rows ? width : 1000000, rows ? width : 1000000, 8, rows, true};
      const auto c = std::get<RingTsmttsm>(choose(devices[0], p).configuration.of_kernel);
      EXPECT_TRUE(takes_pairs(c)) << name(p) << ": " << words(c);
      EXPECT_EQ(block_count(c, 1), blocks[side - 2]);
    }
  }
}

TEST(CudaConfiguration, ShortPiecesOfColumnsAtOddPlacesAreStoredAsWholeLines) {
  const auto early = [](std::int64_t k, std::int64_t width, bool in_place) {
    const CudaTsmmProblem p{k, width, width, k, k, 8, false, in_place, false};
    const auto c = std::get<ColumnRing>(choose(devices[0], p).configuration.of_kernel);
    EXPECT_GE(c.blocks, 1);
    return c.early;
  };
  EXPECT_EQ(early(9418787, 57, false), 16);
  EXPECT_EQ(early(9418787, 57, true), 0);
  EXPECT_EQ(early(8659208, 62, false), 0);
  EXPECT_EQ(early(20001, 57, false), 0);
  EXPECT_EQ(early(20000001, 30, false), 0);
}

TEST(CudaConfiguration, ColumnsThatBeginAlikeAreServedAsAligned) {
  for (const std::int64_t width : {16, 33, 64}) {
    CudaTsmttsmProblem p{8388544, width, width, 8388608, 8388608, 8, false, false};
    p.aligned = true;
    const CudaTsmttsm aligned = choose(devices[0], p).configuration;
    p.aligned = false;
    p.aligned_before = true;
    EXPECT_EQ(words(choose(devices[0], p).configuration), words(aligned));
  }
}

TEST(CudaConfiguration, WordsStandForTheWholeConfiguration) {
  const auto expect_same = [](const auto& device, const auto& p) {
    for (const auto& c : candidates(device, p, Search::all)) {
      auto again = c;
      ASSERT_TRUE(read_words(name_of(c->kernel), words(c), again)) << words(c);
      ASSERT_TRUE(complete(device, p, again)) << words(c);
      EXPECT_EQ(words(again), words(c));
      EXPECT_EQ(again->shared_bytes, c->shared_bytes);
      EXPECT_EQ(blocks_of(again), blocks_of(c));
      EXPECT_EQ(again->workspace_bytes, c->workspace_bytes);
    }
  };
  for_each_tsmttsm({100000}, expect_same);
  for_each_tsmm({100000}, expect_same);
}

TEST(CudaConfiguration, WordsThatStandForNothing) {
  CudaTsmttsm c{};
  EXPECT_TRUE(read_words("ring", "tile 2x8", c));
  EXPECT_TRUE(read_words("ring", "tile 2x8 rows 16", c));
  EXPECT_EQ(c->rows, 16);
  for (const char* const bad :
       {"tile 2", "tile 2x", "tile x8", "tile", "rows", "rows x", "rows 16x2", "cows 16", "rows  16"}) {
    EXPECT_FALSE(read_words("ring", bad, c)) << bad;
  }
  EXPECT_FALSE(read_words("thing", "tile 2x8", c));
}

// Bulk copies are fast where both sides begin at the same place of a line, and those of 16 bytes must not meet.
TEST(CudaFeed, ColumnsLieAsTheyDoInMemory) {
  for (const int real_bytes : {4, 8}) {
    for (const int parts : {1, 2}) {
      for (std::int64_t distance = 4096 * parts; distance < 4160 * parts; distance += parts) {
        for (const int rows : {32, 64, 96}) {
          const int lead = distance * real_bytes % 16 == 0 ? 0 : 16 / real_bytes - 1;
          const CudaFeed feed = column_feed({5 * parts, distance, 8, rows, 8, lead, real_bytes}, parts);
          EXPECT_EQ((distance - feed.pitch) * real_bytes % line_bytes, 0) << distance;
          EXPECT_GE(feed.pitch, rows * parts + lead) << distance;
          EXPECT_LT(feed.pitch, rows * parts + lead + line_bytes / real_bytes) << distance;
          EXPECT_GE(feed.stage_bytes, 5 * feed.pitch * real_bytes + line_bytes - real_bytes) << distance;
        }
      }
    }
  }
}

// A warp reads 256 bytes of doubles or 128 of floats; shared memory gives 128 a clock where no two want the same bank.
TEST(Banks, RowsOfTheMapMeetDifferentOnes) {
  for (std::int64_t pitch = 8; pitch < 200; ++pitch) {
    const int doubles = fragment_read_clocks(row_map(pitch), pitch, 8);
    EXPECT_EQ(doubles, pitch % 16 == 0 ? 8 : pitch % 8 == 0 ? 4 : 2) << pitch;
    EXPECT_EQ(doubles, fragment_read_clocks(row_map(pitch), pitch + 32, 8)) << pitch;
    EXPECT_LE(fragment_read_clocks(row_map(pitch), pitch, 4), 4) << pitch;
  }
  EXPECT_EQ(fragment_read_clocks(row_map(32), 32, 4), 4);
  EXPECT_EQ(fragment_read_clocks(row_map(40), 40, 4), 1);
}

// Whatever the shape, a time that grows with K and is no worse than that of the kernel that takes everything.
template <class Problem>
void expect_sensible(const CudaDevice& device, Problem p) {
  SCOPED_TRACE(name(p));
  double before = 0;
  for (const std::int64_t k : lengths) {
    p.k = k;
    const auto choice = choose(device, p);
    ASSERT_GT(choice.prediction.seconds, 0);
    ASSERT_LT(choice.prediction.seconds, 1e6);
    EXPECT_GE(choice.prediction.seconds, 0.6 * before);
    before = choice.prediction.seconds;
    for (const auto& c : candidates(device, p)) {
      EXPECT_TRUE(!choice.row.empty() || cost(choice.prediction) <= cost(predict(device, p, c)));
    }
  }
}

TEST(CudaModel, CoversEveryShape) {
  for_each_tsmttsm({1}, [](const CudaDevice& device, const CudaTsmttsmProblem& p) { expect_sensible(device, p); });
  for_each_tsmm({1}, [](const CudaDevice& device, const CudaTsmmProblem& p) { expect_sensible(device, p); });
}

TEST(CudaModel, HasNoCliffBetweenWidths) {
  const CudaDevice& device = devices.front();
  double before[2] = {};
  for (std::int64_t width = 1; width <= 64; ++width) {
    const CudaTsmttsmProblem p{50000000, width, width, width, width, 8, true, false};
    const CudaTsmmProblem q{50000000, width, width, width, width, 8, true, false, false};
    const double now[2] = {choose(device, p).prediction.seconds, choose(device, q).prediction.seconds};
    for (int i = 0; i < 2; ++i) {
      // At most the step of the bytes, and a quarter for tiles that fit worse.
      const double step = static_cast<double>(width) / static_cast<double>(std::max<std::int64_t>(1, width - 1));
      if (width > 1) {
        EXPECT_LE(now[i], 1.25 * step * before[i]) << width;
        EXPECT_GE(now[i], 0.9 * before[i]) << width;
      }
      before[i] = now[i];
    }
  }
}

// Of tsmttsm in double precision, on multiples of 16 bytes.
CudaKernel kernel_of(const CudaDevice& device, std::int64_t m, std::int64_t n, std::int64_t pitch, bool row_major) {
  const std::int64_t pitch_b = row_major && m != n ? n : pitch;
  return choose(device, CudaTsmttsmProblem{5000000, m, n, pitch, pitch_b, 8, row_major, false, 1, true})
      .configuration->kernel;
}

TEST(CudaModel, LoadsDirectlyWhatRingsServeBadly) {
  const CudaDevice h200 = devices.front();
  EXPECT_EQ(kernel_of(h200, 8, 8, 8, true), CudaKernel::ring);
  EXPECT_EQ(kernel_of(h200, 64, 8, 64, true), CudaKernel::ring);
  EXPECT_EQ(kernel_of(h200, 8, 8, 65, true), CudaKernel::direct);
  EXPECT_EQ(kernel_of(h200, 32, 32, 513, true), CudaKernel::direct);
  EXPECT_EQ(kernel_of(h200, 4, 4, 5000000, false), CudaKernel::direct);
  EXPECT_EQ(kernel_of(h200, 16, 16, 5000000, false), CudaKernel::ring);
  EXPECT_EQ(kernel_of(h200, 512, 8, 5000000, false), CudaKernel::ring);
  // Without bulk copies views do not come in boxes.
  EXPECT_EQ(kernel_of(devices[1], 40, 40, 65, true), CudaKernel::direct);
}

TEST(CudaModel, NamesWhatBinds) {
  const CudaDevice& device = devices.front();
  const CudaTsmttsmProblem narrow{100000000, 8, 8, 8, 8, 8, true, false};
  CudaTsmttsmProblem wide{10000000, 128, 128, 128, 128, 8, true, false};
  EXPECT_EQ(choose(device, narrow).prediction.bound, CudaBound::memory);
  EXPECT_NE(choose(device, wide).prediction.bound, CudaBound::memory);
  wide.k = 10;
  EXPECT_EQ(choose(device, wide).prediction.bound, CudaBound::latency);
}

TEST(CudaTuning, EveryLineIsARow) {
  EXPECT_EQ(tuning::rows().size(), tuning::lines().size());
  for (const tuning::Line& line : tuning::lines()) {
    EXPECT_TRUE(tuning::read_row(line).has_value()) << line.file << ':' << line.number << ": " << line.text;
  }
}

template <class Configuration, class ProblemOf>
void expect_row_serves(const tuning::Row& row, ProblemOf&& problem_of) {
  CudaDevice device{row.multiprocessors, 232448, row.capability >= 90, row.device, row.capability};
  device.warpgroups = row.capability == 90;
  Configuration c{};
  ASSERT_TRUE(read_words(row.kernel, row.configuration, c));
  std::int64_t k = std::max<std::int64_t>(1, std::min<std::int64_t>(2 * row.k.from, row.k.to));
  Configuration legal = c;
  // Some serve only columns that begin anywhere.
  if (!row.row_major && !complete(device, problem_of(k), legal)) ++k;
  const auto p = problem_of(k);
  EXPECT_TRUE(complete(device, p, c)) << name(p);
  EXPECT_FALSE(choose(device, p).row.empty()) << name(p);
}

// Within the shapes that it names, each row's configuration is legal, and a call there finds it or one above.
TEST(CudaTuning, EveryRowServesACall) {
  for (const tuning::Row& row : tuning::rows()) {
    SCOPED_TRACE(row.place);
    const std::int64_t m = row.parts * std::max<std::int64_t>(1, row.m.from);
    const std::int64_t n = row.square ? m : row.parts * std::max<std::int64_t>(1, row.n.from);
    const bool one = row.product == "gram" || row.product == "tsmm_inplace";
    const auto pitch_a = [&](std::int64_t k) {
      return !row.row_major ? row.parts * k : row.tight ? m : std::max(m, row.parts * row.ld.from);
    };
    const auto pitch_b = [&](std::int64_t k) { return one || m == n || !row.row_major ? pitch_a(k) : n; };
    if (row.product == "tsmttsm" || row.product == "gram") {
      expect_row_serves<CudaTsmttsm>(row, [&](std::int64_t k) {
        CudaTsmttsmProblem p{k, m, n, pitch_a(k), pitch_b(k), row.real_bytes, row.row_major, one, row.parts};
        p.aligned = true;
        return p;
      });
    } else {
      expect_row_serves<CudaTsmm>(row, [&](std::int64_t k) {
        CudaTsmmProblem p{
            k, m, n, pitch_a(k), pitch_b(k), row.real_bytes, row.row_major, one, row.product == "update", row.parts};
        p.aligned = p.aligned_output = true;
        return p;
      });
    }
  }
}

// Others with the same numbers do without them.
TEST(CudaTuning, SomeRowsServeOneDeviceAlone) {
  const auto& rows = tuning::rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [](const tuning::Row& r) { return r.is_faster_here; });
  ASSERT_NE(row, rows.end());
  CudaTsmmProblem p{row->k.from,     row->m.from, row->n.from, row->ld.from, row->n.from,
                    row->real_bytes, true,        false,       true,         1};
  p.aligned = p.aligned_output = true;
  CudaTsmm c{};
  const CudaDevice own{row->multiprocessors, 232448, true, row->device, row->capability};
  CudaDevice other = own;
  other.name = "another device";
  EXPECT_EQ(tuning::find(own, p, c), &*row);
  EXPECT_NE(tuning::find(other, p, c), &*row);
}

TEST(CudaTuning, ReadsRows) {
  const char* const good =
      "NVIDIA H200,9.0,132,tsmttsm,D,row,33-40,m,1000000-*,tight,ring,tile 3x5 rows "
      "16,4600,4500,0.002,faster,2026-11-21,abc";
  const auto row = tuning::read_row({"t.csv", 7, good});
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->place, "t.csv:7");
  EXPECT_EQ(row->capability, 90);
  EXPECT_TRUE(row->m.has(40) && !row->m.has(41) && row->square && row->tight);
  EXPECT_TRUE(row->k.has(std::int64_t{1} << 40) && !row->k.has(999999));
  EXPECT_EQ(row->gbps, 4600);
  EXPECT_EQ(row->date, "2026-11-21");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"33-40", "33-"},
                                                                                 {",D,", ",X,"},
                                                                                 {",row,", ",rows,"},
                                                                                 {"132", "many"},
                                                                                 {",4600,", ",fast,"},
                                                                                 {",abc", ""}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(tuning::read_row({"t.csv", 7, bad.c_str()}).has_value()) << bad;
  }
}

}  // namespace
}  // namespace blockvec::kernels::dispatch
