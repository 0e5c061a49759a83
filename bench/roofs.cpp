#include "bench/roofs.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <vector>

namespace bench {
namespace {

// This file is compiled for the machine that it runs on: static dispatch is enough.
namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// [begin, end) of this thread, in whole lines.
struct Share {
  std::size_t begin, end;
};
Share my_share(std::size_t count, std::size_t grain) {
  const auto thread = static_cast<std::size_t>(omp_get_thread_num());
  const auto threads = static_cast<std::size_t>(omp_get_num_threads());
  return {count * thread / threads / grain * grain, count * (thread + 1) / threads / grain * grain};
}

template <class Call>
double sample(double work, Call&& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return work / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e-9;
}

template <class Call>
double rate(double work, Call&& call) {
  std::vector<double> samples;
  for (int repetition = 0; repetition < 5; ++repetition) samples.push_back(sample(work, call));
  return median(samples);
}

// `streams` runs at once per thread, prefetched `ahead` doubles ahead (0: by the hardware alone).
double read_once(const double* p, std::size_t count, std::size_t streams, std::size_t ahead) {
  double total = 0;
#pragma omp parallel reduction(+ : total)
  {
    const hn::ScalableTag<double> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto [begin, end] = my_share(count, 64);
    const std::size_t length = (end - begin) / streams / 32 * 32;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (std::size_t i = 0; i < length; i += 32) {
      for (std::size_t stream = 0; stream < streams; ++stream) {
        const double* const q = p + begin + stream * length + i;
        if (ahead != 0) {
          for (std::size_t line = 0; line < 32; line += 8) __builtin_prefetch(q + ahead + line, 0, 2);
        }
        for (std::size_t j = 0; j < 32; j += 4 * lanes) {
          s0 = hn::Add(s0, hn::LoadU(d, q + j));
          s1 = hn::Add(s1, hn::LoadU(d, q + j + lanes));
          s2 = hn::Add(s2, hn::LoadU(d, q + j + 2 * lanes));
          s3 = hn::Add(s3, hn::LoadU(d, q + j + 3 * lanes));
        }
      }
    }
    total += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  }
  return total;
}

// Blocks of `block` doubles, so that reading and writing alternate as finely as is asked for.
void copy_once(const double* from, double* to, std::size_t count, std::size_t block, std::size_t ahead, bool around) {
#pragma omp parallel
  {
    const hn::ScalableTag<double> d;
    const std::size_t lanes = hn::Lanes(d);
    alignas(64) double held[64];
    const auto [begin, end] = my_share(count, 64);
    for (std::size_t i = begin; i < end; i += block) {
      for (std::size_t j = 0; j < block; j += 8) __builtin_prefetch(from + i + j + ahead, 0, 3);
      for (std::size_t j = 0; j < block; j += lanes) hn::Store(hn::LoadU(d, from + i + j), d, held + j);
      for (std::size_t j = 0; j < block; j += lanes) {
        if (around) {
          hn::Stream(hn::Load(d, held + j), d, to + i + j);
        } else {
          hn::Store(hn::Load(d, held + j), d, to + i + j);
        }
      }
    }
    hwy::FlushStream();
  }
}

void copy_by_library(const double* from, double* to, std::size_t count) {
#pragma omp parallel
  {
    const auto [begin, end] = my_share(count, 64);
    std::memcpy(to + begin, from + begin, (end - begin) * sizeof(double));
  }
}

template <class T>
double fma_rate() {
  constexpr int steps = 20000000;
  const hn::ScalableTag<T> d;
  const double flops = 2.0 * 12 * static_cast<double>(hn::Lanes(d)) * steps * omp_get_max_threads();
  double sink = 0;
  const double result = rate(flops, [&] {
#pragma omp parallel reduction(+ : sink)
    {
      hn::Vec<hn::ScalableTag<T>> sums[12];
      for (auto& sum : sums) sum = hn::Zero(d);
      const auto x = hn::Set(d, static_cast<T>(1 + 1e-3 * omp_get_thread_num()));
      for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
        for (auto& sum : sums) sum = hn::MulAdd(sum, x, x);
      }
      for (auto& sum : sums) sink += static_cast<double>(hn::GetLane(sum));
    }
  });
  return sink == 1 ? 0 : result;
}

}  // namespace

Memory::Memory(std::size_t bytes) : bytes_(bytes), mapped_(bytes + 2 * huge_page) {
  map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map_ == MAP_FAILED) throw std::bad_alloc();
  start_ = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(map_) + huge_page - 1) / huge_page * huge_page);
  madvise(start_, bytes + huge_page, MADV_HUGEPAGE);
  auto* const p = static_cast<float*>(start_);
  const std::size_t count = (bytes + huge_page) / sizeof(float);
#pragma omp parallel
  {
    const auto [begin, end] = my_share(count, 64);
    auto state = static_cast<std::uint32_t>(begin + 1);
    for (std::size_t i = begin; i < end; ++i) {
      state = state * 1664525U + 1013904223U;
      // As floats and as pairs of them that are doubles: moderate numbers, never subnormal.
      p[i] = 1.0F + static_cast<float>(state >> 9) * 0x1p-23F;
    }
  }
}

Memory::~Memory() { munmap(map_, mapped_); }

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

Roofs::Roofs(const Memory& from, const Memory& to) : from_(from), to_(to) {
  const auto choose = [this](Variant Roofs::*kept, double (Roofs::*measure)() const, double& best,
                             std::initializer_list<Variant> variants) {
    Variant fastest;
    for (const Variant variant : variants) {
      this->*kept = variant;
      std::vector<double> samples;
      for (int repetition = 0; repetition < 5; ++repetition) samples.push_back((this->*measure)());
      if (const double here = median(samples); here > best) {
        best = here;
        fastest = variant;
      }
    }
    this->*kept = fastest;
  };
  choose(&Roofs::read_, &Roofs::read, first_read,
         {{1, 0}, {1, 256}, {1, 512}, {1, 1024}, {2, 0}, {2, 64}, {2, 256}, {2, 512}, {4, 0}, {4, 64}, {4, 256}});
  choose(&Roofs::copy_, &Roofs::copy, first_copy, {{0, 0}, {8, 192}, {8, 256}, {32, 256}, {64, 256}, {64, 512}});
  choose(&Roofs::plain_copy_, &Roofs::plain_copy, first_plain_copy, {{32, 256}, {64, 256}, {64, 512}});
  fma_double = fma_rate<double>();
  fma_float = fma_rate<float>();
}

double Roofs::read() const {
  volatile double sink = 0;
  return sample(static_cast<double>(from_.bytes()), [&] {
    sink = read_once(from_.as<double>(), from_.bytes() / sizeof(double), read_.streams_or_block, read_.ahead);
  });
}

double Roofs::copy() const {
  const std::size_t count = from_.bytes() / sizeof(double);
  return sample(2.0 * static_cast<double>(from_.bytes()), [&] {
    if (copy_.streams_or_block == 0) {
      copy_by_library(from_.as<double>(), to_.as<double>(), count);
    } else {
      copy_once(from_.as<double>(), to_.as<double>(), count, copy_.streams_or_block, copy_.ahead, true);
    }
  });
}

double Roofs::plain_copy() const {
  return sample(2.0 * static_cast<double>(from_.bytes()), [&] {
    copy_once(from_.as<double>(), to_.as<double>(), from_.bytes() / sizeof(double), plain_copy_.streams_or_block,
              plain_copy_.ahead, false);
  });
}

}  // namespace bench
