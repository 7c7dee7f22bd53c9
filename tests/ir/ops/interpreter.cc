// Runs graphs and single nodes on the host. See interpreter.h.
#include "tests/ir/ops/interpreter.h"

#include <cstdlib>
#include <cstring>

namespace dp_test {

static Tensor Make(dp_dtype dtype, const dp_local &local) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.local = local;
  tensor.bytes.resize(size_t(dp_local_count(&local)) * dp_type_bytes(dtype));
  return tensor;
}

Tensor MakePart(const dp_type &type, int64_t n, const dp_placement *placements, const dp_mesh &mesh,
                const int64_t *coordinate) {
  return Make(type.dtype, dp_shard_range(&type.shape, placements, &mesh, coordinate, n));
}

Tensor MakeWhole(const dp_type &type, int64_t n) {
  dp_mesh none{};
  return MakePart(type, n, nullptr, none, nullptr);
}

Tensor MakeTensor(dp_dtype dtype, const std::vector<int64_t> &extents, const std::vector<double> &numbers) {
  dp_type type{};
  type.dtype = dtype;
  type.shape.rank = int(extents.size());
  for (size_t i = 0; i < extents.size(); i++) type.shape.dims[i] = dp_dim_of(extents[i]);
  Tensor tensor = MakeWhole(type, 0);
  for (size_t i = 0; i < numbers.size(); i++) tensor.Set(int64_t(i), numbers[i]);
  return tensor;
}

std::vector<double> Numbers(const Tensor &tensor) {
  std::vector<double> numbers(size_t(tensor.Count()));
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = tensor.Get(int64_t(i));
  return numbers;
}

int64_t WholeIndex(const dp_local &local, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int d = local.rank - 1; d >= 0; d--) {
    index += stride * dp_local_to_whole(&local, d, i % local.extents[d]);
    i /= local.extents[d];
    stride *= local.whole[d];
  }
  return index;
}

void Cut(const Tensor &whole, Tensor *part) {
  for (int64_t i = 0; i < part->Count(); i++) part->Set(i, whole.Get(WholeIndex(part->local, i)));
}

void Paste(const Tensor &part, Tensor *whole) {
  for (int64_t i = 0; i < part.Count(); i++) whole->Set(WholeIndex(part.local, i), part.Get(i));
}

static std::string Message(dp_status status) {
  std::string message = dp_status_message(status);
  dp_status_free(status);
  return message;
}

std::string RunNode(const dp_target &target, const dp_node *node, const std::vector<const Tensor *> &in,
                    const std::vector<Tensor *> &out, int parts, bool reference_only) {
  dp_kernel_spec spec{};
  dp_kernel_operand operands[DP_MAX_OPERANDS] = {}, made[DP_MAX_OPERANDS] = {};
  const void *from[DP_MAX_OPERANDS] = {};
  void *to[DP_MAX_OPERANDS] = {};
  static const uint64_t nowhere = 0;  // the address of empty tensors
  spec.op = node->op;
  spec.node = node;
  spec.threads = parts;
  spec.n_inputs = node->n_inputs;
  spec.n_outputs = node->n_outputs;
  spec.inputs = operands;
  spec.outputs = made;
  for (int i = 0; i < node->n_inputs; i++) {
    if (!in[size_t(i)]) continue;
    operands[i] = {in[size_t(i)]->dtype, true, in[size_t(i)]->local, DP_LAYOUT_PLAIN};
    from[i] = in[size_t(i)]->bytes.empty() ? static_cast<const void *>(&nowhere) : in[size_t(i)]->bytes.data();
  }
  uint64_t room = 0;
  for (int i = 0; i < node->n_outputs; i++) {
    if (!out[size_t(i)]) continue;
    made[i] = {out[size_t(i)]->dtype, true, out[size_t(i)]->local, DP_LAYOUT_PLAIN};
    to[i] = out[size_t(i)]->bytes.empty() ? static_cast<void *>(&room) : out[size_t(i)]->bytes.data();
  }
  const dp_kernel *kernel = dp_kernel_select(&target, &spec, reference_only);
  if (!kernel) return std::string("no kernel for ") + node->op->name;
  uint64_t scratch_bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
  void *scratch = scratch_bytes ? std::aligned_alloc(64, dp_align_up(scratch_bytes, 64)) : nullptr, *state = nullptr;
  if (scratch) std::memset(scratch, 0xa5, scratch_bytes);
  dp_status status = kernel->prepare ? kernel->prepare(&spec, &state) : DP_OK;
  int count = kernel->parts ? parts : 1;
  for (int part = 0; !status && part < count; part++)
    status = kernel->run(&spec, state, from, to, scratch, part, count);
  if (kernel->release) kernel->release(state);
  std::free(scratch);
  return Message(status);
}

static void Constant(const dp_tensor *constant, Tensor *tensor) {
  if (constant->bytes) std::memcpy(tensor->bytes.data(), constant->data, constant->bytes);
}

std::string RunGraph(const dp_target &target, const dp_graph *graph, int64_t n,
                     const std::map<std::string, Tensor> &bindings, std::vector<Tensor> *values, bool reference_only) {
  values->assign(size_t(graph->n_values), Tensor());
  for (int32_t i = 0; i < graph->n_values; i++) {
    const dp_value *value = graph->values[i];
    Tensor &tensor = (*values)[size_t(i)];
    tensor = MakeWhole(*value->type, n);
    if (value->kind == DP_VALUE_RESULT) continue;
    if (value->kind == DP_VALUE_CONSTANT) {
      Constant(value->constant, &tensor);
      continue;
    }
    auto bound = bindings.find(value->name);
    if (bound == bindings.end()) return std::string("nothing is given for '") + value->name + "'";
    if (bound->second.dtype != tensor.dtype || bound->second.bytes.size() != tensor.bytes.size())
      return std::string("what is given for '") + value->name + "' has another type or size";
    tensor.bytes = bound->second.bytes;
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    std::vector<const Tensor *> in;
    std::vector<Tensor *> out;
    for (int k = 0; k < node->n_inputs; k++)
      in.push_back(node->inputs[k] ? &(*values)[size_t(node->inputs[k]->id)] : nullptr);
    for (int k = 0; k < node->n_outputs; k++)
      out.push_back(node->outputs[k] ? &(*values)[size_t(node->outputs[k]->id)] : nullptr);
    std::string message = RunNode(target, node, in, out, 1, reference_only);
    if (!message.empty()) return std::string("node '") + node->name + "': " + message;
  }
  return "";
}

}  // namespace dp_test
