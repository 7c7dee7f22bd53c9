// BatchNormalization(x, scale, bias, mean, var) -> y [, running_mean, running_var, saved_mean, saved_invstd].
//
// x and y have one type, all else another: a network in 16 bits keeps parameters and statistics in float32.
//
// training_mode=1: y is normalised by the batch's own mean and variance, over all samples present on all devices. The
// running values become momentum * old + (1 - momentum) * the batch's, with the unbiased variance if `unbiased`
// (PyTorch's choice; ONNX uses the biased one). The two saved results are ours, for the gradient. The kernel needs the
// whole batch; over a split batch `decompose` computes the same from simpler operators: first the mean, then the
// centred squares. With --batchnorm=local, training uses dp.GroupedBatchNormalization instead. training_mode=0: y is
// normalised elementwise by the operands mean and var. Programs that do not train use this form for nodes whose
// statistics the model keeps. A node whose statistics are given or computed uses its own x's in every program (weight
// standardisation).
#include "ir/ops/batch_normalization.h"

#include <string.h>

enum { X, SCALE, BIAS, MEAN, VAR };
enum { Y, RUNNING_MEAN, RUNNING_VAR, SAVED_MEAN, SAVED_INVSTD, RESULTS };

static bool trains(const dp_node *node) { return dp_node_int(node, "training_mode", 0) != 0; }

size_t dp_batch_normalization_axes(const dp_shape *x, int64_t axes[DP_MAX_RANK]) {
  size_t count = 0;
  for (int d = 0; d < x->rank; d++)
    if (d != 1) axes[count++] = d;
  return count;
}

dp_value *dp_batch_normalization_wide(dp_builder *builder, dp_value *v, const dp_shape *x) {
  dp_shape wide = {.rank = x->rank};
  for (int d = 0; d < x->rank; d++) wide.dims[d] = d == 1 ? x->dims[1] : dp_dim_of(1);
  return dp_build_reshape(builder, v, &wide);
}

dp_status dp_batch_normalization_check(const dp_node *node, int first, int count) {
  const dp_shape *x = dp_common_shape(node, X);
  char text[256];
  if (x->rank < 2 || dp_dim_is_symbolic(x->dims[1]))
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, channels, ...] is expected",
                   dp_shape_print(x, text, sizeof text));
  dp_shape channels = {.rank = 1, .dims = {x->dims[1]}};
  for (int i = first; i < first + count; i++)
    DP_TRY(dp_common_expect(node->op->inputs[i].name, dp_common_shape(node, i), &channels));
  return DP_OK;
}

void dp_batch_normalization_widen(dp_builder *builder, int count, dp_value *const *in, dp_value **wide) {
  const dp_dtype x = in[X]->type->dtype, scale = in[SCALE]->type->dtype;
  const size_t x_bytes = dp_type_bytes(x), scale_bytes = dp_type_bytes(scale);
  // Neither kind of 16 bits holds the other.
  const dp_dtype dtype = x == scale ? x : x_bytes == scale_bytes ? DP_FLOAT32 : x_bytes > scale_bytes ? x : scale;
  for (int i = 0; i < count; i++) wide[i] = dp_build_cast(builder, in[i], dtype);
}

static dp_status infer(dp_node *node) {
  DP_TRY(dp_batch_normalization_check(node, SCALE, 4));
  double epsilon = dp_node_float(node, "epsilon", 1e-5);
  if (!(epsilon >= 0)) return dp_fail(EX_DATAERR, "epsilon is %g where 0 or more is expected", epsilon);
  if (!trains(node) && node->n_outputs > 1)
    return dp_fail(EX_DATAERR, "%d results are requested, but training_mode=0 gives one", node->n_outputs);
  dp_common_set(node, Y, node->inputs[X]->type->dtype, dp_common_shape(node, X));
  for (int i = RUNNING_MEAN; i < RESULTS; i++)
    dp_common_set(node, i, node->inputs[SCALE]->type->dtype, dp_common_shape(node, SCALE));
  return DP_OK;
}

static dp_value *invstd_of(dp_builder *b, const dp_node *node, dp_value *var) {
  dp_value *std = dp_build1(b, "Sqrt", dp_elementwise_with(b, "Add", var, dp_node_float(node, "epsilon", 1e-5)));
  return dp_build2(b, "Div", dp_build_fill(b, var->type->dtype, 1), std);
}

