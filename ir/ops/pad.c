// Pad: adds elements before and after each dim: a constant, the edge's, mirrored ones, or those of the other end.
// Negative pads remove elements. Linear, unless the constant is not 0.
#include "ir/ops/pad.h"

#include <string.h>

dp_status dp_pad_make(const dp_node *node, const dp_shape *x, dp_pad *pad) {
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  size_t n_pads, n_axes, count;
  const int64_t *pads = dp_node_ints(node, "pads", &n_pads), *axes = dp_node_ints(node, "axes", &n_axes);
  const char *mode = dp_node_string(node, "mode", "constant");
  *pad = (dp_pad){0};
  while (pad->mode < DP_COUNT(modes) && strcmp(mode, modes[pad->mode])) pad->mode++;
  if (pad->mode == DP_COUNT(modes))
    return dp_fail(EX_DATAERR, "mode is '%s' where constant, edge, reflect or wrap is expected", mode);
  count = dp_node_attr(node, "axes") ? n_axes : (size_t)x->rank;
  if (!dp_node_attr(node, "pads") || n_pads != 2 * count || count > (size_t)x->rank)
    return dp_fail(EX_DATAERR, "pads has %zu numbers where two for each of %zu dims are expected", n_pads, count);
  for (size_t i = 0; i < count; i++) {
    int axis;
    DP_TRY(dp_common_axis("axis", axes ? axes[i] : (int64_t)i, x->rank, &axis));
    if (pad->begin[axis] || pad->end[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    pad->begin[axis] = pads[i];
    pad->end[axis] = pads[i + count];
  }
  return DP_OK;
}

static bool pads_dim(const dp_pad *p, int d) { return p->begin[d] || p->end[d]; }

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  dp_shape y = *x;
  dp_pad p;
  DP_TRY(dp_pad_make(node, x, &p));
  for (int d = 0; d < x->rank; d++) {
    if (!pads_dim(&p, d)) continue;
    if (dp_dim_is_symbolic(x->dims[d]))
      return dp_fail(EX_DATAERR, "dim %d depends on the number of samples and cannot be padded", d);
    int64_t sum, extent = x->dims[d].offset;
    if (p.begin[d] < -extent || p.end[d] < -extent || __builtin_add_overflow(p.begin[d], p.end[d], &sum) ||
        __builtin_add_overflow(sum, extent, &sum) || sum < 0)
      return dp_fail(EX_DATAERR, "pads of %lld and %lld do not match an extent of %lld (dim %d)", (long long)p.begin[d],
                     (long long)p.end[d], (long long)extent, d);
    if (p.mode != DP_PAD_CONSTANT && !extent && sum)
      return dp_fail(EX_DATAERR, "dim %d is empty: there is nothing to pad it with", d);
    y.dims[d] = dp_dim_of(sum);
  }
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// The gradient of elements that appear several times: those of dy summed, along one dim after another.
static dp_value *gather_back(dp_builder *b, const dp_pad *p, const dp_shape *x, dp_value *dy) {
  dp_arena *arena = b->graph->arena;
  for (int d = 0; d < x->rank; d++) {
    if (!pads_dim(p, d)) continue;
    dp_shape shape = dy->type->shape;
    int64_t count = shape.dims[d].offset, *from = dp_alloc_n(arena, (size_t)count, sizeof *from);
    for (int64_t i = 0; i < count; i++) from[i] = dp_pad_from(p->mode, i, p->begin[d], x->dims[d].offset);
    dp_tensor *tensor = dp_alloc(arena, sizeof *tensor);
    *tensor = (dp_tensor){DP_INT64, 1, {count}, (size_t)count * sizeof *from, from};
    shape.dims[d] = x->dims[d];
    dp_attr attrs[] = {dp_attr_int("axis", d), dp_attr_dims(arena, "shape", &shape)};
    dp_value *in[] = {dy, dp_graph_add_constant(b->graph, "padded_from", tensor)};
    dy = dp_build(b, "dp.GatherGrad", 2, in, 1, 2, attrs);
  }
  return dy;
}

enum { LARGEST_TABLE = 1 << 24 };

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t back[2 * DP_MAX_RANK];
  dp_pad p;
  dp_status status = dp_pad_make(node, x, &p);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  for (int d = 0; d < x->rank; d++) {
    back[d] = -p.begin[d];
    back[d + x->rank] = -p.end[d];
    if (p.mode != DP_PAD_CONSTANT && pads_dim(&p, d) && dy[0]->type->shape.dims[d].offset > LARGEST_TABLE && !b->status)
      b->status = dp_fail(EX_DATAERR, "dim %d of a padded tensor is too large for a gradient", d);
  }
  if (b->status) return;
  dp_attr pads = dp_attr_ints(b->graph->arena, "pads", back, 2 * (size_t)x->rank);
  dx[0] = p.mode == DP_PAD_CONSTANT ? dp_build(b, "Pad", 1, dy, 1, 1, &pads) : gather_back(b, &p, x, dy[0]);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  dp_pad p;
  dp_status status = dp_pad_make(rules->node, x, &p);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  for (int d = 0; d < x->rank; d++)
    if (!pads_dim(&p, d)) dp_sharding_split(rules, x->dims[d], &d, &d);
  if (p.mode != DP_PAD_CONSTANT || dp_node_float(rules->node, "constant_value", 0) == 0) dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4]", .attrs = "pads=[0,1,0,0,2,3]", .n = 3},
    {.inputs = "float32[N,3,4]", .attrs = "pads=[1,-1,2,-1], axes=[-1,1], constant_value=0.5", .n = 3},
    {.inputs = "float32[N,4]", .attrs = "pads=[0,2,0,3], mode=\"reflect\"", .n = 3},
    {.inputs = "float32[N,2,3]", .attrs = "pads=[0,1,5,0,2,0], mode=\"edge\"", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "pads=[0,2,0,4], mode=\"wrap\"", .n = 3},
    {.inputs = "int32[N,4]", .attrs = "pads=[0,1,0,1], constant_value=7.0", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[3]", .attrs = "pads=[2,0]", .low = -9, .high = 9},
    {.inputs = "uint8[2,2]", .attrs = "pads=[1,1,1,1]", .low = 0, .high = 255},
    {.inputs = "bool[3]", .attrs = "pads=[1,1], constant_value=1.0", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Pad = {
    .name = "Pad",
    .domain = "",
    .n_inputs = 4,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 'T'), DP_AS_ATTR("pads", DP_BIT(DP_INT64), false),
               DP_AS_ATTR("constant_value", DP_STORED, true),
               DP_AS_ATTR("axes", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("output", DP_STORED, 'T')},
    .attrs = {DP_STRING_ATTR("mode", "constant"), DP_INTS_ATTR("pads"), DP_FLOAT_ATTR("constant_value", 0),
              DP_INTS_ATTR("axes")},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
