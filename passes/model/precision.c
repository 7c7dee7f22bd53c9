// precision: with --precision=fp64, every float32 in the model becomes a float64: inputs, constants, parameters, and
// the types that attributes name (Cast's). Runs on the source graph, so that everything after it is built in float64.
//
// A constant of one element is a number that someone wrote (an epsilon, a slope): it becomes the decimal that was
// meant, as attributes do. Computed constants and parameters keep their value.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/base/pass.h"

static const dp_tensor *widen(dp_arena *arena, const dp_tensor *tensor) {
  if (!tensor || tensor->dtype != DP_FLOAT32) return tensor;
  int64_t count = dp_tensor_count(tensor);
  dp_tensor *wide = dp_memdup(arena, tensor, sizeof *tensor);
  double *data = dp_alloc_n(arena, (size_t)count, sizeof *data);
  for (int64_t i = 0; i < count; i++) data[i] = dp_tensor_get(tensor, i);
  wide->dtype = DP_FLOAT64;
  wide->bytes = (size_t)count * sizeof *data;
  wide->data = data;
  return wide;
}

// Attributes whose value is an element type, wherever ONNX has one.
static bool names_type(const dp_attr *attr) {
  return attr->kind == DP_ATTR_INT && (!strcmp(attr->name, "to") || !strcmp(attr->name, "dtype"));
}

// A schema's default counts as if it were written.
static void write_default_type(dp_node *node) {
  for (int i = 0; i < DP_MAX_ATTRS && node->op->attrs[i].name; i++) {
    const dp_attr_schema *schema = &node->op->attrs[i];
    dp_attr attr = dp_attr_int(schema->name, (int64_t)schema->number);
    if (schema->kind != DP_ATTR_INT || !schema->has_default || attr.i != DP_FLOAT32 || !names_type(&attr)) continue;
    if (dp_node_attr(node, schema->name)) continue;
    dp_attr *attrs = dp_alloc_n(node->graph->arena, (size_t)node->n_attrs + 1, sizeof *attrs);
    if (node->n_attrs) memcpy(attrs, node->attrs, (size_t)node->n_attrs * sizeof *attrs);
    attrs[node->n_attrs++] = attr;
    node->attrs = attrs;
  }
}

// The number that people wrote: the shortest decimal that rounds to the float (0.1, not 0.100000001).
static double decimal(float number) {
  char text[32];
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)number);
    if (strtof(text, NULL) == number) return strtod(text, NULL);
  }
  return (double)number;  // not finite
}

// Widens a constant's data.
static const dp_tensor *widen_constant(dp_arena *arena, const dp_tensor *tensor) {
  const dp_tensor *wide = widen(arena, tensor);
  if (wide != tensor && dp_tensor_count(tensor) == 1) {
    double *number = (double *)wide->data;
    *number = decimal((float)*number);
  }
  return wide;
}

static dp_status widen_node(dp_node *node) {
  write_default_type(node);
  for (int i = 0; i < node->n_attrs; i++) {
    dp_attr *attr = &node->attrs[i];
    if (names_type(attr) && attr->i == DP_FLOAT32) attr->i = DP_FLOAT64;
    if (attr->kind == DP_ATTR_TENSOR) attr->tensor = widen_constant(node->graph->arena, attr->tensor);
  }
  return dp_op_infer(node);
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->precision != DP_FLOAT64;
  if (compile->unchanged) return DP_OK;
  dp_model *model = compile->model;
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    if (p->type->dtype != DP_FLOAT32) continue;
    p->type = dp_model_type(model, &(dp_type){DP_FLOAT64, p->type->shape});
    if (p->init.kind == DP_INIT_TENSOR) p->init.tensor = widen(model->arena, p->init.tensor);
  }
  dp_graph *main = dp_model_find_graph(model, "main");
  for (int32_t i = 0; i < main->n_values; i++) {
    dp_value *v = main->values[i];
    if (v->kind == DP_VALUE_RESULT || v->type->dtype != DP_FLOAT32) continue;
    v->type = dp_model_type(model, &(dp_type){DP_FLOAT64, v->type->shape});
    v->constant = widen_constant(model->arena, v->constant);
  }
  for (int32_t i = 0; i < main->n_nodes; i++) DP_TRY(widen_node(main->nodes[i]));
  return DP_OK;
}

const dp_pass dp_pass_precision = {
    .name = "precision",
    .what = "turns float32 into float64 when requested",
    .needs = DP_HAS_MESH,
    .run = run,
};
