#include <blockvec/communicator.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "blockvec/mpi_world.hpp"

namespace blockvec {
namespace {

class SelfBackend final : public CommunicatorBackend {
 public:
  std::string name() const override { return "self"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_size() const override { return 1; }
  void all_reduce(void*, std::size_t, WireType, Reduction) override {}
  void broadcast(void*, std::size_t, int) override {}
  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    if (sends.size() != receives.size()) throw Error("exchange on one rank: every send needs its receive");
    for (std::size_t i = 0; i < sends.size(); ++i) {
      if (sends[i].bytes != receives[i].bytes) throw Error("exchange on one rank: send and receive differ in size");
      if (sends[i].bytes > 0) std::memmove(receives[i].data, sends[i].data, sends[i].bytes);
    }
  }
  void barrier() override {}
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

template <class T>
void reduce(CommunicatorBackend& backend, std::span<T> values, Reduction reduction) {
  if (!values.empty()) backend.all_reduce(values.data(), values.size(), wire_type<T>(), reduction);
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

void Communicator::sum(std::span<float> values) const { reduce(*backend_, values, Reduction::sum); }
void Communicator::sum(std::span<double> values) const { reduce(*backend_, values, Reduction::sum); }
void Communicator::sum(std::span<Complex<float>> values) const {
  sum(std::span(reinterpret_cast<float*>(values.data()), 2 * values.size()));
}
void Communicator::sum(std::span<Complex<double>> values) const {
  sum(std::span(reinterpret_cast<double*>(values.data()), 2 * values.size()));
}
void Communicator::sum(std::span<std::int64_t> values) const { reduce(*backend_, values, Reduction::sum); }
void Communicator::sum(std::span<DoubleDouble> values) const { reduce(*backend_, values, Reduction::sum); }
void Communicator::max(std::span<double> values) const { reduce(*backend_, values, Reduction::max); }
void Communicator::max(std::span<std::int64_t> values) const { reduce(*backend_, values, Reduction::max); }
void Communicator::min(std::span<std::int64_t> values) const { reduce(*backend_, values, Reduction::min); }

void Communicator::agree(bool ok, const std::string& message) const {
  std::int64_t first_failure = ok ? size() : rank();
  min(std::span(&first_failure, 1));
  if (first_failure == size()) return;
  const int root = static_cast<int>(first_failure);
  std::int64_t length = root == rank() ? static_cast<std::int64_t>(message.size()) : 0;
  max(std::span(&length, 1));
  std::string text = root == rank() ? message : std::string(static_cast<std::size_t>(length), ' ');
  broadcast(std::as_writable_bytes(std::span(text)), root);
  throw Error(size() > 1 ? text + " (rank " + std::to_string(root) + ")" : text);
}

}  // namespace blockvec
