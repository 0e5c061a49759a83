// The Matrix Market reader on any bytes: it takes them or says what is wrong, on one rank and on several alike.
#include "matrix_market.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace blockvec::examples {
namespace {

/// One of several ranks that all read the same file: what they agree on is known without asking.
class LoneRank final : public CommunicatorBackend {
 public:
  LoneRank(int rank, int size) : rank_(rank), size_(size) {}
  std::string name() const override { return "lone"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return size_; }
  void all_reduce(void*, std::size_t, WireType, Reduction) override {}
  void broadcast(void*, std::size_t, int) override {}
  void exchange(std::span<const Message>, std::span<const Message>) override {}
  void barrier() override {}

 private:
  int rank_, size_;
};

/// A file in memory that holds the input and has a path.
class InputFile {
 public:
  InputFile() : descriptor_(memfd_create("input", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
    if (descriptor_ < 0) std::abort();
  }
  const std::string& hold(const std::uint8_t* data, std::size_t size) {
    if (ftruncate(descriptor_, 0) != 0) std::abort();
    if (pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(Complex<double> value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

/// What is taken is a matrix: its first rows are finite and stay inside of it.
template <class Scalar>
void expect_matrix(const LocalMatrix<Scalar>& matrix) {
  const RowSource<Scalar>& source = *matrix.source;
  if (source.size() != matrix.rows.global_rows()) std::abort();
  constexpr std::int64_t most_rows = 20;
  RowEntries<Scalar> entries;
  for (std::int64_t row = matrix.rows.begin(); row < matrix.rows.end() && row < matrix.rows.begin() + most_rows; ++row)
    source.append_row(row, entries);
  for (const std::int64_t column : entries.columns) {
    if (column < 0 || column >= source.size()) std::abort();
  }
  if (!std::all_of(entries.values.begin(), entries.values.end(), [](Scalar value) { return is_finite(value); }))
    std::abort();
}

bool takes(const std::string& path, const Communicator& communicator) {
  try {
    std::visit([](const auto& matrix) { expect_matrix(matrix); }, read_matrix_market(path, communicator));
    return true;
  } catch (const InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
    return false;
  }
}

}  // namespace
}  // namespace blockvec::examples

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blockvec;
  static examples::InputFile file;
  const std::string& path = file.hold(data, size);
  if (!examples::takes(path, Communicator::self())) return 0;
  // What a gzipped file expands to is read only once: it may be a thousand times as long.
  if (size > 0 && data[0] == 0x1f) return 0;
  constexpr int ranks = 3;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!examples::takes(path, Communicator(std::make_shared<examples::LoneRank>(rank, ranks)))) std::abort();
  }
  return 0;
}
