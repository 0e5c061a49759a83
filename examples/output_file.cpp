#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "write_all.hpp"

namespace blockvec::examples {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& cause) {
  throw OutputError(fmt::format("{}: cannot be written: {}", name, cause));
}

/// Nothing if there is no such file.
std::optional<struct ::stat> status_of(const std::string& path) {
  struct ::stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_standard_output(const struct ::stat& file) {
  struct ::stat out {};
  return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == file.st_dev && out.st_ino == file.st_ino;
}

/// Creates a new file beside `target`: its name with something before the extension, which tells the plotter the
/// format.
std::string create_draft(const std::string& name, const fs::path& target) {
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    fs::path draft = target;
    draft.replace_filename(
        fmt::format("{}-part-{}-{}{}", target.stem().native(), getpid(), attempt, target.extension().native()));
    const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return draft.native();
    }
    if (errno == EEXIST) continue;
    std::error_code unknown;
    if (errno == ENOENT && !fs::exists(target.parent_path(), unknown))
      fail(name, fmt::format("there is no folder {}", target.parent_path().native()));
    fail(name, std::strerror(errno));
  }
  fail(name, "too many unfinished files beside it");
}

/// Rank 0's text, everywhere.
std::string shared(std::string text, const Communicator& communicator) {
  auto length = static_cast<std::int64_t>(text.size());
  communicator.max(std::span(&length, 1));
  text.resize(static_cast<std::size_t>(length));
  communicator.broadcast(std::as_writable_bytes(std::span<char>(text)), 0);
  return text;
}

}  // namespace

OutputFile::OutputFile(std::string name) : name_(std::move(name)) {
  const auto status = status_of(name_);
  if (status && S_ISDIR(status->st_mode)) fail(name_, "it is a folder");
  if (status && access(name_.c_str(), W_OK) != 0) fail(name_, std::strerror(errno));
  if (status && !S_ISREG(status->st_mode)) {
    is_direct_ = true;
    target_ = draft_ = name_;
    return;
  }
  std::error_code unknown;
  target_ = fs::weakly_canonical(fs::absolute(name_), unknown);
  if (unknown) fail(name_, unknown.message());
  if (status && is_standard_output(*status)) fail(name_, "it is the standard output, too");
  draft_ = create_draft(name_, target_);
  if (!status) return;
  mode_ = status->st_mode & 07777;
  chmod(draft_.c_str(), *mode_);
}

void OutputFile::write(std::string_view content) {
  const int file = open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file >= 0 && mode_) fchmod(file, *mode_);  // each draft is a new file
  int error = file < 0 ? errno : write_all(file, content);
  if (file >= 0 && close(file) != 0 && error == 0) error = errno;
  if (error != 0) {
    discard();
    fail(name_, std::strerror(error));
  }
  publish();
}

void OutputFile::publish() {
  if (is_direct_) return;
  if (std::rename(draft_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    discard();
    fail(name_, std::strerror(error));
  }
}

void OutputFile::discard() noexcept {
  if (!is_direct_) unlink(draft_.c_str());
}

OutputFiles::OutputFiles(const ProgramOptions& options, const Communicator& communicator) {
  solvers::collectively(communicator, [&] {
    if (communicator.rank() == 0) open(options);
    return true;
  });
  vectors_draft = shared(vectors ? vectors->draft() : "", communicator);
  matrix_draft = shared(matrix ? matrix->draft() : "", communicator);
}

void OutputFiles::open(const ProgramOptions& options) {
  struct Name {
    const char* option;
    fs::path target;
  };
  std::vector<Name> names;
  std::error_code unknown;
  const auto know = [&](const char* option, const std::string& name) {
    if (!name.empty()) names.push_back({option, fs::weakly_canonical(fs::absolute(name), unknown)});
  };
  know("--matrix", options.matrix_file);
  know("--checkpoint", options.lanczos.checkpoint.file);
  know("--restart", options.lanczos.checkpoint.restart);
  const auto open_one = [&](const char* option, const std::string& name, std::optional<OutputFile>& file) {
    if (name.empty()) return;
    file.emplace(name);
    for (const Name& other : names) {
      if (other.target == file->target())
        throw OutputError(fmt::format("{}: both {} and {} have this name", name, other.option, option));
    }
    names.push_back({option, file->target()});
  };
  open_one("--json", options.json_file, json);
  open_one("--plot", options.plot_file, plot);
  open_one("--vectors", options.vectors_file, vectors);
  open_one("--write-matrix", options.write_matrix_file, matrix);
}

void OutputFiles::discard() noexcept {
  for (auto* file : {&json, &plot, &vectors, &matrix}) {
    if (*file) (*file)->discard();
  }
}

}  // namespace blockvec::examples
