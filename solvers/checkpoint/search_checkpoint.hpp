#pragma once

#include <fmt/core.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/which.hpp>
#include <blockvec/version.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "solvers/checkpoint/checkpoint_file.hpp"
#include "solvers/checkpoint/rows_by_rank.hpp"
#include "solvers/checkpoint/state_archive.hpp"

namespace blockvec::solvers {

/// What the options of any method say that steers the bits of a run, and what else those of this method say.
template <class Options>
CheckpointHeader steering(const std::string& method, const Options& options, const CheckpointHeader& own) {
  const orth::Options& orth = options.orth;
  CheckpointHeader header{{"method", method},
                          {"number of eigenpairs", fmt::format("{}", options.wanted)},
                          {"tolerance", fmt::format("{}", options.tolerance)},
                          {"seed", fmt::format("{}", options.seed)}};
  if constexpr (requires { options.which; }) {
    header.emplace_back("end of the spectrum", options.which == Which::smallest ? "smallest" : "largest");
  }
  header.insert(header.end(), own.begin(), own.end());
  header.emplace_back(
      "orthogonalisation",
      fmt::format("{}/{}, escalate {}, adaptive {}, seed {}, basis width {}, panel width {}", to_string(orth.between),
                  to_string(orth.within), orth.escalate, orth.adaptive, orth.seed, orth.basis_width, orth.panel_width));
  return header;
}

/// Saves a search in one file that the first rank writes and reads: header, replicated state, then the rows of each
/// rank. The header names everything that steers the bits of a run. Only a run that agrees with all of it goes on.
template <class Vector>
class SearchCheckpoint {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;

  /// `steering`: what of the method's options the header names. Where nothing is to be saved or read, does nothing.
  /// Else one application of A and B to a column. Collective. Throws InputError where the file cannot be written.
  SearchCheckpoint(const Problem<Vector>& problem, const CheckpointOptions& options, const CheckpointHeader& steering)
      : options_(options), context_(problem.a.context()), rows_(problem.a.rows()) {
    if (!is_wanted() && options_.restart.empty()) return;
    header_ = describe_run(problem);
    header_.insert(header_.end(), steering.begin(), steering.end());
    collectively(context_.communicator(), [&] {
      if (is_wanted() && is_first()) CheckpointWriter(options_.file);
      return true;
    });
  }

  /// Are checkpoints to be written?
  bool is_wanted() const { return !options_.file.empty(); }
  /// Is it time for the next one, by this rank's clock?
  bool is_due() const {
    return is_wanted() && std::chrono::duration<double>(Clock::now() - saved_).count() >= options_.seconds;
  }
  /// Is there a checkpoint to go on from?
  bool is_continuation() const { return !options_.restart.empty(); }

  /// Writes the state of a search. Collective. Throws InputError on every rank where it cannot be written; an older
  /// checkpoint is then as it was.
  template <class Search>
  void save(Search& search) {
    StateWriter<Vector> state;
    search.state(state);
    RowsByRank<Vector> tall(context_, rows_, state.tall_parts());
    std::optional<CheckpointWriter> file;
    std::string trouble;
    // Whatever happens to the file, the other ranks get rid of their rows.
    const auto on_first = [&](const auto& body) {
      if (!is_first() || !trouble.empty()) return;
      try {
        body();
      } catch (const std::exception& error) {
        trouble = error.what();
      }
    };
    on_first([&] {
      std::vector<std::uint64_t> section_bytes{state.bytes().size()};
      for (int rank = 0; rank < rows_.ranks(); ++rank) section_bytes.push_back(tall.bytes_of(rank));
      file.emplace(options_.file);
      file->begin(header_, std::move(section_bytes));
      file->append(state.bytes());
    });
    try {
      tall.gather([&](std::span<const std::byte> bytes) { on_first([&] { file->append(bytes); }); });
    } catch (const RefusedError& refusal) {  // the first rank's, which came before this rank had asked for it
      throw InputError(refusal.what());
    }
    on_first([&] { file->publish(); });
    collectively(context_.communicator(), [&] {
      if (!trouble.empty()) throw InputError(trouble);
      return true;
    });
    saved_ = Clock::now();
  }

