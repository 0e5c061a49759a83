#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

/// An object shows its state in one function, template <class Archive> void state(Archive&), which names all members
/// that count. A StateWriter writes them down, a StateReader reads them back: no member can be written and not read.
///     archive(a, b, ...)   numbers, vectors, and objects that have such a function
///     archive.small(c)     a SmallMatrix that exists already, of a shape that follows from what was visited before
///     archive.tall(v)      likewise a block vector; its entries are moved by others, once the visit is over
namespace blockvec::solvers {

template <class Vector>
class StateWriter {
 public:
  static constexpr bool reads = false;

  /// Everything but the tall parts: the same on every rank.
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::vector<Vector>& tall_parts() const { return tall_parts_; }

  template <class... T>
  void operator()(T&... values) {
    (visit(values), ...);
  }
  template <class Scalar, class Space>
  void small(const SmallMatrix<Scalar, Space>& matrix) {
    const auto host = matrix.to_host();
    put(host.data(), host.size());
  }
  void tall(const Vector& vector) { tall_parts_.push_back(vector); }

 private:
  template <class T>
  void put(const T* first, std::size_t count) {
    const auto* begin = reinterpret_cast<const std::byte*>(first);
    bytes_.insert(bytes_.end(), begin, begin + count * sizeof(T));
  }
  template <class T>
  void visit(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      put(&value, 1);
    } else {
      value.state(*this);
    }
  }
  template <class T>
  void visit(std::vector<T>& values) {
    const auto count = static_cast<std::uint64_t>(values.size());
    put(&count, 1);
    for (T& value : values) visit(value);
  }

  std::vector<std::byte> bytes_;
  std::vector<Vector> tall_parts_;
};

/// Throws InputError where the bytes end too early or too late, ShapeError where sizes in them do not fit.
template <class Vector>
class StateReader {
 public:
  static constexpr bool reads = true;

  explicit StateReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::vector<Vector>& tall_parts() const { return tall_parts_; }
  /// After the visit.
  void require_end() const {
    if (!bytes_.empty()) throw InputError("it is damaged: its state is longer than it should be");
  }

  template <class... T>
  void operator()(T&... values) {
    (visit(values), ...);
  }
  template <class Scalar, class Space>
  void small(const SmallMatrix<Scalar, Space>& matrix) {
    HostMatrix<Scalar> host("BlockVec::solvers::state", static_cast<std::size_t>(matrix.rows()),
                            static_cast<std::size_t>(matrix.columns()));
    get(host.data(), host.size());
    matrix.from_host(host);
  }
  void tall(const Vector& vector) { tall_parts_.push_back(vector); }

 private:
  template <class T>
  void get(T* first, std::size_t count) {
    if (count > bytes_.size() / sizeof(T)) throw InputError("it is damaged: its state is shorter than it should be");
    if (count == 0) return;
    std::memcpy(static_cast<void*>(first), bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
  }
  template <class T>
  void visit(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      unsigned char byte = 0;
      get(&byte, 1);
      value = byte != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      get(&value, 1);
    } else {
      value.state(*this);
    }
  }
  template <class T>
  void visit(std::vector<T>& values) {
    std::uint64_t count = 0;
    get(&count, 1);
    values.clear();
    // One by one: a count that is wrong ends with the bytes, not with the memory.
    for (std::uint64_t i = 0; i < count; ++i) visit(values.emplace_back());
  }

  std::span<const std::byte> bytes_;
  std::vector<Vector> tall_parts_;
};

}  // namespace blockvec::solvers
