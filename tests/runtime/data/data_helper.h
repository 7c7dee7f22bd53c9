// Opens data for an input and reads all of it as numbers.
#ifndef DP_TESTS_RUNTIME_DATA_DATA_HELPER_H
#define DP_TESTS_RUNTIME_DATA_DATA_HELPER_H

#include <string>
#include <vector>

#include "runtime/data/data.h"

struct Read {
  int code = 0;  // exit code
  std::string message;
  dp_dtype dtype = DP_NO_TYPE;   // of the file
  std::vector<int64_t> extents;  // of the file, samples first
  std::vector<double> numbers;   // of the samples that can be read; empty after a failure
  std::vector<bool> broken;      // by sample, with skip_broken
};

// "N" in `dims` stands for the samples, as -1: {-1, 3}.
dp_type InputOf(dp_dtype dtype, const std::vector<int64_t> &dims);
int BatchDim(const dp_type &input);  // -1: none
// Opens "FILE:PART" for the input and reads it sample by sample.
Read ReadData(const std::string &text, const dp_type &input, bool skip_broken = false);
// All of a file as one tensor.
dp_status ReadTensor(dp_arena *arena, const std::string &path, dp_tensor *tensor);

#endif
