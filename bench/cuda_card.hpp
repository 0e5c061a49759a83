#pragma once

#include <cstdio>
#include <string>

#include "bench/cuda_support.hpp"

namespace bench {

/// What nvidia-smi says of the current device, which need not be the first one that it knows: "value,value".
inline std::string state_of_card(const std::string& properties, const std::string& format = "") {
  int device = 0;
  char bus[32] = "0";
  check(cudaGetDevice(&device));
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  const std::string command = "nvidia-smi -i " + std::string(bus) + " --query-gpu=" + properties +
                              " --format=csv,noheader" + format + " | sed 's/, /,/g'";
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char piece[256];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  pclose(pipe);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace bench
