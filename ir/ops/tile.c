// Tile: the operand repeated along each dim. Linear.
#include "ir/ops/blocks.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  size_t count;
  const int64_t *repeats = dp_node_ints(node, "repeats", &count);
  if (count != (size_t)x->rank || !dp_node_attr(node, "repeats"))
    return dp_fail(EX_DATAERR, "repeats has %zu numbers where the operand has %d dims", count, x->rank);
  dp_shape y = *x;
  for (int d = 0; d < x->rank; d++) {
    if (repeats[d] < 0) return dp_fail(EX_DATAERR, "dim %d is repeated %lld times", d, (long long)repeats[d]);
    if (__builtin_mul_overflow(x->dims[d].scale, repeats[d], &y.dims[d].scale) ||
        __builtin_mul_overflow(x->dims[d].offset, repeats[d], &y.dims[d].offset))
      return dp_fail(EX_DATAERR, "dim %d repeated %lld times is too large", d, (long long)repeats[d]);
  }
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// One dim after another: dy gets a dim for the repetitions, which is summed.
static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0);
  size_t count;
  const int64_t *repeats = dp_node_ints(node, "repeats", &count);
  dx[0] = dy[0];
  for (int d = 0; d < x->rank; d++) {
    if (repeats[d] == 1) continue;
    dp_shape shape = dx[0]->type->shape;
    if (shape.rank == DP_MAX_RANK) {
      if (!b->status)
        b->status = dp_fail(EX_DATAERR, "the gradient of Tile supports tensors of up to %d dims", DP_MAX_RANK - 1);
      return;
    }
    for (int i = shape.rank++; i > d; i--) shape.dims[i] = shape.dims[i - 1];
    shape.dims[d] = dp_dim_of(repeats[d]);
    shape.dims[d + 1] = x->dims[d];
    int64_t axis = d;
    dx[0] = dp_build_reduce(b, "ReduceSum", dp_build_reshape(b, dx[0], &shape), &axis, 1, false);
  }
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  size_t count;
  const int64_t *repeats = dp_node_ints(rules->node, "repeats", &count);
  for (int d = 0; d < x->rank; d++) dp_blocks_sharding(rules, d, x->dims[d], repeats[d], false);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "repeats=[1,2]", .n = 4},
    {.inputs = "float32[2,N,6]", .attrs = "repeats=[3,2,1]", .n = 3},
    {.inputs = "float32[]", .attrs = "repeats=[]"},
    {.inputs = "int32[N,4]", .attrs = "repeats=[2,1]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[3]", .attrs = "repeats=[0]", .low = -9, .high = 9},
    {.inputs = "uint8[2,2]", .attrs = "repeats=[2,3]", .low = 0, .high = 255},
    {.inputs = "bool[3]", .attrs = "repeats=[3]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Tile = {
    .name = "Tile",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T'), DP_AS_ATTR("repeats", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INTS_ATTR("repeats")},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
