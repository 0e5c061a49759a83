#pragma once

#include <sys/types.h>

#include <blockvec/communicator.hpp>
#include <blockvec/solvers/collective.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "options.hpp"

namespace blockvec::examples {

/// A file could not be written. The message names it and the cause.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// A file that the program is asked to write. Its content goes to a draft beside it, which takes its name once it is
/// complete: until then, an older file of that name stays as it is. Pipes and devices are written to directly.
class OutputFile {
 public:
  /// Creates the draft. Throws OutputError where that does not work: the folder is missing, the name is a folder's, ...
  explicit OutputFile(std::string name);
  ~OutputFile() { discard(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return name_; }                ///< as it was given
  const std::filesystem::path& target() const { return target_; }  ///< in full, links followed
  const std::string& draft() const { return draft_; }              ///< where the content goes
  bool is_direct() const { return is_direct_; }                    ///< a pipe or a device

  /// The whole content, and publish(). Throws OutputError; the draft is then gone.
  void write(std::string_view content);
  /// The draft is complete. Throws OutputError; the draft is then gone.
  void publish();
  /// Removes the draft, if there is one still. It may be written anew. Any thread may call this.
  void discard() noexcept;

 private:
  std::string name_;
  std::filesystem::path target_;
  std::string draft_;
  bool is_direct_ = false;
  std::optional<mode_t> mode_;  // of the older file
};

/// The files that the options name, all of which can be written as far as can be known before. Only the first rank has
/// them; it also writes them, except the drafts of matrix and vectors, which all ranks write in turn.
struct OutputFiles {
  /// Collective. Throws InputError on every rank: where one cannot be written, where two have the same name, and where
  /// one has the name of the file that is read.
  OutputFiles(const ProgramOptions& options, const Communicator& communicator);
  void discard() noexcept;

  /// Collective: body(draft) writes the draft, and the file is published. Throws InputError on every rank.
  template <class Body>
  static void write_together(const std::string& name, const std::string& draft, std::optional<OutputFile>& file,
                             const Communicator& communicator, Body&& body) {
    try {
      body(draft);
    } catch (const solvers::InputError& error) {
      if (file) file->discard();
      throw solvers::InputError(name + ": not written: " + error.what());
    }
    solvers::collectively(communicator, [&] {
      if (file) file->publish();
      return true;
    });
  }

  std::optional<OutputFile> json;
  std::optional<OutputFile> plot;
  std::optional<OutputFile> vectors;
  std::optional<OutputFile> matrix;
  std::string vectors_draft;  ///< on every rank; empty: nothing to be written
  std::string matrix_draft;

 private:
  void open(const ProgramOptions& options);
};

}  // namespace blockvec::examples
