// ScatterND: data, with the updates stored at, or combined with (reduction), the elements or blocks of trailing dims at
// each row of the indices. Specialized into ScatterElements with one index per row.
#include "ir/ops/nd.h"

enum { DATA, INDICES, UPDATES };

static dp_status infer(dp_node *node) {
  const dp_shape *data = dp_common_shape(node, DATA), *indices = dp_common_shape(node, INDICES);
  dp_shape updates = {.rank = indices->rank - 1};
  int depth;
  DP_TRY(dp_nd_depth(node, 0, &depth));
  for (int d = 0; d < updates.rank; d++) updates.dims[d] = indices->dims[d];
  if (updates.rank + data->rank - depth > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "the updates would have more than %d dims", DP_MAX_RANK);
  for (int d = depth; d < data->rank; d++) updates.dims[updates.rank++] = data->dims[d];
  DP_TRY(dp_common_expect("updates", dp_common_shape(node, UPDATES), &updates));
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *data = dp_common_shape(node, DATA);
  int depth;
  dp_status status = dp_nd_depth(node, 0, &depth);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_value *flat = dp_nd_flat(b, in[INDICES], data, 0, depth);
  dp_dim positions, rules, block;
  if (!dp_shape_product(data, 0, depth, &positions) || !dp_shape_product(data, depth, data->rank, &block) ||
      !dp_shape_product(&flat->type->shape, 0, flat->type->shape.rank, &rules)) {
    if (!b->status)
      b->status = dp_fail(EX_UNAVAILABLE, "ScatterND: the number of elements is not of the form a * N + b");
    return;
  }
  dp_shape wide = {2, {rules, block}}, narrow = {2, {rules, dp_dim_of(1)}}, table = {2, {positions, block}};
  dp_attr attrs[] = {dp_attr_int("axis", 0), dp_attr_string("reduction", dp_node_string(node, "reduction", "none"))};
  dp_value *operands[] = {dp_build_reshape(b, in[DATA], &table),
                          dp_compose_expand(b, dp_build_reshape(b, flat, &narrow), &wide),
                          dp_build_reshape(b, in[UPDATES], &wide)};
  out[0] = dp_build_reshape(b, dp_build(b, "ScatterElements", 3, operands, 1, 2, attrs), data);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4,2], int64[1,1], float32[1,4,2]", .n = 3, .low = -3, .high = 2},
    {.inputs = "float32[4,5], int64[N,2], float32[N]", .attrs = "reduction=\"add\"", .n = 6, .low = -4, .high = 3},
    {.inputs = "float32[3,2], int64[N,1], float32[N,2]", .attrs = "reduction=\"mul\"", .n = 5, .low = -3, .high = 2},
    {.inputs = "float32[3,2], int64[N,1], float32[N,2]", .attrs = "reduction=\"max\"", .n = 5, .low = -3, .high = 2},
    {.inputs = "int32[4], int64[6,1], int32[6]", .attrs = "reduction=\"min\"", .low = 0, .high = 3},
    {.inputs = "int64[4], int64[1,1], int64[1]", .low = 0, .high = 3},
    {.inputs = "uint8[4], int64[5,1], uint8[5]", .attrs = "reduction=\"max\"", .low = 0, .high = 3},
    {.inputs = "bool[2,2], int64[1,2], bool[1]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_ScatterND = {
    .name = "ScatterND",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_OPERAND("indices", DP_BIT(DP_INT64), 0),
               DP_OPERAND("updates", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_STRING_ATTR("reduction", "none")},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
