#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <filesystem>
#include <limits>
#include <span>

#include "solvers/entries_over_ranks.hpp"
#include "solvers/matrix_market/entries.hpp"
#include "solvers/matrix_market/piece.hpp"
#include "solvers/same_file.hpp"

namespace blockvec::solvers {
namespace {

/// What every rank knows of the file.
struct Beginning {
  MatrixMarketHeader header;
  std::int64_t bytes;  // of the file, or 0 where it cannot be cut: a gzip stream, a pipe
  std::int64_t begin;  // of the bytes that follow the line of sizes

  bool operator==(const Beginning&) const = default;
};

struct Opened {
  MatrixMarketLines lines;  // behind the line of sizes
  Beginning beginning;
};

Opened open_file(const std::string& path) {
  MatrixMarketLines lines(path);
  const MatrixMarketHeader header = read_header(lines);
  std::error_code unknown;
  const auto bytes = lines.is_gzipped() ? 0 : std::filesystem::file_size(path, unknown);
  const Beginning beginning{header, unknown ? 0 : static_cast<std::int64_t>(bytes), lines.bytes()};
  return {std::move(lines), beginning};
}

/// Entries [begin, end) of the file are for this rank to read, behind others that the lines begin with.
struct Share {
  MatrixMarketLines lines;
  std::int64_t others;
  std::int64_t begin, end;
};

/// Cuts the bytes behind the header. This rank's lines and entries begin where those of lower ranks end, which only
/// counting tells.
Share share_of_bytes(const std::string& path, const Communicator& communicator, const Opened& opened) {
  const Beginning& file = opened.beginning;
  const auto bytes = RowDistribution::uniform(file.bytes - file.begin, communicator);
  auto text = collectively(communicator,
                           [&] { return read_lines(path, file.begin + bytes.begin(), file.begin + bytes.end()); });
  const LineCounts counts = count_lines({text.data(), text.size()});
  const auto lines = RowDistribution::from_local_rows(counts.all, communicator);
  const auto entries = RowDistribution::from_local_rows(counts.data, communicator);
  const bool is_last = communicator.rank() == communicator.size() - 1;
  return {MatrixMarketLines(path, std::move(text), opened.lines.line_number() + lines.begin()), 0, entries.begin(),
          is_last ? std::max(entries.end(), file.header.entries) : entries.end()};
}

/// Cuts the announced entries. Each rank passes over those before its own.
Share share_of_entries(const Communicator& communicator, Opened opened) {
  const auto entries = RowDistribution::uniform(opened.beginning.header.entries, communicator);
  return {std::move(opened.lines), entries.begin(), entries.begin(), entries.end()};
}

/// Of a symmetric or hermitian matrix only one triangle may be given: that of the first entry off the diagonal.
template <class Scalar>
void require_one_triangle(const Communicator& communicator, const MatrixMarketLines& lines,
                          const FileEntries<Scalar>& file) {
  constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();
  const auto& first = file.first_below_and_above;
  const auto line = [&](std::size_t side) { return first[side] ? first[side]->line : nowhere; };
  std::int64_t lowest[] = {line(0), line(1)};
  communicator.min(std::span(lowest));
  collectively(communicator, [&] {
    const auto& other = first[lowest[0] < lowest[1] ? 1 : 0];
    if (other) {
      lines.fail(other->line,
                 fmt::format("entry ({}, {}) is in the other triangle than those before: of a symmetric or hermitian "
                             "matrix only one is given",
                             other->row + 1, other->column + 1));
    }
    return true;
  });
}

/// This rank's share of the entries, in the order of the file.
template <class Scalar>
std::vector<MatrixEntry<Scalar>> read_share(const std::string& path, const Communicator& communicator, Opened opened) {
  const MatrixMarketHeader header = opened.beginning.header;
  const bool is_cut = communicator.size() > 1 && opened.beginning.bytes > opened.beginning.begin;
  Share share = is_cut ? share_of_bytes(path, communicator, opened) : share_of_entries(communicator, std::move(opened));
  auto file = collectively(communicator, [&] {
    try {
      share.lines.skip_data_lines(share.others);
      return read_entries<Scalar>(share.lines, header, share.begin, share.end);
    } catch (const std::bad_alloc&) {
      throw OutOfMemoryError(fmt::format("{}:{}: no memory for this rank's entries", path, share.lines.line_number()));
    }
  });
  require_one_triangle(communicator, share.lines, file);
  return std::move(file.entries);
}

template <class Scalar>
LocalMatrix<Scalar> read_rows(const std::string& path, const Communicator& communicator, Opened opened) {
  const MatrixMarketHeader header = opened.beginning.header;
  LocalMatrix<Scalar> result;
  result.rows = RowDistribution::uniform(header.size, communicator);
  result.is_dense = header.format == MatrixMarketHeader::Format::array;
  auto entries = sent_to_owners(result.rows, communicator, read_share<Scalar>(path, communicator, std::move(opened)));
  collectively(communicator, [&] {
    sort_and_sum(path, entries);
    return true;
  });
  if (header.symmetry == MatrixMarketHeader::Symmetry::general)
    require_hermitian(path, result.rows, communicator, entries);
  result.source = std::make_unique<FileRows<Scalar>>(path, header.size, std::move(entries));
  return result;
}

}  // namespace

RealOrComplexMatrix read_matrix_market(const std::string& path, const Communicator& communicator) {
  Opened opened = collectively(communicator, [&] { return open_file(path); });
  require_same_file(path, communicator, opened.beginning);
  if (opened.beginning.header.field == MatrixMarketHeader::Field::complex)
    return read_rows<Complex<double>>(path, communicator, std::move(opened));
  return read_rows<double>(path, communicator, std::move(opened));
}

}  // namespace blockvec::solvers
