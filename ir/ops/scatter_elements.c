// ScatterElements: data, but at each place of the indices the update, put at that place but for `axis`, where the index
// says; with reduction, combined with what is there. Places named twice without a reduction hold one of the updates.
#include "ir/ops/scatter_elements.h"

#include <string.h>

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
  if (mode != DP_SCATTER_PUT && node->inputs[DATA]->type.dtype == DP_BOOL)
    return dp_fail(EX_DATAERR, "truth values are not combined: reduction none is expected");
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_scatter_mode mode;
  dp_arena *arena = b->graph->arena;
  dp_status status = dp_scatter_elements_mode(node, &mode);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  if (mode != DP_SCATTER_PUT && mode != DP_SCATTER_ADD) {
    if (!b->status) b->status = dp_fail(EX_DATAERR, "ScatterElements has a gradient with reduction none or add only");
    return;
  }
  dp_attr axis = dp_attr_int("axis", dp_node_int(node, "axis", 0));
  dp_value *indices = node->inputs[INDICES];
  dx[UPDATES] = dp_build(b, "GatherElements", 2, (dp_value *[]){dy[0], indices}, 1, 1, &axis);
  dx[DATA] = dy[0];
  if (mode == DP_SCATTER_ADD) return;
  dp_attr zeros[] = {dp_attr_dims(arena, "shape", dp_common_shape(node, UPDATES)),
                     dp_attr_int("dtype", dy[0]->type.dtype)};
  dp_value *in[] = {dy[0], indices, dp_build(b, "dp.Fill", 0, NULL, 1, 2, zeros)};
  dx[DATA] = dp_build(b, "ScatterElements", 3, in, 1, 1, &axis);
}

static void placements(dp_rows *rows) {
  const dp_node *node = rows->node;
  dp_elements_rows(rows);
  const char *reduction = dp_node_string(node, "reduction", "none");
  if (strcmp(reduction, "add") && strcmp(reduction, "none")) return;
  dp_rows_linear(rows, 1u << DATA | 1u << UPDATES);
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
    .infer = infer,
    .gradient = gradient,
    .placements = placements,
    .samples = samples,
};
