#pragma once

#include <string>
#include <string_view>

#include "src/dispatch/cuda/configuration.hpp"

/// Configurations as text. Tuning tables, benchmarks and explanations use the same words: "tile 2x8 groups 4 rows 16".
namespace blockvec::kernels::dispatch {

std::string name_of(TsmttsmKernel kernel);
std::string name_of(TsmmKernel kernel);
std::string name_of(CudaBound bound);

/// Returns all that a configuration chooses, without commas.
std::string words(const CudaTsmttsm& configuration);
std::string words(const CudaTsmm& configuration);

/// Reads the configuration that a kernel's name and words stand for. Words that are left out give 0; `complete` sets
/// those. Returns false if the text stands for no configuration.
bool read_words(std::string_view kernel, std::string_view words, CudaTsmttsm& configuration);
bool read_words(std::string_view kernel, std::string_view words, CudaTsmm& configuration);

}  // namespace blockvec::kernels::dispatch
