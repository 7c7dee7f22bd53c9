// See network.h.
#include "passes/network.h"

#include "ir/graph/op.h"
#include "passes/simplify/cse.h"

static uint64_t mix(uint64_t hash, uint64_t word) { return dp_cse_mix(dp_hash64, hash, word); }

static uint64_t hash_node(const dp_node *node) {
  uint64_t hash = mix(dp_hash_name(node->op->domain), dp_hash_name(node->op->name)), attrs = 0;
  hash = mix(hash, dp_hash_name(node->name));
  for (int i = 0; i < node->n_inputs; i++) hash = mix(hash, node->inputs[i] ? dp_hash_name(node->inputs[i]->name) : 0);
  for (int i = 0; i < node->n_attrs; i++) attrs += dp_cse_hash_attr(dp_hash64, &node->attrs[i]);
  return mix(hash, attrs);
}

static uint64_t hash_constant(const dp_value *value) {
  return mix(dp_hash_name(value->name), dp_hash64(value->constant->data, value->constant->bytes));
}

uint64_t dp_network_hash(const dp_model *model) {
  uint64_t sum = 0;
  for (int g = 0; g < model->n_graphs; g++) {
    const dp_graph *graph = model->graphs[g];
    for (int32_t i = 0; i < graph->n_nodes; i++) sum += hash_node(graph->nodes[i]);
    for (int32_t i = 0; i < graph->n_values; i++)
      if (graph->values[i]->kind == DP_VALUE_CONSTANT) sum += hash_constant(graph->values[i]);
  }
  return sum;
}
