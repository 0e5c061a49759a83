#include "src/dispatch/cuda/dense_candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

/// Configurations of dense products that are measured beside the model's: legal ones, each once, and all that there
/// are.
namespace blockvec::kernels::dispatch {
namespace {

const CudaDevice device{132, 232448, true, "H100"};
const std::int64_t sizes[] = {1, 40, 300, 5000, 40960};

std::int64_t units_of(const GemmConfiguration& c) { return c.tiles * c.steps; }
std::int64_t units_of(const HemmConfiguration& c) { return c.units.count(); }
int exchange_bytes(const GemmConfiguration&) { return 0; }
int exchange_bytes(const HemmConfiguration& c) { return c.exchanges * c.exchange_bytes; }
auto parameters(const GemmConfiguration& c) { return std::tuple{c.column_tiles, c.blocks, c.stages, 0}; }
auto parameters(const HemmConfiguration& c) { return std::tuple{c.column_tiles, c.blocks, c.stages, c.exchanges}; }

/// What the kernels rely on, beside the model's choice with the same kernel.
template <class Configuration>
void expect_legal(const Configuration& c, const Configuration& model) {
  EXPECT_EQ(c.column_tiles, model.column_tiles);
  EXPECT_GE(c.blocks, 1);
  EXPECT_LE(c.blocks, units_of(c));
  EXPECT_GE(c.stages, std::min(2, model.stages));
  EXPECT_LE(c.stages, model.stages);
  EXPECT_LE(c.stages * c.stage_bytes + exchange_bytes(c), model.stages * model.stage_bytes + exchange_bytes(model));
}

template <class Configuration, class Configure>
void expect_candidates(const std::vector<Configuration>& found, int columns, int most, Configure&& configure) {
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(parameters(found.front()), parameters(configure(columns)));
  std::set<decltype(parameters(found.front()))> all;
  std::set<int> widths;
  for (const Configuration& c : found) {
    EXPECT_TRUE(all.insert(parameters(c)).second) << "twice";
    EXPECT_GE(c.columns(), columns);
    expect_legal(c, configure(std::min(c.columns(), most)));
    widths.insert(c.columns());
  }
  // Every kernel that is wide enough, and with each of them fewer stages.
  for (int width = columns; width <= most; ++width) {
    const Configuration model = configure(width);
    EXPECT_TRUE(widths.count(model.columns())) << width;
    for (int stages = 2; stages <= model.stages; ++stages) {
      Configuration fewer = model;
      fewer.stages = stages;
      EXPECT_TRUE(all.count(parameters(fewer))) << width << " columns, " << stages << " stages";
    }
  }
}

TEST(DenseCandidates, OfGemmAreLegal) {
  for (const std::int64_t n : sizes) {
    for (const int real_bytes : {4, 8}) {
      for (const bool by_rows : {true, false}) {
        for (const int columns : {1, 8, 9, 17, 33, 50, 64}) {
          SCOPED_TRACE(testing::Message() << "n " << n << " bytes " << real_bytes << " columns " << columns);
          const DenseLines lines{n, n, real_bytes};
          const auto configure = [&](int width) { return configure_gemm(device, lines, by_rows, width); };
          const auto found = gemm_candidates(device, lines, by_rows, columns);
          expect_candidates(found, columns, gemm_columns, configure);
          EXPECT_EQ(found.front(), configure(columns));
        }
      }
    }
  }
}

TEST(DenseCandidates, OfHemmAreLegal) {
  for (const std::int64_t n : sizes) {
    for (const int real_bytes : {4, 8}) {
      for (const int parts : {1, 2}) {
        for (const int columns : {parts, 8, 10, 16}) {
          SCOPED_TRACE(testing::Message() << "n " << n << " bytes " << real_bytes << " columns " << columns);
          const DenseLines lines{n, parts * n, real_bytes};
          const auto configure = [&](int width) { return configure_hemm(device, lines, parts, true, width); };
          const auto found = hemm_candidates(device, lines, parts, true, columns);
          expect_candidates(found, columns, hemm_columns, configure);
          std::set<int> exchanges;
          for (const HemmConfiguration& c : found) {
            exchanges.insert(c.exchanges);
          }
          EXPECT_EQ(exchanges.size(), static_cast<std::size_t>(hemm_exchanges));
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::dispatch
