// The checkpoint reader on any bytes: as they are, and with checksums that are right, so that what lies behind these is
// met as well.
#include <blockvec/solvers/input_error.hpp>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "solvers/checkpoint/checkpoint_file.hpp"
#include "solvers/checkpoint/state_archive.hpp"

namespace blockvec::solvers {
namespace {

/// A state with a member of every kind.
struct State {
  struct Step {
    double value = 0;
    std::vector<std::int64_t> columns;

    template <class Archive>
    void state(Archive& archive) {
      archive(value, columns);
    }
  };
  bool is_ready = false;
  int width = 0;
  std::vector<double> values;
  std::vector<Step> steps;

  template <class Archive>
  void state(Archive& archive) {
    archive(is_ready, width, values, steps);
  }
};

void read_state(std::span<const std::byte> bytes) {
  StateReader<int> reader(bytes);
  State state;
  try {
    state.state(reader);
    reader.require_end();
  } catch (const Error&) {
    return;
  }
  // What is taken is written as it was read; a flag may have been any number.
  StateWriter<int> writer;
  state.state(writer);
  const auto written = writer.bytes();
  if (written.size() != bytes.size() || std::memcmp(written.data() + 1, bytes.data() + 1, bytes.size() - 1) != 0)
    std::abort();
}

bool lies_within(std::span<const std::byte> part, std::span<const std::byte> whole) {
  const std::less_equal<const std::byte*> before;
  return part.empty() ||
         (before(whole.data(), part.data()) && before(part.data() + part.size(), whole.data() + whole.size()));
}

void read(std::span<const std::byte> bytes) {
  CheckpointView view;
  try {
    view = parse_checkpoint(bytes);
  } catch (const InputError&) {
    return;
  }
  for (const auto section : view.sections) {
    if (!lies_within(section, bytes)) std::abort();
    read_state(section);
  }
  const CheckpointHeader here{{"block", "4"}, {"layout", "row-major"}};
  differences(view.header, here);
  if (!differences(here, here).empty()) std::abort();
}

/// Puts the right checksums where the lengths that the bytes state say that they stand.
void mend_checksums(std::span<std::byte> bytes) {
  std::size_t position = 16;  // of what is to be taken next: behind magic, version and byte order
  const auto has = [&](std::uint64_t count) { return count <= bytes.size() - position; };
  const auto take_length = [&] {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + position, sizeof length);
    position += sizeof length;
    return length;
  };
  const auto mend = [&](std::size_t begin) {
    if (!has(sizeof(std::uint32_t))) return;
    const std::uint32_t right = checksum(bytes.subspan(begin, position - begin));
    std::memcpy(bytes.data() + position, &right, sizeof right);
    position += sizeof right;
  };
  if (bytes.size() < position || !has(2 * sizeof(std::uint64_t))) return;
  const std::uint64_t header = take_length();
  const std::uint64_t sections = take_length();
  if (sections > (bytes.size() - position) / sizeof(std::uint64_t)) return;
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < sections; ++i) lengths.push_back(take_length());
  if (!has(header)) return;
  position += static_cast<std::size_t>(header);
  mend(0);
  for (const std::uint64_t length : lengths) {
    if (!has(length)) return;
    const std::size_t begin = position;
    position += static_cast<std::size_t>(length);
    mend(begin);
  }
}

}  // namespace
}  // namespace blockvec::solvers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blockvec::solvers;
  const auto bytes = std::as_bytes(std::span(data, size));
  read(bytes);
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  mend_checksums(mended);
  read(mended);
  return 0;
}
