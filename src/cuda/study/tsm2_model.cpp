#include "src/cuda/study/tsm2_model.hpp"

#include <algorithm>

namespace blockvec::kernels::cuda::study {

double tsm2_threshold(const Tsm2Card& card, int bytes) { return card.rate / card.bandwidth * bytes; }

double tsm2_occupancy(const Tsm2Card& card, const Tsm2Tiles& tiles, int bytes) {
  const int registers = (3 * tiles.t2 + 2 * tiles.t3) * bytes / 4 + card.base_registers;
  if (registers > card.most_registers) return 0;
  return std::min({static_cast<double>(card.most_threads), static_cast<double>(card.registers) / registers,
                   static_cast<double>(card.shared_bytes) / (tiles.t2 * bytes)});
}

Tsm2Prediction predict_tsm2r(const Tsm2Card& card, const Tsm2Problem& problem, const Tsm2Tiles& tiles, double threads) {
  const double occupancy = std::min(threads, tsm2_occupancy(card, tiles, problem.bytes));
  // Little's law: what is under way in a multiprocessor against what must be.
  const double of_each = 1.0 / card.multiprocessors;
  const double reads = occupancy * tiles.t3;
  const double reads_wanted = card.memory_latency * card.bandwidth * of_each / problem.bytes;
  const double products = occupancy * tiles.t3 * tiles.t2;
  const double products_wanted = card.product_latency * card.rate * of_each;
  const double share = std::min(1.0, reads / reads_wanted);
  const double share_of_rate = std::min(1.0, products / products_wanted);

  const double passes = std::max(1.0, static_cast<double>(problem.n) / tiles.t2);
  const double reading = problem.m * problem.k * passes * problem.bytes / (card.bandwidth * share);
  const double multiplying = 2 * problem.m * problem.k * problem.n / (card.rate * share_of_rate);
  const bool is_memory_bound = std::min(tiles.t2, problem.n) <= tsm2_threshold(card, problem.bytes);
  return {tiles, share, is_memory_bound ? reading : multiplying, is_memory_bound};
}

Tsm2Tiles choose_tsm2r(const Tsm2Card& card, const Tsm2Problem& problem) {
  Tsm2Prediction best{{}, 0, 1e300, true};
  for (const int t2 : tsm2_t2) {
    for (const int t3 : tsm2_t3) {
      if (t2 > std::max(problem.n, tsm2_t2.front())) continue;
      const Tsm2Prediction next = predict_tsm2r(card, problem, {tsm2_t1.front(), t2, t3});
      if (next.share > 0 && next.seconds < best.seconds * (1 - 1e-12)) best = next;
    }
  }
  return best.tiles;
}

}  // namespace blockvec::kernels::cuda::study
