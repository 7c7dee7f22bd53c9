// Runs graphs and single nodes on the host with a target's kernels. Tests use it and compare with it.
//
// A Tensor is what one device holds of a value: the whole value, or a shard of dp_shard_range.
#ifndef DP_TESTS_IR_OPS_INTERPRETER_H
#define DP_TESTS_IR_OPS_INTERPRETER_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace dp_test {

struct Tensor {
  dp_dtype dtype = DP_NO_TYPE;
  dp_local local{};            // for a whole value local.extents == local.whole
  std::vector<uint8_t> bytes;  // dense, row-major

  int64_t Count() const { return dp_local_count(&local); }
  double Get(int64_t i) const { return dp_element_get(dtype, &bytes[size_t(i) * dp_type_bytes(dtype)]); }
  void Set(int64_t i, double value) { dp_element_set(dtype, &bytes[size_t(i) * dp_type_bytes(dtype)], value); }
};

// What the device at `coordinate` of the mesh (or a single device) holds of a value of this type at n; zeroed.
Tensor MakeWhole(const dp_type &type, int64_t n);
Tensor MakePart(const dp_type &type, int64_t n, const dp_placement *placements, const dp_mesh &mesh,
                const int64_t *coordinate);
// A whole tensor with these numbers and constant extents.
Tensor MakeTensor(dp_dtype dtype, const std::vector<int64_t> &extents, const std::vector<double> &numbers);
std::vector<double> Numbers(const Tensor &tensor);

// The index in the whole tensor of element i of a shard.
int64_t WholeIndex(const dp_local &local, int64_t i);
// Fills a shard from the whole, or the whole from a shard.
void Cut(const Tensor &whole, Tensor *part);
void Paste(const Tensor &part, Tensor *whole);

// Runs one node's kernel on shards. in, out: by operand and result, NULL where absent; result tensors have their types
// and extents already. parts: the number of parts for kernels that run in parts. Returns "" or the error message.
std::string RunNode(const dp_target &target, const dp_node *node, const std::vector<const Tensor *> &in,
                    const std::vector<Tensor *> &out, int parts = 1, bool reference_only = true);

// Runs the graph on one device at n. bindings: inputs, scalars and variables by name (constants are known). Sets
// values[id] for every value. Returns "" or the error message.
std::string RunGraph(const dp_target &target, const dp_graph *graph, int64_t n,
                     const std::map<std::string, Tensor> &bindings, std::vector<Tensor> *values,
                     bool reference_only = true);

}  // namespace dp_test

#endif
