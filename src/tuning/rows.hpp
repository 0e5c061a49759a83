#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"

/// Measured configurations: one table per device, a CSV file in this folder. Its columns:
///   device, capability, multiprocessors   a row serves devices with this name, or with these two numbers
///   product                    tsmttsm, gram (B is A), tsmm, update (beta is not 0), tsmm_inplace
///   type, layout               S, D, C or Z; row or column
///   m, n, k                    a number, a range "33-40", or "*"; n may be "m"
///   ld                         of A: "tight" (both operands), a number, a range or "*"; counts scalars, as widths do.
///                              B's ld is A's if m is n, else tight; row-major views begin at multiples of 16 bytes
///   kernel, configuration      in the words of explain_cuda_*; the usual rules set what is left out
///   gbps, model_gbps, noise    GB/s measured with it, and with what calls chose before; relative noise of both
///   verdict, date, commit      faster, same or slower than that choice; faster here: on devices with this name, which
///                              are the only ones that it serves. A row that is slower with newer kernels
///                              stays as a record, in place of the one that said faster. It serves no call: the
///                              generator leaves it out
/// A call takes the first row that covers it and is legal for it.
namespace blockvec::kernels::tuning {

struct Range {
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();

  bool has(std::int64_t x) const { return from <= x && x <= to; }
};

struct Row {
  std::string place;  ///< file:line
  std::string device;
  bool is_faster_here = false;
  int capability = 0;  ///< 90 for 9.0
  int multiprocessors = 0;
  std::string product;
  int real_bytes = 0;
  int parts = 1;  ///< real numbers per scalar: 2 for complex
  bool row_major = true;
  Range m, n, ld, k;
  bool square = false;  ///< n is m
  bool tight = false;
  std::string kernel, configuration;
  double gbps = 0;
  std::string date;
};

/// A line of a table, as it is built into the library.
struct Line {
  const char* file;
  int number;
  const char* text;
};

/// Returns the row that a line stands for, or nothing if it cannot be read.
std::optional<Row> read_row(const Line& line);

/// All lines of all tables, without titles, comments and slower rows; and all rows that can be read.
const std::vector<Line>& lines();
const std::vector<Row>& rows();

/// Returns the first row that covers a call on this device and whose configuration is legal there, or null. Sets
/// `configuration` to the row's configuration, completed.
const Row* find(const dispatch::CudaDevice& device, const dispatch::CudaTsmttsmProblem& problem,
                dispatch::CudaTsmttsm& configuration);
const Row* find(const dispatch::CudaDevice& device, const dispatch::CudaTsmmProblem& problem,
                dispatch::CudaTsmm& configuration);

}  // namespace blockvec::kernels::tuning
