#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace bench {

/// "name=value" arguments over `settings`, which hold all names that are known.
inline std::map<std::string, std::string> read_settings(int argc, char** argv,
                                                        std::map<std::string, std::string> settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || settings.count(argument.substr(0, equals)) == 0) {
      throw std::runtime_error("unknown argument " + argument);
    }
    settings[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return settings;
}

}  // namespace bench
