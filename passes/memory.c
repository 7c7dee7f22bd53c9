// memory: gives every value and every node's scratch its bytes.
//
// Persistent values have homes for good; an update is written into its home. Transients share one arena: two of them may
// have the same bytes only when all uses of the one happen before the other is written (by streams and events that are there
// anyway; no event is added for the sake of memory). A result takes its operand's bytes when the operator works element by
// element, the kernel allows it and the operand dies there. Larger ones are placed first, each at the lowest offset that is
// free of all it lives beside.
#include <stdlib.h>
#include <string.h>

#include "passes/list.h"
#include "passes/order.h"

enum { ALIGNMENT = 64 };

// One stretch of bytes: a value, with those that took its place one after the other, or a node's scratch.
typedef struct {
  uint64_t bytes, offset;
  const dp_node *first;  // writes it first
  int *end;              // (streams) as many of each stream must be done before it is free
  dp_node *scratch_of;
} block;

typedef struct {
  dp_compile *compile;
  dp_graph *graph;
  dp_arena *arena;
  dp_order order;
  int32_t n_blocks;
  block *blocks;
  int32_t *block_of;  // (values), -1
  int32_t n_uses;
} work;

static uint64_t bytes_of(const dp_model *model, const dp_value *value) {
  return (uint64_t)dp_local_max_count(&value->type.shape, value->placements, &model->mesh, model->batch) *
         dp_type_bytes(value->type.dtype);
}

// ---- lifetimes ------------------------------------------------------------------------------------------------------

static void use(work *w, block *b, const dp_node *node) {
  int done = w->order.place[node->id] + 1;
  if (b->end[node->stream] < done) b->end[node->stream] = done;
}

static int32_t new_block(work *w, uint64_t bytes, const dp_node *first) {
  block b = {.bytes = dp_align_up(bytes ? bytes : 1, ALIGNMENT), .first = first};
  b.end = dp_alloc_n(w->arena, (size_t)w->order.n_streams, sizeof *b.end);
  use(w, &b, first);
  DP_PUSH(w->arena, w->blocks, w->n_blocks, b);
  return w->n_blocks - 1;
}

// Whether everything that uses block b is done before `node` begins, but for `node` itself.
static bool dies_at(const work *w, const block *b, const dp_node *node, bool itself) {
  for (int s = 0; s < w->order.n_streams; s++) {
    bool mine = itself && s == node->stream && b->end[s] == w->order.place[node->id] + 1;
    if (!mine && !dp_order_done(&w->order, node, s, b->end[s])) return false;
  }
  return true;
}

static bool may_take_over(const work *w, const dp_node *node) {
  const dp_value *x = node->n_inputs ? node->inputs[0] : NULL, *y = node->outputs[0];
  if (!x || !y || w->block_of[x->id] < 0) return false;
  if (x->type.dtype != y->type.dtype || x->bytes != y->bytes || !dp_shape_equal(&x->type.shape, &y->type.shape))
    return false;
  for (int i = 1; i < node->n_inputs; i++)
    if (node->inputs[i] == x) return false;
  bool kernel_allows = false;
  if (node->kernel) {
    const dp_kernel *kernel = dp_kernel_find(w->compile->options->target, node->kernel);
    kernel_allows = kernel && kernel->in_place && dp_op_is(node->op, DP_OP_ELEMENTWISE);
  } else {
    kernel_allows = !strcmp(node->op->name, "AllReduce");
  }
  return kernel_allows && dies_at(w, &w->blocks[w->block_of[x->id]], node, true);
}

// Uses of every value are known before blocks are made, so that who dies where is known too.
static void make_blocks(work *w) {
  const dp_graph *graph = w->graph;
  // End of each value by itself.
  int n = w->order.n_streams;
  int *ends = dp_alloc_n(w->arena, (size_t)graph->n_values * (size_t)n + 1, sizeof *ends);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (!x) continue;
      int *end = &ends[x->id * n + graph->nodes[i]->stream], done = w->order.place[i] + 1;
      if (*end < done) *end = done;
    }
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_outputs; k++) {
      dp_value *y = node->outputs[k];
      if (!y || y->space != DP_SPACE_TRANSIENT) continue;
      int32_t b = k == 0 && may_take_over(w, node) ? w->block_of[node->inputs[0]->id] : new_block(w, y->bytes, node);
      w->block_of[y->id] = b;
      use(w, &w->blocks[b], node);
      for (int s = 0; s < n; s++)
        if (ends[y->id * n + s] > w->blocks[b].end[s]) w->blocks[b].end[s] = ends[y->id * n + s];
    }
    if (!node->scratch_bytes) continue;
    int32_t scratch = new_block(w, node->scratch_bytes, node);  // first: it may move w->blocks
    w->blocks[scratch].scratch_of = node;
  }
}

