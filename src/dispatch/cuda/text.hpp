#pragma once

#include <string>
#include <string_view>

#include "src/dispatch/cuda/configuration.hpp"

/// Configurations in words, the same in tuning tables, benchmarks and explanations: "tile 2x8 groups 4 rows 16".
namespace blockvec::kernels::dispatch {

std::string name_of(TsmttsmKernel kernel);
std::string name_of(TsmmKernel kernel);
std::string name_of(CudaBound bound);

/// All that a configuration chooses; without commas.
std::string words(const CudaTsmttsm& configuration);
std::string words(const CudaTsmm& configuration);

/// The configuration that a kernel's name and words stand for, to be completed; words that are left out are 0.
/// False where they stand for none.
bool read_words(std::string_view kernel, std::string_view words, CudaTsmttsm& configuration);
bool read_words(std::string_view kernel, std::string_view words, CudaTsmm& configuration);

}  // namespace blockvec::kernels::dispatch
