// memory: gives every value and every node's scratch its bytes.
//
// Persistent values have homes for good; an update is written into its home. Host memory is laid out by program, each
// beginning at 0, as one runs at a time. Transients of a device share one arena: two may have the same bytes only when all
// uses of the one happen before the other is written, by streams and events that are there anyway; no event is added for
// the sake of memory. A result takes its operand's bytes when the operator works element by element, the kernel allows it
// and the operand dies there, and likewise a sum that is made whole. pack.c finds the offsets.
#include <limits.h>
#include <string.h>

#include "passes/list.h"
#include "passes/order.h"
#include "passes/pack.h"

// A value, with those that took its place one after the other, or a node's scratch.
typedef struct {
  uint64_t bytes;
  const dp_node *first;      // writes it first
  int end[DP_PACK_STREAMS];  // so many nodes of each stream are done when all uses are
  dp_node *scratch_of;
} block;

typedef struct {
  const dp_target *target;
  dp_graph *graph;
  dp_arena *scratch;
  dp_order order;
  int32_t n_blocks;
  block *blocks;
  int32_t *block_of;             // (values) -1: has a place already
  int (*ends)[DP_PACK_STREAMS];  // (values) as in block, by reads
} work;

// Every range is at least a byte long, so that no two have the same place.
static uint64_t padded(uint64_t bytes) { return dp_align_up(bytes ? bytes : 1, DP_PACK_ALIGNMENT); }

static uint64_t bytes_of(const dp_model *model, const dp_type *type, const dp_placement *placements) {
  return (uint64_t)dp_local_max_count(&type->shape, placements, &model->mesh, model->batch) *
         dp_type_bytes(type->dtype);
}

// ---- lifetimes ------------------------------------------------------------------------------------------------------

static void use(const work *w, int end[DP_PACK_STREAMS], const dp_node *node) {
  int done = w->order.place[node->id] + 1;
  if (end[node->stream] < done) end[node->stream] = done;
}

static int32_t add_block(work *w, uint64_t bytes, const dp_node *first) {
  block b = {.bytes = padded(bytes), .first = first};
  use(w, b.end, first);
  DP_PUSH(w->scratch, w->blocks, w->n_blocks, b);
  return w->n_blocks - 1;
}

// Whether everything that uses a block is done before `node` begins, but for `node` itself.
static bool dies_at(const work *w, const block *b, const dp_node *node) {
  for (int s = 0; s < w->order.n_streams; s++) {
    bool itself = s == node->stream && b->end[s] == w->order.place[node->id] + 1;
    if (!itself && !dp_order_done(&w->order, node, s, b->end[s])) return false;
  }
  return true;
}

// Whether the operator and its kernel can put result 0 where operand 0 is.
static bool works_in_place(const work *w, const dp_node *node) {
  const dp_value *x = node->inputs[0], *y = node->outputs[0];
  if (!node->kernel) {
    bool made_whole = false;
    for (int a = 0; a < w->graph->model->mesh.n_axes; a++) {
      if (dp_placement_equal(x->placements[a], y->placements[a])) continue;
      if (x->placements[a].kind != DP_PARTIAL || y->placements[a].kind != DP_REPLICATE) return false;
      made_whole = true;
    }
    return made_whole;
  }
  if (!dp_op_is(node->op, DP_OP_ELEMENTWISE)) return false;
  const dp_kernel *kernel = dp_kernel_find(w->target, node->kernel);
  return kernel && kernel->in_place;
}

static bool takes_over(const work *w, const dp_node *node) {
  const dp_value *x = node->n_inputs ? node->inputs[0] : NULL, *y = node->outputs[0];
  if (!x || !y || w->block_of[x->id] < 0 || x->type.dtype != y->type.dtype || x->bytes != y->bytes) return false;
  for (int i = 1; i < node->n_inputs; i++)
    if (node->inputs[i] == x) return false;
  return works_in_place(w, node) && dies_at(w, &w->blocks[w->block_of[x->id]], node);
}

static void make_blocks(work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) use(w, w->ends[graph->nodes[i]->inputs[k]->id], graph->nodes[i]);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_outputs; k++) {
      dp_value *y = node->outputs[k];
      if (!y || y->space != DP_SPACE_TRANSIENT) continue;
      int32_t b = k == 0 && takes_over(w, node) ? w->block_of[node->inputs[0]->id] : add_block(w, y->bytes, node);
      int *end = w->blocks[b].end;
      w->block_of[y->id] = b;
      use(w, end, node);
      for (int s = 0; s < w->order.n_streams; s++)
        if (w->ends[y->id][s] > end[s]) end[s] = w->ends[y->id][s];
    }
    if (!node->scratch_bytes) continue;
    int32_t b = add_block(w, node->scratch_bytes, node);
    w->blocks[b].scratch_of = node;
  }
}

