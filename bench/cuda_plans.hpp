#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What is measured: named lists of cases, the most important ones first.
namespace bench {

struct Case {
  std::string product;  ///< tsmttsm, gram, tsmm, update (beta = 1), tsmm_inplace
  char type;            ///< S, D, C, Z
  bool row_major = true;
  std::int64_t m = 0, n = 0;
  /// Row-major: leading dimension of A, and of B where m = n; 0: without gaps. Column-major: of these, what follows
  /// each column.
  std::int64_t ld = 0;
  std::int64_t offset = 0;  ///< first column of the view, in a matrix of ld columns; column-major: first row

  bool reduces() const { return product == "tsmttsm" || product == "gram"; }
  bool adds() const { return product == "update"; }
  bool in_place() const { return product == "tsmm_inplace"; }
  /// "row", "column", or "row+3" for a view that starts at column 3.
  std::string layout() const;
  /// Of A where it has K rows.
  std::int64_t leading_dimension(std::int64_t k) const;
};

/// The cases of a plan:
///   square     D, both products, every width 1 to 64
///   gram       D: one operand read once, and products in place, every width 1 to 64, and 128, 256, 512
///   rectangle  D: m in 16, 64, 128, 256, 512 by n in 1 to 32; both products, the update with beta = 1, in place
///   views      D: columns of a basis of 64 or 128, by 4, 8 and 16, both products and updates; 4 to 56 of them in place
///   odd        D: leading dimensions 65, 100 and 513, odd first columns, every width to 32
///   column     D, column-major: the rectangles, Gram matrices, updates, in place, gaps between columns
///   wide       squares of 80 to 512 columns, both products: D, and a few of Z, S and C
///   types      Z, S, C: rectangles, Gram matrices, updates, in place, views
///   widths     every width 1 to 64, both products: Z, S and C by rows, all four by columns
///   chosen     a few of everything
///   a single case, such as tsmm:C:column:64:64 or, with a leading dimension, tsmttsm:D:row:16:8:100, or with an
///   offset, too, gram:D:column+1:64:64:63
/// Throws std::runtime_error where the name is none of these.
std::vector<Case> plan(const std::string& name);

}  // namespace bench
