// The parts of make_seeds: make_seeds.cc (text, models, plans, weights), onnx_seeds.cc and data_seeds.cc.
#ifndef DP_TESTS_FUZZ_SEEDS_H
#define DP_TESTS_FUZZ_SEEDS_H

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/frontends/onnx_builder.h"
#include "tests/ir/ops/samples.h"

namespace seeds {

using dp_test::Arena;

extern std::string folder;
extern int count;

inline void Write(const std::string &bytes) {
  std::ofstream file(folder + "/" + std::to_string(count++), std::ios::binary);
  file << bytes;
}

inline void Must(dp_status status) {
  if (!status) return;
  std::cerr << "make_seeds: " << dp_status_message(status) << "\n";
  exit(1);
}

inline std::string ReadAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Small models as text: every operator's samples, and what these do not cover.
std::vector<std::string> Texts();
dp_model *Parsed(const Arena &arena, const std::string &text);

void Onnxes();
// files: the samples, by path.
void Data(const std::vector<std::string> &files);

}  // namespace seeds

#endif
