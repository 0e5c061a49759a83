#include "src/tuning/rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "src/dispatch/cuda/configuration.hpp"

namespace blockvec::kernels::tuning {
namespace {

using namespace dispatch;

constexpr Line all_lines[] = {
#include "tuning_lines.inc"
    {nullptr, 0, nullptr}};

constexpr std::size_t columns = 18;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    cells.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_range(std::string_view text, Range& range) {
  if (text == "*") return true;
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    if (!read_number(text, range.from)) return false;
    range.to = range.from;
    return true;
  }
  const std::string_view last = text.substr(dash + 1);
  return read_number(text.substr(0, dash), range.from) && (last == "*" || read_number(last, range.to));
}

bool is_for(const Row& row, const CudaDevice& device) {
  return row.device == device.name ||
         (!row.is_faster_here && row.capability == device.capability && row.multiprocessors == device.multiprocessors);
}

template <class Problem>
bool covers_shape(const Row& row, const Problem& p) {
  return row.real_bytes == p.real_bytes && row.parts == p.parts && row.row_major == p.row_major &&
         row.m.has(p.m / p.parts) && (row.square ? p.n == p.m : row.n.has(p.n / p.parts)) && row.k.has(p.k);
}

// Rows for views were measured with operands that begin at a multiple of 16 bytes. B was a view only if it was as wide
// as A.
template <class Problem>
bool covers_pitch(const Row& row, const Problem& p, bool one) {
  const bool tight_b = one || p.pitch_b == p.n;
  if (row.tight) return p.pitch_a == p.m && tight_b;
  if (!row.ld.has(p.pitch_a / p.parts)) return false;
  return !row.row_major || (p.aligned && (p.m == p.n ? one || p.pitch_b == p.pitch_a : tight_b));
}

bool covers(const Row& row, const CudaTsmttsmProblem& p) {
  return covers_shape(row, p) && row.product == (p.same ? "gram" : "tsmttsm") && covers_pitch(row, p, p.same);
}

bool covers(const Row& row, const CudaTsmmProblem& p) {
  const char* const product = p.in_place ? "tsmm_inplace" : p.reads_output ? "update" : "tsmm";
  return covers_shape(row, p) && row.product == product && covers_pitch(row, p, p.in_place);
}

template <class Problem, class Configuration>
const Row* find_row(const CudaDevice& device, const Problem& problem, Configuration& configuration) {
  for (const Row& row : rows()) {
    if (!is_for(row, device) || !covers(row, problem)) continue;
    if (read_words(row.kernel, row.configuration, configuration) && complete(device, problem, configuration))
      return &row;
  }
  return nullptr;
}

}  // namespace

std::optional<Row> read_row(const Line& line) {
  const std::vector<std::string> cells = split(line.text);
  if (cells.size() != columns) return std::nullopt;
  Row row;
  row.place = std::string(line.file) + ':' + std::to_string(line.number);
  row.device = cells[0];
  row.product = cells[3];
  const bool complex = cells[4] == "C" || cells[4] == "Z";
  const bool real = cells[4] == "S" || cells[4] == "D";
  row.real_bytes = cells[4] == "D" || cells[4] == "Z" ? 8 : 4;
  row.parts = complex ? 2 : 1;
  row.row_major = cells[5] == "row";
  row.square = cells[7] == "m";
  row.tight = cells[9] == "tight";
  row.kernel = cells[10];
  row.configuration = cells[11];
  row.gbps = std::strtod(cells[12].c_str(), nullptr);
  row.is_faster_here = cells[15] == "faster here";
  row.date = cells[16];
  double capability = 0;
  const bool good = read_number(cells[2], row.multiprocessors) && read_range(cells[6], row.m) &&
                    (row.square || read_range(cells[7], row.n)) && read_range(cells[8], row.k) &&
                    (row.tight || read_range(cells[9], row.ld)) && (real || complex) &&
                    (row.row_major || cells[5] == "column") && row.gbps > 0 && read_number(cells[1], capability);
  if (!good) return std::nullopt;
  row.capability = static_cast<int>(10 * capability + 0.5);
  return row;
}

const std::vector<Line>& lines() {
  static const std::vector<Line> all(std::begin(all_lines), std::end(all_lines) - 1);
  return all;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> read;
    for (const Line& line : lines()) {
      if (const auto row = read_row(line)) read.push_back(*row);
    }
    return read;
  }();
  return all;
}

const Row* find(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration) {
  return find_row(device, problem, configuration);
}

const Row* find(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration) {
  return find_row(device, problem, configuration);
}

}  // namespace blockvec::kernels::tuning
