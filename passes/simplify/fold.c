// fold: computes what depends on constants only, with the target's reference kernels. Only small results, and a limited
// total: folding must not make a small model large. A kernel's failure is left for run time to report.
#include <stdlib.h>

#include "passes/base/pass.h"
#include "passes/simplify/fold.h"
#include "passes/simplify/rewrite.h"

enum { MAX_RESULT_BYTES = 1 << 20, MAX_TOTAL_BYTES = 64 << 20, MAX_NODES = 64 };

// How many bytes results may take, each and together.
typedef struct {
  int64_t each, left;
} budget;

static bool take_bytes(const dp_value *v, budget *b) {
  if (dp_shape_is_symbolic(&v->type->shape)) return false;
  int64_t bytes = dp_shape_count(&v->type->shape, 0) * (int64_t)dp_type_bytes(v->type->dtype);
  if (bytes > b->each || bytes > b->left) return false;
  b->left -= bytes;
  return true;
}

// Whether the node's results follow from its operands, of which it has some.
static bool is_function(const dp_node *node) {
  const dp_op *op = node->op;
  if (dp_op_is(op, DP_OP_RANDOM) || dp_op_is(op, DP_OP_UPDATE) || dp_op_is(op, DP_OP_COMMUNICATION) ||
      dp_op_is(op, DP_OP_COUNTS))
    return false;
  int operands = 0;
  for (int i = 0; i < node->n_inputs; i++) operands += node->inputs[i] != NULL;
  return operands && node->n_inputs <= DP_MAX_OPERANDS && node->n_outputs <= DP_MAX_OPERANDS;
}

static bool take_results(const dp_node *node, budget *b) {
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] && !take_bytes(node->outputs[i], b)) return false;
  return true;
}

static bool can_fold(const dp_node *node, budget *b) {
  if (!is_function(node)) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && node->inputs[i]->kind != DP_VALUE_CONSTANT) return false;
  return take_results(node, b);
}

static dp_kernel_operand operand_of(const dp_value *v) {
  static const int64_t origin[DP_MAX_MESH];
  dp_mesh none = {0};
  dp_kernel_operand operand = {.dtype = v->type->dtype, .present = true};
  operand.local = dp_shard_range(&v->type->shape, NULL, &none, origin, 0);
  return operand;
}

static dp_tensor *new_tensor(dp_arena *arena, const dp_value *v) {
  dp_tensor *t = dp_alloc(arena, sizeof *t);
  t->dtype = v->type->dtype;
  t->rank = v->type->shape.rank;
  for (int d = 0; d < t->rank; d++) t->extents[d] = v->type->shape.dims[d].offset;
  t->bytes = (size_t)dp_tensor_count(t) * dp_type_bytes(t->dtype);
  t->data = dp_alloc(arena, t->bytes);
  return t;
}

static bool run_kernel(const dp_kernel *kernel, const dp_kernel_spec *spec, uint32_t alignment, const void *const *in,
                       void *const *out) {
  void *state = NULL, *scratch = NULL;
  uint64_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(spec) : 0;
  if (bytes > MAX_RESULT_BYTES) return false;
  if (bytes && !(scratch = aligned_alloc(alignment, dp_align_up(bytes, alignment)))) return false;
  dp_status status = kernel->prepare ? kernel->prepare(spec, &state) : DP_OK;
  if (!status) {
    status = kernel->run(spec, state, in, out, scratch, 0, 1);
    if (kernel->release) kernel->release(state);
  }
  free(scratch);
  bool done = !status;
  dp_status_free(status);
  return done;
}

