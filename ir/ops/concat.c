// Concat: the operands in sequence along `axis`; the other extents are the same. Linear in all of them together.
#include "ir/ops/blocks.h"

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

static dp_status infer(dp_node *node) {
  dp_shape y = *dp_common_shape(node, 0);
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), y.rank, &axis));
  if (node->n_inputs > DP_MAX_REPEATED)
    return dp_fail(EX_DATAERR, "%d operands given; up to %d are supported: join some of them first", node->n_inputs,
                   DP_MAX_REPEATED);
  for (int i = 1; i < node->n_inputs; i++) {
    const dp_shape *x = dp_common_shape(node, i);
    dp_shape expected = y;
    if (x->rank == y.rank) expected.dims[axis] = x->dims[axis];
    DP_TRY(dp_common_expect(dp_printf(node->graph->arena, "operand %d", i + 1), x, &expected));
    dp_dim *sum = &y.dims[axis];
    if (__builtin_add_overflow(sum->scale, x->dims[axis].scale, &sum->scale) ||
        __builtin_add_overflow(sum->offset, x->dims[axis].offset, &sum->offset))
      return dp_fail(EX_DATAERR, "the extents along dim %d are too large together", axis);
  }
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// If an extent contains N, Split cannot be used, since it cuts only equal parts. Each part is then gathered by its
// positions.
static void gather_parts(dp_builder *b, const dp_node *node, int axis, dp_value *dy, dp_value **dx) {
  dp_shape before = {.rank = 1};  // dy's extent up to the part
  for (int i = 0; i < node->n_inputs; i++) {
    dp_shape limit = {.rank = 1, .dims = {dp_common_shape(node, i)->dims[axis]}};
    dp_attr range = dp_attr_dims(b->graph->arena, "limit", &limit), along = dp_attr_int("axis", axis);
    dp_value *positions = dp_build(b, "Range", 0, NULL, 1, 1, &range);
    if (i) positions = dp_build2(b, "Add", positions, dp_build_count(b, &before, (int64_t[]){0}, 1, DP_INT64));
    dx[i] = dp_build(b, "Gather", 2, (dp_value *[]){dy, positions}, 1, 1, &along);
    before.dims[0].scale += limit.dims[0].scale;
    before.dims[0].offset += limit.dims[0].offset;
  }
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const int axis = axis_of(node);
  const dp_dim first = dp_common_shape(node, 0)->dims[axis];
  int64_t sizes[DP_MAX_OPERANDS];
  bool equal = true, fixed = true;
  for (int i = 0; i < node->n_inputs; i++) {
    dp_dim extent = dp_common_shape(node, i)->dims[axis];
    equal = equal && dp_dim_equal(extent, first);
    fixed = fixed && !dp_dim_is_symbolic(extent);
    sizes[i] = extent.offset;
  }
  if (!equal && !fixed) {
    gather_parts(b, node, axis, dy[0], dx);
    return;
  }
  // Without sizes the parts are equal.
  dp_attr attrs[] = {dp_attr_int("axis", axis), dp_attr_ints(b->graph->arena, "split", sizes, (size_t)node->n_inputs)};
  dp_value *split = dp_build(b, "Split", 1, dy, node->n_inputs, fixed ? 2 : 1, attrs);
  for (int i = 0; i < node->n_inputs && !b->status; i++) dx[i] = split->producer->outputs[i];
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  const dp_shape *y = &node->outputs[0]->type->shape;
  int axis = axis_of(node);
  for (int d = 0; d < y->rank; d++) {
    if (d == axis) continue;
    int in[DP_MAX_OPERANDS];
    for (int i = 0; i < DP_MAX_OPERANDS; i++) in[i] = d;
    dp_sharding_split(rules, y->dims[d], in, &d);
  }
  dp_dim extent = dp_common_shape(node, 0)->dims[axis];
  bool equal = true;
  for (int i = 1; i < node->n_inputs; i++) equal = equal && dp_dim_equal(dp_common_shape(node, i)->dims[axis], extent);
  if (equal) dp_blocks_sharding(rules, axis, extent, node->n_inputs, false);
  dp_sharding_linear(rules, (1u << node->n_inputs) - 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,5]", .attrs = "axis=1", .n = 5},
    {.inputs = "float32[N,2,4], float32[N,2,4], float32[N,2,4]", .attrs = "axis=-2", .n = 3},
    {.inputs = "float32[2,N], float32[1,N]", .attrs = "axis=0", .n = 4},
    {.inputs = "float32[N,3], float32[N,3]", .attrs = "axis=0", .n = 5},
    {.inputs = "float32[2,N], float32[2,3], float32[2,2*N+1]", .attrs = "axis=1", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "axis=1", .n = 4},
    {.inputs = "int32[N,2], int32[N,6]", .attrs = "axis=1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[4], int64[4]", .attrs = "axis=0", .low = -9, .high = 9},
    {.inputs = "uint8[N,1], uint8[N,0], uint8[N,3]", .attrs = "axis=1", .n = 3, .low = 0, .high = 255},
    {.inputs = "bool[2,3], bool[2,3]", .attrs = "axis=1", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Concat = {
    .name = "Concat",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .variadic = true,
    .inputs = {DP_OPERAND("inputs", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("concat_result", DP_ANY_TYPE, 'T')},
    .attrs = {{.name = "axis", .kind = DP_ATTR_INT, .required = true}},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
