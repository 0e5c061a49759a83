#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace blockvec::solvers {

/// A file's bytes, mapped to memory for reading. A handle: copies share the bytes. Errors are InputErrors that name the
/// file.
class MappedFile {
 public:
  explicit MappedFile(std::string path);
  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }
  [[noreturn]] void fail(std::size_t place, const std::string& message) const;

 private:
  std::string path_;
  std::size_t size_ = 0;
  std::shared_ptr<const std::byte> bytes_;
};

}  // namespace blockvec::solvers
