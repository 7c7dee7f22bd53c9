// Attributes of nodes: reading them with the schema's defaults, making and comparing them.
#include <string.h>

#include "ir/graph/op.h"

const dp_attr *dp_node_attr(const dp_node *node, const char *name) {
  for (int i = 0; i < node->n_attrs; i++)
    if (dp_is_same(node->attrs[i].name, name)) return &node->attrs[i];
  return NULL;
}

static const dp_attr_schema *schema_of(const dp_node *node, const char *name) {
  for (int i = 0; i < DP_MAX_ATTRS && node->op->attrs[i].name; i++)
    if (dp_is_same(node->op->attrs[i].name, name)) return node->op->attrs[i].has_default ? &node->op->attrs[i] : NULL;
  return NULL;
}

int64_t dp_node_int(const dp_node *node, const char *name, int64_t otherwise) {
  const dp_attr *attr = dp_node_attr(node, name);
  if (attr) return attr->i;
  const dp_attr_schema *schema = schema_of(node, name);
  return schema ? (int64_t)schema->number : otherwise;
}

double dp_node_float(const dp_node *node, const char *name, double otherwise) {
  const dp_attr *attr = dp_node_attr(node, name);
  if (attr) return attr->kind == DP_ATTR_INT ? (double)attr->i : attr->f;
  const dp_attr_schema *schema = schema_of(node, name);
  return schema ? schema->number : otherwise;
}

const char *dp_node_string(const dp_node *node, const char *name, const char *otherwise) {
  const dp_attr *attr = dp_node_attr(node, name);
  if (attr) return attr->s;
  const dp_attr_schema *schema = schema_of(node, name);
  return schema && schema->string ? schema->string : otherwise;
}

const int64_t *dp_node_ints(const dp_node *node, const char *name, size_t *count) {
  const dp_attr *attr = dp_node_attr(node, name);
  *count = attr ? attr->count : 0;
  return attr ? attr->ints : NULL;
}

static bool floats_equal(const double *a, const double *b, size_t count) {
  return memcmp(a, b, count * sizeof *a) == 0;  // by bits: NaN equals itself, -0 is not 0
}

static bool tensors_equal(const dp_tensor *a, const dp_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         !memcmp(a->extents, b->extents, (size_t)a->rank * sizeof *a->extents) && a->bytes == b->bytes &&
         (a->data == b->data || !memcmp(a->data, b->data, a->bytes));
}

bool dp_attr_equal(const dp_attr *a, const dp_attr *b) {
  if (a->kind != b->kind || strcmp(a->name, b->name) || a->count != b->count) return false;
  switch (a->kind) {
    case DP_ATTR_INT:
      return a->i == b->i;
    case DP_ATTR_FLOAT:
      return floats_equal(&a->f, &b->f, 1);
    case DP_ATTR_STRING:
      return !strcmp(a->s, b->s);
    case DP_ATTR_INTS:
      return !a->count || !memcmp(a->ints, b->ints, a->count * sizeof *a->ints);
    case DP_ATTR_FLOATS:
      return !a->count || floats_equal(a->floats, b->floats, a->count);
    case DP_ATTR_STRINGS:
      for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->strings[i], b->strings[i])) return false;
      return true;
    case DP_ATTR_DIMS:
      return !a->count || !memcmp(a->dims, b->dims, a->count * sizeof *a->dims);
    case DP_ATTR_TENSOR:
      return tensors_equal(a->tensor, b->tensor);
  }
  return false;
}

dp_attr dp_attr_int(const char *name, int64_t i) { return (dp_attr){.name = name, .kind = DP_ATTR_INT, .i = i}; }

dp_attr dp_attr_float(const char *name, double f) { return (dp_attr){.name = name, .kind = DP_ATTR_FLOAT, .f = f}; }

dp_attr dp_attr_string(const char *name, const char *s) {
  return (dp_attr){.name = name, .kind = DP_ATTR_STRING, .s = s};
}

dp_attr dp_attr_ints(dp_arena *arena, const char *name, const int64_t *ints, size_t count) {
  return (dp_attr){
      .name = name, .kind = DP_ATTR_INTS, .count = count, .ints = dp_memdup(arena, ints, count * sizeof *ints)};
}

dp_attr dp_attr_dims(dp_arena *arena, const char *name, const dp_shape *shape) {
  size_t count = (size_t)shape->rank;
  return (dp_attr){.name = name,
                   .kind = DP_ATTR_DIMS,
                   .count = count,
                   .dims = dp_memdup(arena, shape->dims, count * sizeof *shape->dims)};
}
