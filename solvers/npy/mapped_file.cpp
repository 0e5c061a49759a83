#include "solvers/npy/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <blockvec/solvers/input_error.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace blockvec::solvers {
namespace {

/// Closes itself.
struct Descriptor {
  explicit Descriptor(const char* path) : number(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const auto refuse = [&] { throw InputError(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno))); };
  const Descriptor file(path_.c_str());
  struct stat status {};
  if (file.number < 0 || fstat(file.number, &status) != 0) refuse();
  if (!S_ISREG(status.st_mode)) throw InputError(fmt::format("{}: is not a regular file", path_));
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (memory == MAP_FAILED) refuse();
  bytes_ = {static_cast<const std::byte*>(memory),
            [size = size_](const std::byte* bytes) { munmap(const_cast<std::byte*>(bytes), size); }};
}

void MappedFile::fail(std::size_t place, const std::string& message) const {
  throw InputError(fmt::format("{}: at byte {}: {}", path_, place, message));
}

}  // namespace blockvec::solvers
