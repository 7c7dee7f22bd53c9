// Positions in a tensor given by several indices at once. See nd.h.
#include "ir/ops/nd.h"

dp_status dp_nd_depth(const dp_node *node, int batch, int *depth) {
  const dp_shape *data = dp_common_shape(node, 0), *indices = dp_common_shape(node, 1);
  char a[256], b[256];
  bool fits = indices->rank > batch && data->rank > batch;
  dp_dim last = indices->rank ? indices->dims[indices->rank - 1] : dp_dim_of(0);
  fits = fits && !dp_dim_is_symbolic(last) && last.offset >= 1 && last.offset <= data->rank - batch;
  for (int d = 0; fits && d < batch; d++) fits = dp_dim_equal(data->dims[d], indices->dims[d]);
  if (!fits)
    return dp_fail(EX_DATAERR, "indices of shape %s do not match data of shape %s and %d dims of batch",
                   dp_shape_print(indices, a, sizeof a), dp_shape_print(data, b, sizeof b), batch);
  *depth = (int)last.offset;
  for (int d = batch + 1; d < batch + *depth; d++)
    if (dp_dim_is_symbolic(data->dims[d]) || data->dims[d].offset > INT32_MAX)
      return dp_fail(EX_DATAERR, "dim %d of the data, %s, is indexed but depends on the batch or is too large", d,
                     dp_shape_print(data, a, sizeof a));
  return DP_OK;
}

dp_value *dp_nd_flat(dp_builder *b, dp_value *indices, const dp_shape *data, int batch, int depth) {
  int last = indices->type->shape.rank - 1;
  if (depth == 1) return dp_compose_take(b, indices, last, 0);  // its user counts from the end, and refuses it
  dp_value *flat = NULL, *good = NULL, *zero = dp_build_fill(b, DP_INT64, 0);
  int64_t dims[DP_MAX_RANK];
  for (int i = 0; i < depth; i++) {
    dims[i] = batch + i;
    dp_value *index = dp_compose_take(b, indices, last, i), *extent = dp_build_count(b, data, &dims[i], 1, DP_INT64);
    dp_value *from_end = dp_build2(b, "Add", index, extent);
    index = dp_compose_where(b, dp_build2(b, "Less", index, zero), from_end, index);
    dp_value *inside =
        dp_build2(b, "And", dp_build2(b, "GreaterOrEqual", index, zero), dp_build2(b, "Less", index, extent));
    good = good ? dp_build2(b, "And", good, inside) : inside;
    flat = flat ? dp_build2(b, "Add", dp_build2(b, "Mul", flat, extent), index) : index;
  }
  // An index that is too large would reach an element of the next row.
  return dp_compose_where(b, good, flat, dp_build_count(b, data, dims, (size_t)depth, DP_INT64));
}
