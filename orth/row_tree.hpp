#pragma once

#include <blockvec/kernels/parallel.hpp>
#include <blockvec/workspace.hpp>

#include "orth/householder.hpp"

namespace blockvec::orth {

/// Householder QR of tall rows on the host by chunks, the R's of one level standing on one another as the rows of the
/// next, up to a level of one chunk; within a chunk, short pieces of rows do the same (householder::Pieces):
///
///     rows     level 1    level 2           Fixed chunks: the same bits for any number of threads. The reflections
///     [ A_0 ]  [ R_0 ]                       stay where the rows were; of the rest, about b / chunk of the rows is
///     [ A_1 ]  [ R_1 ]    [ R ]              scratch memory.
///     [ ... ]  [ ... ]
///
/// Cost: factor and form, each one pass that reads and writes, about 5 rows b^2 flops together (20 for complex).
template <class Scalar>
class RowTree {
 public:
  using Real = RealOf<Scalar>;

  /// Row i, column j at data[i * row_step + j * column_step]. Scratch lives as long as the scope.
  RowTree(WorkspaceScope<>& scope, Scalar* data, std::int64_t rows, std::int64_t b, std::int64_t row_step,
          std::int64_t column_step)
      : threads_(scope.context().threads()), b_(b) {
    const auto take = [&](std::int64_t count) { return scope.take<Scalar>(static_cast<std::size_t>(count)); };
    const std::int64_t chunk_rows =
        std::max<std::int64_t>(4 * b, 65536 / (b * static_cast<std::int64_t>(sizeof(Scalar))));
    Level level{data, rows, row_step, column_step, 0, 0, nullptr};
    for (; levels_ < most_levels; ++levels_) {
      level.chunks = rows > 0 ? std::max<std::int64_t>(1, level.rows / chunk_rows) : 0;
      const std::int64_t longest = level.chunks > 0 ? (level.rows + level.chunks - 1) / level.chunks : 0;
      level.sigmas = householder::Pieces(longest, b).sigmas(b);
      level.sigma = take(std::max<std::int64_t>(level.chunks, 1) * level.sigmas);
      level_[levels_] = level;
      if (level.chunks <= 1) break;
      level = {take(level.chunks * b * b), level.chunks * b, b, 1, 0, 0, nullptr};
    }
    // The longest chunk has less than two chunks' rows.
    buffer_size_ = 2 * chunk_rows * b;
    const std::int64_t threads = std::clamp<std::int64_t>(threads_, 1, std::max<std::int64_t>(level_[0].chunks, 1));
    buffers_ = take(threads * (2 * buffer_size_ + b));
    root_ = take(std::min(rows, b) * b);
  }

  std::int64_t root_rows() const { return std::min(level_[0].rows, b_); }
  /// R after factor(): root_rows() x b, row-major.
  Scalar* root() const { return root_; }

  /// Rows diag(scales) = Q R; the rows give way to reflections.
  void factor(const Real* scales) {
    for (int l = 0; l <= levels_; ++l) {
      const Level& level = level_[l];
      for_chunks(level, [&](std::int64_t chunk, std::int64_t first, std::int64_t n, Scalar* a, Scalar*, Scalar* sums) {
        load(level, first, n, a, l == 0 ? scales : nullptr);
        householder::factor_by_pieces(a, n, b_, level.sigma + chunk * level.sigmas, sums);
        store(level, first, n, a);
        Scalar* const r = l == levels_ ? root_ : level_[l + 1].data + chunk * b_ * b_;
        for (std::int64_t k = 0; k < std::min(n, b_); ++k) householder::copy_upper_row(a, b_, k, r + k * b_);
      });
    }
  }

  /// The rows become Q T for a T of root_rows() x b.
  void form(const Scalar* t) {
    for (int l = levels_; l >= 0; --l) {
      const Level& level = level_[l];
      for_chunks(level,
                 [&](std::int64_t chunk, std::int64_t first, std::int64_t n, Scalar* a, Scalar* c, Scalar* sums) {
                   const Scalar* const top = l == levels_ ? t : level_[l + 1].data + chunk * b_ * b_;
                   std::copy_n(top, std::min(n, b_) * b_, c);
                   std::fill(c + std::min(n, b_) * b_, c + n * b_, Scalar(0));
                   load(level, first, n, a, nullptr);
                   householder::apply_by_pieces(a, n, b_, level.sigma + chunk * level.sigmas, c, sums);
                   store(level, first, n, c);
                 });
    }
  }

 private:
  struct Level {
    Scalar* data;
    std::int64_t rows, row_step, column_step, chunks;
    std::int64_t sigmas;  // of a chunk
    Scalar* sigma;
  };
  static constexpr int most_levels = 31;  // each has at most a quarter of the rows of the one before

  /// body(chunk, its first row, its rows, two buffers for rows, one for a row).
  template <class Body>
  void for_chunks(const Level& level, const Body& body) {
    kernels::parallel_for(threads_, level.chunks, [&](std::int64_t chunk, int thread) {
      const auto begin = [&](std::int64_t i) {
        return level.rows / level.chunks * i + std::min(i, level.rows % level.chunks);
      };
      Scalar* const buffer = buffers_ + thread * (2 * buffer_size_ + b_);
      body(chunk, begin(chunk), begin(chunk + 1) - begin(chunk), buffer, buffer + buffer_size_,
           buffer + 2 * buffer_size_);
    });
  }
  void load(const Level& level, std::int64_t first, std::int64_t n, Scalar* a, const Real* scales) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const Scalar* const row = level.data + (first + i) * level.row_step;
      for (std::int64_t j = 0; j < b_; ++j) {
        a[i * b_ + j] = scales == nullptr ? row[j * level.column_step] : row[j * level.column_step] * scales[j];
      }
    }
  }
  void store(const Level& level, std::int64_t first, std::int64_t n, const Scalar* a) const {
    for (std::int64_t i = 0; i < n; ++i) {
      Scalar* const row = level.data + (first + i) * level.row_step;
      for (std::int64_t j = 0; j < b_; ++j) row[j * level.column_step] = a[i * b_ + j];
    }
  }

  int threads_;
  std::int64_t b_;
  Level level_[most_levels + 1]{};
  int levels_ = 0;  // number of the last one
  Scalar* buffers_ = nullptr;
  std::int64_t buffer_size_ = 0;
  Scalar* root_ = nullptr;
};

}  // namespace blockvec::orth