// ---- placing --------------------------------------------------------------------------------------------------------

static bool live_together(const work *w, const block *a, const block *b) {
  return !dies_at(w, a, b->first, false) && !dies_at(w, b, a->first, false);
}

static int larger_first(const void *a, const void *b) {
  const block *x = *(block *const *)a, *y = *(block *const *)b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return x->first->id < y->first->id ? -1 : x->first->id > y->first->id;
}

static int by_offset(const void *a, const void *b) {
  const block *x = *(block *const *)a, *y = *(block *const *)b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static uint64_t place_blocks(work *w) {
  size_t n = (size_t)w->n_blocks;
  block **order = dp_alloc_n(w->arena, n + 1, sizeof *order), **beside = dp_alloc_n(w->arena, n + 1, sizeof *beside);
  for (size_t i = 0; i < n; i++) order[i] = &w->blocks[i];
  qsort(order, n, sizeof *order, larger_first);
  uint64_t top = 0;
  for (size_t i = 0; i < n; i++) {
    size_t count = 0;
    for (size_t k = 0; k < i; k++)
      if (live_together(w, order[i], order[k])) beside[count++] = order[k];
    qsort(beside, count, sizeof *beside, by_offset);
    uint64_t offset = 0;
    for (size_t k = 0; k < count && offset + order[i]->bytes > beside[k]->offset; k++)
      if (beside[k]->offset + beside[k]->bytes > offset) offset = beside[k]->offset + beside[k]->bytes;
    order[i]->offset = offset;
    if (offset + order[i]->bytes > top) top = offset + order[i]->bytes;
  }
  return top;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static void set_spaces(dp_graph *graph) {
  const dp_model *model = graph->model;
  uint64_t host_input = 0, host_output = 0;
  for (int32_t i = 0; i < graph->n_values; i++) {
    dp_value *v = graph->values[i];
    v->bytes = bytes_of(model, v);
    if (v->space == DP_SPACE_NONE) v->space = DP_SPACE_TRANSIENT;
    uint64_t *top = v->space == DP_SPACE_HOST_INPUT    ? &host_input
                    : v->space == DP_SPACE_HOST_OUTPUT ? &host_output
                                                       : NULL;
    if (top) {
      v->offset = *top;
      *top += dp_align_up(v->bytes ? v->bytes : 1, ALIGNMENT);
    }
    if (v->kind == DP_VALUE_PERSISTENT) v->offset = model->persistents[v->persistent].offset;
  }
  for (int i = 0; i < graph->n_updates; i++) {
    dp_value *v = graph->updates[i].value;
    v->space = DP_SPACE_PERSISTENT;
    v->offset = model->persistents[graph->updates[i].persistent].offset;
  }
}

static void place_homes(dp_model *model) {
  uint64_t top = 0;
  for (int32_t i = 0; i < model->n_persistents; i++) {
    dp_persistent *p = &model->persistents[i];
    p->bytes = (uint64_t)dp_local_max_count(&p->type.shape, p->placements, &model->mesh, model->batch) *
               dp_type_bytes(p->type.dtype);
    p->offset = top;
    top += dp_align_up(p->bytes ? p->bytes : 1, ALIGNMENT);
  }
}

static void run_graph(dp_compile *compile, dp_graph *graph) {
  set_spaces(graph);
  work w = {.compile = compile, .graph = graph, .arena = graph->arena, .order = dp_order_make(graph)};
  w.block_of = dp_alloc_n(w.arena, (size_t)graph->n_values + 1, sizeof *w.block_of);
  memset(w.block_of, 0xff, ((size_t)graph->n_values + 1) * sizeof *w.block_of);
  make_blocks(&w);
  place_blocks(&w);
  for (int32_t i = 0; i < graph->n_values; i++)
    if (w.block_of[i] >= 0) graph->values[i]->offset = w.blocks[w.block_of[i]].offset;
  for (int32_t b = 0; b < w.n_blocks; b++)
    if (w.blocks[b].scratch_of) w.blocks[b].scratch_of->scratch_offset = w.blocks[b].offset;
}

static dp_status run(dp_compile *compile) {
  place_homes(compile->model);
  for (int i = 0; i < compile->model->n_graphs; i++) run_graph(compile, compile->model->graphs[i]);
  return DP_OK;
}

const dp_pass dp_pass_memory = {
    .name = "memory",
    .what = "every value and scratch gets its bytes",
    .needs = DP_HAS_KERNELS,
    .gives = DP_HAS_MEMORY,
    .run = run,
};
