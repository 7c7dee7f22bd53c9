// Reads and writes tensors in files for tests, with independent code.
#ifndef DP_TESTS_TOOLS_WEIGHTS_H
#define DP_TESTS_TOOLS_WEIGHTS_H

#include <map>
#include <set>
#include <string>
#include <vector>

struct Tensor {
  std::vector<int> shape;
  std::string data;
  bool operator==(const Tensor &other) const { return shape == other.shape && data == other.data; }
};
using Weights = std::map<std::string, Tensor>;

// The tensors of a safetensors file, of its content.
Weights SplitWeights(const std::string &content);
// The content of a safetensors file of float32.
std::string JoinWeights(const Weights &weights);

// What an ONNX file has: its initializers, and the operators of its nodes. Of its content.
struct OnnxFile {
  Weights initializers;
  std::set<std::string> operators;
};
OnnxFile ReadOnnx(const std::string &content);

#endif
