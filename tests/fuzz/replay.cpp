// replay FOLDER: every file of a corpus through the entry function of its fuzz target, built as the program itself is.
// Fails if an input takes more than a second of the processor's time or the process more than 64 MB beyond its start.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_memory = false;  // most of it is the sanitizer's
#else
constexpr bool counts_memory = true;
#endif
constexpr long most_kibibytes = 64 * 1024;

long peak_kibibytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  if (argc == 2) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "usage: replay FOLDER, which must hold inputs\n");
    return 2;
  }
  const long kibibytes_at_start = peak_kibibytes();
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    std::printf("%s: %zu bytes\n", file.c_str(), bytes.size());
    std::fflush(stdout);  // names the input should it end the process
    const std::clock_t begin = std::clock();
    try {
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "an exception comes out: %s\n", error.what());
      return 1;
    }
    if (std::clock() - begin > CLOCKS_PER_SEC) {
      std::fprintf(stderr, "this input takes more than a second\n");
      return 1;
    }
    if (counts_memory && peak_kibibytes() - kibibytes_at_start > most_kibibytes) {
      std::fprintf(stderr, "this input takes more than %ld KiB\n", most_kibibytes);
      return 1;
    }
  }
  return 0;
}
