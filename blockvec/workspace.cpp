#include <algorithm>
#include <bit>
#include <blockvec/context.hpp>
#include <string>
#include <utility>

#include "blockvec/allocate.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

constexpr std::size_t alignment = 128;
constexpr std::size_t smallest_slab = std::size_t{1} << 16, smallest_kept = std::size_t{1} << 12;

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
  slabs_.push_back(detail::allocate<std::byte, Space>(whole + alignment, "BlockVec::Workspace"));
  ++allocations_;
}

template <class Space>
void* Workspace<Space>::take(std::size_t bytes) {
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

// Called by destructors, which have nobody to tell of an error: without memory the next take asks for what it needs,
// and a device that has failed says so again to whoever calls it next.
template <class Space>
void Workspace<Space>::give_back(const Position& position) noexcept {
  position_ = position;
  if (position_.used > 0 || slabs_.size() < 2) return;
  try {
    join_slabs();
  } catch (...) {
  }
}

// The smallest that is large enough. Sizes are powers of two, so that needs which grow are met by few allocations.
template <class Space>
typename Workspace<Space>::Slab Workspace<Space>::take_kept(std::size_t bytes) {
  const std::size_t need = std::bit_ceil(std::max(bytes, smallest_kept)) + alignment;
  auto best = spare_.end();
  for (auto slab = spare_.begin(); slab != spare_.end(); ++slab) {
    if (slab->extent(0) >= need && (best == spare_.end() || slab->extent(0) < best->extent(0))) best = slab;
  }
  if (best != spare_.end()) {
    Slab slab = std::move(*best);
    spare_.erase(best);
    return slab;
  }
  spare_.reserve(kept_ + 1);  // giving back asks for no memory
  Slab slab = detail::allocate<std::byte, Space>(need, "BlockVec::KeptMemory");
  ++kept_;
  ++allocations_;
  return slab;
}

template <class Space>
void Workspace<Space>::give_back_kept(Slab slab) noexcept {
  spare_.push_back(std::move(slab));
}

template <class Space>
KeptMemory<Space>::KeptMemory(const Context& context, std::size_t bytes)
    : context_(context), slab_(context.workspace<Space>().take_kept(bytes)) {}

template <class Space>
void KeptMemory<Space>::give_back() noexcept {
  if (slab_.data() == nullptr) return;
  context_.workspace<Space>().give_back_kept(std::move(slab_));
  slab_ = {};
}

template <class Space>
std::byte* KeptMemory<Space>::data() const {
  const auto base = reinterpret_cast<std::uintptr_t>(slab_.data());
  return slab_.data() + ((base + alignment - 1) / alignment * alignment - base);
}

template class KeptMemory<Kokkos::HostSpace>;
template class Workspace<Kokkos::HostSpace>;
#if BLOCKVEC_HAVE_CUDA_SPACE
template class Workspace<Kokkos::CudaSpace>;
template class Workspace<StagingSpaceOf<Kokkos::CudaSpace>>;
template class KeptMemory<Kokkos::CudaSpace>;
template class KeptMemory<StagingSpaceOf<Kokkos::CudaSpace>>;
#endif

}  // namespace blockvec
