#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockvec::examples {

/// Lengths of a grid, missing ones 1. Throws InputError naming the problem unless there are `least` to `most` positive
/// lengths whose product fits 64 bits.
std::array<std::int64_t, 3> grid_lengths(std::string_view problem, const std::vector<std::int64_t>& grid,
                                         std::size_t least, std::size_t most);

/// "40 x 40 x 40".
std::string grid_text(const std::array<std::int64_t, 3>& lengths, int dimensions);

}  // namespace blockvec::examples
