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
  std::int64_t ld = 0;      ///< of A, and of B where m = n; 0: without gaps
  std::int64_t offset = 0;  ///< first column of the view, in a matrix of ld columns

  bool reduces() const { return product == "tsmttsm" || product == "gram"; }
  bool adds() const { return product == "update"; }
  bool in_place() const { return product == "tsmm_inplace"; }
  /// "row", "column", or "row+3" for a view that starts at column 3.
  std::string layout() const;
};

/// The cases of a plan:
///   square     D, both products, every width 1 to 64
///   gram       D: one operand read once; products in place
///   rectangle  D: m in 16, 64, 128, 256, 512 by n in 1 to 32; both products, and the update with beta = 1
///   views      D: columns of a basis of 64 or 128, by 4, 8 and 16; 4 to 32 of them in place
///   odd        D: leading dimensions 65, 100 and 513, odd first columns, widths to 32
///   column     D, column-major: m in 64, 256, 512 by n in 1, 8, 32
///   widths     every width 1 to 64, both products: Z, S and C by rows, all four by columns
///   chosen     a few of everything
///   a single case, such as tsmm:C:column:64:64 or, with a leading dimension, tsmttsm:D:row:16:8:100
/// Throws std::runtime_error where the name is none of these.
std::vector<Case> plan(const std::string& name);

}  // namespace bench
