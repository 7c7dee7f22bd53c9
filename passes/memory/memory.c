// memory: assigns bytes to every value and every node's scratch.
//
// Variables have permanent storage (storage.c), and an update is written in place. Host memory is laid out per program,
// each from 0, as one program runs at a time; so are inputs that devices get ahead. Transients of a device share one
// arena. Two may share bytes only when all uses of one happen before the other is written, by the streams and events
// that exist anyway: no event is added to save memory. In a pipeline each stage has its own arena, by the order of
// events on that stage alone. What is offloaded for a while shares an arena of the host in the same way, after the
// variables that are stored there.
//
// A result reuses its operand's bytes when the operator is elementwise, the kernel allows it and the operand dies
// there; likewise a reduced sum, and the value that micro-batches are accumulated into. Where the operator changes the
// shape alone, the operand may live on: both are the same bytes, which are free when the last user of either is done.
// Sums that are reduced together are adjacent: the bucket is one value from the first write to any member on. pack.c
// finds the offsets.
#include <limits.h>
#include <string.h>

#include "ir/base/limits.h"
#include "passes/base/pass.h"
#include "passes/memory/order.h"
#include "passes/memory/pack.h"
#include "passes/memory/storage.h"

// A value together with those that later reuse its bytes, or a node's scratch, or a bucket of values.
typedef struct {
  uint64_t bytes;
  const dp_node *first;      // writes it first
  int end[DP_PACK_STREAMS];  // all uses are done once this many nodes of each stream are
  dp_node *scratch_of;
  int n_views;     // how often a view took the bytes over
  int32_t bucket;  // the block that it is a member of, from `offset` on; -1: none
  uint64_t offset;
  int32_t packed;  // index among the packed blocks, unless it is a member
} block;

typedef struct {
  const dp_target *target;
  dp_graph *graph;
  dp_space space;
  const bool *stored;  // (values) the new value of a variable
  dp_arena *scratch;
  dp_order order;
  int32_t n_blocks;
  block *blocks;
  int32_t *block_of;             // (values) -1: already has its bytes
  int (*ends)[DP_PACK_STREAMS];  // (values) as in block, by reads
  dp_node **joined_by;           // (values) the node that reduces it together with others; NULL: none
  int32_t *bucket_of;            // (nodes) the block of what it reduces; -1: none yet
} work;

// ---- lifetimes ------------------------------------------------------------------------------------------------------

static void extend_life(const work *w, int end[DP_PACK_STREAMS], const dp_node *node) {
  int done = w->order.position[node->id] + 1;
  if (end[node->stream] < done) end[node->stream] = done;
}

static int32_t add_block(work *w, uint64_t bytes, const dp_node *first) {
  block b = {.bytes = dp_memory_padded(bytes, w->target->alignment), .first = first, .bucket = -1};
  extend_life(w, b.end, first);
  DP_PUSH(w->scratch, w->blocks, w->n_blocks, b);
  return w->n_blocks - 1;
}

// Whether everything that uses a block, except `node` itself, is done before `node` begins.
static bool dies_at(const work *w, const block *b, const dp_node *node) {
  for (int s = 0; s < w->order.n_streams; s++) {
    bool itself = s == node->stream && b->end[s] == w->order.position[node->id] + 1;
    if (!itself && !dp_order_done(&w->order, node, s, b->end[s])) return false;
  }
  return true;
}

// Whether the operator and its kernel can write result k over operand k.
static bool works_in_place(const work *w, const dp_node *node, int k) {
  const dp_value *x = node->inputs[k], *y = node->outputs[k];
  if (!node->kernel) {
    bool made_whole = false, more = node->n_inputs > node->n_outputs;
    // More micro-batches are accumulated into operand 0, unless it has a single one, laid out for that one alone.
    if (more) return !k && (x->placements[0].kind == DP_PARTIAL || x->micro_count > 1);
    for (int a = 0; a < w->graph->model->mesh.n_axes; a++) {
      if (dp_placement_equal(x->placements[a], y->placements[a])) continue;
      if (x->placements[a].kind != DP_PARTIAL || y->placements[a].kind != DP_REPLICATE) return false;
      made_whole = true;
    }
    return made_whole;
  }
  if (k || !dp_op_is(node->op, DP_OP_ELEMENTWISE)) return false;
  const dp_kernel *kernel = dp_kernel_find(w->target, node->kernel);
  return kernel && kernel->in_place;
}

