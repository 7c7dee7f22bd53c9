// The calls of libraries that dprun --explain shows.
#ifndef DP_TESTS_CUDA_LIBRARY_CALLS_H
#define DP_TESTS_CUDA_LIBRARY_CALLS_H

#include <regex>
#include <sstream>
#include <string>
#include <utility>

// How many products and convolutions libraries compute, and how many of these steps' lines have the word.
inline std::pair<int, int> LibraryCalls(const std::string &explained, const std::string &word) {
  static const std::regex of_library(" +uses.*(cuDNN engine|cuBLASLt algorithm).*");
  std::istringstream lines(explained);
  std::pair<int, int> count;
  for (std::string line; std::getline(lines, line);) {
    const bool counts = std::regex_match(line, of_library);
    count.first += counts;
    count.second += counts && line.find(word) != std::string::npos;
  }
  return count;
}

#endif
