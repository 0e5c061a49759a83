#include "src/dispatch/cuda/text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>

namespace blockvec::kernels::dispatch {
namespace {

/// A number of a configuration, or two as in "2x8".
template <class Configuration>
struct Field {
  std::string_view name;
  int Configuration::*first;
  int Configuration::*second = nullptr;
};

/// What a kernel is called, and the fields that tell its configurations apart.
template <class Configuration>
struct Named {
  decltype(Configuration::kernel) kernel;
  std::string_view name;
  std::span<const Field<Configuration>> fields;
};

using Reduces = CudaTsmttsm;
constexpr Field<Reduces> reduces_tile{"tile", &Reduces::tile_m, &Reduces::tile_n};
constexpr Field<Reduces> reduces_blocks{"blocks", &Reduces::tile_m};
constexpr Field<Reduces> reduces_warps{"warps", &Reduces::warps_m, &Reduces::warps_n};
constexpr Field<Reduces> reduces_sections{"sections", &Reduces::sections_m, &Reduces::sections_n};
constexpr Field<Reduces> reduces_groups{"groups", &Reduces::groups};
constexpr Field<Reduces> split{"split", &Reduces::split};
constexpr Field<Reduces> feeds{"feeds", &Reduces::feeds};
constexpr Field<Reduces> padding{"padding", &Reduces::padding};
constexpr Field<Reduces> segment{"segment", &Reduces::segment};
constexpr Field<Reduces> reduces_rows{"rows", &Reduces::rows};
constexpr Field<Reduces> reduces_stages{"stages", &Reduces::stages};
constexpr Field<Reduces> fold{"fold", &Reduces::fold};

constexpr Field<Reduces> ring_fields[] = {reduces_tile, reduces_warps, reduces_sections, reduces_groups, split, feeds,
                                          padding,      segment,       reduces_rows,     reduces_stages, fold};
constexpr Field<Reduces> square_fields[] = {reduces_blocks, reduces_groups, split,          feeds, padding,
                                            segment,        reduces_rows,   reduces_stages, fold};
constexpr Field<Reduces> gram_fields[] = {
    reduces_blocks, reduces_groups, split,          feeds, padding, {"turned", &Reduces::turned},
    segment,        reduces_rows,   reduces_stages, fold};
constexpr Field<Reduces> wide_gram_fields[] = {reduces_sections, reduces_groups, split,          feeds, padding,
                                               segment,          reduces_rows,   reduces_stages, fold};
constexpr Field<Reduces> reduces_fma_fields[] = {
    {"columns", &Reduces::tile_n}, reduces_groups, split, feeds, padding, segment, reduces_rows, reduces_stages, fold};
constexpr Field<Reduces> reduces_direct_fields[] = {
    reduces_tile, reduces_warps, reduces_sections, reduces_groups, {"neighbours", &Reduces::neighbours}, fold};

constexpr Named<Reduces> reducing_kernels[] = {
    {TsmttsmKernel::none, "none", {}},
    {TsmttsmKernel::ring, "ring", ring_fields},
    {TsmttsmKernel::ring_3m, "ring_3m", ring_fields},
    {TsmttsmKernel::square_3m, "square_3m", square_fields},
    {TsmttsmKernel::gram, "gram", gram_fields},
    {TsmttsmKernel::gram_wide, "gram_wide", wide_gram_fields},
    {TsmttsmKernel::fma, "fma", reduces_fma_fields},
    {TsmttsmKernel::gram_fma, "gram_fma", reduces_fma_fields},
    {TsmttsmKernel::tf32_warpgroup, "tf32_warpgroup", ring_fields},
    {TsmttsmKernel::tf32_3m_warpgroup, "tf32_3m_warpgroup", ring_fields},
    {TsmttsmKernel::direct, "direct", reduces_direct_fields},
};

using Maps = CudaTsmm;
constexpr Field<Maps> rows_by_columns{"tile", &Maps::blocks_n, &Maps::tile_n};
constexpr Field<Maps> columns_by_rows{"tile", &Maps::tile_n, &Maps::blocks_n};
constexpr Field<Maps> one_side{"tile", &Maps::tile_n};
constexpr Field<Maps> warps{"warps", &Maps::warps};
constexpr Field<Maps> both_warps{"warps", &Maps::row_warps, &Maps::warps};
constexpr Field<Maps> groups{"groups", &Maps::groups};
constexpr Field<Maps> rows{"rows", &Maps::rows};
constexpr Field<Maps> panel{"panel", &Maps::panel};
constexpr Field<Maps> staged{"staged", &Maps::staged};
constexpr Field<Maps> stages{"stages", &Maps::stages};
constexpr Field<Maps> ticket{"ticket", &Maps::chunks_per_ticket};

constexpr Field<Maps> row_ring_fields[] = {columns_by_rows, warps, groups, rows, stages, ticket};
constexpr Field<Maps> row_fma_fields[] = {{"columns", &Maps::blocks_n}, groups, rows, stages, ticket};
constexpr Field<Maps> row_deep_fields[] = {one_side, warps, groups, rows, stages, ticket};
constexpr Field<Maps> column_ring_fields[] = {rows_by_columns, both_warps, groups, stages, ticket};
constexpr Field<Maps> column_fields[] = {rows_by_columns, stages, ticket};
constexpr Field<Maps> strided_fields[] = {rows_by_columns, both_warps, groups, panel, staged, stages, ticket};
constexpr Field<Maps> registers_fields[] = {rows_by_columns, both_warps, panel, staged, stages, ticket};
constexpr Field<Maps> wide_fields[] = {rows_by_columns, panel, stages};
constexpr Field<Maps> per_warp_fields[] = {rows_by_columns, staged, stages, ticket};
constexpr Field<Maps> warpgroup_fields[] = {one_side, stages, ticket};
constexpr Field<Maps> short_k_fields[] = {rows_by_columns};
constexpr Field<Maps> direct_fields[] = {rows_by_columns, panel};

constexpr Named<Maps> mapping_kernels[] = {
    {TsmmKernel::none, "none", {}},
    {TsmmKernel::row_ring, "row_ring", row_ring_fields},
    {TsmmKernel::row_ring_tf32, "row_ring_tf32", row_ring_fields},
    {TsmmKernel::row_fma, "row_fma", row_fma_fields},
    {TsmmKernel::row_deep, "row_deep", row_deep_fields},
    {TsmmKernel::column_ring, "column_ring", column_ring_fields},
    {TsmmKernel::column_tf32, "column_tf32", column_fields},
    {TsmmKernel::column_fma, "column_fma", column_fields},
    {TsmmKernel::strided, "strided", strided_fields},
    {TsmmKernel::strided_plain, "strided_plain", strided_fields},
    {TsmmKernel::strided_3m, "strided_3m", strided_fields},
    {TsmmKernel::strided_tf32, "strided_tf32", strided_fields},
    {TsmmKernel::registers_3m, "registers_3m", registers_fields},
    {TsmmKernel::wide, "wide", wide_fields},
    {TsmmKernel::per_warp, "per_warp", per_warp_fields},
    {TsmmKernel::per_warp_tf32, "per_warp_tf32", per_warp_fields},
    {TsmmKernel::tf32_warpgroup, "tf32_warpgroup", warpgroup_fields},
    {TsmmKernel::short_k, "short_k", short_k_fields},
    {TsmmKernel::direct, "direct", direct_fields},
    {TsmmKernel::general, "general", {}},
};

std::span<const Named<Reduces>> kernels_of(const Reduces&) { return reducing_kernels; }
std::span<const Named<Maps>> kernels_of(const Maps&) { return mapping_kernels; }

template <class Configuration>
const Named<Configuration>& named(const Configuration& c) {
  const auto kernels = kernels_of(c);
  return *std::find_if(kernels.begin(), kernels.end(), [&](const auto& known) { return known.kernel == c.kernel; });
}

template <class Configuration>
std::string say(const Configuration& c) {
  std::string text;
  for (const auto& field : named(c).fields) {
    text += text.empty() ? "" : " ";
    text += std::string(field.name) + ' ' + std::to_string(c.*field.first);
    if (field.second != nullptr) text += 'x' + std::to_string(c.*field.second);
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

template <class Configuration>
bool read(std::string_view kernel, std::string_view text, Configuration& c) {
  c = {};
  const auto kernels = kernels_of(c);
  const auto known = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == kernel; });
  if (known == kernels.end()) return false;
  c.kernel = known->kernel;
  while (!text.empty()) {
    const std::string_view name = take_piece(text);
    std::string_view value = take_piece(text);
    const auto field =
        std::find_if(known->fields.begin(), known->fields.end(), [&](const auto& one) { return one.name == name; });
    if (field == known->fields.end() || !read_number(value, c.*field->first)) return false;
    if (field->second != nullptr) {
      if (value.empty() || value.front() != 'x') return false;
      value.remove_prefix(1);
      if (!read_number(value, c.*field->second)) return false;
    }
    if (!value.empty()) return false;
  }
  return true;
}

}  // namespace

std::string name_of(TsmttsmKernel kernel) {
  CudaTsmttsm c{};
  c.kernel = kernel;
  return std::string(named(c).name);
}

std::string name_of(TsmmKernel kernel) {
  CudaTsmm c{};
  c.kernel = kernel;
  return std::string(named(c).name);
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
  return configuration.kernel == TsmttsmKernel::none ? "nothing to multiply" : say(configuration);
}

std::string words(const CudaTsmm& configuration) {
  if (!configuration.in_parts()) return say(configuration);
  const std::string rows_of = configuration.part_rows > 0 ? std::to_string(configuration.part_rows) + " rows of " : "";
  return "parts of " + rows_of + std::to_string(configuration.part_columns) + " columns: " + say(configuration);
}

bool read_words(std::string_view kernel, std::string_view words, CudaTsmttsm& configuration) {
  return read(kernel, words, configuration);
}

bool read_words(std::string_view kernel, std::string_view words, CudaTsmm& configuration) {
  return read(kernel, words, configuration);
}

}  // namespace blockvec::kernels::dispatch