// Frozen statistics: y = (x - mean) invstd scale + bias. The statistics get gradients too unless they are buffers.
static void frozen_gradient(dp_builder *b, const dp_node *node, dp_value *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, X);
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_batch_normalization_axes(x, axes);
  dp_value *in[VAR + 1];
  dp_batch_normalization_widen(b, VAR + 1, node->inputs, in);
  dy = dp_build_cast(b, dy, in[X]->type->dtype);
  dp_value *invstd = invstd_of(b, node, in[VAR]), *slope = dp_build2(b, "Mul", in[SCALE], invstd);
  dx[X] = dp_build2(b, "Mul", dy, dp_batch_normalization_wide(b, slope, x));
  dx[BIAS] = dp_build_reduce(b, "ReduceSum", dy, axes, n_axes, false);
  dp_value *centred = dp_build2(b, "Sub", in[X], dp_batch_normalization_wide(b, in[MEAN], x));
  dp_value *sum = dp_build_reduce(b, "ReduceSum", dp_build2(b, "Mul", dy, centred), axes, n_axes, false);
  dx[SCALE] = dp_build2(b, "Mul", sum, invstd);
  if (node->inputs[MEAN]->kind != DP_VALUE_VARIABLE || node->inputs[VAR]->kind != DP_VALUE_VARIABLE) {
    dx[MEAN] = dp_build1(b, "Neg", dp_build2(b, "Mul", dx[BIAS], slope));
    // d invstd / d var = -invstd^3 / 2
    dp_value *slopes = dp_build2(b, "Mul", slope, invstd);
    dx[VAR] = dp_build2(b, "Mul", sum, dp_build2(b, "Mul", slopes, dp_elementwise_with(b, "Mul", invstd, -0.5)));
  }
  for (int i = X; i <= VAR; i++)
    if (dx[i]) dx[i] = dp_build_cast(b, dx[i], node->inputs[i]->type->dtype);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  if (!dy[Y]) return;  // none through the statistics
  if (!trains(node)) {
    frozen_gradient(b, node, dy[Y], dx);
    return;
  }
  dp_value *mean = dp_common_result(node, SAVED_MEAN), *invstd = dp_common_result(node, SAVED_INVSTD);
  if (!mean || !invstd) {
    dp_value *again = dp_build(b, "BatchNormalization", 5, node->inputs, RESULTS, node->n_attrs, node->attrs);
    if (b->status) return;
    mean = again->producer->outputs[SAVED_MEAN];
    invstd = again->producer->outputs[SAVED_INVSTD];
  }
  dp_value *in[] = {node->inputs[X], node->inputs[SCALE], mean, invstd, dy[Y]};
  dp_value *first = dp_build(b, "dp.BatchNormalizationGrad", 5, in, 3, 0, NULL);
  if (b->status) return;
  for (int i = 0; i < 3; i++) dx[i] = first->producer->outputs[i];
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  const dp_shape *x = dp_common_shape(node, X);
  dp_sharding_split(rules, x->dims[1], (int[]){1, 0, 0, 0, 0}, (int[]){1, 0, 0, 0, 0});
  for (int d = 0; d < x->rank && !trains(node); d++)
    if (d != 1) dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE, DP_WHOLE, DP_WHOLE, DP_WHOLE}, (int[]){d});
}

// The weight of the batch's statistics in the running ones: 1 - momentum; 0 for a batch without samples.
static dp_value *learnt(dp_builder *b, const dp_node *node, dp_value *count) {
  dp_value *present = dp_build2(b, "Div", count, dp_elementwise_with(b, "Max", count, 1));
  return dp_elementwise_with(b, "Mul", present, 1 - dp_node_float(node, "momentum", 0.9));
}

// old + share * (now - old)
static dp_value *running(dp_builder *b, dp_value *share, dp_value *old, dp_value *now) {
  return dp_build2(b, "Add", old, dp_build2(b, "Mul", dp_build2(b, "Sub", now, old), share));
}

