// The gradient of weights that several products use. See shared_weights.h.
#include "passes/train/shared_weights.h"

#include <string.h>

bool dp_shared_weights_is_term(const dp_value *gradient, int64_t n) {
  const dp_node *node = gradient->producer;
  if (!node || strcmp(node->op->name, "Gemm") || *node->op->domain) return false;
  if (!dp_node_int(node, "transA", 0) || dp_node_int(node, "transB", 0) || dp_node_float(node, "alpha", 1) != 1 ||
      (node->n_inputs > 2 && node->inputs[2]))
    return false;
  const dp_shape *a = &node->inputs[0]->type->shape, *b = &node->inputs[1]->type->shape;
  const double rows = (double)dp_dim_at(a->dims[0], n), of_a = (double)dp_dim_at(a->dims[1], n),
               of_b = (double)dp_dim_at(b->dims[1], n);
  // A result is written, read and added to a sum; rows are copied twice.
  return 3 * of_a * of_b > 4 * rows * (of_a + of_b);
}

static bool have_equal_types(const dp_value *x, const dp_value *y) {
  return x->type->dtype == y->type->dtype && dp_shape_equal(&x->type->shape, &y->type->shape);
}

bool dp_shared_weights_agree(const dp_value *term, const dp_value *other) {
  const dp_node *x = term->producer, *y = other->producer;
  return x->device == y->device && x->stage == y->stage && have_equal_types(x->inputs[0], y->inputs[0]) &&
         have_equal_types(x->inputs[1], y->inputs[1]);
}

// (rows, columns) of each, one row of each after the other: (rows * count, columns).
static dp_value *all_rows(dp_builder *b, dp_value *const *terms, int count, int operand) {
  const int64_t one = 1;
  const dp_attr axes = dp_attr_ints(b->graph->arena, "axes", &one, 1), axis = dp_attr_int("axis", 1);
  dp_value **x = dp_alloc_n(b->graph->arena, (size_t)count, sizeof *x);
  for (int i = 0; i < count; i++) x[i] = dp_build(b, "Unsqueeze", 1, &terms[i]->producer->inputs[operand], 1, 1, &axes);
  // An operator has DP_MAX_REPEATED operands at most.
  while (count > 1) {
    int made = 0;
    for (int i = 0; i < count; i += DP_MAX_REPEATED) {
      const int some = count - i < DP_MAX_REPEATED ? count - i : DP_MAX_REPEATED;
      x[made++] = some == 1 ? x[i] : dp_build(b, "Concat", some, x + i, 1, 1, &axis);
    }
    count = made;
  }
  dp_shape flat = {.rank = 2, .dims = {x[0]->type->shape.dims[0], x[0]->type->shape.dims[2]}};
  if (!b->status && !dp_shape_product(&x[0]->type->shape, 0, 2, &flat.dims[0]))
    b->status = dp_fail(EX_SOFTWARE, "rows of products have no number of the form a * N + b");
  return dp_build_reshape(b, x[0], &flat);
}

dp_value *dp_shared_weights_sum(dp_builder *b, dp_value *const *terms, int count) {
  const int32_t first = b->graph->n_nodes;
  const dp_attr trans = dp_attr_int("transA", 1);
  dp_value *rows[] = {all_rows(b, terms, count, 0), all_rows(b, terms, count, 1)};
  dp_value *sum = dp_build(b, "Gemm", 2, rows, 1, 1, &trans);
  for (int32_t i = first; i < b->graph->n_nodes; i++) {
    b->graph->nodes[i]->device = terms[0]->producer->device;
    b->graph->nodes[i]->stage = terms[0]->producer->stage;
  }
  return sum;
}
