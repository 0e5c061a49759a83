#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/profile.hpp>
#include <cstring>
#include <iterator>
#include <memory>

namespace blockvec {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::inner_product:
      return "inner_product";
    case Operation::update:
      return "update";
    case Operation::multiply_in_place:
      return "multiply_in_place";
    case Operation::gram_schmidt_sweep:
      return "gram_schmidt_sweep";
    case Operation::column_dots:
      return "column_dots";
    case Operation::scale:
      return "scale";
    case Operation::axpby:
      return "axpby";
    case Operation::copy:
      return "copy";
    case Operation::fill:
      return "fill";
    case Operation::fill_random:
      return "fill_random";
    case Operation::reduction:
      return "reduction";
    case Operation::user_operator:
      return "operator";
    case Operation::count_:
      break;
  }
  return "unknown";
}

void Profile::clear() {
  for (auto& place : records_) std::fill(std::begin(place), std::end(place), OperationRecord{});
}

void Profile::add(Operation operation, bool on_device, double seconds, double bytes, double flops) {
  OperationRecord& record = records_[on_device ? 1 : 0][static_cast<int>(operation)];
  record.name = operation_name(operation);
  record.on_device = on_device;
  ++record.calls;
  record.seconds += seconds;
  record.bytes += bytes;
  record.flops += flops;
}

std::vector<OperationRecord> Profile::records() const {
  std::vector<OperationRecord> called;
  for (const auto& place : records_) {
    std::copy_if(std::begin(place), std::end(place), std::back_inserter(called),
                 [](const OperationRecord& record) { return record.calls > 0; });
  }
  return called;
}

Profile::Timer::Timer(Profile& profile, Operation operation, double bytes, double flops, bool on_device)
    : profile_(profile.enabled() ? &profile : nullptr),
      operation_(operation),
      on_device_(on_device),
      bytes_(bytes),
      flops_(flops) {
  if (profile_) begin_ = std::chrono::steady_clock::now();
}

Profile::Timer::~Timer() {
  if (!profile_) return;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  profile_->add(operation_, on_device_, seconds.count(), bytes_, flops_);
}

MachineBandwidth measure_bandwidth(int threads) {
  constexpr std::size_t words = std::size_t{1} << 24;
  constexpr std::size_t chunk = std::size_t{1} << 19;
  const auto chunks = static_cast<std::int64_t>(words / chunk);
  const std::unique_ptr<std::uint64_t[]> from(new std::uint64_t[words]);
  const std::unique_ptr<std::uint64_t[]> to(new std::uint64_t[words]);
  kernels::parallel_for(threads, chunks, [&](std::int64_t item, int) {
    const std::size_t begin = static_cast<std::size_t>(item) * chunk;
    std::fill_n(from.get() + begin, chunk, std::uint64_t{1});
    std::fill_n(to.get() + begin, chunk, std::uint64_t{0});
  });
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(chunks));
  const auto best_of = [](auto work) {
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      best = std::max(best, 1 / seconds.count());
    }
    return best;
  };
  MachineBandwidth bandwidth;
  bandwidth.read = sizeof(std::uint64_t) * static_cast<double>(words) * best_of([&] {
                     kernels::parallel_for(threads, chunks, [&](std::int64_t item, int) {
                       // Integers, so that the compiler may sum in vectors; kept, so that it must sum.
                       const std::uint64_t* values = from.get() + static_cast<std::size_t>(item) * chunk;
                       std::uint64_t sum = 0;
                       for (std::size_t i = 0; i < chunk; ++i) sum += values[i];
                       sums[static_cast<std::size_t>(item)] = sum;
                     });
                   });
  bandwidth.copy =
      2 * sizeof(std::uint64_t) * static_cast<double>(words) * best_of([&] {
        // One piece a thread: the C library streams past the caches when a copy is long.
        const int pieces = kernels::resolve_threads(threads);
        kernels::parallel_for(threads, pieces, [&](std::int64_t item, int) {
          const std::size_t begin = words * static_cast<std::size_t>(item) / static_cast<std::size_t>(pieces);
          const std::size_t end = words * static_cast<std::size_t>(item + 1) / static_cast<std::size_t>(pieces);
          std::memcpy(to.get() + begin, from.get() + begin, (end - begin) * sizeof(std::uint64_t));
        });
      });
  return bandwidth;
}

}  // namespace blockvec
