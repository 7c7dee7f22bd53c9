// Reads and writes .npy arrays for tests, with independent code, and computes measures of predictions by hand.
#ifndef DP_TESTS_TOOLS_ARRAY_H
#define DP_TESTS_TOOLS_ARRAY_H

#include <cstdint>
#include <string>
#include <vector>

struct Array {
  std::string descr;  // "<f4", "<f8", "<i8"
  std::vector<int64_t> shape;
  std::vector<double> numbers;
};

Array ReadNpy(const std::string &path);  // fails the test for other types
// The content of a .npy file of float64.
std::string Npy(const std::vector<int64_t> &shape, const std::vector<double> &numbers);
// The content of an IDX file of bytes, without its header.
std::vector<int> ReadIdxBytes(const std::string &path, size_t header_bytes);

struct Measures {
  double loss, accuracy;
};
// The mean cross entropy of softmax over the last axis of the scores, and the share of labels that have the highest
// score.
Measures Measure(const Array &scores, const std::vector<int> &labels);

#endif
