#pragma once

#include "src/cuda/study/tsm2.hpp"

/// The paper's model of TSM2R (section 3.1.8 and 3.1.9): which tiles, and what share of the memory's bandwidth.
namespace blockvec::kernels::cuda::study {

/// What the model knows of a card. Rates are a second's, latencies in seconds.
struct Tsm2Card {
  int multiprocessors;
  double bandwidth;          ///< bytes of the memory
  double rate;               ///< operations of the type in question
  double memory_latency;     ///< of one read
  double product_latency;    ///< of one multiply-add
  int most_threads;          ///< of a multiprocessor
  int registers;             ///< of a multiprocessor, of 4 bytes
  int shared_bytes;          ///< of a multiprocessor
  int base_registers = 20;   ///< of a thread, beside those of tiles: the paper's C
  int most_registers = 255;  ///< of a thread
};

struct Tsm2Problem {
  double m, k;
  int n;
  int bytes;  ///< of a number
};

/// The columns of B from which products take longer than reading A.
double tsm2_threshold(const Tsm2Card& card, int bytes);

/// Threads that a multiprocessor holds at most, as registers and shared memory allow. 0: not even one.
double tsm2_occupancy(const Tsm2Card& card, const Tsm2Tiles& tiles, int bytes);

struct Tsm2Prediction {
  Tsm2Tiles tiles;
  double share;  ///< of the bandwidth at which A is read
  double seconds;
  bool is_memory_bound;
};

/// What the model says of given tiles. `threads`: of a multiprocessor, at most; the paper sets no such limit, although
/// a grid has one thread a row only.
Tsm2Prediction predict_tsm2r(const Tsm2Card& card, const Tsm2Problem& problem, const Tsm2Tiles& tiles,
                             double threads = 1e9);

/// Algorithm 5: the compiled t2 and t3 of the shortest time; of equals, the fewest reads under way. The paper goes down
/// a gradient from t2 = t3 = 1 and rounds. t1 is not modelled, and 128.
Tsm2Tiles choose_tsm2r(const Tsm2Card& card, const Tsm2Problem& problem);

}  // namespace blockvec::kernels::cuda::study
