// unroll: gives each micro-batch of a step nodes of its own.
//
// Before it, mesh axis `micro` is an axis like any other: values are Shard, Partial or Replicate on it. Afterwards a
// node with such a Shard or Partial result is m nodes, "name#0" to "name#m-1", each on values of its own micro-batch.
// Nodes that are Replicate on `micro` exist once, for all. A conversion on `micro` needs no communication:
//
//   Replicate to Shard (Slice)       m slices, one per micro-batch
//   Partial to Replicate (AllReduce) m - 1 times dp.Accumulate: {0} and {1} to {0,1}, and {2} to {0,1,2} ...
//   Shard to Replicate (AllGather)   the same, parts concatenated
//
// Where a strategy gathers variables anew for each use, each micro-batch is a use. Nodes keep the logical node that
// they compute, so a sample's random numbers do not depend on its micro-batch. Nodes keep the order of the original
// graph, the m of one adjacent; the pass `roles` orders them by a schedule. Without an axis `micro` this pass does
// nothing.
#include "ir/graph/op.h"
#include "passes/base/strategy.h"

enum { WHOLE = -1 };  // instead of a micro-batch

typedef struct {
  dp_graph *from, *to;
  int micro, m;  // the mesh axis, its size
  dp_arena *scratch;
  bool *again;       // (nodes) gathers a variable for one use
  dp_value **map;    // (values) of `from`: for the node being copied
  dp_value ***copy;  // (values) (1 + m) its copy as a whole, and for each micro-batch; NULL: none yet
} work;

static bool is_whole(const work *w, const dp_value *v) { return v->placements[w->micro].kind == DP_REPLICATE; }

// ---- copies ---------------------------------------------------------------------------------------------------------

static dp_value **copy_of(work *w, const dp_value *v, int j) {
  dp_value ***copies = &w->copy[v->id];
  if (!*copies) *copies = dp_alloc_n(w->scratch, (size_t)w->m + 1, sizeof **copies);
  return &(*copies)[j + 1];
}

static dp_node *add_node(work *w, const dp_node *node, int j);

// What a node of micro-batch j uses for operand x.
static dp_value *operand_of_micro(work *w, const dp_value *x, int j) {
  bool again = x->producer && w->again[x->producer->id];
  if (!again) return *copy_of(w, x, is_whole(w, x) ? WHOLE : dp_max_i64(j, 0));
  if (!*copy_of(w, x, j)) add_node(w, x->producer, j);
  return *copy_of(w, x, j);
}

// The node for micro-batch j, or WHOLE.
static dp_node *add_node(work *w, const dp_node *node, int j) {
  dp_value *in[DP_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) in[i] = operand_of_micro(w, node->inputs[i], j);
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) w->map[node->inputs[i]->id] = in[i];
  const char *suffix = j == WHOLE ? "" : dp_printf(w->scratch, "#%d", j);
  dp_node *added = dp_graph_copy_node_as(w->to, node, suffix, w->map);
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (!y) continue;
    bool whole = is_whole(w, y);
    if (!whole) {
      added->outputs[k]->micro_first = j;
      added->outputs[k]->micro_count = 1;
    }
    dp_value **copy = copy_of(w, y, whole && !w->again[node->id] ? WHOLE : j);
    if (!*copy) *copy = added->outputs[k];
  }
  return added;
}

// ---- conversions on the axis ----------------------------------------------------------------------------------------

static void accumulate(work *w, const dp_node *node) {
  const dp_value *x = node->inputs[0], *y = node->outputs[0];
  dp_value *all = operand_of_micro(w, x, 0);
  for (int j = 1; j < w->m; j++) {
    dp_value *in[] = {all, operand_of_micro(w, x, j)};
    dp_node *added = dp_graph_add_node(w->to, dp_op_find("dp", "Accumulate"),
                                       dp_printf(w->scratch, "%s/Accumulate#%d", x->logical->name, j), 2, in, 1, NULL,
                                       node->n_attrs, node->attrs);
    added->device = node->device;
    added->stage = node->stage;
    dp_value *sum = added->outputs[0];
    sum->type = y->type;
    sum->logical = y->logical;
    sum->space = y->space;
    sum->placements = j + 1 < w->m ? x->placements : y->placements;
    sum->micro_count = j + 1 < w->m ? j + 1 : 0;
    all = sum;
  }
  *copy_of(w, y, WHOLE) = all;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

// It gathers a variable on some axis, or continues from one being gathered.
static bool is_gathered_again(const work *w, const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION) || node->n_inputs != 1) return false;
  const dp_value *x = node->inputs[0], *y = node->outputs[0];
  if (!is_whole(w, y) || y->space != DP_SPACE_TRANSIENT) return false;
  bool gathers = false;
  for (int a = 0; a < DP_MAX_MESH; a++)
    gathers |= x->placements[a].kind == DP_SHARD && y->placements[a].kind == DP_REPLICATE;
  return x->producer ? w->again[x->producer->id] : gathers && x->kind == DP_VALUE_VARIABLE;
}

