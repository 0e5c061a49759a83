#include "src/dispatch/cuda/banks.hpp"

#include <algorithm>
#include <array>

namespace blockvec::kernels::dispatch {
namespace {

constexpr int lanes = 32;
constexpr int by_lanes[] = {1, 2, 4};
constexpr int pitches = 64;  // a larger pitch behaves like one from 32 on

int count_clocks(int by_lane, int pitch, int real_bytes) {
  const int together = std::min(lanes, 128 / real_bytes);  // lanes that one clock serves at best
  int clocks = 0;
  for (int first = 0; first < lanes; first += together) {
    std::array<std::array<int, lanes>, lanes> seen{};
    std::array<int, lanes> count{};
    for (int lane = first; lane < first + together; ++lane) {
      const int place = by_lane * (lane % 4) * pitch + lane / 4;
      const auto bank = static_cast<std::size_t>(place % together);
      auto& known = seen[bank];
      const auto end = known.begin() + count[bank];
      if (std::find(known.begin(), end, place) != end) continue;  // one read serves all lanes that read the same number
      *end = place;
      ++count[bank];
    }
    clocks += *std::max_element(count.begin(), count.end());
  }
  return clocks;
}

using Table = std::array<std::array<std::array<int, pitches>, std::size(by_lanes)>, 2>;

Table count_all() {
  Table table{};
  for (std::size_t wide = 0; wide < 2; ++wide) {
    for (std::size_t map = 0; map < std::size(by_lanes); ++map) {
      for (int pitch = 0; pitch < pitches; ++pitch) {
        table[wide][map][static_cast<std::size_t>(pitch)] = count_clocks(by_lanes[map], pitch, wide == 0 ? 4 : 8);
      }
    }
  }
  return table;
}

}  // namespace

int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes) {
  static const Table table = count_all();
  const std::size_t which = map.by_lane == 1 ? 0 : map.by_lane == 2 ? 1 : 2;
  const std::int64_t like = pitch < pitches ? pitch : pitches / 2 + pitch % (pitches / 2);
  return table[real_bytes == 4 ? 0 : 1][which][static_cast<std::size_t>(like)];
}

}  // namespace blockvec::kernels::dispatch
