#pragma once

#include <string>

namespace blockvec::solvers {

/// How long runs are saved and continued (docs/checkpoints.md).
struct CheckpointOptions {
  std::string file;      ///< empty: nothing is saved
  double seconds = 600;  ///< from one checkpoint to the next; 0: at every look
  std::string restart;   ///< the checkpoint that the run goes on from; empty: it begins anew
  std::string matrix;    ///< one line for people, where a checkpoint is refused
};

}  // namespace blockvec::solvers