static dp_status unroll_node(work *w, const dp_node *node) {
  bool split_operand = false, split_result = false;
  for (int i = 0; i < node->n_inputs; i++) split_operand |= node->inputs[i] && !is_whole(w, node->inputs[i]);
  for (int k = 0; k < node->n_outputs; k++) split_result |= node->outputs[k] && !is_whole(w, node->outputs[k]);
  if (dp_op_is(node->op, DP_OP_COMMUNICATION) && split_operand) {
    dp_placement from = node->inputs[0]->placements[w->micro], to = node->outputs[0]->placements[w->micro];
    bool whole = to.kind == DP_REPLICATE;
    if ((!whole && !dp_placement_equal(from, to)) || node->outputs[0]->space == DP_SPACE_HOST_OUTPUT ||
        (whole && node->n_inputs != 1))
      return dp_fail(EX_SOFTWARE, "node '%s' (%s): cannot combine micro-batches in this way", node->name,
                     node->op->name);
    if (whole) {
      accumulate(w, node);
      return DP_OK;
    }
  }
  // A whole result of a partial operand is the same from any micro-batch.
  if (!split_result) add_node(w, node, WHOLE);
  for (int j = 0; j < w->m && split_result; j++) add_node(w, node, j);
  return DP_OK;
}

static dp_status unroll(work *w) {
  dp_graph *from = w->from;
  size_t n = (size_t)from->n_values + 1;
  w->map = dp_alloc_n(w->scratch, n, sizeof(dp_value *));
  w->copy = dp_alloc_n(w->scratch, n, sizeof *w->copy);
  for (int32_t i = 0; i < from->n_values; i++)
    if (from->values[i]->kind != DP_VALUE_RESULT)
      *copy_of(w, from->values[i], WHOLE) = dp_graph_copy_value(w->to, from->values[i], w->map);
  for (int32_t i = 0; i < from->n_nodes; i++)
    if (!w->again[i]) DP_TRY(unroll_node(w, from->nodes[i]));
  for (int i = 0; i < from->n_outputs; i++)
    dp_graph_add_output(w->to, from->outputs[i].name, operand_of_micro(w, from->outputs[i].value, WHOLE));
  for (int i = 0; i < from->n_updates; i++)
    dp_graph_append_update(w->to, from->updates[i].variable, operand_of_micro(w, from->updates[i].value, WHOLE));
  return DP_OK;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static bool is_split(const work *w) {
  bool split = false;
  for (int32_t i = 0; i < w->from->n_values; i++) split |= !is_whole(w, w->from->values[i]);
  return split;
}

static dp_status run_graph(const dp_compile *compile, int g, int micro) {
  dp_model *model = compile->model;
  work w = {.from = model->graphs[g], .micro = micro, .m = (int)model->mesh.axes[micro].size};
  if (!is_split(&w)) return DP_OK;
  w.scratch = dp_arena_create(0);
  if (!w.scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  w.to = dp_graph_create(model, w.from->name);
  w.to->logical = w.from->logical;
  w.again = dp_alloc_n(w.scratch, (size_t)w.from->n_nodes + 1, sizeof *w.again);
  const unsigned again = dp_strategy_shares(compile->strategy, compile->options).gathers_again;
  for (int32_t i = 0; i < w.from->n_nodes && again & DP_SHARES_PARAMETERS; i++)
    w.again[i] = is_gathered_again(&w, w.from->nodes[i]);
  dp_status status = unroll(&w);
  dp_arena_destroy(w.scratch);
  if (status) return dp_status_context(status, "program %s", w.from->name);
  model->graphs[g] = w.to;
  dp_graph_free(w.from);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  int micro = dp_mesh_find(&compile->model->mesh, DP_MESH_MICRO);
  compile->unchanged = micro < 0;
  for (int g = 0; g < compile->model->n_graphs && micro >= 0; g++) DP_TRY(run_graph(compile, g, micro));
  return DP_OK;
}

const dp_pass dp_pass_unroll = {
    .name = "unroll",
    .what = "gives each micro-batch nodes of its own",
    .needs = DP_HAS_PLACEMENTS,
    .gives = DP_HAS_MICROBATCHES,
    .run = run,
};
