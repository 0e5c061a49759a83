#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/orth/matrices.hpp"

/// Random blocks beside random bases, with everything in them that input can have, and an oracle for their rank.
namespace blockvec::test {

/// What rounding to a denormal number changes, at most.
template <class Scalar>
inline constexpr auto denormal_step = static_cast<long double>(std::numeric_limits<RealOf<Scalar>>::denorm_min());

template <class Scalar>
struct RandomBlock {
  HostColumns<Wide<Scalar>> v;  ///< orthonormal to rounding
  HostColumns<Wide<Scalar>> x;
  std::string text;
};

/// Up to 20 columns of V and 12 of X, 1 to 60 rows. A column of X is new, nearly a mixture of what stands before it
/// (V, and X's columns), such a mixture, the double of one of them, or zero; then columns are scaled: not at all, by up
/// to 10^+-300 (single: 10^+-37), into the range of denormal numbers (one of them, many, or the whole block), or all of
/// that.
template <class Scalar>
class RandomBlocks {
 public:
  using Columns = HostColumns<Wide<Scalar>>;
  explicit RandomBlocks(Generator<Scalar>& generator) : draw_(generator) {}

  RandomBlock<Scalar> operator()() {
    const std::int64_t rows = draw_.integer(1, 60), b = draw_.integer(0, 12);
    const std::int64_t m = draw_.integer(0, std::min<std::int64_t>(20, rows));
    const std::int64_t room = std::min(b, rows - m), independent = draw_.chance(0.5) ? room : draw_.integer(0, room);
    const double zero = draw_.chance(0.5) ? 0 : 0.2;
    const Columns directions = draw_.orthonormal(rows, m + independent);
    RandomBlock<Scalar> block;
    block.v = rounded<Scalar>(columns_of(directions, 0, m));
    block.x = Columns(rows, b);
    std::int64_t used = 0;
    for (std::int64_t j = 0; j < b; ++j) {
      const bool brings = used < independent && (b - j <= independent - used || draw_.chance(0.6));
      if (!draw_.chance(zero)) mix(block, j, brings ? 0.3L : 1.0L);
      if (brings) {
        const long double share = draw_.chance(0.7) ? 1 : power(-digits, 0);
        for (std::int64_t i = 0; i < rows; ++i) block.x(i, j) += share * directions(i, m + used);
        ++used;
      } else if (j > 0 && draw_.chance(0.2)) {
        const std::int64_t twin = draw_.integer(0, j - 1);
        for (std::int64_t i = 0; i < rows; ++i) block.x(i, j) = block.x(i, twin);
      }
    }
    block.text = std::to_string(rows) + " rows, m = " + std::to_string(m) + ", b = " + std::to_string(b);
    scale(block);
    block.x = rounded<Scalar>(block.x);
    return block;
  }

 private:
  static constexpr bool single = std::is_same_v<RealOf<Scalar>, float>;
  static constexpr int digits = single ? 8 : 17;
  static constexpr int range = single ? 37 : 300;

  long double power(int low, int high) {
    return std::pow(10.0L, static_cast<long double>(draw_.integer(1000 * low, 1000 * high)) / 1000);
  }

  /// Column j of X <- a mixture of V and the columns before it.
  void mix(RandomBlock<Scalar>& block, std::int64_t j, long double weight) {
    const auto add = [&](const Columns& a, std::int64_t count) {
      for (std::int64_t l = 0; l < count; ++l) {
        const Wide<Scalar> factor = draw_.number() * (weight / std::sqrt(static_cast<long double>(count)));
        for (std::int64_t i = 0; i < a.rows; ++i) block.x(i, j) += factor * a(i, l);
      }
    };
    if (draw_.chance(0.7)) add(block.v, block.v.columns);
    if (draw_.chance(0.9)) add(block.x, j);
  }

