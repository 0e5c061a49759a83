#include <algorithm>
#include <blockvec/communicator.hpp>
#include <cstring>
#include <utility>

#include "blockvec/mpi_world.hpp"

namespace blockvec {
namespace {

class SelfBackend final : public CommunicatorBackend {
 public:
  std::string name() const override { return "self"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_size() const override { return 1; }
  bool same_ranks(const CommunicatorBackend& other) const override { return other.size() == 1; }
  void meet(Envelope&) override {}
  void all_reduce(void*, std::size_t, WireType, Reduction) override {}
  void broadcast(void*, std::size_t, int) override {}
  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    if (sends.size() != receives.size()) throw Error("exchange on one rank: every send needs its receive");
    for (std::size_t i = 0; i < sends.size(); ++i) {
      if (sends[i].bytes != receives[i].bytes) throw Error("exchange on one rank: send and receive differ in size");
      if (sends[i].bytes > 0) std::memmove(receives[i].data, sends[i].data, sends[i].bytes);
    }
  }
};

template <class T>
constexpr WireType wire_type() {
  if constexpr (std::is_same_v<T, float>) {
    return WireType::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return WireType::float64;
  } else if constexpr (std::is_same_v<T, DoubleDouble>) {
    return WireType::double_double;
  } else {
    return WireType::int64;
  }
}

// What ranks can mean when they meet.
enum class Meeting : std::uint64_t { reduction, broadcast, barrier, agreement, connection, device_sum };

std::uint64_t fingerprint(std::initializer_list<std::uint64_t> words) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {  // the finaliser of MurmurHash3 for each
    hash = (hash ^ word) + 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    hash ^= hash >> 33;
  }
  return hash;
}

Envelope envelope_for(Meeting meeting, std::initializer_list<std::uint64_t> details) {
  Envelope envelope;
  envelope.lowest = envelope.highest = fingerprint({static_cast<std::uint64_t>(meeting), fingerprint(details)});
  return envelope;
}

void write_refusal(Envelope& envelope, int rank, std::string_view reason) {
  envelope.refusing = rank;
  envelope.count = static_cast<std::uint32_t>(std::min(reason.size(), Envelope::room));
  std::memcpy(envelope.contents, reason.data(), envelope.count);
}

const char* name_of(Reduction reduction) {
  return reduction == Reduction::sum ? "sum" : reduction == Reduction::max ? "maximum" : "minimum";
}

const char* name_of(WireType type) {
  switch (type) {
    case WireType::float32:
      return "float";
    case WireType::float64:
      return "double";
    case WireType::double_double:
      return "double-double";
    case WireType::int64:
      break;
  }
  return "whole";
}

// Throws on every rank alike; `what` says in words what this rank meant.
template <class What>
void judge(const Envelope& envelope, const What& what) {
  if (envelope.refusing != Envelope::nobody) throw RefusedError(envelope);
  if (envelope.lowest == envelope.highest) return;
  throw DisagreementError(what() +
                          "; all ranks must call the same operations with operands of the same widths and types");
}

template <class T>
void reduce(CommunicatorBackend& backend, std::span<T> values, Reduction reduction, std::uint64_t tag) {
  if (backend.size() == 1) return;
  constexpr WireType type = wire_type<T>();
  Envelope envelope = envelope_for(Meeting::reduction, {static_cast<std::uint64_t>(type),
                                                        static_cast<std::uint64_t>(reduction), values.size(), tag});
  const std::size_t count = std::min(values.size(), Envelope::room / sizeof(T));
  envelope.type = type;
  envelope.reduction = reduction;
  envelope.count = static_cast<std::uint32_t>(count);
  if (count > 0) std::memcpy(envelope.contents, values.data(), count * sizeof(T));
  backend.meet(envelope);
  judge(envelope, [&] {
    return std::string("a ") + name_of(reduction) + " over ranks met different operations or shapes: this rank sent " +
           std::to_string(values.size()) + " " + name_of(type) + " values";
  });
  if (values.size() > count) backend.all_reduce(values.data() + count, values.size() - count, type, reduction);
  if (count > 0) std::memcpy(static_cast<void*>(values.data()), envelope.contents, count * sizeof(T));
}

}  // namespace

Communicator Communicator::self() {
  static const auto backend = std::make_shared<SelfBackend>();
  return Communicator(backend);
}