// Whether result k reuses its operand's bytes because the operator updates in place a part of something whose storage
// is elsewhere.
static bool updates_part(const dp_node *node, int k) {
  return dp_op_is(node->op, DP_OP_UPDATE) && k < node->n_inputs && node->inputs[k]->space == DP_SPACE_TRANSIENT;
}

// Whether the result has its operand's elements where they are, and whoever reads these bytes comes after this node or
// before it, as all do on its stream.
static bool shares(const work *w, const dp_node *node, const dp_value *x) {
  const block *b = &w->blocks[w->block_of[x->id]];
  if (!node->kernel || node->body || !dp_op_is(node->op, DP_OP_VIEW) || w->joined_by[x->id]) return false;
  for (int s = 0; s < w->order.n_streams; s++)
    if (s != node->stream && !dp_order_done(&w->order, node, s, b->end[s])) return false;
  return b->n_views < DP_LIMIT_VIEWS;
}

// Whether another operand has the bytes of operand k: it is the same value, or a view of it, or both are views.
static bool is_read_beside(const work *w, const dp_node *node, int k) {
  const int32_t b = w->block_of[node->inputs[k]->id];
  for (int i = 0; i < node->n_inputs; i++)
    if (i != k && node->inputs[i] && w->block_of[node->inputs[i]->id] == b) return true;
  return false;
}

static bool has_as_many(const dp_shape *a, const dp_shape *b) {
  dp_dim x, y;
  if (dp_shape_equal(a, b)) return true;
  return dp_shape_product(a, 0, a->rank, &x) && dp_shape_product(b, 0, b->rank, &y) && dp_dim_equal(x, y);
}

// The last member of a region that reads operand o; *first: that it is pointwise and takes it as its first operand
// alone.
static int32_t last_reader(const dp_graph *body, int o, bool *first) {
  int32_t v = 0, last = -1;
  while (body->values[v]->kind == DP_VALUE_RESULT || o--) v++;
  for (int32_t m = 0; m < body->n_nodes; m++)
    for (int k = 0; k < body->nodes[m]->n_inputs; k++) {
      if (body->nodes[m]->inputs[k] != body->values[v]) continue;
      last = m;
      *first = !k && dp_op_is_pointwise(body->nodes[m]->op);
    }
  return last;
}

// Whether all members work on rows or channels. Others need their operands whole.
static bool works_on_parts(const dp_graph *body) {
  for (int32_t m = 0; m < body->n_nodes; m++) {
    const dp_node *member = body->nodes[m];
    const int rank = member->n_inputs && member->inputs[0] ? member->inputs[0]->type->shape.rank : 0;
    if (!dp_op_is(member->op, DP_OP_UPDATE) && !dp_op_is_pointwise(member->op) &&
        !dp_op_is(member->op, DP_OP_CHANNELS) && !dp_op_row(member, rank))
      return false;
  }
  return true;
}

// Whether the region, all members of which work on rows or channels, can put result k where operand o is: no member
// reads that any more when it is written, and no other operand or result lies there.
static bool region_replaces(const work *w, const dp_node *node, int k, int o) {
  const dp_value *x = node->inputs[o], *y = node->outputs[k];
  for (int other = 0; other < k; other++)
    if (w->block_of[node->outputs[other]->id] == w->block_of[x->id]) return false;
  if (x->type->dtype != y->type->dtype || x->bytes != y->bytes || !dp_shape_equal(&x->type->shape, &y->type->shape) ||
      x->layout != y->layout)
    return false;
  if (w->block_of[x->id] < 0 || w->joined_by[y->id] || is_read_beside(w, node, o)) return false;
  if (!dies_at(w, &w->blocks[w->block_of[x->id]], node)) return false;
  bool first = false;
  const int32_t written = node->body->outputs[k].value->producer->id, read = last_reader(node->body, o, &first);
  return read < written || (read == written && first);
}

static bool takes_over(const work *w, const dp_node *node, int k) {
  const dp_value *x = k < node->n_inputs ? node->inputs[k] : NULL, *y = node->outputs[k];
  if (!x || w->block_of[x->id] < 0 || x->type->dtype != y->type->dtype || x->bytes != y->bytes) return false;
  if (x->layout != y->layout) return false;
  // What is broadcast may have a shard's bytes by chance.
  if (node->kernel && !has_as_many(&x->type->shape, &y->type->shape)) return false;
  if (is_read_beside(w, node, k)) return false;
  if (node->kernel && w->joined_by[y->id]) return false;  // its offset is in its bucket
  return works_in_place(w, node, k) && (shares(w, node, x) || dies_at(w, &w->blocks[w->block_of[x->id]], node));
}

