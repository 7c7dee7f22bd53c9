// Building nodes with inferred types. See builder.h.
#include "ir/graph/builder.h"

#include <string.h>

static dp_value *failed(dp_builder *builder, dp_status status) {
  if (builder->status)
    dp_status_free(status);
  else
    builder->status = status;
  // A placeholder to go on with; the graph is discarded.
  return dp_graph_add_value(builder->graph, DP_VALUE_RESULT, "failed", (dp_type){DP_FLOAT32, {0}});
}

dp_value *dp_build(dp_builder *builder, const char *op, int n_inputs, dp_value *const *inputs, int n_outputs,
                   int n_attrs, const dp_attr *attrs) {
  bool ours = !strncmp(op, "dp.", 3);
  const char *name = ours ? op + 3 : op;
  const dp_op *found = dp_op_find(ours ? "dp" : "", name);
  if (!found) return failed(builder, dp_fail(EX_SOFTWARE, "there is no operator %s", op));
  const char *node_name = builder->prefix ? dp_printf(builder->graph->arena, "%s/%s", builder->prefix, name) : name;
  dp_node *node =
      dp_graph_add_node(builder->graph, found, node_name, n_inputs, inputs, n_outputs, NULL, n_attrs, attrs);
  if (builder->status) {
    const dp_type *any = dp_model_type(builder->graph->model, &(dp_type){DP_FLOAT32, {0}});
    for (int i = 0; i < n_outputs; i++) node->outputs[i]->type = any;
    return node->outputs[0];
  }
  dp_status status = dp_op_infer(node);
  if (status) (void)failed(builder, status);
  return node->outputs[0];
}

dp_value *dp_build1(dp_builder *builder, const char *op, dp_value *x) {
  return dp_build(builder, op, 1, &x, 1, 0, NULL);
}

dp_value *dp_build2(dp_builder *builder, const char *op, dp_value *x, dp_value *y) {
  return dp_build(builder, op, 2, (dp_value *[]){x, y}, 1, 0, NULL);
}

dp_value *dp_build_cast(dp_builder *builder, dp_value *x, dp_dtype to) {
  if (x->type->dtype == to) return x;
  dp_attr attr = dp_attr_int("to", to);
  return dp_build(builder, "Cast", 1, &x, 1, 1, &attr);
}

dp_value *dp_build_fill(dp_builder *builder, dp_dtype dtype, double number) {
  dp_arena *arena = builder->graph->arena;
  dp_tensor *tensor = dp_alloc(arena, sizeof *tensor);
  tensor->dtype = dtype;
  tensor->bytes = dp_type_bytes(dtype);
  void *data = dp_alloc(arena, tensor->bytes);
  dp_element_set(dtype, data, number);
  tensor->data = data;
  return dp_graph_add_constant(builder->graph, dp_printf(arena, "%g", number), tensor);
}

dp_value *dp_build_scalar(dp_builder *builder, const char *name, dp_dtype to) {
  return dp_build_cast(builder, dp_graph_scalar(builder->graph, name), to);
}

dp_value *dp_build_reshape(dp_builder *builder, dp_value *x, const dp_shape *shape) {
  if (dp_shape_equal(&x->type->shape, shape)) return x;
  // allowzero: an extent of 0 means 0, not "as in the operand".
  dp_attr attrs[] = {dp_attr_dims(builder->graph->arena, "shape", shape), dp_attr_int("allowzero", 1)};
  int n_attrs = 1;
  for (int d = 0; d < shape->rank; d++)
    if (dp_dim_is(shape->dims[d], 0)) n_attrs = 2;
  return dp_build(builder, "Reshape", 1, &x, 1, n_attrs, attrs);
}

dp_value *dp_build_reduce(dp_builder *builder, const char *op, dp_value *x, const int64_t *axes, size_t n_axes,
                          bool keepdims) {
  if (!n_axes) return x;
  dp_attr attrs[] = {dp_attr_ints(builder->graph->arena, "axes", axes, n_axes), dp_attr_int("keepdims", keepdims)};
  return dp_build(builder, op, 1, &x, 1, 2, attrs);
}

dp_value *dp_build_reduce_to(dp_builder *builder, dp_value *x, const dp_shape *shape) {
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = 0;
  int extra = x->type->shape.rank - shape->rank;
  for (int i = 0; i < x->type->shape.rank; i++)
    if (i < extra || !dp_dim_equal(shape->dims[i - extra], x->type->shape.dims[i])) axes[n_axes++] = i;
  return dp_build_reshape(builder, dp_build_reduce(builder, "ReduceSum", x, axes, n_axes, false), shape);
}

dp_value *dp_build_count(dp_builder *builder, const dp_shape *shape, const int64_t *axes, size_t n_axes,
                         dp_dtype dtype) {
  dp_shape counted = {0};
  for (size_t i = 0; i < n_axes; i++) counted.dims[counted.rank++] = shape->dims[axes[i]];
  dp_dim product;
  if (!dp_shape_product(&counted, 0, counted.rank, &product))
    return failed(builder, dp_fail(EX_DATAERR, "the number of elements is not of the form a * N + b"));
  if (!product.scale) return dp_build_fill(builder, dtype, (double)product.offset);
  dp_value *count = dp_build_scalar(builder, DP_SCALAR_N, dtype);
  if (product.scale != 1)
    count = dp_build2(builder, "Mul", count, dp_build_fill(builder, dtype, (double)product.scale));
  return product.offset ? dp_build2(builder, "Add", count, dp_build_fill(builder, dtype, (double)product.offset))
                        : count;
}
