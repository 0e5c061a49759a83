#include "tests/support/count_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> allocations{0};
}

std::int64_t blockvec::testing::allocations_so_far() { return allocations; }

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const address = std::malloc(bytes ? bytes : 1)) return address;
  throw std::bad_alloc();
}
void operator delete(void* address) noexcept { std::free(address); }
void operator delete(void* address, std::size_t) noexcept { std::free(address); }