// Adds value y to the bucket of those that are reduced together; allocates a block on first use. All writers of a
// bucket must be on one stream, so that the first member's writer comes first.
static int32_t add_member(work *w, const dp_value *y, const dp_node *first) {
  const dp_node *by = w->joined_by[y->id];
  int32_t own = add_block(w, y->bytes, first), *bucket = by ? &w->bucket_of[by->id] : NULL;
  if (!by) return own;
  if (*bucket < 0) {
    *bucket = add_block(w, 0, first);
    w->blocks[*bucket].bytes = 0;
  }
  block *all = &w->blocks[*bucket], *one = &w->blocks[own];
  if (all->first->stream != first->stream) return own;
  one->bucket = *bucket;
  one->offset = all->bytes;
  all->bytes += one->bytes;
  return own;
}

static void look_at_operands(work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++) {
      if (!node->inputs[k]) continue;
      extend_life(w, w->ends[node->inputs[k]->id], node);
      if (!node->kernel && node->n_outputs > 1) w->joined_by[node->inputs[k]->id] = node;
    }
  }
  // Micro-batches accumulated in the bytes of the first one have their offset in the bucket.
  for (int32_t i = graph->n_nodes; i-- > 0;) {
    const dp_node *node = graph->nodes[i];
    if (node->kernel || node->n_inputs <= node->n_outputs || !works_in_place(w, node, 0)) continue;
    w->joined_by[node->inputs[0]->id] = w->joined_by[node->outputs[0]->id];
  }
}

// The operand that result k of a region replaces because a member updates a part of something whose storage is
// elsewhere; -1: none.
static int region_updates_part(const dp_node *node, int k) {
  const dp_value *made = node->body->outputs[k].value;
  if (!updates_part(made->producer, made->result)) return -1;
  int operand = 0;
  for (const dp_value *const *v = (const dp_value *const *)node->body->values;
       *v != made->producer->inputs[made->result]; v++)
    operand += (*v)->kind != DP_VALUE_RESULT;
  return operand;
}

// The operand whose place result k takes; -1: none.
static int replaced_by(const work *w, const dp_node *node, int k) {
  if (!node->body) return updates_part(node, k) || takes_over(w, node, k) ? k : -1;
  const int updated = region_updates_part(node, k);
  if (updated >= 0) return updated;
  const dp_kernel *kernel = dp_kernel_find(w->target, node->kernel);
  if (!kernel || !kernel->in_place || !works_on_parts(node->body)) return -1;
  for (int o = 0; o < node->n_inputs; o++)
    if (region_replaces(w, node, k, o)) return o;
  return -1;
}

static void add_result(work *w, dp_node *node, int k) {
  const dp_value *y = node->outputs[k];
  const int replaced = replaced_by(w, node, k);
  int32_t b = replaced >= 0 ? w->block_of[node->inputs[replaced]->id] : add_member(w, y, node);
  int *end = w->blocks[b].end;
  w->block_of[y->id] = b;
  w->blocks[b].n_views += replaced >= 0 && dp_op_is(node->op, DP_OP_VIEW);
  extend_life(w, end, node);
  for (int s = 0; s < w->order.n_streams; s++)
    if (w->ends[y->id][s] > end[s]) end[s] = w->ends[y->id][s];
}

static void make_blocks(work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k] && node->outputs[k]->space == w->space && !w->stored[node->outputs[k]->id])
        add_result(w, node, k);
    if (!node->scratch_bytes || w->space != DP_SPACE_TRANSIENT) continue;
    int32_t b = add_block(w, node->scratch_bytes, node);
    w->blocks[b].scratch_of = node;
  }
  for (int32_t b = 0; b < w->n_blocks; b++)
    for (int s = 0; s < w->order.n_streams && w->blocks[b].bucket >= 0; s++) {
      int *end = w->blocks[w->blocks[b].bucket].end;
      if (w->blocks[b].end[s] > end[s]) end[s] = w->blocks[b].end[s];
    }
}

// ---- packing --------------------------------------------------------------------------------------------------------

// The first node of a stream that runs after all uses of a block; one past the last when there is none. nodes: of the
// stream.
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

