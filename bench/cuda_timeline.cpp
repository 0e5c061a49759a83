// What a CUDA program's device does when: a library that CUDA loads into any program, unchanged.
//   CUDA_INJECTION64_PATH=libcuda_timeline.so CUDA_TIMELINE=timeline.csv orth_step rows=262144 shapes=24+8 blocks=easy
// Writes begin_us,microseconds,gap_us,what,grid: kernels, copies and memory sets in the order in which they began, and
// how long the device had been idle before each. With CUDA_TIMELINE_SUM=1: count,microseconds,share,what for each name
// instead, share of the time from the first to the last; kernels that overlap count as long as each runs. After
// CUDA_TIMELINE_FROM seconds of the program, if that is set: the start is left out.
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Activity {
  std::uint64_t begin, end;  // nanoseconds
  std::string what, grid;
};

// Lives as long as the process: activities come in until its end.
struct Recorder {
  std::mutex mutex;
  std::vector<Activity> activities;
  std::uint64_t from = 0;
};
Recorder& recorder() {
  static auto* const all = new Recorder;
  return *all;
}

void report(const char* what, CUptiResult result) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "cuda_timeline: %s: %s\n", what, text != nullptr ? text : "?");
}

std::string readable(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result(status == 0 && text != nullptr ? text : name);
  std::free(text);
  std::replace(result.begin(), result.end(), '"', '\'');
  return result;
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *size = std::size_t{4} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most_records = 0;
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t bytes) {
  Recorder& to = recorder();
  const std::lock_guard lock(to.mutex);
  const auto add = [&](std::uint64_t begin, std::uint64_t end, std::string what, std::string grid) {
    if (begin >= to.from) to.activities.push_back({begin, end, std::move(what), std::move(grid)});
  };
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      add(kernel.start, kernel.end, readable(kernel.name),
          std::to_string(kernel.gridX) + "x" + std::to_string(kernel.gridY));
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy*>(record);
      add(copy.start, copy.end, "copy of " + std::to_string(copy.bytes) + " bytes", "");
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& set = *reinterpret_cast<const CUpti_ActivityMemset*>(record);
      add(set.start, set.end, "memory set", "");
    }
  }
  std::free(buffer);
}

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

void write_timeline(std::FILE* file, const std::vector<Activity>& activities) {
  std::fprintf(file, "begin_us,microseconds,gap_us,what,grid\n");
  const std::uint64_t start = activities.front().begin;
  std::uint64_t end = start;
  for (const Activity& activity : activities) {
    const std::uint64_t gap = activity.begin > end ? activity.begin - end : 0;
    std::fprintf(file, "%.2f,%.2f,%.2f,\"%s\",%s\n", microseconds(activity.begin - start),
                 microseconds(activity.end - activity.begin), microseconds(gap), activity.what.c_str(),
                 activity.grid.c_str());
    end = std::max(end, activity.end);
  }
}

void write_sums(std::FILE* file, const std::vector<Activity>& activities) {
  struct Sum {
    long count = 0;
    std::uint64_t time = 0;
  };
  std::map<std::string, Sum> sums;
  std::uint64_t end = 0, idle = 0;
  for (const Activity& activity : activities) {
    auto& sum = sums[activity.what];
    ++sum.count;
    sum.time += activity.end - activity.begin;
    if (end != 0 && activity.begin > end) idle += activity.begin - end;
    end = std::max(end, activity.end);
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  const double whole = microseconds(end - activities.front().begin);
  std::fprintf(file, "count,microseconds,share,what\n1,%.1f,1,whole\n1,%.1f,%.3f,idle\n", whole, microseconds(idle),
               microseconds(idle) / whole);
  for (const auto& [what, sum] : sorted) {
    std::fprintf(file, "%ld,%.1f,%.3f,\"%s\"\n", sum.count, microseconds(sum.time), microseconds(sum.time) / whole,
                 what.c_str());
  }
}

void finish() {
  report("flush", cuptiActivityFlushAll(1));
  auto& activities = recorder().activities;
  if (activities.empty()) return;  // a helper process, such as MPI's
  std::sort(activities.begin(), activities.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const char* const name = std::getenv("CUDA_TIMELINE");
  std::FILE* const file = name != nullptr ? std::fopen(name, "w") : stderr;
  if (file == nullptr) {
    std::fprintf(stderr, "cuda_timeline: cannot write %s\n", name);
    return;
  }
  std::getenv("CUDA_TIMELINE_SUM") != nullptr ? write_sums(file, activities) : write_timeline(file, activities);
  if (name != nullptr) std::fclose(file);
  activities.clear();
}

}  // namespace

/// CUDA calls this when it is initialised, perhaps more than once.
extern "C" int InitializeInjection() {
  static const bool is_first = [] {
    if (const char* const seconds = std::getenv("CUDA_TIMELINE_FROM")) {
      std::uint64_t now = 0;
      report("time", cuptiGetTimestamp(&now));
      recorder().from = now + static_cast<std::uint64_t>(1e9 * std::atof(seconds));
    }
    report("callbacks", cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    for (const auto kind :
         {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
      report("recording", cuptiActivityEnable(kind));
    std::atexit(finish);
    return true;
  }();
  return is_first ? 1 : 0;
}