// ---- packing --------------------------------------------------------------------------------------------------------

// The first node of a stream that comes after all uses of a block; past all when there is none. nodes: of the stream.
static int32_t free_from(const work *w, const block *b, int count, dp_node *const *nodes) {
  int low = 0, high = count;
  while (low < high) {
    int middle = (low + high) / 2;
    bool after = true;
    for (int s = 0; s < w->order.n_streams; s++) after &= dp_order_done(&w->order, nodes[middle], s, b->end[s]);
    if (after)
      high = middle;
    else
      low = middle + 1;
  }
  return low < count ? nodes[low]->id : INT32_MAX;
}

static dp_pack_block *lifetimes(const work *w) {
  const dp_graph *graph = w->graph;
  dp_pack_block *packed = dp_alloc_n(w->scratch, (size_t)w->n_blocks + 1, sizeof *packed);
  for (int s = 0; s < DP_PACK_STREAMS; s++) {
    dp_node **nodes = dp_alloc_n(w->scratch, (size_t)graph->n_nodes + 1, sizeof *nodes);
    int count = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++)
      if (graph->nodes[i]->stream == s) nodes[count++] = graph->nodes[i];
    for (int32_t b = 0; b < w->n_blocks; b++) packed[b].free[s] = free_from(w, &w->blocks[b], count, nodes);
  }
  for (int32_t b = 0; b < w->n_blocks; b++) {
    packed[b].bytes = w->blocks[b].bytes;
    packed[b].start = w->blocks[b].first->id;
    packed[b].stream = w->blocks[b].first->stream;
  }
  return packed;
}

static dp_status place_transients(const dp_target *target, dp_graph *graph) {
  if (graph->n_streams > DP_PACK_STREAMS)
    return dp_fail(EX_SOFTWARE, "program '%s' has %d streams, at most %d are laid out", graph->name, graph->n_streams,
                   DP_PACK_STREAMS);
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  work w = {.target = target, .graph = graph, .scratch = scratch, .order = dp_order_make(scratch, graph)};
  size_t n = (size_t)graph->n_values + 1;
  w.ends = dp_alloc_n(scratch, n, sizeof *w.ends);
  w.block_of = dp_alloc_n(scratch, n, sizeof *w.block_of);
  memset(w.block_of, 0xff, n * sizeof *w.block_of);
  make_blocks(&w);
  dp_pack_block *packed = lifetimes(&w);
  dp_pack(scratch, w.n_blocks, packed);
  for (int32_t i = 0; i < graph->n_values; i++)
    if (w.block_of[i] >= 0) graph->values[i]->offset = packed[w.block_of[i]].offset;
  for (int32_t b = 0; b < w.n_blocks; b++)
    if (w.blocks[b].scratch_of) w.blocks[b].scratch_of->scratch_offset = packed[b].offset;
  dp_arena_destroy(scratch);
  return DP_OK;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static void place_homes(dp_model *model) {
  uint64_t top = 0;
  for (int32_t i = 0; i < model->n_persistents; i++) {
    dp_persistent *p = &model->persistents[i];
    p->bytes = bytes_of(model, &p->type, p->placements);
    p->offset = top;
    top += padded(p->bytes);
  }
}

static void place_others(dp_graph *graph) {
  const dp_model *model = graph->model;
  uint64_t top[DP_SPACE_HOST_OUTPUT + 1] = {0};
  for (int32_t i = 0; i < graph->n_values; i++) {
    dp_value *v = graph->values[i];
    v->bytes = bytes_of(model, &v->type, v->placements);
    if (v->kind == DP_VALUE_PERSISTENT) v->offset = model->persistents[v->persistent].offset;
    if (v->space != DP_SPACE_HOST_INPUT && v->space != DP_SPACE_HOST_OUTPUT) continue;
    v->offset = top[v->space];
    top[v->space] += padded(v->bytes);
  }
  for (int i = 0; i < graph->n_updates; i++)
    graph->updates[i].value->offset = model->persistents[graph->updates[i].persistent].offset;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  place_homes(model);
  for (int i = 0; i < model->n_graphs; i++) {
    place_others(model->graphs[i]);
    DP_TRY(place_transients(compile->options->target, model->graphs[i]));
  }
  return DP_OK;
}

const dp_pass dp_pass_memory = {
    .name = "memory",
    .what = "every value and scratch gets its bytes",
    .needs = DP_HAS_KERNELS,
    .gives = DP_HAS_MEMORY,
    .run = run,
};