static void decompose(dp_builder *b, const dp_node *node, dp_value *const *given, dp_value **out) {
  const dp_shape *x = &given[X]->type->shape, *channels = &given[SCALE]->type->shape;
  dp_value *in[VAR + 1];
  dp_batch_normalization_widen(b, VAR + 1, given, in);
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_batch_normalization_axes(x, axes);
  bool training = trains(node);
  dp_value *mean = in[MEAN], *var = in[VAR], *centred;
  if (training) {
    dp_value *wide_mean = dp_build_reduce(b, "ReduceMean", in[X], axes, n_axes, true);
    centred = dp_build2(b, "Sub", in[X], wide_mean);
    mean = dp_build_reshape(b, wide_mean, channels);
    var = dp_build_reduce(b, "ReduceMean", dp_build2(b, "Mul", centred, centred), axes, n_axes, false);
  } else {
    centred = dp_build2(b, "Sub", in[X], dp_batch_normalization_wide(b, mean, x));
  }
  dp_value *invstd = invstd_of(b, node, var);
  dp_value *slope = dp_batch_normalization_wide(b, dp_build2(b, "Mul", in[SCALE], invstd), x);
  dp_value *y = dp_build2(b, "Add", dp_build2(b, "Mul", centred, slope), dp_batch_normalization_wide(b, in[BIAS], x));
  out[Y] = dp_build_cast(b, y, given[X]->type->dtype);
  if (!training) return;
  dp_value *count = dp_build_count(b, x, axes, n_axes, y->type->dtype), *share = learnt(b, node, count);
  if (dp_node_int(node, "unbiased", 0)) {
    dp_value *less = dp_elementwise_with(b, "Max", dp_elementwise_with(b, "Sub", count, 1), 1);
    var = dp_build2(b, "Mul", var, dp_build2(b, "Div", count, less));
  }
  if (dp_common_result(node, RUNNING_MEAN)) out[RUNNING_MEAN] = running(b, share, in[MEAN], mean);
  if (dp_common_result(node, RUNNING_VAR)) out[RUNNING_VAR] = running(b, share, in[VAR], var);
  if (dp_common_result(node, SAVED_MEAN)) out[SAVED_MEAN] = mean;
  if (dp_common_result(node, SAVED_INVSTD)) out[SAVED_INVSTD] = invstd;
  for (int i = RUNNING_MEAN; i < RESULTS; i++)
    if (out[i]) out[i] = dp_build_cast(b, out[i], given[SCALE]->type->dtype);
}

// A buffer continues from the value that an earlier node of the step gave it: a module called twice updates it twice.
static dp_value *latest(const dp_graph *graph, dp_value *buffer) {
  for (int i = 0; i < graph->n_updates && buffer->kind == DP_VALUE_VARIABLE; i++)
    if (graph->updates[i].variable == buffer->variable) return graph->updates[i].value;
  return buffer;
}

// Whether the model keeps it, in any type.
static bool is_kept(const dp_value *v) {
  while (v->kind == DP_VALUE_RESULT && !*v->producer->op->domain && !strcmp(v->producer->op->name, "Cast"))
    v = v->producer->inputs[0];
  return v->kind == DP_VALUE_VARIABLE;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  if (trains(node) && (training || !is_kept(in[MEAN]) || !is_kept(in[VAR]))) {
    dp_value *operands[] = {in[X], in[SCALE], in[BIAS], latest(b->graph, in[MEAN]), latest(b->graph, in[VAR])};
    out[Y] = dp_build(b, "BatchNormalization", 5, operands, RESULTS, node->n_attrs, node->attrs);
    if (b->status) return;
    for (int i = RUNNING_MEAN; i < node->n_outputs; i++) out[i] = out[Y]->producer->outputs[i];
    if (training && in[MEAN]->kind == DP_VALUE_VARIABLE)
      dp_graph_add_update(b->graph, in[MEAN]->variable, out[Y]->producer->outputs[RUNNING_MEAN]);
    if (training && in[VAR]->kind == DP_VALUE_VARIABLE)
      dp_graph_add_update(b->graph, in[VAR]->variable, out[Y]->producer->outputs[RUNNING_VAR]);
    return;
  }
  dp_attr attrs[] = {dp_attr_float("epsilon", dp_node_float(node, "epsilon", 1e-5))};
  out[Y] = dp_build(b, "BatchNormalization", 5, in, 1, 1, attrs);
  if (dp_common_result(node, RUNNING_MEAN)) out[RUNNING_MEAN] = in[MEAN];
  if (dp_common_result(node, RUNNING_VAR)) out[RUNNING_VAR] = in[VAR];
}

