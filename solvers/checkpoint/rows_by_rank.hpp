#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/block_vector.hpp>
#include <blockvec/solvers/collective.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace blockvec::solvers {

/// Moves the entries of block vectors between the ranks that hold them and the first rank, in one fixed order: rank by
/// rank, one block vector after the other, by stretches of rows that fit a small buffer.
template <class Vector>
class RowsByRank {
 public:
  using Scalar = typename Vector::Scalar;

  /// All parts share context and rows. Collective: the buffers, a few MiB or one row, are allocated on every rank or on
  /// none.
  RowsByRank(const Context& context, const RowDistribution& rows, std::vector<Vector> parts)
      : communicator_(context.communicator()), rows_(rows), parts_(std::move(parts)) {
    std::int64_t count = 0;
    for (const Vector& part : parts_) count = std::max(count, stretch(part) * part.width());
    collectively(communicator_, [&] {
      buffer_ = Buffer("BlockVec::solvers::rows", static_cast<std::size_t>(count));
      host_buffer_ = Kokkos::create_mirror_view(buffer_);
      return true;
    });
  }

  /// All entries of a rank.
  std::uint64_t bytes_of(int rank) const {
    std::int64_t width = 0;
    for (const Vector& part : parts_) width += part.width();
    return static_cast<std::uint64_t>(rows_of(rank) * width) * sizeof(Scalar);
  }

  /// The first rank hands all bytes to use(std::span<const std::byte>), which must not throw. Collective.
  template <class Use>
  void gather(Use&& use) {
    for_pieces([&](int rank, const Vector& part, std::int64_t first, std::int64_t count) {
      const std::span<std::byte> bytes = host_bytes(part, count);
      if (rank == communicator_.rank()) pack(part, first, count);
      move(rank, 0, bytes);
      if (communicator_.rank() == 0) use(std::span<const std::byte>(bytes));
    });
  }

  /// The first rank asks source(std::span<std::byte>), which must not throw, to fill in what gather() handed out.
  /// Collective.
  template <class Source>
  void scatter(Source&& source) {
    for_pieces([&](int rank, const Vector& part, std::int64_t first, std::int64_t count) {
      const std::span<std::byte> bytes = host_bytes(part, count);
      if (communicator_.rank() == 0) source(bytes);
      move(0, rank, bytes);
      if (rank == communicator_.rank()) unpack(part, first, count);
    });
  }

 private:
  using Buffer = Kokkos::View<Scalar*, typename Vector::Space>;
  using Piece =
      Kokkos::View<Scalar**, typename Vector::Layout, typename Vector::Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  std::int64_t rows_of(int rank) const { return rows_.begin(rank + 1) - rows_.begin(rank); }

  static std::int64_t stretch(const Vector& part) {
    constexpr std::int64_t buffer_bytes = std::int64_t{1} << 22;
    const auto row_bytes = part.width() * static_cast<std::int64_t>(sizeof(Scalar));
    return row_bytes == 0 ? 0 : std::max<std::int64_t>(1, buffer_bytes / row_bytes);
  }

  template <class Body>
  void for_pieces(Body&& body) const {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      for (const Vector& part : parts_) {
        if (part.width() == 0) continue;
        for (std::int64_t first = 0; first < rows_of(rank); first += stretch(part))
          body(rank, part, first, std::min(stretch(part), rows_of(rank) - first));
      }
    }
  }

  std::span<std::byte> host_bytes(const Vector& part, std::int64_t count) const {
    const auto entries = static_cast<std::size_t>(count * part.width());
    return std::as_writable_bytes(std::span(host_buffer_.data(), entries));
  }

  void move(int from, int to, std::span<std::byte> bytes) const {
    if (from == to) return;
    const Message to_there{to, bytes.data(), bytes.size()};
    const Message from_there{from, bytes.data(), bytes.size()};
    const int here = communicator_.rank();
    communicator_.exchange(std::span(&to_there, here == from ? 1 : 0), std::span(&from_there, here == to ? 1 : 0));
  }

  static auto entries(const Vector& part, std::int64_t first, std::int64_t count) {
    return Kokkos::subview(part.view(), std::pair<std::int64_t, std::int64_t>(first, first + count), Kokkos::ALL);
  }
  Piece piece(const Vector& part, std::int64_t count) const {
    return Piece(buffer_.data(), static_cast<std::size_t>(count), static_cast<std::size_t>(part.width()));
  }

  void pack(const Vector& part, std::int64_t first, std::int64_t count) const {
    part.context().template fence<typename Vector::Space>();
    Kokkos::deep_copy(piece(part, count), entries(part, first, count));
    Kokkos::deep_copy(host_buffer_, buffer_);
  }
  void unpack(const Vector& part, std::int64_t first, std::int64_t count) const {
    part.context().template fence<typename Vector::Space>();
    Kokkos::deep_copy(buffer_, host_buffer_);
    Kokkos::deep_copy(entries(part, first, count), piece(part, count));
  }

  Communicator communicator_;
  RowDistribution rows_;
  std::vector<Vector> parts_;
  Buffer buffer_;
  decltype(Kokkos::create_mirror_view(Buffer())) host_buffer_;
};

}  // namespace blockvec::solvers
