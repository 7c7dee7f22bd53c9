// TensorScatter(past_cache, update [, write_indices]) {axis, mode}: the cache with the update written along `axis`,
// from the position that write_indices gives for each element of dim 0 (default 0); circular wraps around at the end.
// Specialized into ScatterElements.
#include <string.h>

#include "ir/ops/compose.h"

enum { CACHE, UPDATE, POSITIONS };

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, CACHE), *update = dp_common_shape(node, UPDATE);
  const char *mode = dp_node_string(node, "mode", "linear");
  int axis;
  if (strcmp(mode, "linear") && strcmp(mode, "circular"))
    return dp_fail(EX_DATAERR, "mode is '%s' where linear or circular is expected", mode);
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -2), x->rank, &axis));
  dp_shape expected = *x, each = {1, {x->dims[0]}};
  bool plain = axis > 0 && update->rank == x->rank && !dp_dim_is_symbolic(x->dims[axis]) &&
               !dp_dim_is_symbolic(update->dims[axis]) && update->dims[axis].offset <= x->dims[axis].offset;
  if (!plain)
    return dp_fail(
        EX_DATAERR,
        "axis %d: it must be a dim after the first, of plain numbers, and no longer in the update than in the cache",
        axis);
  expected.dims[axis] = update->dims[axis];
  DP_TRY(dp_common_expect("update", update, &expected));
  if (dp_common_operand(node, POSITIONS))
    DP_TRY(dp_common_expect("write_indices", dp_common_shape(node, POSITIONS), &each));
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, CACHE), *update = dp_common_shape(node, UPDATE);
  int64_t axis = dp_node_int(node, "axis", -2);
  if (axis < 0) axis += x->rank;
  dp_shape along = {.rank = x->rank}, each = along;
  for (int d = 0; d < x->rank; d++) {
    along.dims[d] = d == axis ? update->dims[d] : dp_dim_of(1);
    each.dims[d] = d ? dp_dim_of(1) : x->dims[d];
  }
  dp_value *position = dp_build_reshape(b, dp_compose_range(b, DP_INT64, 0, 1, update->dims[axis].offset), &along);
  if (dp_common_operand(node, POSITIONS))
    position = dp_build2(b, "Add", dp_build_reshape(b, in[POSITIONS], &each), position);
  if (!strcmp(dp_node_string(node, "mode", "linear"), "circular") && x->dims[axis].offset > 0)
    position = dp_elementwise_with(b, "Mod", position, (double)x->dims[axis].offset);
  dp_attr attr = dp_attr_int("axis", axis);
  dp_value *operands[] = {in[CACHE], dp_compose_expand(b, position, update), in[UPDATE]};
  out[0] = dp_build(b, "ScatterElements", 3, operands, 1, 1, &attr);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5,2], float32[N,2,2], int64[N]", .n = 3, .low = 0, .high = 3},
    {.inputs = "float32[N,2,4], float32[N,2,3], int64[N]",
     .attrs = "axis=2, mode=\"circular\"",
     .n = 3,
     .low = 0,
     .high = 3},
    {.inputs = "int32[N,3,2], int32[N,2,2]", .n = 2, .low = -9, .high = 9},
    {.inputs = "int64[2,3,1], int64[2,3,1]", .low = -9, .high = 9},
    {.inputs = "uint8[2,3,1], uint8[2,1,1]", .low = 0, .high = 255},
    {.inputs = "bool[2,3,1], bool[2,2,1]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_TensorScatter = {
    .name = "TensorScatter",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("past_cache", DP_ANY_TYPE, 'T'), DP_OPERAND("update", DP_ANY_TYPE, 'T'),
               DP_OPTIONAL("write_indices", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("present_cache", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("axis", -2), DP_STRING_ATTR("mode", "linear")},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
