// transposed: a product with the transpose of a matrix reads the matrix as it lies. So do its gradients, which follow
// from it: embeddings that are the last product's weights too need no copy of them in either order.
#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/simplify/rewrite.h"

// The matrix that x is the transpose of, perhaps in another type; NULL: it is none.
static dp_value *source_of(const dp_value *x) {
  const dp_node *node = dp_rewrite_is(x->producer, "Cast") ? x->producer->inputs[0]->producer : x->producer;
  size_t count = 0;
  if (!dp_rewrite_is(node, "Transpose") || node->inputs[0]->type->shape.rank != 2) return NULL;
  const int64_t *perm = dp_node_ints(node, "perm", &count);
  return !count || (perm[0] == 1 && perm[1] == 0) ? node->inputs[0] : NULL;
}

// The same product as one of two matrices; NULL: the node is none, or cannot be.
static dp_value *turned(dp_graph *graph, dp_node *node, dp_status *status) {
  dp_builder b = {.graph = graph, .prefix = node->name};
  if (!dp_rewrite_is(node, "MatMul")) return NULL;
  dp_value *x = node->inputs[0], *w = source_of(node->inputs[1]);
  const dp_shape *shape = &x->type->shape, *y = &node->outputs[0]->type->shape;
  dp_shape flat = {.rank = 2};
  if (!w || shape->rank < 2 || !dp_shape_product(shape, 0, shape->rank - 1, &flat.dims[0])) return NULL;
  flat.dims[1] = shape->dims[shape->rank - 1];
  const dp_attr attr = dp_attr_int("transB", 1);
  dp_value *matrices[] = {dp_build_reshape(&b, x, &flat), dp_build_cast(&b, w, x->type->dtype)};
  dp_value *made = dp_build_reshape(&b, dp_build(&b, "Gemm", 2, matrices, 1, 1, &attr), y);
  *status = b.status;
  return made;
}

static dp_status turn_all(dp_graph *graph) {
  const int32_t n_old = graph->n_nodes;
  dp_arena *scratch = dp_arena_create_within(graph->arena);
  // A product becomes four nodes at most.
  dp_node **order = dp_alloc_n(scratch, (size_t)n_old * 4 + 1, sizeof *order);
  int32_t count = 0;
  dp_status status = DP_OK;
  dp_rewrite rewrite = dp_rewrite_begin(graph);
  for (int32_t i = 0; i < n_old && !status; i++) {
    dp_node *node = graph->nodes[i];
    const int32_t first = graph->n_nodes;
    dp_rewrite_operands(&rewrite, node);
    dp_value *by = turned(graph, node, &status);
    if (!by) {
      order[count++] = node;
      continue;
    }
    dp_rewrite_replace(&rewrite, node->outputs[0], by);
    dp_rewrite_drop(&rewrite, node);
    dp_rewrite_follow(graph, first, node);
    for (int32_t k = first; k < graph->n_nodes; k++) order[count++] = graph->nodes[k];
  }
  if (status) return status;
  graph->unchanged = dp_rewrite_did_nothing(&rewrite);
  dp_rewrite_end(&rewrite);
  if (!graph->unchanged) dp_graph_reorder(graph, order);
  dp_arena_destroy(scratch);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  for (int i = 0; i < compile->model->n_graphs; i++) DP_TRY(turn_all(compile->model->graphs[i]));
  return DP_OK;
}

const dp_pass dp_pass_transposed = {
    .name = "transposed",
    .what = "products with transposed matrices read the matrices as they lie",
    .needs = DP_HAS_PROGRAMS,
    .run = run,
};
