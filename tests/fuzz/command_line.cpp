// The command line on any words: options, or an exit status. The input holds one word a line.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words{"block_lanczos"};
  if (size > 0) words.emplace_back();
  for (std::size_t i = 0; i < size; ++i) {
    const char c = static_cast<char>(data[i]);
    if (c == '\n') {
      if (i + 1 < size) words.emplace_back();
    } else if (c != '\0') {  // no argument holds one
      words.back() += c;
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  blockvec::examples::ProgramOptions options;
  const auto status =
      blockvec::examples::parse_command_line(static_cast<int>(words.size()), arguments.data(), false, options);
  if (status) {
    if (*status != 0 && *status != 2) std::abort();
    return 0;
  }
  // What is taken is what --help promises.
  if (options.threads < 0 || !(options.lanczos.checkpoint.seconds >= 0)) std::abort();
  if (options.layout != "row" && options.layout != "column") std::abort();
  return 0;
}