Communicator Communicator::world() {
  if (auto backend = detail::mpi_world_backend()) return Communicator(std::move(backend));
  return self();
}

void Communicator::sum(std::span<float> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::sum, tag);
}
void Communicator::sum(std::span<double> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::sum, tag);
}
void Communicator::sum(std::span<Complex<float>> values, std::uint64_t tag) const {
  sum(std::span(reinterpret_cast<float*>(values.data()), 2 * values.size()), tag);
}
void Communicator::sum(std::span<Complex<double>> values, std::uint64_t tag) const {
  sum(std::span(reinterpret_cast<double*>(values.data()), 2 * values.size()), tag);
}
void Communicator::sum(std::span<std::int64_t> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::sum, tag);
}
void Communicator::sum(std::span<DoubleDouble> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::sum, tag);
}
void Communicator::max(std::span<double> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::max, tag);
}
void Communicator::max(std::span<std::int64_t> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::max, tag);
}
void Communicator::min(std::span<std::int64_t> values, std::uint64_t tag) const {
  reduce(*backend_, values, Reduction::min, tag);
}

void Communicator::broadcast(std::span<std::byte> values, int root) const {
  if (size() == 1) return;
  // The first bytes come along with the meeting: as a sum of whole numbers to which all others add zeros.
  Envelope envelope = envelope_for(Meeting::broadcast, {values.size(), static_cast<std::uint64_t>(root)});
  const std::size_t head = std::min(values.size(), Envelope::room);
  envelope.count = static_cast<std::uint32_t>((head + sizeof(std::int64_t) - 1) / sizeof(std::int64_t));
  std::memset(envelope.contents, 0, envelope.count * sizeof(std::int64_t));
  if (root == rank() && head > 0) std::memcpy(envelope.contents, values.data(), head);
  backend_->meet(envelope);
  judge(envelope, [&] {
    return "a broadcast met different operations or sizes: this rank takes " + std::to_string(values.size()) +
           " bytes from rank " + std::to_string(root);
  });
  if (root != rank() && head > 0) std::memcpy(values.data(), envelope.contents, head);
  if (values.size() > head) backend_->broadcast(values.data() + head, values.size() - head, root);
}

void Communicator::barrier() const {
  if (size() == 1) return;
  Envelope envelope = envelope_for(Meeting::barrier, {});
  backend_->meet(envelope);
  judge(envelope, [] { return std::string("a barrier met other operations"); });
}

void Communicator::agree(bool ok, std::string_view message) const {
  if (size() == 1) {
    if (ok) return;
    throw Error(std::string(message));
  }
  Envelope envelope = envelope_for(Meeting::agreement, {});
  const std::uint64_t meant = envelope.lowest;
  if (!ok) write_refusal(envelope, rank(), message);
  backend_->meet(envelope);
  if (envelope.refusing != Envelope::nobody && envelope.lowest == meant) {  // not somewhere else
    throw RefusedError(envelope.refusing,
                       std::string(envelope.reason()) + " (rank " + std::to_string(envelope.refusing) + ")");
  }
  judge(envelope, [] { return std::string("an agreement met other operations"); });
}

DeviceTransport Communicator::connect_device(int device) const {
  const DeviceTransport known = backend_->device_transport(device);
  if (known != DeviceTransport::automatic) return known;
  Envelope envelope = envelope_for(Meeting::connection, {});
  backend_->meet(envelope);
  judge(envelope, [] { return std::string("the first sum on a device met other operations"); });
  backend_->connect_device(device);
  return backend_->device_transport(device);
}

void Communicator::agree_on_device_sum(WireType type, std::size_t count, std::uint64_t tag) const {
  if (size() == 1) return;
  Envelope envelope = envelope_for(Meeting::device_sum, {static_cast<std::uint64_t>(type), count, tag});
  backend_->meet(envelope);
  judge(envelope, [&] {
    return "a sum on devices over ranks met different operations or shapes: this rank came with " +
           std::to_string(count) + " " + name_of(type) + " values";
  });
}

void Communicator::refuse(std::string_view reason) const {
  if (size() == 1) return;
  Envelope envelope;
  write_refusal(envelope, rank(), reason);
  backend_->meet(envelope);
}

}  // namespace blockvec
