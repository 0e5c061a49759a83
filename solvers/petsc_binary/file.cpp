#include <fmt/core.h>

#include <array>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "solvers/petsc_binary/format.hpp"

namespace blockvec::solvers {

PetscFile::PetscFile(const std::string& path) : path_(path) {
  std::error_code trouble;
  if (std::filesystem::is_directory(path, trouble)) throw InputError(fmt::format("{}: is a directory", path));
  errno = 0;
  stream_.open(path, std::ios::binary);
  if (!stream_) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  size_ = static_cast<std::int64_t>(std::filesystem::file_size(path, trouble));
  if (trouble) throw InputError(fmt::format("{}: cannot be read: {}", path, trouble.message()));
}

void PetscFile::fail(std::int64_t place, const std::string& message) const {
  throw InputError(fmt::format("{}: at byte {}: {}", path_, place, message));
}

void PetscFile::read_bytes(std::int64_t place, char* bytes, std::size_t count) {
  const auto length = static_cast<std::streamsize>(count);
  if (place + length > size_) fail(size_, fmt::format("the file ends, {} bytes too early", place + length - size_));
  errno = 0;
  stream_.seekg(place);
  stream_.read(bytes, length);
  if (!stream_) fail(place, fmt::format("cannot be read: {}", std::strerror(errno)));
}

bool is_petsc_binary(const std::string& path) {
  std::array<std::int32_t, 2> begin{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(begin.data()), sizeof(begin));
  swap_to_big_endian(std::span<std::int32_t>(begin));
  return begin[0] == petsc_matrix_id || (begin[0] == 0 && begin[1] == petsc_matrix_id);
}

}  // namespace blockvec::solvers
