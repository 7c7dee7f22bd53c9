// An EmbeddingBag as PyTorch's newer exporter writes it: a Loop with one iteration for each bag. An iteration slices
// the bag's rows out of all gathered rows, reduces them and appends the result to a sequence, and ConcatFromSequence
// makes a tensor of the sequence. If bags are equally long, all iterations are replaced by one reduction along an axis
// for the rows of a bag.
//
// The operation that the node names says that the iterations do this. The body says where the rows are and how they are
// divided into bags. Anything else is left to onnx_control.c.
#include <string.h>

#include "frontends/onnx/onnx_signature.h"

// aten.embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
// include_last_offset, padding_idx). The rows already include the weights of samples.
enum { SCALE_GRAD = 3, MODE = 4, LAST_OFFSET = 7, PADDING = 8 };

static const char *const reductions[] = {"ReduceSum", "ReduceMean", "ReduceMax"};  // by mode

// The reduction; NULL: it is another operation, or has options that are not supported.
static const char *find_reduction(dp_arena *arena, const Dp__Onnx__Node *m) {
  const char *fx = dp_onnx_signature_of_node(m);
  if (!fx || strcmp(dp_onnx_signature_op(arena, fx), "embedding_bag")) return NULL;
  const char *mode = dp_onnx_signature_argument(arena, fx, MODE);
  if (strcmp(dp_onnx_signature_argument(arena, fx, SCALE_GRAD), "False") ||
      strcmp(dp_onnx_signature_argument(arena, fx, LAST_OFFSET), "False") ||
      strcmp(dp_onnx_signature_argument(arena, fx, PADDING), "None") || strlen(mode) != 1 || *mode < '0' || *mode > '2')
    return NULL;
  return reductions[*mode - '0'];
}

// The one name that the graph's own Slices, or those of its nested graphs, take their elements from. It is defined
// outside of that graph.
typedef struct {
  const char *name;
  bool several;
} sliced;

static void look_at(const Dp__Onnx__Graph *graph, bool nested, int depth, sliced *of) {
  for (size_t i = 0; i < graph->n_node && depth < DP_ONNX_MAX_CALLS; i++) {
    const Dp__Onnx__Node *node = graph->node[i];
    if (!nested && !strcmp(node->op_type, "Slice") && node->n_input) {
      of->several |= of->name && strcmp(of->name, node->input[0]);
      of->name = node->input[0];
    }
    for (size_t a = 0; a < node->n_attribute && (nested || depth); a++)
      if (node->attribute[a]->g) look_at(node->attribute[a]->g, false, depth + 1, of);
  }
}

static dp_status find_sliced(dp_onnx_scope *scope, const Dp__Onnx__Graph *body, bool nested, dp_onnx_binding **x) {
  sliced of = {0};
  look_at(body, nested, 0, &of);
  *x = NULL;
  return of.name && !of.several ? dp_onnx_scope_find(scope, of.name, x) : DP_OK;
}

// The result that is the sequence of rows. The states are the sequence and the iteration number, in either order.
static dp_status find_result(const dp_onnx_scope *scope, const Dp__Onnx__Node *m, const char **name) {
  const size_t skip = 2;  // the number of iterations, the condition
  *name = NULL;
  for (size_t i = skip; i < m->n_input && i - skip < m->n_output; i++) {
    dp_onnx_binding *x;
    DP_TRY(dp_onnx_scope_find(scope, m->input[i], &x));
    if (x && x->sequence) *name = m->output[i - skip];
  }
  return DP_OK;
}

// Whether the sequence is only joined. Then one tensor with all rows can replace it.
static bool is_joined(const dp_onnx_reader *reader, const char *sequence) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  for (size_t i = 0; i < graph->n_output; i++)
    if (!strcmp(graph->output[i]->name, sequence)) return false;
  for (size_t i = 0; i < graph->n_node; i++) {
    const Dp__Onnx__Node *node = graph->node[i];
    for (size_t k = 0; k < node->n_input; k++)
      if (!strcmp(node->input[k], sequence) &&
          (strcmp(node->op_type, "ConcatFromSequence") || dp_onnx_attr_int(node, "axis", 1) ||
           dp_onnx_attr_int(node, "new_axis", 0)))
        return false;
  }
  return true;
}

dp_status dp_onnx_bags_loop(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                            const Dp__Onnx__Graph *body, bool *done) {
  const char *reduction = find_reduction(reader->arena, m);
  const char *result;
  dp_onnx_binding *offsets, *rows;
  if (!reduction || scope->outer) return DP_OK;
  DP_TRY(find_result(scope, m, &result));
  if (!result || !is_joined(reader, result)) return DP_OK;
  DP_TRY(find_sliced(scope, body, false, &offsets));
  DP_TRY(find_sliced(scope, body, true, &rows));
  const dp_onnx_progression *p = offsets ? offsets->progression : NULL;  // where each bag begins, and the last one ends
  if (!p || !dp_dim_is(p->start, 0) || p->step < 1 || !rows || rows->sequence) return DP_OK;
  dp_shape shape = dp_onnx_scope_type(rows).shape;  // (bags * step, D)
  const dp_dim bags = {p->count.scale, p->count.offset - 1};
  dp_dim whole;
  if (shape.rank != 2 || __builtin_mul_overflow(bags.scale, p->step, &whole.scale) ||
      __builtin_mul_overflow(bags.offset, p->step, &whole.offset) || !dp_dim_equal(shape.dims[0], whole))
    return DP_OK;
  dp_value *value;
  DP_TRY(dp_onnx_scope_value(reader, rows, &value));
  shape = (dp_shape){.rank = 3, .dims = {bags, dp_dim_of(p->step), shape.dims[1]}};
  dp_builder b = {.graph = reader->graph, .prefix = dp_onnx_name(reader, scope, m)};
  value = dp_build_reduce(&b, reduction, dp_build_reshape(&b, value, &shape), (int64_t[]){1}, 1, false);
  DP_TRY(b.status);
  *done = true;
  return dp_onnx_sequence_bind_one(reader, scope, result, value);
}
