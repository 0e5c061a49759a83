#pragma once

#include <blockvec/orth/metric.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <string>

/// What verbs ask of their operands, before anything happens. Text is put together on failure alone: a call that fits
/// allocates nothing.
namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
void require_operands(const char* verb, const Context& context, const Basis<Scalar, Layout, Space>& v,
                      const BlockVector<Scalar, Layout, Space>& w) {
  if (!w.context().same(context)) {
    throw ShapeError(std::string("orth::") + verb + ": W = " + w.describe() +
                     ": expected the orthogonalizer's context");
  }
  const auto fail = [&](const char* expected) {
    throw ShapeError(std::string("orth::") + verb + ": V = " + v.describe() + " and W = " + w.describe() + expected);
  };
  v.for_pieces([&](const auto& piece, std::int64_t, std::int64_t) {
    if (!piece.context().same(context) || !(piece.rows() == w.rows()))
      fail(": expected the same context and distribution of rows");
    if (piece.shares_columns(w)) fail(" share columns of one block vector: expected W apart from V");
  });
}

template <class Scalar, class Layout, class Space>
void require_metric(const char* verb, const Basis<Scalar, Layout, Space>& v,
                    const BlockVector<Scalar, Layout, Space>& w, const Metric<Scalar, Layout, Space>* metric) {
  if (metric == nullptr) return;
  const auto fail = [&](const std::string& what) {
    throw ShapeError(std::string("orth::") + verb + ": the inner product's " + what);
  };
  if (!metric->apply) fail("B is missing");
  const auto& image = metric->image_of_basis;
  if (image.width() > 0) {
    bool fits = image.pieces() == v.pieces();
    for (int i = 0; fits && i < v.pieces(); ++i) {
      fits =
          image.end(i) == v.end(i) && image.piece(i).rows() == w.rows() && image.piece(i).context().same(w.context());
    }
    if (!fits) fail("B V = " + image.describe() + ", expected pieces like those of V = " + v.describe());
  }
  const auto& block = metric->image_of_block;
  if (block.width() > 0 &&
      (block.width() != w.width() || !(block.rows() == w.rows()) || !block.context().same(w.context()))) {
    fail("B W = " + block.describe() + ", expected a block vector like W = " + w.describe());
  }
  bool is_apart = !block.shares_columns(w);
  v.for_pieces([&](const auto& piece, std::int64_t, std::int64_t) { is_apart &= !block.shares_columns(piece); });
  if (!is_apart) fail("B W = " + block.describe() + " shares columns with V or W, expected it apart from them");
}

template <class Small>
void require_coefficients(const char* verb, const char* name, const Small* small, std::int64_t rows,
                          std::int64_t columns) {
  if (small == nullptr || (small->rows() == rows && small->columns() == columns)) return;
  throw ShapeError(std::string("orth::") + verb + ": " + name + " is " + std::to_string(small->rows()) + " x " +
                   std::to_string(small->columns()) + ", expected " + std::to_string(rows) + " x " +
                   std::to_string(columns));
}

}  // namespace blockvec::orth
