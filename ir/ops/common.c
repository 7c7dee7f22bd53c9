// Helpers shared by many operators. See common.h.
#include "ir/ops/common.h"

#include <string.h>

dp_value *dp_common_matrix(dp_value *x, bool *trans) {
  const dp_node *node = x->producer;
  size_t count = 0;
  if (x->type->shape.rank != 2 || !node || strcmp(node->op->name, "Transpose") || *node->op->domain) return x;
  const int64_t *perm = dp_node_ints(node, "perm", &count);
  if (count && perm[0] == 0) return x;
  *trans = !*trans;
  return node->inputs[0];
}

void dp_common_set(dp_node *node, int result, dp_dtype dtype, const dp_shape *shape) {
  dp_value *value = dp_common_result(node, result);
  if (!value) return;
  if (value->type->dtype == dtype && dp_shape_equal(&value->type->shape, shape)) return;
  value->type = dp_model_type(node->graph->model, &(dp_type){dtype, *shape});
}

dp_status dp_common_infer_same(dp_node *node) {
  dp_common_set(node, 0, node->inputs[0]->type->dtype, dp_common_shape(node, 0));
  return DP_OK;
}

dp_status dp_common_axis(const char *name, int64_t axis, int rank, int *resolved) {
  if (axis < -rank || axis >= rank)
    return dp_fail(EX_DATAERR, "%s %lld is out of range for a tensor of rank %d: expected %d to %d", name,
                   (long long)axis, rank, -rank, rank - 1);
  *resolved = (int)(axis < 0 ? axis + rank : axis);
  return DP_OK;
}

int dp_common_row(const dp_node *node, int rank) {
  const int64_t axis = dp_node_int(node, "axis", -1), row = axis < 0 ? axis + rank : axis;
  return row >= 0 && row < rank ? (int)row : 0;
}

dp_status dp_common_dims(const dp_node *node, const char *name, dp_shape *shape) {
  const dp_attr *attr = dp_node_attr(node, name);
  if (attr->count > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "attribute '%s' has %zu extents; tensors of up to %d are supported", name, attr->count,
                   DP_MAX_RANK);
  *shape = (dp_shape){.rank = (int)attr->count};
  if (attr->count) memcpy(shape->dims, attr->dims, attr->count * sizeof *attr->dims);
  return DP_OK;
}

dp_status dp_common_shape_attr(const dp_node *node, const char *name, dp_shape *shape) {
  dp_shape given;
  DP_TRY(dp_common_dims(node, name, &given));
  DP_TRY(dp_shape_check(&given, dp_max_i64(node->graph->model->batch, 1)));
  *shape = given;
  return DP_OK;
}

dp_attr *dp_common_attrs_and(dp_arena *arena, const dp_node *node, dp_attr attr) {
  dp_attr *attrs = dp_alloc_n(arena, (size_t)node->n_attrs + 1, sizeof *attrs);
  if (node->n_attrs) memcpy(attrs, node->attrs, (size_t)node->n_attrs * sizeof *attrs);
  attrs[node->n_attrs] = attr;
  return attrs;
}

static double bytes_of(const dp_value *value, int64_t n) {
  return value ? (double)dp_shape_count(&value->type->shape, n) * (double)dp_type_bytes(value->type->dtype) : 0;
}

dp_cost dp_common_cost(const dp_node *node, int64_t n, double flops) {
  dp_cost cost = {.flops = flops};
  for (int i = 0; i < node->n_inputs; i++) cost.bytes += bytes_of(node->inputs[i], n);
  for (int i = 0; i < node->n_outputs; i++) cost.bytes += bytes_of(node->outputs[i], n);
  return cost;
}

dp_status dp_common_expect(const char *what, const dp_shape *found, const dp_shape *expected) {
  if (dp_shape_equal(found, expected)) return DP_OK;
  char a[256], b[256];
  return dp_fail(EX_DATAERR, "%s has shape %s where %s is expected", what, dp_shape_print(found, a, sizeof a),
                 dp_shape_print(expected, b, sizeof b));
}