// Computes the results from operands as tensors; false: they stay to be computed at run time.
static bool compute_node(const dp_target *target, dp_arena *arena, const dp_node *node,
                         const dp_tensor *const given[DP_MAX_OPERANDS], dp_tensor *results[DP_MAX_OPERANDS]) {
  dp_kernel_operand operands[DP_MAX_OPERANDS] = {0}, made[DP_MAX_OPERANDS] = {0};
  dp_kernel_spec spec = {.op = node->op,
                         .node = node,
                         .n_inputs = node->n_inputs,
                         .n_outputs = node->n_outputs,
                         .inputs = operands,
                         .outputs = made,
                         .threads = 1};
  const void *in[DP_MAX_OPERANDS] = {0};
  void *out[DP_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->inputs[i]) continue;
    operands[i] = operand_of(node->inputs[i]);
    in[i] = given[i]->data;
  }
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) made[i] = operand_of(node->outputs[i]);
  if (target->host) target = target->host;
  const dp_kernel *kernel = dp_kernel_select(target, &spec, true);
  if (!kernel) return false;
  for (int i = 0; i < node->n_outputs; i++) {
    if (!node->outputs[i]) continue;
    results[i] = new_tensor(arena, node->outputs[i]);
    out[i] = (void *)results[i]->data;
  }
  return run_kernel(kernel, &spec, target->alignment, in, out);
}

// ---- one value ------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_target *target;
  dp_arena *arena;
  budget bytes;
} evaluation;

// Whether it is worth computing: it depends on constants only, and on few nodes.
static bool is_known(const dp_value *x, int *nodes) {
  if (x->kind == DP_VALUE_CONSTANT) return true;
  if (!x->producer || !is_function(x->producer) || (*nodes)-- <= 0) return false;
  for (int i = 0; i < x->producer->n_inputs; i++)
    if (x->producer->inputs[i] && !is_known(x->producer->inputs[i], nodes)) return false;
  return true;
}

static const dp_tensor *evaluate(evaluation *e, const dp_value *x) {
  const dp_tensor *given[DP_MAX_OPERANDS] = {0};
  dp_tensor *results[DP_MAX_OPERANDS] = {0};
  const dp_node *node = x->producer;
  if (x->kind == DP_VALUE_CONSTANT) return x->constant;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !(given[i] = evaluate(e, node->inputs[i]))) return NULL;
  if (!take_results(node, &e->bytes) || !compute_node(e->target, e->arena, node, given, results)) return NULL;
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] == x) return results[i];
  return NULL;
}

const dp_tensor *dp_fold_value(const dp_target *target, dp_arena *arena, const dp_value *value, int64_t most) {
  int nodes = MAX_NODES;
  evaluation e = {.target = target, .arena = arena, .bytes = {most, most}};
  return is_known(value, &nodes) ? evaluate(&e, value) : NULL;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static void fold(const dp_target *target, dp_graph *graph, budget *left) {
  dp_rewrite rewrite = dp_rewrite_begin(graph);
  int32_t n_nodes = graph->n_nodes;
  for (int32_t i = 0; i < n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    const dp_tensor *given[DP_MAX_OPERANDS] = {0};
    dp_tensor *results[DP_MAX_OPERANDS] = {0};
    dp_rewrite_operands(&rewrite, node);
    if (!can_fold(node, left)) continue;
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k]) given[k] = node->inputs[k]->constant;
    if (!compute_node(target, graph->arena, node, given, results)) continue;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k])
        dp_rewrite_replace(&rewrite, node->outputs[k],
                           dp_graph_add_constant(graph, node->outputs[k]->name, results[k]));
    dp_rewrite_drop(&rewrite, node);
  }
  dp_rewrite_end(&rewrite);
  graph->unchanged = dp_rewrite_did_nothing(&rewrite);
}

static dp_status run(dp_compile *compile) {
  budget left = {MAX_RESULT_BYTES, MAX_TOTAL_BYTES};
  for (int i = 0; i < compile->model->n_graphs; i++) fold(compile->options->target, compile->model->graphs[i], &left);
  return DP_OK;
}

const dp_pass dp_pass_fold = {
    .name = "fold",
    .what = "computes what depends on constants only",
    .run = run,
};
