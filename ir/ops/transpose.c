// Transpose: dim d of the result is dim perm[d] of the operand; without perm the dims are reversed.
#include <string.h>

#include "ir/ops/common.h"

static dp_status permutation(const dp_node *node, int perm[DP_MAX_RANK]) {
  size_t count;
  const int64_t *given = dp_node_ints(node, "perm", &count);
  int rank = dp_common_shape(node, 0)->rank;
  bool taken[DP_MAX_RANK] = {0}, named = dp_node_attr(node, "perm") != NULL;
  if (named && count != (size_t)rank)
    return dp_fail(EX_DATAERR, "perm has %zu numbers where the operand has %d dims", count, rank);
  for (int d = 0; d < rank; d++) {
    int64_t p = named ? given[d] : rank - 1 - d;
    if (p < 0 || p >= rank || taken[p])
      return dp_fail(EX_DATAERR, "perm has %lld at index %d; each of 0 to %d is expected once", (long long)p, d,
                     rank - 1);
    taken[p] = true;
    perm[d] = (int)p;
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  int perm[DP_MAX_RANK];
  DP_TRY(permutation(node, perm));
  const dp_shape *x = dp_common_shape(node, 0);
  dp_shape y = {.rank = x->rank};
  for (int d = 0; d < x->rank; d++) y.dims[d] = x->dims[perm[d]];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// The transpose of a product that nothing else needs, such as the gradient of weights that an exporter transposed: the
// operands change places. NULL: dy is none.
static dp_value *turned_product(dp_builder *b, const dp_value *dy) {
  const dp_node *node = dy->producer;
  if (!node || strcmp(node->op->name, "Gemm") || *node->op->domain || dp_common_operand(node, 2)) return NULL;
  const dp_attr attrs[] = {dp_attr_int("transA", !dp_node_int(node, "transB", 0)),
                           dp_attr_int("transB", !dp_node_int(node, "transA", 0)),
                           dp_attr_float("alpha", dp_node_float(node, "alpha", 1))};
  dp_value *operands[] = {node->inputs[1], node->inputs[0]};
  return dp_build(b, "Gemm", 2, operands, 1, attrs[2].f == 1 ? 2 : 3, attrs);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  int perm[DP_MAX_RANK];
  int64_t inverse[DP_MAX_RANK];
  int rank = dp_common_shape(node, 0)->rank;
  dp_status status = permutation(node, perm);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  for (int d = 0; d < rank; d++) inverse[perm[d]] = d;
  if (rank == 2 && perm[0] == 1 && (dx[0] = turned_product(b, dy[0]))) return;
  dp_attr attr = dp_attr_ints(b->graph->arena, "perm", inverse, (size_t)rank);
  dx[0] = dp_build(b, "Transpose", 1, dy, 1, 1, &attr);
}

static void placements(dp_sharding_rules *rules) {
  int perm[DP_MAX_RANK];
  dp_status status = permutation(rules->node, perm);
  if (status) {
    dp_status_free(status);
    return;
  }
  const dp_shape *x = dp_common_shape(rules->node, 0);
  for (int d = 0; d < x->rank; d++) dp_sharding_split(rules, x->dims[perm[d]], &perm[d], &d);
  dp_sharding_linear(rules, 1);
  dp_placement max = dp_partial(DP_MAX);
  dp_sharding_add_placed(rules, &max, &max);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "perm=[2,0,1]", .n = 5},
    {.inputs = "float32[2,N,3,4]", .attrs = "perm=[1,3,0,2]", .n = 3},
    {.inputs = "int32[N,3]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[2,3]", .low = -9, .high = 9},
    {.inputs = "uint8[N,2,2]", .attrs = "perm=[0,2,1]", .n = 3, .low = 0, .high = 255},
    {.inputs = "bool[2,3]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Transpose = {
    .name = "Transpose",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 'T')},
    .outputs = {DP_OPERAND("transposed", DP_STORED, 'T')},
    .attrs = {DP_INTS_ATTR("perm")},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
