// ScatterElements: data with each update at its position, except that the index replaces the coordinate along `axis`;
// with reduction, combined with the element there. Positions named twice without a reduction hold one of the updates.
#include "ir/ops/scatter_elements.h"

#include <string.h>

#include "ir/ops/compose.h"
#include "ir/ops/elements.h"

enum { DATA, INDICES, UPDATES };

dp_status dp_scatter_elements_mode(const dp_node *node, dp_scatter_mode *mode) {
  static const char *const modes[] = {"none", "add", "mul", "max", "min"};
  const char *reduction = dp_node_string(node, "reduction", "none");
  for (size_t i = 0; i < DP_COUNT(modes); i++)
    if (!strcmp(reduction, modes[i])) {
      *mode = (dp_scatter_mode)i;
      return DP_OK;
    }
  return dp_fail(EX_DATAERR, "reduction is '%s' where none, add, mul, max or min is expected", reduction);
}

static dp_status infer(dp_node *node) {
  dp_scatter_mode mode;
  DP_TRY(dp_elements_check(node));
  DP_TRY(dp_common_expect("updates", dp_common_shape(node, UPDATES), dp_common_shape(node, INDICES)));
  DP_TRY(dp_scatter_elements_mode(node, &mode));
  if (mode != DP_SCATTER_PUT && node->inputs[DATA]->type->dtype == DP_BOOL)
    return dp_fail(EX_DATAERR, "truth values cannot be combined: reduction must be none");
  return dp_common_infer_same(node);
}

static dp_value *scatter(dp_builder *b, const dp_node *node, dp_value *into, dp_value *updates, const char *reduction) {
  dp_attr attrs[] = {dp_attr_int("axis", dp_node_int(node, "axis", 0)), dp_attr_string("reduction", reduction)};
  return dp_build(b, "ScatterElements", 3, (dp_value *[]){into, node->inputs[INDICES], updates}, 1, 2, attrs);
}

static dp_value *gather(dp_builder *b, const dp_node *node, dp_value *x) {
  return dp_compose_pick(b, x, node->inputs[INDICES], (int)dp_node_int(node, "axis", 0));
}

// Several equal maxima or minima share the gradient, as in PyTorch.
static void extreme_gradient(dp_builder *b, const dp_node *node, dp_value *dy, dp_value **dx) {
  dp_dtype dtype = dy->type->dtype;
  dp_value *y = node->outputs[0];
  dp_value *kept = dp_build_cast(b, dp_build2(b, "Equal", node->inputs[DATA], y), dtype);
  dp_value *put = dp_build_cast(b, dp_build2(b, "Equal", node->inputs[UPDATES], gather(b, node, y)), dtype);
  dp_value *share = dp_build2(b, "Div", dy, scatter(b, node, kept, put, "add"));
  dx[DATA] = dp_build2(b, "Mul", share, kept);
  dx[UPDATES] = dp_build2(b, "Mul", gather(b, node, share), put);
}

// dy times the product of all others at the position: of those that are not 0, and 0 where another one is.
static dp_value *others(dp_builder *b, dp_value *x, dp_value *product, dp_value *zeros) {
  dp_value *one = dp_build_fill(b, x->type->dtype, 1), *none = dp_build_fill(b, x->type->dtype, 0);
  dp_value *safe = dp_piecewise_where(b, "Equal", x, 0, one, x),
           *is_zero = dp_piecewise_where(b, "Equal", x, 0, one, none);
  dp_value *rest = dp_build2(b, "Equal", zeros, is_zero);
  return dp_compose_where(b, rest, dp_build2(b, "Div", product, safe), none);
}

static void product_gradient(dp_builder *b, const dp_node *node, dp_value *dy, dp_value **dx) {
  dp_value *data = node->inputs[DATA], *updates = node->inputs[UPDATES];
  dp_value *one = dp_build_fill(b, dy->type->dtype, 1), *none = dp_build_fill(b, dy->type->dtype, 0);
  dp_value *zeros = scatter(b, node, dp_piecewise_where(b, "Equal", data, 0, one, none),
                            dp_piecewise_where(b, "Equal", updates, 0, one, none), "add");
  dp_value *product = scatter(b, node, dp_piecewise_where(b, "Equal", data, 0, one, data),
                              dp_piecewise_where(b, "Equal", updates, 0, one, updates), "mul");
  dx[DATA] = dp_build2(b, "Mul", dy, others(b, data, product, zeros));
  dp_value *at = others(b, updates, gather(b, node, product), gather(b, node, zeros));
  dx[UPDATES] = dp_build2(b, "Mul", gather(b, node, dy), at);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_scatter_mode mode;
  dp_status status = dp_scatter_elements_mode(node, &mode);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  if (mode == DP_SCATTER_MUL) {
    product_gradient(b, node, dy[0], dx);
  } else if (mode != DP_SCATTER_PUT && mode != DP_SCATTER_ADD) {
    extreme_gradient(b, node, dy[0], dx);
  } else {
    dx[UPDATES] = gather(b, node, dy[0]);
    dp_value *zeros = dp_compose_filled(b, dy[0]->type->dtype, dp_common_shape(node, UPDATES), 0);
    dx[DATA] = mode == DP_SCATTER_ADD ? dy[0] : scatter(b, node, dy[0], zeros, "none");
  }
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  int axis = dp_elements_axis(node, 0);
  dp_elements_sharding(rules);
  // The device with the position stores the update there.
  dp_sharding_split(rules, dp_common_shape(node, DATA)->dims[axis], (int[]){axis, DP_WHOLE, DP_WHOLE}, &axis);
  const char *reduction = dp_node_string(node, "reduction", "none");
  if (strcmp(reduction, "add") && strcmp(reduction, "none")) return;
  dp_sharding_linear(rules, 1u << DATA | 1u << UPDATES);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,9], int64[N,1], float32[N,1]", .attrs = "axis=1", .n = 4, .low = -9, .high = 8},
    {.inputs = "float32[N,4], int64[N,6], float32[N,6]",
     .attrs = "axis=-1, reduction=\"add\"",
     .n = 3,
     .low = -4,
     .high = 3},
    {.inputs = "float32[3,N], int32[5,N], float32[5,N]", .attrs = "reduction=\"add\"", .n = 3, .low = 0, .high = 2},
    {.inputs = "int32[N,4], int64[N,3], int32[N,3]", .attrs = "axis=1, reduction=\"mul\"", .n = 3, .low = 0, .high = 3},
    {.inputs = "int64[5], int64[7], int64[7]", .attrs = "reduction=\"max\"", .low = 0, .high = 4},
    {.inputs = "float32[N,4], int64[N,6], float32[N,6]",
     .attrs = "axis=1, reduction=\"max\"",
     .n = 3,
     .low = -4,
     .high = 3},
    {.inputs = "float32[N,4], int64[N,6], float32[N,6]",
     .attrs = "axis=1, reduction=\"mul\"",
     .n = 3,
     .low = -4,
     .high = 3},
    {.inputs = "uint8[5], int64[7], uint8[7]", .attrs = "reduction=\"min\"", .low = 0, .high = 4},
    {.inputs = "bool[2], int64[1], bool[1]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_ScatterElements = {
    .name = "ScatterElements",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_OPERAND("indices", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0),
               DP_OPERAND("updates", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("axis", 0), DP_STRING_ATTR("reduction", "none")},
    .refuses = dp_elements_refuses,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
