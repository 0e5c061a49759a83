#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"

/// Configurations that were measured: one table per device, a CSV file beside this one. Its columns:
///   device, capability, multiprocessors   a row serves devices of this name, or of these two numbers
///   product                    tsmttsm, gram (B is A), tsmm, update (beta is not 0), tsmm_inplace
///   type, layout               S, D, C or Z; row or column
///   m, n, k                    a number, a range "33-40", or "*"; n may be "m"
///   ld                         of A: "tight" (both operands), a number, a range or "*"; counts scalars, as widths do.
///                              B's is A's where m is n, else tight; row-major views begin at multiples of 16 bytes
///   kernel, configuration      in the words of explain_cuda_*; what is left out follows by rule
///   gbps, model_gbps, noise    measured with it and with what calls chose before; relative noise of both
///   verdict, date, commit      faster, same or slower than that. A row that was measured slower with newer kernels
///                              stays to tell so, in place of the one that said faster: it serves no call, and the
///                              generator leaves it out
/// Of rows that cover a call the first one counts, if it is legal there.
namespace blockvec::kernels::tuning {

struct Range {
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();

  bool has(std::int64_t x) const { return from <= x && x <= to; }
};

struct Row {
  std::string place;  ///< file:line
  std::string device;
  int capability = 0;  ///< 90 for 9.0
  int multiprocessors = 0;
  std::string product;
  int real_bytes = 0;
  int parts = 1;  ///< real numbers of a scalar
  bool row_major = true;
  Range m, n, ld, k;
  bool square = false;  ///< n is m
  bool tight = false;
  std::string kernel, configuration;
  double gbps = 0;
  std::string date;
};

/// A line of a table as it was built into the library.
struct Line {
  const char* file;
  int number;
  const char* text;
};

/// The row that a line stands for; none where it cannot be read.
std::optional<Row> read_row(const Line& line);

/// All lines of all tables, titles, comments and slower rows left out; and all rows that can be read.
const std::vector<Line>& lines();
const std::vector<Row>& rows();

/// The first row that covers a call on this device and whose configuration is legal there; null: none. Its
/// configuration, completed.
const Row* find(const dispatch::CudaDevice& device, const dispatch::CudaTsmttsmProblem& problem,
                dispatch::CudaTsmttsm& configuration);
const Row* find(const dispatch::CudaDevice& device, const dispatch::CudaTsmmProblem& problem,
                dispatch::CudaTsmm& configuration);

}  // namespace blockvec::kernels::tuning
