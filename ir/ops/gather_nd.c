// GatherND: the elements of data, or blocks of its trailing dims, at each row of the indices; the first batch_dims dims
// of both are paired. Specialized into Gather or GatherElements with one index per row.
#include "ir/ops/nd.h"

static dp_status infer(dp_node *node) {
  const dp_shape *data = dp_common_shape(node, 0), *indices = dp_common_shape(node, 1);
  int64_t batch = dp_node_int(node, "batch_dims", 0);
  dp_shape y = {.rank = indices->rank - 1};
  int depth;
  if (batch < 0 || batch >= DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "batch_dims is %lld, which is not a valid number of dims", (long long)batch);
  DP_TRY(dp_nd_depth(node, (int)batch, &depth));
  for (int d = 0; d < y.rank; d++) y.dims[d] = indices->dims[d];
  if (y.rank + data->rank - batch - depth > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "the result would have more than %d dims", DP_MAX_RANK);
  for (int d = (int)batch + depth; d < data->rank; d++) y.dims[y.rank++] = data->dims[d];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// data [batch, positions, block] and flat [batch, rows] -> [batch, rows, block]
static dp_value *gather_rows(dp_builder *b, dp_value *data, dp_value *flat) {
  dp_shape wide = {3, {flat->type->shape.dims[0], flat->type->shape.dims[1], data->type->shape.dims[2]}};
  return dp_compose_pick(b, data, dp_compose_expand(b, dp_compose_unsqueeze(b, flat, 2), &wide), 1);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *data = dp_common_shape(node, 0), *y = &node->outputs[0]->type->shape;
  int batch = (int)dp_node_int(node, "batch_dims", 0), depth;
  dp_status status = dp_nd_depth(node, batch, &depth);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_value *flat = dp_nd_flat(b, in[1], data, batch, depth), *x = in[0];
  if (!batch) {
    out[0] = dp_compose_gather(b, dp_compose_merge(b, x, 0, depth), flat, 0);
    return;
  }
  dp_dim block, rules;
  bool plain = dp_shape_product(data, batch + depth, data->rank, &block) &&
               dp_shape_product(&flat->type->shape, batch, flat->type->shape.rank, &rules);
  x = dp_compose_merge(b, dp_compose_merge(b, x, batch, batch + depth), 0, batch);
  dp_shape three = {3, {x->type->shape.dims[0], x->type->shape.dims[1], plain ? block : dp_dim_of(0)}};
  dp_shape two = {2, {x->type->shape.dims[0], plain ? rules : dp_dim_of(0)}};  // refused by the reshape otherwise
  out[0] = dp_build_reshape(b, gather_rows(b, dp_build_reshape(b, x, &three), dp_build_reshape(b, flat, &two)), y);
}

static const dp_sample samples[] = {
    {.inputs = "float32[3,4,2], int64[N,2]", .n = 5, .low = -3, .high = 2},
    {.inputs = "float32[N,3,4], int64[N,5,1]", .attrs = "batch_dims=1", .n = 3, .low = -3, .high = 2},
    {.inputs = "float32[N,2,3,2], int64[N,2,4,2]", .attrs = "batch_dims=2", .n = 2, .low = 0, .high = 1},
    {.inputs = "int32[N,4], int64[3,2]", .n = 3, .low = -3, .high = 2},
    {.inputs = "int64[5], int64[4,1]", .low = 0, .high = 4},
    {.inputs = "uint8[3,3], int64[4,2]", .low = 0, .high = 2},
    {.inputs = "bool[2,2], int64[3,1]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_GatherND = {
    .name = "GatherND",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_OPERAND("indices", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("batch_dims", 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
