#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The file that a checkpoint is: bytes, lengths and checksums. What the bytes mean is known to others
/// (search_checkpoint.hpp). In the order of the file, numbers in the byte order of the machine:
///     8 bytes  "BLKLANCZ"
///     4        version of this format
///     4        0x01020304, which shows the byte order
///     8        bytes of the header
///     8        number of sections, and 8 for the bytes of each
///     header   lines "name: value"
///     4        CRC-32 of all that stands before it
///     sections, each followed by 4 bytes, its CRC-32
/// Nothing follows the last one.
namespace blockvec::solvers {

/// Names and values that say which run wrote a checkpoint. Values are single lines.
using CheckpointHeader = std::vector<std::pair<std::string, std::string>>;

/// A checkpoint in memory. The sections are views of the bytes that it was read from.
struct CheckpointView {
  CheckpointHeader header;
  std::vector<std::span<const std::byte>> sections;
};

/// CRC-32 of the bytes, or of those before them and these.
std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// Checks lengths and checksums, then splits. Pure; allocates no more than the bytes are long, apart from a constant
/// factor. Throws InputError that says what is wrong: no checkpoint, another version or byte order, cut off, damaged.
CheckpointView parse_checkpoint(std::span<const std::byte> bytes);

/// What differs between two headers, for people: "tolerance is 1e-08 there and 1e-06 here; ...". Empty: nothing does.
std::string differences(const CheckpointHeader& there, const CheckpointHeader& here);

/// Writes a checkpoint as a draft, FILE.part, that takes the name FILE once it is complete and on the disk: at any
/// time, FILE is a whole checkpoint or absent. All errors are InputError naming FILE and the cause; the draft is then
/// removed.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::string path);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// The first thing to be written: the header, and how long the sections will be.
  void begin(const CheckpointHeader& header, std::vector<std::uint64_t> section_bytes);
  /// The bytes of the sections, one after the other, in pieces as they come.
  void append(std::span<const std::byte> bytes);
  /// After the last byte.
  void publish();

 private:
  void write(std::span<const std::byte> bytes);
  void end_sections();
  [[noreturn]] void fail(int error) const;

  std::string path_;    // as it was given
  std::string target_;  // links followed
  std::string draft_;
  int file_ = -1;
  std::vector<std::uint64_t> section_bytes_;
  std::size_t section_ = 0;
  std::uint64_t bytes_in_section_ = 0;
  std::uint32_t checksum_ = 0;
};

/// A file's bytes, mapped into memory. Throws InputError naming the file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace blockvec::solvers
