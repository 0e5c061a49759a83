#include <algorithm>
#include <blockvec/workspace.hpp>
#include <string>

#include "blockvec/allocate.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

constexpr std::size_t alignment = 128;
constexpr std::size_t smallest_slab = std::size_t{1} << 16;

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

template <class Space>
std::size_t Workspace<Space>::capacity() const {
  std::size_t sum = 0;
  for (const Slab& slab : slabs_) sum += slab.extent(0) - alignment;
  return sum;
}

// One piece of the whole size serves the next round without gaps.
template <class Space>
void Workspace<Space>::join_slabs() {
  const std::size_t whole = capacity();
  if constexpr (!std::is_same_v<Space, Kokkos::HostSpace>) Kokkos::fence();  // work in it may be under way
  slabs_.clear();
  position_ = {};
  try {
    slabs_.push_back(detail::allocate<std::byte, Space>(whole + alignment, "BlockVec::Workspace"));
    ++allocations_;
  } catch (const OutOfMemoryError&) {
    // What is needed next may be less; if not, that error is thrown.
  }
}

template <class Space>
void* Workspace<Space>::take(std::size_t bytes) {
  if (position_.used == 0 && slabs_.size() > 1) join_slabs();
  const std::size_t need = rounded(bytes);
  while (position_.slab < slabs_.size() && position_.offset + need + alignment > slabs_[position_.slab].extent(0)) {
    ++position_.slab;
    position_.offset = 0;
  }
  if (position_.slab == slabs_.size()) {
    slabs_.push_back(detail::allocate<std::byte, Space>(std::max(need, std::max(smallest_slab, capacity())) + alignment,
                                                        "BlockVec::Workspace"));
    ++allocations_;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(slabs_[position_.slab].data());
  void* address = reinterpret_cast<void*>((base + alignment - 1) / alignment * alignment + position_.offset);
  position_.offset += need;
  position_.used += need;
  high_water_ = std::max(high_water_, position_.used);
  return address;
}

template class Workspace<Kokkos::HostSpace>;
#if BLOCKVEC_HAVE_CUDA_SPACE
template class Workspace<Kokkos::CudaSpace>;
template class Workspace<StagingSpaceOf<Kokkos::CudaSpace>>;
#endif

}  // namespace blockvec
