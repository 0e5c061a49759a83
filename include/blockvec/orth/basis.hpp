#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace blockvec::orth {

/// What a block is orthogonalised against: one block vector, or up to four that count as one, side by side, such as
/// {locked, V}. A handle that shares their memory: nothing is copied, and every piece takes part in the same reduction.
/// Coefficients have one row for each column, in the order of the pieces.
template <class Scalar, class Layout, class Space>
class Basis {
 public:
  using Tall = BlockVector<Scalar, Layout, Space>;  ///< the type of its pieces
  static constexpr int most_pieces = 4;             ///< pieces that a basis may have

  /// No columns.
  Basis() = default;
  /// A block vector is a basis.
  Basis(const Tall& v) { add(v); }  // NOLINT(google-explicit-constructor)
  /// Pieces without columns are left out. Throws ShapeError for more than four others.
  Basis(std::initializer_list<Tall> pieces) {
    for (const Tall& piece : pieces) add(piece);
  }

  /// This basis and one more block vector.
  Basis with(const Tall& piece) const {
    Basis larger = *this;
    larger.add(piece);
    return larger;
  }

  /// The number of pieces with columns.
  int pieces() const { return count_; }
  /// One piece.
  const Tall& piece(int i) const { return pieces_[i]; }
  /// All pieces.
  std::span<const Tall> all() const { return {pieces_, static_cast<std::size_t>(count_)}; }
  std::int64_t begin(int i) const { return begin_[i]; }  ///< the first column of a piece
  /// The column after the last one of a piece.
  std::int64_t end(int i) const { return begin_[i + 1]; }
  /// Columns of all pieces together.
  std::int64_t width() const { return begin_[count_]; }

  /// Whether W's columns follow these in one block vector, so that both are one view.
  bool precedes(const Tall& w) const {
    for (int i = 0; i < count_; ++i) {
      if (!pieces_[i].precedes(i + 1 < count_ ? pieces_[i + 1] : w)) return false;
    }
    return count_ > 0;
  }

  /// Both as one view, where these columns precede W's.
  Tall joined(const Tall& w) const {
    Tall whole = w;
    for (int i = count_ - 1; i >= 0; --i) whole = pieces_[i].joined(whole);
    return whole;
  }
  /// body(columns, begin, end) for every piece.
  template <class Body>
  void for_pieces(Body body) const {
    for (int i = 0; i < count_; ++i) body(pieces_[i], begin_[i], begin_[i + 1]);
  }
  /// "V (1000 x 8, ...)", or "(V (...), W (...))".
  std::string describe() const {
    std::string text;
    for_pieces([&](const Tall& v, std::int64_t, std::int64_t) { text += (text.empty() ? "" : ", ") + v.describe(); });
    return count_ == 1 ? text : "(" + text + ")";
  }

 private:
  void add(const Tall& piece) {
    if (piece.width() == 0) return;
    if (count_ == most_pieces) throw ShapeError("orth::Basis: more than four block vectors");
    pieces_[count_] = piece;
    begin_[count_ + 1] = begin_[count_] + piece.width();
    ++count_;
  }

  Tall pieces_[most_pieces];
  std::int64_t begin_[most_pieces + 1] = {};
  int count_ = 0;
};

}  // namespace blockvec::orth
