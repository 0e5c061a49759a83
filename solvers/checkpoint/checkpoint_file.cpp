#include "solvers/checkpoint/checkpoint_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace blockvec::solvers {
namespace {

constexpr std::string_view magic = "BLKLANCZ";
constexpr std::uint32_t format_version = 1;
constexpr std::uint32_t byte_order = 0x01020304;
constexpr std::uint32_t swapped_byte_order = 0x04030201;

/// Takes bytes from the front.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left()) throw InputError("it is cut off");
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return taken;
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

CheckpointHeader parse_header(std::string_view text) {
  constexpr std::string_view separator = ": ";
  CheckpointHeader header;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(separator);
    if (end == std::string_view::npos || colon == std::string_view::npos)
      throw InputError("it is damaged: its header has a line without a name");
    header.emplace_back(line.substr(0, colon), line.substr(colon + separator.size()));
    text.remove_prefix(end + 1);
  }
  return header;
}

template <class T>
void append_to(std::vector<std::byte>& bytes, const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

std::string shortened(const std::string& value) {
  constexpr std::size_t most = 80;
  return value.size() <= most ? value : value.substr(0, most) + "...";
}

const std::string* find(const CheckpointHeader& header, const std::string& name) {
  const auto entry = std::find_if(header.begin(), header.end(), [&](const auto& e) { return e.first == name; });
  return entry == header.end() ? nullptr : &entry->second;
}

}  // namespace

std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // of which zlib would forget `before`
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

CheckpointView parse_checkpoint(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  const std::size_t known = std::min(magic.size(), bytes.size());
  if (known == 0) throw InputError("it is empty");
  if (text_of(bytes.first(known)) != magic.substr(0, known)) throw InputError("it is no checkpoint");
  cursor.take(magic.size());
  const auto version = cursor.take<std::uint32_t>();
  const auto order = cursor.take<std::uint32_t>();
  if (order == swapped_byte_order) throw InputError("it was written by a machine with another byte order");
  if (order != byte_order) throw InputError("it is damaged: its first bytes make no sense");
  if (version != format_version)
    throw InputError(fmt::format("its format is version {}, and this program reads {}", version, format_version));
  const auto header_bytes = cursor.take<std::uint64_t>();
  const auto sections = cursor.take<std::uint64_t>();
  if (sections > cursor.left() / sizeof(std::uint64_t)) throw InputError("it is cut off");
  std::vector<std::uint64_t> section_bytes(static_cast<std::size_t>(sections));
  for (std::uint64_t& length : section_bytes) length = cursor.take<std::uint64_t>();
  const std::string_view header = text_of(cursor.take(header_bytes));
  const std::uint32_t expected = checksum(bytes.first(cursor.position()));
  if (cursor.take<std::uint32_t>() != expected) throw InputError("it is damaged: the checksum of its header is wrong");

  CheckpointView view;
  view.header = parse_header(header);
  // Lengths first, which cost nothing: a checkpoint that is cut off is not read to its end.
  Cursor lengths = cursor;
  for (const std::uint64_t length : section_bytes) {
    view.sections.push_back(lengths.take(length));
    lengths.take(sizeof(std::uint32_t));
  }
  if (lengths.left() > 0) throw InputError("it is damaged: something follows its end");
  for (std::size_t i = 0; i < view.sections.size(); ++i) {
    cursor.take(section_bytes[i]);
    if (cursor.take<std::uint32_t>() != checksum(view.sections[i]))
      throw InputError(fmt::format("it is damaged: the checksum of section {} is wrong", i));
  }
  return view;
}

std::string differences(const CheckpointHeader& there, const CheckpointHeader& here) {
  std::string text;
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : "; ") + item; };
  for (const auto& [name, value] : here) {
    const std::string* other = find(there, name);
    if (other == nullptr) {
      add(fmt::format("{} is not known there and {} here", name, shortened(value)));
    } else if (*other != value) {
      add(fmt::format("{} is {} there and {} here", name, shortened(*other), shortened(value)));
    }
  }
  for (const auto& [name, value] : there) {
    if (find(here, name) == nullptr) add(fmt::format("{} is {} there and not known here", name, shortened(value)));
  }
  return text;
}

CheckpointWriter::CheckpointWriter(std::string path) : path_(std::move(path)) {
  std::error_code unknown;
  target_ = std::filesystem::weakly_canonical(std::filesystem::absolute(path_), unknown).native();
  if (unknown) fail(unknown.value());
  draft_ = target_ + ".part";
  const auto status = std::filesystem::status(path_, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw InputError(fmt::format("{}: the checkpoint cannot be written: it is no regular file", path_));
  file_ = open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail(errno);
}

CheckpointWriter::~CheckpointWriter() {
  if (file_ < 0) return;
  close(file_);
  unlink(draft_.c_str());
}

void CheckpointWriter::fail(int error) const {
  throw InputError(fmt::format("{}: the checkpoint cannot be written: {}", path_, std::strerror(error)));
}

void CheckpointWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail(errno);
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void CheckpointWriter::begin(const CheckpointHeader& header, std::vector<std::uint64_t> section_bytes) {
  section_bytes_ = std::move(section_bytes);
  std::string text;
  for (const auto& [name, value] : header) text += fmt::format("{}: {}\n", name, value);
  std::vector<std::byte> bytes;
  const auto append_bytes = [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  append_bytes(std::as_bytes(std::span(magic)));
  append_to(bytes, format_version);
  append_to(bytes, byte_order);
  append_to(bytes, static_cast<std::uint64_t>(text.size()));
  append_to(bytes, static_cast<std::uint64_t>(section_bytes_.size()));
  for (const std::uint64_t length : section_bytes_) append_to(bytes, length);
  append_bytes(std::as_bytes(std::span(text)));
  append_to(bytes, checksum(bytes));
  write(bytes);
  end_sections();
}

void CheckpointWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (section_ == section_bytes_.size()) throw Error("CheckpointWriter: more bytes than were announced");
    const std::uint64_t missing = section_bytes_[section_] - bytes_in_section_;
    const auto part = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(missing, bytes.size())));
    write(part);
    checksum_ = checksum(part, checksum_);
    bytes_in_section_ += part.size();
    bytes = bytes.subspan(part.size());
    end_sections();
  }
}

/// Writes the checksums of all sections that are complete.
void CheckpointWriter::end_sections() {
  while (section_ < section_bytes_.size() && bytes_in_section_ == section_bytes_[section_]) {
    write(std::as_bytes(std::span(&checksum_, 1)));
    checksum_ = 0;
    bytes_in_section_ = 0;
    ++section_;
  }
}

void CheckpointWriter::publish() {
  if (section_ != section_bytes_.size()) throw Error("CheckpointWriter: fewer bytes than were announced");
  if (fsync(file_) != 0) fail(errno);
  if (std::rename(draft_.c_str(), target_.c_str()) != 0) fail(errno);
  close(file_);
  file_ = -1;
  // The new name is on the disk when its folder is. Not every file system offers that.
  const int folder = open(std::filesystem::path(target_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

MappedFile::MappedFile(const std::string& path) {
  const auto fail = [&](const char* cause) { throw InputError(fmt::format("{}: cannot be read: {}", path, cause)); };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::strerror(errno));
  struct ::stat status {};
  void* memory = nullptr;
  int error = fstat(file, &status) == 0 ? 0 : errno;
  const bool is_regular = S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (error == 0 && is_regular && size > 0) {
    memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  close(file);
  if (error != 0) fail(std::strerror(error));
  if (!is_regular) fail("it is no regular file");
  if (size > 0) bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace blockvec::solvers
