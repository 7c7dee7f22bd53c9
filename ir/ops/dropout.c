// Dropout(x, ratio, training_mode) -> y [, mask]. Specialized into the identity or, in training, dp.Dropout with the
// node's name as key. An explicit training_mode=0 makes it the identity in training too. `seed` is accepted and
// ignored: the run's seed determines what is dropped.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  double ratio = dp_node_float(node, "ratio", 0.5);
  if (!(ratio >= 0 && ratio < 1))
    return dp_fail(EX_DATAERR, "ratio is %g where 0 or more and less than 1 is expected", ratio);
  dp_common_set(node, 1, DP_BOOL, dp_common_shape(node, 0));
  return dp_common_infer_same(node);
}

static dp_value *drop(dp_builder *b, const dp_node *node, dp_value *x) {
  dp_value *in[] = {x, dp_graph_scalar(b->graph, DP_SCALAR_SEED), dp_graph_scalar(b->graph, DP_SCALAR_STEP)};
  dp_attr attrs[] = {dp_attr_float("ratio", dp_node_float(node, "ratio", 0.5)),
                     dp_attr_int("key", dp_hash_name(node->name))};
  return dp_build(b, "dp.Dropout", 3, in, 1, 2, attrs);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  bool drops = training && dp_node_int(node, "training_mode", 1) != 0;
  out[0] = drops ? drop(b, node, in[0]) : dp_build1(b, "Identity", in[0]);
  if (!dp_common_result(node, 1)) return;
  dp_value *one = dp_build_fill(b, in[0]->type->dtype, 1);
  dp_attr shape = dp_attr_dims(b->graph->arena, "shape", &in[0]->type->shape);
  dp_value *ones = dp_build(b, "Expand", 1, &one, 1, 1, &shape);
  out[1] = dp_build_cast(b, drops ? drop(b, node, ones) : ones, DP_BOOL);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "float32[2,N,4]", .attrs = "ratio=0.25, training_mode=1, seed=7", .n = 3},
    {0},
};

const dp_op dp_op_Dropout = {
    .name = "Dropout",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("data", DP_FLOATS, 'T'), DP_AS_ATTR("ratio", DP_FLOATS, true),
               DP_AS_ATTR("training_mode", DP_BIT(DP_BOOL), true)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T'), DP_OPTIONAL("mask", DP_BIT(DP_BOOL), 0)},
    // training_mode has no default here: omitting it differs from 0.
    .attrs = {DP_FLOAT_ATTR("ratio", 0.5), {.name = "training_mode", .kind = DP_ATTR_INT}, DP_INT_ATTR("seed", 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