  /// Reads the state back. Collective. Throws InputError on every rank, naming the file and what is wrong with it or
  /// differs.
  template <class Search>
  void restore(Search& search) {
    const Communicator& communicator = context_.communicator();
    std::optional<MappedFile> file;
    CheckpointView view;
    std::int64_t state_bytes = collectively(communicator, [&]() -> std::int64_t {
      if (!is_first()) return 0;
      file.emplace(options_.restart);
      view = checked(file->bytes());
      return static_cast<std::int64_t>(view.sections[0].size());
    });
    communicator.max(std::span(&state_bytes, 1));
    auto bytes =
        collectively(communicator, [&] { return std::vector<std::byte>(static_cast<std::size_t>(state_bytes)); });
    if (is_first()) std::copy(view.sections[0].begin(), view.sections[0].end(), bytes.begin());
    communicator.broadcast(std::span<std::byte>(bytes.data(), bytes.size()), 0);
    StateReader<Vector> state(bytes);
    try {  // of the same bytes, so that all ranks throw or none
      search.state(state);
      state.require_end();
    } catch (const Error& error) {
      throw refusal(error.what());
    }
    RowsByRank<Vector> tall(context_, rows_, state.tall_parts());
    collectively(communicator, [&] {
      for (int rank = 0; is_first() && rank < rows_.ranks(); ++rank) {
        if (view.sections[static_cast<std::size_t>(rank) + 1].size() != tall.bytes_of(rank))
          throw refusal(fmt::format("it is damaged: the rows of rank {} have another length", rank));
      }
      return true;
    });
    std::size_t section = 0;
    std::span<const std::byte> left;
    tall.scatter([&](std::span<std::byte> piece) {
      while (left.empty()) left = view.sections[++section];
      std::memcpy(piece.data(), left.data(), piece.size());
      left = left.subspan(piece.size());
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* matrix_name = "matrix";

  bool is_first() const { return context_.communicator().rank() == 0; }

  InputError refusal(const std::string& cause) const {
    return InputError(fmt::format("{}: no checkpoint to go on from: {}", options_.restart, cause));
  }

  /// What a file holds, if this run can go on from it.
  CheckpointView checked(std::span<const std::byte> bytes) const {
    CheckpointView view;
    try {
      view = parse_checkpoint(bytes);
    } catch (const InputError& error) {
      throw refusal(error.what());
    }
    CheckpointHeader there = view.header;
    // The matrix may have another name by now; its product below tells whether it is the same.
    const auto of_matrix = [](const auto& entry) { return entry.first == matrix_name; };
    const auto name = std::find_if(there.begin(), there.end(), of_matrix);
    const std::string matrix = name == there.end() ? "" : name->second;
    std::erase_if(there, of_matrix);
    CheckpointHeader here = header_;
    std::erase_if(here, of_matrix);
    const std::string differing = differences(there, here);
    if (!differing.empty()) throw refusal(fmt::format("it is of another run ({}): {}", matrix, differing));
    if (view.sections.size() != static_cast<std::size_t>(rows_.ranks()) + 1)
      throw refusal("it is damaged: it has not one section a rank");
    return view;
  }

  CheckpointHeader describe_run(const Problem<Vector>& problem) const {
    std::string rows_of_ranks;
    for (int rank = 0; rank < rows_.ranks(); ++rank)
      rows_of_ranks += fmt::format("{}{}", rank > 0 ? " " : "", rows_.begin(rank + 1) - rows_.begin(rank));
    std::string matrix = options_.matrix;
    std::replace(matrix.begin(), matrix.end(), '\n', ' ');
    CheckpointHeader header{{matrix_name, matrix},
                            {"version of BlockVec", fmt::format("{}.{}.{}", BLOCKVEC_VERSION_MAJOR,
                                                                BLOCKVEC_VERSION_MINOR, BLOCKVEC_VERSION_PATCH)},
                            {"number of ranks", fmt::format("{}", rows_.ranks())},
                            {"number of rows", fmt::format("{}", rows_.global_rows())},
                            {"rows of each rank", rows_of_ranks},
                            {"product of the matrix with a vector", product(problem.a)},
                            {"scalar type", std::string(scalar_name<Scalar>())},
                            {"layout", std::string(layout_name<Layout>)},
                            {"memory", Vector::Space::name()},
                            {"summation", context_.is_reproducible() ? "reproducible" : "fast"},
                            {"preconditioner", problem.precondition ? "given" : "none"}};
    if (problem.b) header.emplace_back("product of B with a vector", product(*problem.b));
    if (problem.inverse_b) header.emplace_back("inverse of B", "given");
    if (problem.deflation.width() > 0) header.emplace_back("deflated vectors", checksum_of(problem.deflation));
    return header;
  }

  /// A checksum of A x for a random vector x: any other entry of A changes it, in all likelihood.
  static std::string product(const AnyOperator<Vector>& a) {
    constexpr std::uint64_t seed = 0x636865636b;
    const Vector x(a.context(), a.rows(), 1, "checkpoint");
    const Vector y(a.context(), a.rows(), 1, "checkpoint");
    fill_random(x, seed);
    a.apply(Scalar(1), Scalar(0), x, Scalar(0), y);
    return checksum_of(y);
  }

  /// Of all entries on all ranks. Ranks that change places give another one.
  static std::string checksum_of(const Vector& v) {
    std::int64_t sum = 0;
    for (std::int64_t j = 0; j < v.width(); ++j) {
      const auto column = v.column(j).deep_copy("checkpoint");
      column.context().template fence<typename Vector::Space>();
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), column.view());
      sum = checksum(std::as_bytes(std::span(host.data(), host.extent(0))), static_cast<std::uint32_t>(sum));
    }
    const Communicator& communicator = v.context().communicator();
    sum *= 2 * communicator.rank() + 1;
    communicator.sum(std::span(&sum, 1));
    return fmt::format("{:x}", sum);
  }

  CheckpointOptions options_;
  Context context_;
  RowDistribution rows_;
  CheckpointHeader header_;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace blockvec::solvers
