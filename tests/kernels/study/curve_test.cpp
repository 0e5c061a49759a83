#include "src/cuda/study/curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

/// The orders in which blocks of the study's single-precision product take tiles.
namespace blockvec::kernels::cuda::study {
namespace {

std::vector<Place> all_places(Order order, int rows, int columns) {
  std::vector<Place> places;
  for (int index = 0; index < rows * columns; ++index) places.push_back(place_of(order, rows, columns, index));
  return places;
}

TEST(StudyCurve, EveryOrderTakesEveryTileOnce) {
  for (const Order order : {Order::hilbert, Order::rows, Order::columns}) {
    for (int rows = 1; rows <= 20; ++rows) {
      for (int columns = 1; columns <= 20; ++columns) {
        std::set<std::pair<int, int>> seen;
        for (const Place& place : all_places(order, rows, columns)) {
          ASSERT_TRUE(place.i >= 0 && place.i < rows && place.j >= 0 && place.j < columns) << rows << " x " << columns;
          ASSERT_TRUE(seen.emplace(place.i, place.j).second) << rows << " x " << columns;
        }
      }
    }
  }
}

TEST(StudyCurve, StepsOfTheHilbertCurveGoToNeighbours) {
  for (int rows = 1; rows <= 40; ++rows) {
    for (int columns = 1; columns <= 40; ++columns) {
      const std::vector<Place> places = all_places(Order::hilbert, rows, columns);
      int diagonal = 0;
      for (std::size_t i = 1; i < places.size(); ++i) {
        const int down = std::abs(places[i].i - places[i - 1].i), right = std::abs(places[i].j - places[i - 1].j);
        ASSERT_TRUE(down <= 1 && right <= 1) << rows << " x " << columns;
        if (down + right == 2) ++diagonal;
      }
      ASSERT_LE(diagonal, 1) << rows << " x " << columns;
    }
  }
}

// 64 blocks that run together shall need few rows and columns of tiles: of a square, 8 of each.
TEST(StudyCurve, NeighboursInTimeShareRowsAndColumns) {
  const auto most_lines = [](Order order) {
    const std::vector<Place> places = all_places(order, 64, 64);
    std::size_t most = 0;
    for (std::size_t first = 0; first + 64 <= places.size(); first += 64) {
      std::set<int> rows, columns;
      for (std::size_t i = first; i < first + 64; ++i) {
        rows.insert(places[i].i);
        columns.insert(places[i].j);
      }
      most = std::max(most, rows.size() + columns.size());
    }
    return most;
  };
  EXPECT_EQ(most_lines(Order::hilbert), 16U);
  EXPECT_EQ(most_lines(Order::rows), 65U);
  EXPECT_EQ(most_lines(Order::columns), 65U);
}

}  // namespace
}  // namespace blockvec::kernels::cuda::study
