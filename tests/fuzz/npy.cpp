// The reader of NumPy's files on any bytes: it takes them or says what is wrong.
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/npy.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/input_file.hpp"

namespace blockvec::solvers {
namespace {

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(Complex<double> value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

/// What is taken is a matrix: columns ascend within it, values are finite.
template <class Scalar>
void check(const LocalMatrix<Scalar>& matrix) {
  RowEntries<Scalar> entries;
  for (std::int64_t row = 0; row < matrix.source->size(); ++row) {
    entries.clear();
    matrix.source->append_row(row, entries);
    std::int64_t before = -1;
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      const std::int64_t column = entries.columns[i];
      if (column <= before || column >= matrix.source->size() || !is_finite(entries.values[i])) std::abort();
      before = column;
    }
  }
}

void read(const std::string& path) {
  try {
    std::visit([](const auto& matrix) { check(matrix); }, read_npy(path, Communicator::self()));
  } catch (const InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
}

}  // namespace
}  // namespace blockvec::solvers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static blockvec::fuzz::InputFile file;
  blockvec::solvers::read(file.hold(data, size));
  return 0;
}