static dp_pack_block *lifetimes(work *w, int32_t *count) {
  const dp_graph *graph = w->graph;
  dp_pack_block *packed = dp_alloc_n(w->scratch, (size_t)w->n_blocks + 1, sizeof *packed);
  *count = 0;
  for (int32_t i = 0; i < w->n_blocks; i++) {
    block *b = &w->blocks[i];
    if (b->bucket >= 0) continue;
    b->packed = (*count)++;
    packed[b->packed] = (dp_pack_block){.bytes = b->bytes, .start = b->first->id, .stream = b->first->stream};
  }
  for (int s = 0; s < DP_PACK_STREAMS; s++) {
    dp_node **nodes = dp_alloc_n(w->scratch, (size_t)graph->n_nodes + 1, sizeof *nodes);
    int n = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++)
      if (graph->nodes[i]->stream == s) nodes[n++] = graph->nodes[i];
    for (int32_t i = 0; i < w->n_blocks; i++)
      if (w->blocks[i].bucket < 0) packed[w->blocks[i].packed].free[s] = free_from(w, &w->blocks[i], n, nodes);
  }
  return packed;
}

static uint64_t offset_of(const work *w, const dp_pack_block *packed, const block *b) {
  const block *outer = b->bucket < 0 ? b : &w->blocks[b->bucket];
  return packed[outer->packed].offset + b->offset;
}

// Values in `space` that are no variables, from `base` on.
static dp_status place_values(const dp_target *target, dp_graph *graph, dp_space space, uint64_t base) {
  if (graph->n_streams > DP_PACK_STREAMS)
    return dp_fail(EX_SOFTWARE, "program '%s' has %d streams; at most %d are supported", graph->name, graph->n_streams,
                   DP_PACK_STREAMS);
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  size_t n = (size_t)graph->n_values + 1;
  bool *stored = dp_alloc_n(scratch, n, sizeof *stored);
  for (int i = 0; i < graph->n_updates; i++) stored[graph->updates[i].value->id] = true;
  work w = {.target = target,
            .graph = graph,
            .space = space,
            .stored = stored,
            .scratch = scratch,
            .order = dp_order_make(scratch, graph)};
  w.ends = dp_alloc_n(scratch, n, sizeof *w.ends);
  w.block_of = dp_alloc_n(scratch, n, sizeof *w.block_of);
  memset(w.block_of, 0xff, n * sizeof *w.block_of);
  w.joined_by = dp_alloc_n(scratch, n, sizeof *w.joined_by);
  w.bucket_of = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *w.bucket_of);
  memset(w.bucket_of, 0xff, ((size_t)graph->n_nodes + 1) * sizeof *w.bucket_of);
  look_at_operands(&w);
  make_blocks(&w);
  int32_t count;
  dp_pack_block *packed = lifetimes(&w, &count);
  dp_pack(scratch, target->alignment, count, packed);
  for (int32_t i = 0; i < graph->n_values; i++)
    if (w.block_of[i] >= 0) graph->values[i]->offset = base + offset_of(&w, packed, &w.blocks[w.block_of[i]]);
  for (int32_t b = 0; b < w.n_blocks; b++)
    if (w.blocks[b].scratch_of) w.blocks[b].scratch_of->scratch_offset = offset_of(&w, packed, &w.blocks[b]);
  dp_arena_destroy(scratch);
  return DP_OK;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static bool has_offloaded(const dp_graph *graph) {
  for (int32_t i = 0; i < graph->n_values; i++)
    if (graph->values[i]->space == DP_SPACE_OFFLOAD) return true;
  return false;
}

// Where the variables of any stage end that are stored on the host.
static uint64_t end_of_offloaded(const dp_model *model, const dp_target *target) {
  uint64_t end = 0;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *p = &model->variables[i];
    const uint64_t own = p->offset + dp_memory_padded(p->bytes, target->alignment);
    if (p->offloaded && own > end) end = own;
  }
  return end;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  const dp_target *target = compile->options->target;
  compile->unchanged = true;
  dp_memory_place_storages(model, target->alignment);
  for (int i = 0; i < model->n_graphs; i++) {
    dp_graph *graph = model->graphs[i];
    DP_TRY(place_values(target, graph, DP_SPACE_TRANSIENT, 0));
    if (has_offloaded(graph)) DP_TRY(place_values(target, graph, DP_SPACE_OFFLOAD, end_of_offloaded(model, target)));
  }
  return DP_OK;
}

const dp_pass dp_pass_memory = {
    .name = "memory",
    .what = "assigns bytes to every value and scratch",
    .needs = DP_HAS_KERNELS,
    .gives = DP_HAS_MEMORY,
    .run = run,
};
