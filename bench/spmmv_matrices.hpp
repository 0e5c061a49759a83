#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

/// Matrices that sparse products are measured with, in compressed rows with 32-bit offsets.
namespace bench {

template <class T>
struct Sparse {
  std::int64_t rows = 0;
  std::vector<std::int32_t> row_begin{};
  std::vector<std::int32_t> column{};
  std::vector<T> value{};
};

/// Fills rows in parallel. `row(i, put)` calls put(column, value) for each entry, the same ones whenever it is called.
template <class T, class Row>
Sparse<T> sparse_of(std::int64_t rows, Row&& row) {
  Sparse<T> a{rows};
  a.row_begin.assign(static_cast<std::size_t>(rows) + 1, 0);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < rows; ++i) {
    row(i, [&](std::int64_t, T) { ++a.row_begin[static_cast<std::size_t>(i) + 1]; });
  }
  std::partial_sum(a.row_begin.begin(), a.row_begin.end(), a.row_begin.begin());
  a.column.resize(static_cast<std::size_t>(a.row_begin.back()));
  a.value.resize(a.column.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < rows; ++i) {
    auto at = static_cast<std::size_t>(a.row_begin[static_cast<std::size_t>(i)]);
    row(i, [&](std::int64_t column, T value) {
      a.column[at] = static_cast<std::int32_t>(column);
      a.value[at++] = value;
    });
  }
  return a;
}

/// The Laplacian of an n x n x n grid: 6 on the diagonal, -1 for each neighbour.
inline Sparse<double> laplacian(std::int64_t n) {
  return sparse_of<double>(n * n * n, [n](std::int64_t i, auto put) {
    const std::int64_t x = i % n, y = i / n % n, z = i / n / n;
    if (z > 0) put(i - n * n, -1);
    if (y > 0) put(i - n, -1);
    if (x > 0) put(i - 1, -1);
    put(i, 6);
    if (x < n - 1) put(i + 1, -1);
    if (y < n - 1) put(i + n, -1);
    if (z < n - 1) put(i + n * n, -1);
  });
}

/// The Heisenberg antiferromagnet on a ring of `sites` spins, half of them up, states in increasing order.
inline Sparse<double> heisenberg_ring(int sites) {
  std::vector<std::uint32_t> states;
  std::vector<std::int32_t> rank(std::size_t{1} << sites, -1);
  for (std::uint32_t bits = 0; bits < rank.size(); ++bits) {
    if (2 * std::popcount(bits) != sites) continue;
    rank[bits] = static_cast<std::int32_t>(states.size());
    states.push_back(bits);
  }
  return sparse_of<double>(static_cast<std::int64_t>(states.size()), [&](std::int64_t i, auto put) {
    const std::uint32_t state = states[static_cast<std::size_t>(i)];
    std::vector<std::int32_t> columns;
    double diagonal = 0.25 * sites;
    for (int bit = 0; bit < sites; ++bit) {
      const int next = (bit + 1) % sites;
      if ((state >> bit & 1U) == (state >> next & 1U)) continue;
      diagonal -= 0.5;
      columns.push_back(rank[state ^ (1U << bit) ^ (1U << next)]);
    }
    columns.push_back(static_cast<std::int32_t>(i));
    std::sort(columns.begin(), columns.end());
    for (const std::int32_t column : columns) put(column, column == i ? diagonal : 0.5);
  });
}

/// A periodic sheet of graphene of n x n cells in a field of one flux quantum a row of n hexagons.
inline Sparse<std::complex<double>> graphene(std::int64_t n) {
  return sparse_of<std::complex<double>>(2 * n * n, [n](std::int64_t i, auto put) {
    const std::int64_t cell = i / 2, x = cell % n, y = cell / n;
    const auto site = [n](std::int64_t cx, std::int64_t cy, int s) {
      return 2 * ((cx + n) % n + n * ((cy + n) % n)) + s;
    };
    const double angle = 2 * 3.14159265358979323846 * static_cast<double>(x) / static_cast<double>(n);
    const std::complex<double> hop = -std::polar(1.0, angle);
    if (i % 2 == 0) {
      put(site(x, y, 1), -1.0);
      put(site(x - 1, y, 1), -1.0);
      put(site(x, y - 1, 1), hop);
    } else {
      put(site(x, y, 0), -1.0);
      put(site(x + 1, y, 0), -1.0);
      put(site(x, y + 1, 0), std::conj(hop));
    }
  });
}

/// A real or pattern matrix from a coordinate file of Matrix Market; the other triangle is filled in.
inline Sparse<double> matrix_market(const std::string& path) {
  std::ifstream file(path);
  std::string line, banner, object, format, field, symmetry;
  if (!(file >> banner >> object >> format >> field >> symmetry)) throw std::runtime_error(path + " cannot be read");
  if (format != "coordinate" || field == "complex") throw std::runtime_error(path + " is no real coordinate file");
  std::getline(file, line);
  while (std::getline(file, line) && (line.empty() || line[0] == '%')) continue;
  std::int64_t rows = 0, columns = 0, given = 0;
  std::istringstream(line) >> rows >> columns >> given;
  std::vector<std::tuple<std::int64_t, std::int64_t, double>> entries;
  for (std::int64_t k = 0; k < given; ++k) {
    std::int64_t i = 0, j = 0;
    double value = 1;
    file >> i >> j;
    if (field != "pattern") file >> value;
    if (!file || i < 1 || i > rows || j < 1 || j > rows) throw std::runtime_error(path + ": entry out of range");
    entries.emplace_back(i - 1, j - 1, value);
    if (symmetry != "general" && i != j) entries.emplace_back(j - 1, i - 1, value);
  }
  std::sort(entries.begin(), entries.end());
  std::vector<std::size_t> begin(static_cast<std::size_t>(rows) + 1, 0);
  for (const auto& [i, j, value] : entries) ++begin[static_cast<std::size_t>(i) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return sparse_of<double>(rows, [&](std::int64_t i, auto put) {
    for (std::size_t at = begin[static_cast<std::size_t>(i)]; at < begin[static_cast<std::size_t>(i) + 1]; ++at) {
      put(std::get<1>(entries[at]), std::get<2>(entries[at]));
    }
  });
}

}  // namespace bench