// Like specialize, with each group's own statistics; the running ones are updated from the group with the first sample.
static void specialize_local(dp_builder *b, const dp_node *node, dp_value *const *in, int64_t groups, const char *axis,
                             dp_value **out) {
  const dp_shape *x = &in[X]->type->shape;
  dp_dim rules = x->dims[0];
  if (!trains(node) || groups == 1 || !rules.scale || rules.offset) {
    specialize(b, node, in, true, out);
    return;
  }
  dp_attr attrs[] = {dp_attr_int("groups", groups), dp_attr_int("unit", rules.scale), dp_attr_string("axis", axis),
                     dp_attr_float("epsilon", dp_node_float(node, "epsilon", 1e-5)),
                     dp_attr_int("unbiased", dp_node_int(node, "unbiased", 0))};
  out[Y] = dp_build(b, "dp.GroupedBatchNormalization", 3, in, 5, DP_COUNT(attrs), attrs);
  if (b->status) return;
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_batch_normalization_axes(x, axes);
  dp_value *share = learnt(b, node, dp_build_count(b, x, axes, n_axes, in[SCALE]->type->dtype));
  for (int i = RUNNING_MEAN; i <= RUNNING_VAR; i++) {
    dp_value *old = in[MEAN + i - RUNNING_MEAN];
    out[i] = running(b, share, latest(b->graph, old), out[Y]->producer->outputs[3 + i - RUNNING_MEAN]);
    if (old->kind == DP_VALUE_VARIABLE && !b->status) dp_graph_add_update(b->graph, old->variable, out[i]);
  }
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, (trains(node) ? 7 : 2) * (double)dp_shape_count(dp_common_shape(node, X), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[3], float32[3], float32[3], float32[3]", .n = 5, .low = 0.2, .high = 2},
    {.inputs = "float32[N,3], float32[3], float32[3], float32[3], float32[3]",
     .attrs = "epsilon=0.1",
     .n = 4,
     .low = 0.2,
     .high = 2},
    {.inputs = "float32[N,3,2,4], float32[3], float32[3], float32[3], float32[3]",
     .attrs = "training_mode=1",
     .n = 5,
     .low = 0.2,
     .high = 2},
    {.inputs = "float32[N,4], float32[4], float32[4], float32[4], float32[4]",
     .attrs = "training_mode=1, momentum=0.75, epsilon=0.01, unbiased=1",
     .n = 6,
     .low = -1,
     .high = 3},
    {.inputs = "bfloat16[N,3,2,4], float32[3], float32[3], float32[3], float32[3]",
     .n = 5,
     .low = 0.2,
     .high = 2,
     .no_gradient = true},
    {.inputs = "bfloat16[N,3,2,4], float32[3], float32[3], float32[3], float32[3]",
     .attrs = "training_mode=1, unbiased=1",
     .n = 5,
     .low = 0.2,
     .high = 2,
     .no_gradient = true},
    {.inputs = "float16[N,4], float32[4], float32[4], float32[4], float32[4]",
     .attrs = "training_mode=1",
     .n = 6,
     .low = -1,
     .high = 3,
     .no_gradient = true},
    {0},
};

const dp_op dp_op_BatchNormalization = {
    .name = "BatchNormalization",
    .domain = "",
    .n_inputs = 5,
    .n_outputs = RESULTS,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'U'), DP_OPERAND("B", DP_FLOATS, 'U'),
               DP_OPERAND("input_mean", DP_FLOATS, 'U'), DP_OPERAND("input_var", DP_FLOATS, 'U')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T'), DP_OPTIONAL("running_mean", DP_FLOATS, 'U'),
                DP_OPTIONAL("running_var", DP_FLOATS, 'U'), DP_OPTIONAL("saved_mean", DP_FLOATS, 'U'),
                DP_OPTIONAL("saved_invstd", DP_FLOATS, 'U')},
    .attrs = {DP_FLOAT_ATTR("epsilon", 1e-5), DP_FLOAT_ATTR("momentum", 0.9), DP_INT_ATTR("training_mode", 0),
              DP_INT_ATTR("unbiased", 0)},
    .flags = DP_OP_CHANNELS,
    .precision = DP_PRECISION_FIRST,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .decompose = decompose,
    .specialize = specialize,
    .specialize_local = specialize_local,
    .cost = cost,
    .samples = samples,
};