  void scale(RandomBlock<Scalar>& block) {
    const bool wild = draw_.chance(0.3);
    const double denormal = draw_.chance(0.7) ? 0 : draw_.chance(0.3) ? 1 : draw_.chance(0.5) ? 0.5 : 0.1;
    const int denormal_digits = static_cast<int>(
        std::log10(std::numeric_limits<RealOf<Scalar>>::min() / std::numeric_limits<RealOf<Scalar>>::denorm_min()));
    bool any = false;
    for (std::int64_t j = 0; j < block.x.columns; ++j) {
      long double factor = wild ? power(-range, range) : 1;
      if (draw_.chance(denormal)) {
        factor = denormal_step<Scalar> * power(-1, denormal_digits);
        any = true;
      }
      for (std::int64_t i = 0; i < block.x.rows; ++i) block.x(i, j) *= factor;
    }
    block.text += std::string(wild ? ", wild scales" : "") + (any ? ", denormal columns" : "");
  }

  Generator<Scalar>& draw_;
};

/// A space that grows by columns, in wide precision.
template <class Scalar>
class Span {
 public:
  using Columns = HostColumns<Wide<Scalar>>;

  /// What share of its length column j of X has beside the space; 0 for a column of zeros.
  double share_of(const Columns& x, std::int64_t j) { return rest(x, j); }
  void add(const Columns& x, std::int64_t j) {
    if (rest(x, j) > 0) kept_.push_back(rest_);
  }

 private:
  double rest(const Columns& x, std::int64_t j) {
    rest_.assign(x.entries.begin() + j * x.rows, x.entries.begin() + (j + 1) * x.rows);
    if (normalize() == 0) return 0;
    long double share = 1;
    for (int pass = 0; pass < 3 && share > 0; ++pass) {
      for (const auto& q : kept_) {
        Wide<Scalar> dot(0);
        for (std::size_t i = 0; i < q.size(); ++i) dot += conjugate(q[i]) * rest_[i];
        for (std::size_t i = 0; i < q.size(); ++i) rest_[i] -= q[i] * dot;
      }
      share *= normalize();
    }
    return static_cast<double>(share);
  }
  /// The length before.
  long double normalize() {
    long double square = 0;
    for (const auto& entry : rest_) square += std::norm(entry);
    const long double length = std::sqrt(square);
    for (auto& entry : rest_) entry = length > 0 ? entry / length : entry;
    return length;
  }

  std::vector<std::vector<Wide<Scalar>>> kept_;
  std::vector<Wide<Scalar>> rest_;
};

/// Whether it was right to call the columns of X[begin, end) that are among `lost` dependent on the space and those
/// before them, and no others: by the tolerance, up to a factor of what rounding may change. With `pivoting`, columns
/// are taken as they are farthest from the space. It grows by those that were kept. Returns what is wrong, or nothing.
template <class Scalar>
std::string judge_lost(Span<Scalar>& span, const HostColumns<Wide<Scalar>>& x, std::int64_t begin, std::int64_t end,
                       const std::vector<std::int64_t>& lost, double tolerance, bool pivoting) {
  constexpr double slack = 8;
  std::string wrong;
  const auto judge = [&](std::int64_t j, bool is_lost) {
    const double share = span.share_of(x, j);
    if (is_lost ? share <= slack * tolerance : share >= tolerance / slack) return;
    char text[120];
    std::snprintf(text, sizeof text, "column %d %s, with %.1e of its length left where %.1e counts as none; ",
                  static_cast<int>(j), is_lost ? "was lost" : "was kept", share, tolerance);
    wrong += text;
  };
  const auto is_lost = [&](std::int64_t j) { return std::find(lost.begin(), lost.end(), j) != lost.end(); };
  std::vector<std::int64_t> order;
  for (std::int64_t j = begin; j < end; ++j) order.push_back(j);
  if (pivoting) std::stable_partition(order.begin(), order.end(), [&](std::int64_t j) { return !is_lost(j); });
  for (auto next = order.begin(); next != order.end(); ++next) {
    if (pivoting && !is_lost(*next)) {
      std::iter_swap(next, std::max_element(next, order.end(), [&](std::int64_t i, std::int64_t j) {
                       if (is_lost(i) != is_lost(j)) return is_lost(i);
                       return span.share_of(x, i) < span.share_of(x, j);
                     }));
    }
    judge(*next, is_lost(*next));
    if (!is_lost(*next)) span.add(x, *next);
  }
  return wrong;
}

}  // namespace blockvec::test
