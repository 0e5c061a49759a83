#include "src/dispatch/cuda_words.hpp"

#include <charconv>
#include <vector>

namespace blockvec::kernels::dispatch {
namespace {

// One quantity of a configuration, or two as in "2x8".
template <class Configuration>
struct Word {
  std::string_view name;
  int Configuration::*first;
  int Configuration::*second = nullptr;
};

constexpr Word<CudaTsmttsm> tsmttsm_words[] = {{"tile", &CudaTsmttsm::tile_m, &CudaTsmttsm::tile_n},
                                               {"warps", &CudaTsmttsm::warps_m, &CudaTsmttsm::warps_n},
                                               {"sections", &CudaTsmttsm::sections_m, &CudaTsmttsm::sections_n},
                                               {"groups", &CudaTsmttsm::groups},
                                               {"split", &CudaTsmttsm::split},
                                               {"feeds", &CudaTsmttsm::feeds},
                                               {"padding", &CudaTsmttsm::padding},
                                               {"turned", &CudaTsmttsm::turned},
                                               {"tf32", &CudaTsmttsm::tf32},
                                               {"gauss", &CudaTsmttsm::gauss},
                                               {"segment", &CudaTsmttsm::segment},
                                               {"rows", &CudaTsmttsm::rows},
                                               {"stages", &CudaTsmttsm::stages},
                                               {"fold", &CudaTsmttsm::fold}};
constexpr Word<CudaTsmttsm> tsmttsm_direct_words[] = {{"tile", &CudaTsmttsm::tile_m, &CudaTsmttsm::tile_n},
                                                      {"warps", &CudaTsmttsm::warps_m, &CudaTsmttsm::warps_n},
                                                      {"sections", &CudaTsmttsm::sections_m, &CudaTsmttsm::sections_n},
                                                      {"groups", &CudaTsmttsm::groups},
                                                      {"neighbours", &CudaTsmttsm::neighbours},
                                                      {"fold", &CudaTsmttsm::fold}};
constexpr Word<CudaTsmm> tsmm_words[] = {{"tile", &CudaTsmm::tile_n, &CudaTsmm::blocks_n},
                                         {"tf32", &CudaTsmm::tf32},
                                         {"warps", &CudaTsmm::warps},
                                         {"groups", &CudaTsmm::groups},
                                         {"rows", &CudaTsmm::rows},
                                         {"stages", &CudaTsmm::stages},
                                         {"ticket", &CudaTsmm::chunks_per_ticket}};

constexpr Word<CudaTsmm> tsmm_boxes_words[] = {{"tile", &CudaTsmm::blocks_n, &CudaTsmm::tile_n},
                                               {"warps", &CudaTsmm::row_warps, &CudaTsmm::warps},
                                               {"groups", &CudaTsmm::groups},
                                               {"panel", &CudaTsmm::panel},
                                               {"staged", &CudaTsmm::staged},
                                               {"tf32", &CudaTsmm::tf32},
                                               {"gauss", &CudaTsmm::gauss},
                                               {"held", &CudaTsmm::held},
                                               {"stages", &CudaTsmm::stages},
                                               {"ticket", &CudaTsmm::chunks_per_ticket}};
constexpr Word<CudaTsmm> tsmm_wide_words[] = {
    {"tile", &CudaTsmm::blocks_n, &CudaTsmm::tile_n}, {"panel", &CudaTsmm::panel}, {"stages", &CudaTsmm::stages}};
constexpr Word<CudaTsmm> tsmm_warps_words[] = {{"tile", &CudaTsmm::blocks_n, &CudaTsmm::tile_n},
                                               {"tf32", &CudaTsmm::tf32},
                                               {"staged", &CudaTsmm::staged},
                                               {"stages", &CudaTsmm::stages},
                                               {"ticket", &CudaTsmm::chunks_per_ticket}};
constexpr Word<CudaTsmm> tsmm_warpgroup_words[] = {
    {"tile", &CudaTsmm::tile_n}, {"stages", &CudaTsmm::stages}, {"ticket", &CudaTsmm::chunks_per_ticket}};
constexpr Word<CudaTsmm> tsmm_columns_words[] = {{"tile", &CudaTsmm::blocks_n, &CudaTsmm::tile_n},
                                                 {"warps", &CudaTsmm::row_warps, &CudaTsmm::warps},
                                                 {"groups", &CudaTsmm::groups},
                                                 {"tf32", &CudaTsmm::tf32},
                                                 {"stages", &CudaTsmm::stages},
                                                 {"ticket", &CudaTsmm::chunks_per_ticket}};
constexpr Word<CudaTsmm> tsmm_panels_words[] = {{"tile", &CudaTsmm::blocks_n, &CudaTsmm::tile_n}};
constexpr Word<CudaTsmm> tsmm_direct_words[] = {{"tile", &CudaTsmm::blocks_n, &CudaTsmm::tile_n},
                                                {"panel", &CudaTsmm::panel}};

constexpr CudaKernel kernels[] = {CudaKernel::ring,    CudaKernel::boxes,  CudaKernel::wide,   CudaKernel::warps,
                                  CudaKernel::columns, CudaKernel::panels, CudaKernel::warpgroup, CudaKernel::direct, CudaKernel::general};

template <class Configuration, std::size_t count>
std::string say(const Configuration& c, const Word<Configuration> (&known)[count]) {
  std::string text;
  for (const auto& word : known) {
    text += text.empty() ? "" : " ";
    text += std::string(word.name) + ' ' + std::to_string(c.*word.first);
    if (word.second != nullptr) text += 'x' + std::to_string(c.*word.second);
  }
  return text;
}

bool read_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// The piece of `text` up to the next blank, which is taken away with it.
std::string_view take_piece(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

template <class Configuration, std::size_t count>
bool read(std::string_view text, Configuration& c, const Word<Configuration> (&known)[count]) {
  while (!text.empty()) {
    const std::string_view name = take_piece(text);
    std::string_view value = take_piece(text);
    const Word<Configuration>* found = nullptr;
    for (const auto& word : known) {
      if (word.name == name) found = &word;
    }
    if (found == nullptr || !read_number(value, c.*found->first)) return false;
    if (found->second != nullptr) {
      if (value.empty() || value.front() != 'x') return false;
      value.remove_prefix(1);
      if (!read_number(value, c.*found->second)) return false;
    }
    if (!value.empty()) return false;
  }
  return true;
}

bool read_kernel(std::string_view name, CudaKernel& kernel) {
  for (const CudaKernel known : kernels) {
    if (name_of(known) != name) continue;
    kernel = known;
    return true;
  }
  return false;
}

}  // namespace

std::string name_of(CudaKernel kernel) {
  switch (kernel) {
    case CudaKernel::none:
      return "none";
    case CudaKernel::ring:
      return "ring";
    case CudaKernel::boxes:
      return "boxes";
    case CudaKernel::wide:
      return "wide";
    case CudaKernel::warps:
      return "warps";
    case CudaKernel::columns:
      return "columns";
    case CudaKernel::panels:
      return "panels";
    case CudaKernel::warpgroup:
      return "warpgroup";
    case CudaKernel::direct:
      return "direct";
    case CudaKernel::general:
      return "general";
  }
  return "";
}

std::string name_of(CudaBound bound) {
  switch (bound) {
    case CudaBound::memory:
      return "memory";
    case CudaBound::tensor_cores:
      return "tensor cores";
    case CudaBound::arithmetic:
      return "arithmetic";
    case CudaBound::shared_memory:
      return "shared memory";
    case CudaBound::latency:
      return "latency";
  }
  return "";
}

std::string words(const CudaTsmttsm& configuration) {
  const auto& c = configuration;
  if (c.kernel == CudaKernel::none) return "nothing to multiply";
  return c.kernel == CudaKernel::direct ? say(c, tsmttsm_direct_words) : say(c, tsmttsm_words);
}

std::string words(const CudaTsmm& configuration) {
  if (configuration.in_parts()) {
    CudaTsmm part = configuration;
    part.part_columns = 0;
    const std::string rows = part.part_rows > 0 ? std::to_string(part.part_rows) + " rows of " : "";
    return "parts of " + rows + std::to_string(configuration.part_columns) + " columns: " + words(part);
  }
  const auto& c = configuration;
  if (c.kernel == CudaKernel::general) return std::to_string(c.parts) + " blocks";
  if (c.kernel == CudaKernel::direct) return say(c, tsmm_direct_words);
  if (c.kernel == CudaKernel::wide) return say(c, tsmm_wide_words);
  if (c.kernel == CudaKernel::warps) return say(c, tsmm_warps_words);
  if (c.kernel == CudaKernel::warpgroup) return say(c, tsmm_warpgroup_words);
  if (c.kernel == CudaKernel::columns) return say(c, tsmm_columns_words);
  if (c.kernel == CudaKernel::panels) return say(c, tsmm_panels_words);
  return c.kernel == CudaKernel::boxes ? say(c, tsmm_boxes_words) : say(c, tsmm_words);
}

bool read_words(std::string_view kernel, std::string_view words, CudaTsmttsm& configuration) {
  configuration = {};
  if (!read_kernel(kernel, configuration.kernel)) return false;
  return configuration.kernel == CudaKernel::direct ? read(words, configuration, tsmttsm_direct_words)
                                                    : read(words, configuration, tsmttsm_words);
}

bool read_words(std::string_view kernel, std::string_view words, CudaTsmm& configuration) {
  configuration = {};
  if (!read_kernel(kernel, configuration.kernel)) return false;
  if (configuration.kernel == CudaKernel::direct) return read(words, configuration, tsmm_direct_words);
  if (configuration.kernel == CudaKernel::wide) return read(words, configuration, tsmm_wide_words);
  if (configuration.kernel == CudaKernel::warps) return read(words, configuration, tsmm_warps_words);
  if (configuration.kernel == CudaKernel::warpgroup) return read(words, configuration, tsmm_warpgroup_words);
  if (configuration.kernel == CudaKernel::columns) return read(words, configuration, tsmm_columns_words);
  if (configuration.kernel == CudaKernel::panels) return read(words, configuration, tsmm_panels_words);
  return configuration.kernel == CudaKernel::boxes ? read(words, configuration, tsmm_boxes_words)
                                                   : read(words, configuration, tsmm_words);
}

}  // namespace blockvec::kernels::dispatch
