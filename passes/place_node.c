// Choosing a placement row for each node, and lowering nodes that have none that fits. See place.h.
//
// Mesh axes are chosen for one after the other, the cheapest row on each: bytes moved to have the operands placed as the
// row takes them. Where rows cost the same, the one that moves least now, then the one that splits most, then the one with
// fewest partial results, then the first.
#include <math.h>
#include <string.h>

#include "ir/builder.h"
#include "passes/constants.h"
#include "passes/place.h"

enum { SCRATCH_BYTES = 256 << 10 };

// ---- operands -------------------------------------------------------------------------------------------------------

dp_value *dp_place_node_operand(dp_place *place, dp_place_source *source, const dp_value *value) {
  dp_value **mapped = &source->map[value->id], *logical = *mapped;
  if (logical) return logical;
  dp_graph *graph = place->logical;
  if (value->kind == DP_VALUE_CONSTANT)
    logical = dp_graph_persistent(graph, dp_constants_store(place->model, value->constant));
  else if (value->kind == DP_VALUE_PERSISTENT)
    logical = dp_graph_persistent(graph, value->persistent);
  else if (value->kind == DP_VALUE_SCALAR)
    logical = dp_graph_scalar(graph, value->name);
  else
    logical = dp_graph_add_value(graph, DP_VALUE_INPUT, value->name, value->type);
  dp_place_copy_of(place, logical)->uses += source->uses[value->id];
  dp_place_copy_source(place, logical);
  return *mapped = logical;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// A node, and what was chosen for it on the axes so far.
typedef struct {
  dp_place *place;
  dp_place_source *source;
  const dp_node *node;
  dp_value *in[DP_MAX_OPERANDS];              // logical
  const dp_placement *home[DP_MAX_OPERANDS];  // of results that a persistent value ends as; else NULL
  const dp_row *rows[DP_MAX_MESH];
  bool lower;
} choice;

typedef struct {
  double cost, moved, split;
  int partial;
} score;

static bool is_better(score a, score b) {
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.moved != b.moved) return a.moved < b.moved;
  if (a.split != b.split) return a.split > b.split;
  return a.partial < b.partial;
}

// Whether a split goes with those of the axes before: one view a dim.
static bool goes_with(const choice *c, int axis, dp_placement p, int operand, bool result) {
  for (int a = 0; a < axis && p.kind == DP_SHARD; a++) {
    dp_placement q = result ? c->rows[a]->out[operand] : c->rows[a]->in[operand];
    if (q.kind == DP_SHARD && q.dim == p.dim && (q.outer != p.outer || q.unit != p.unit)) return false;
  }
  return true;
}

static bool is_legal(const choice *c, int axis, const dp_row *row) {
  const dp_node *node = c->node;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !goes_with(c, axis, row->in[i], i, false)) return false;
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    if (!goes_with(c, axis, row->out[k], k, true)) return false;
    if (!dp_op_is(node->op, DP_OP_UPDATE)) continue;
    // It works where the persistent value is.
    dp_placement home = c->home[k][axis];
    if (!dp_placement_equal(row->in[k], home) || !dp_placement_equal(row->out[k], home)) return false;
  }
  return true;
}

// Whether the strategy asks for a split that no operand brings.
static bool is_asked(const choice *c, int axis, const dp_value *result, dp_placement p) {
  return axis == c->place->data_axis && dp_dim_is_symbolic(result->type.shape.dims[p.dim]);
}

static score score_of(const choice *c, int axis, const dp_row *row) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  score s = {0};
  bool split = false, partial = false;
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->inputs[i]) continue;
    dp_placement from;
    double bytes = dp_place_copy_bytes(place, &node->inputs[i]->type);
    double cost = dp_place_copy_cost(place, c->in[i], axis, row->in[i], &from);
    s.moved += cost;
    // A sum that is made whole is whole for all who use it.
    int uses = dp_place_copy_of(place, c->in[i])->uses;
    s.cost += from.kind == DP_PARTIAL && row->in[i].kind != DP_PARTIAL && uses > 1 ? cost / uses : cost;
    split |= row->in[i].kind == DP_SHARD && from.kind == DP_SHARD && cost == 0;
    partial |= row->in[i].kind == DP_PARTIAL;
    if (row->in[i].kind == DP_SHARD) s.split += bytes;
  }
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (!y) continue;
    dp_placement p = row->out[k];
    if (p.kind == DP_SHARD) s.split += dp_place_copy_bytes(place, &y->type);
    s.partial += p.kind == DP_PARTIAL;
    if (c->home[k])
      s.cost += dp_place_copy_price(place, &y->type, axis, p, c->home[k][axis]);
    else if ((p.kind == DP_PARTIAL && partial) || (p.kind == DP_SHARD && !split && !is_asked(c, axis, y, p)))
      // A sum that stays partial is still to be made whole; a split that nobody asked for is likely to be undone.
      s.cost += dp_place_copy_price(place, &y->type, axis, p, dp_replicate());
  }
  return s;
}

// ---- lowering -------------------------------------------------------------------------------------------------------

// Whether some row takes operand i in the split that it has.
static bool can_keep(const choice *c, int axis, const dp_rows *rows, int i) {
  for (int r = 0; r < rows->count; r++) {
    dp_placement from, in = rows->rows[r].in[i];
    if (in.kind != DP_SHARD || dp_place_copy_cost(c->place, c->in[i], axis, in, &from) > 0) continue;
    if (from.kind == DP_SHARD && is_legal(c, axis, &rows->rows[r]) && isfinite(score_of(c, axis, &rows->rows[r]).cost))
      return true;
  }
  return false;
}

// Whether the chosen row undoes the split of an operand that no row of this operator can keep.
static bool loses_split(const choice *c, int axis, const dp_rows *rows) {
  for (int i = 0; i < c->node->n_inputs; i++) {
    dp_placement from, to = c->rows[axis]->in[i];
    if (!c->node->inputs[i]) continue;
    if (dp_place_copy_cost(c->place, c->in[i], axis, to, &from) > 0 && from.kind == DP_SHARD &&
        !can_keep(c, axis, rows, i))
      return true;
  }
  return false;
}

static int *count_uses(dp_arena *arena, const dp_graph *graph) {
  int *uses = dp_alloc_n(arena, (size_t)graph->n_values, sizeof *uses);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) uses[graph->nodes[i]->inputs[k]->id]++;
  return uses;
}

// Places the node's lowering in its stead. *done is false when it has none.
static dp_status lower(choice *c, bool *done) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  dp_graph *pieces = dp_graph_create(place->model, "lowered");
  dp_builder builder = {.graph = pieces, .prefix = node->name};
  dp_value *in[DP_MAX_OPERANDS] = {0}, *out[DP_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i])
      in[i] = dp_graph_add_value(pieces, DP_VALUE_INPUT, node->inputs[i]->name, node->inputs[i]->type);
  node->op->lower(&builder, node, in, out);
  if (builder.status) return builder.status;
  *done = out[0] != NULL || !node->outputs[0];
  if (!*done) return DP_OK;
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && !out[k]) return dp_fail(EX_SOFTWARE, "result '%s' is missing", node->outputs[k]->name);
  dp_place_source source = {.graph = pieces, .uses = count_uses(place->scratch, pieces)};
  source.map = dp_alloc_n(place->scratch, (size_t)pieces->n_values, sizeof *source.map);
  source.update = dp_alloc_n(place->scratch, (size_t)pieces->n_values, sizeof *source.update);
  memset(source.update, 0xff, (size_t)pieces->n_values * sizeof *source.update);
  for (int i = 0; i < node->n_inputs; i++) {
    if (!in[i]) continue;
    source.map[in[i]->id] = c->in[i];
    dp_place_copy_of(place, c->in[i])->uses += source.uses[in[i]->id] - 1;
  }
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && out[k]->producer) {
      source.uses[out[k]->id] += c->source->uses[node->outputs[k]->id];
      source.update[out[k]->id] = c->source->update[node->outputs[k]->id];
    }
  for (int32_t i = 0; i < pieces->n_nodes; i++) {
    pieces->nodes[i]->device = node->device;
    pieces->nodes[i]->stage = node->stage;
  }
  DP_TRY(dp_place_node_walk(place, &source));
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k]) c->source->map[node->outputs[k]->id] = dp_place_node_operand(place, &source, out[k]);
  return DP_OK;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static dp_status choose(choice *c, int axis) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  dp_placement *given = NULL;
  int n_given = 0;
  for (int i = 0; i < node->n_inputs; i++)
    for (dp_place_copy *p = c->in[i] ? dp_place_copy_of(place, c->in[i])->copies : NULL; p; p = p->next)
      DP_PUSH(place->scratch, given, n_given, p->value->placements[axis]);
  for (int k = 0; k < node->n_outputs; k++)
    if (c->home[k]) DP_PUSH(place->scratch, given, n_given, c->home[k][axis]);
  dp_rows *rows = dp_alloc(place->scratch, sizeof *rows);
  dp_op_rows_at(place->scratch, node, n_given, given, rows);
  // With one device on the axis there is nothing to split.
  int count = place->model->mesh.axes[axis].size > 1 ? rows->count : 1;
  score best = {.cost = INFINITY};
  for (int r = 0; r < count; r++) {
    if (!is_legal(c, axis, &rows->rows[r])) continue;
    score s = score_of(c, axis, &rows->rows[r]);
    if (!is_better(s, best)) continue;
    best = s;
    c->rows[axis] = &rows->rows[r];
  }
  if (!c->rows[axis]) {
    char text[64];
    return dp_fail(EX_DATAERR, "node '%s' (%s) cannot work on '%s' placed as %s on mesh axis '%s'", node->name,
                   node->op->name, c->in[0] ? c->in[0]->name : "",
                   c->home[0] ? dp_placement_print(c->home[0][axis], text, sizeof text) : "",
                   place->model->mesh.axes[axis].name);
  }
  c->lower |= node->op->lower && loses_split(c, axis, rows);
  return DP_OK;
}

// Adds the node to both graphs, by the rows that were chosen.
static void add_node(choice *c) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  dp_node *logical = dp_graph_copy_node(place->logical, node, c->source->map);
  dp_value *in[DP_MAX_OPERANDS] = {0};
  const char *names[DP_MAX_OPERANDS] = {0};
  int n_axes = place->model->mesh.n_axes;
  for (int i = 0; i < node->n_inputs; i++) {
    dp_placement to[DP_MAX_MESH] = {0};
    for (int a = 0; a < n_axes; a++) to[a] = c->rows[a]->in[i];
    if (c->in[i]) in[i] = dp_place_copy_convert(place, c->in[i], to);
  }
  for (int k = 0; k < node->n_outputs; k++) names[k] = logical->outputs[k] ? logical->outputs[k]->name : NULL;
  dp_node *device = dp_graph_add_node(place->device, node->op, logical->name, node->n_inputs, in, node->n_outputs,
                                      names, logical->n_attrs, logical->attrs);
  device->logical = logical;
  device->device = node->device;
  device->stage = node->stage;
  for (int k = 0; k < node->n_outputs; k++) {
    dp_value *y = device->outputs[k];
    if (!y) continue;
    y->type = logical->outputs[k]->type;
    y->space = DP_SPACE_TRANSIENT;
    for (int a = 0; a < n_axes; a++) y->placements[a] = c->rows[a]->out[k];
    dp_place_copy_of(place, logical->outputs[k])->uses += c->source->uses[node->outputs[k]->id];
    dp_place_copy_add(place, logical->outputs[k], y);
  }
}

// An operator that updates in place must do so to the persistent value that ends as its result.
static dp_status check_update(const choice *c) {
  const dp_node *node = c->node;
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    int32_t p = c->source->update[node->outputs[k]->id];
    const dp_value *x = k < node->n_inputs ? c->in[k] : NULL;
    if (p < 0 || !x || x->kind != DP_VALUE_PERSISTENT || x->persistent != p)
      return dp_fail(EX_DATAERR,
                     "node '%s' (%s): result '%s' takes the place of operand %d, which must be the parameter or state "
                     "that the program updates with it",
                     node->name, node->op->name, node->outputs[k]->name, k + 1);
  }
  return DP_OK;
}

static dp_status place_node(dp_place *place, dp_place_source *source, const dp_node *node) {
  choice c = {.place = place, .source = source, .node = node};
  if (node->n_inputs > DP_MAX_OPERANDS || node->n_outputs > DP_MAX_OPERANDS)
    return dp_fail(EX_UNAVAILABLE, "node '%s' (%s) has %d operands; at most %d are supported", node->name,
                   node->op->name, node->n_inputs, DP_MAX_OPERANDS);
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) c.in[i] = dp_place_node_operand(place, source, node->inputs[i]);
  if (dp_op_is(node->op, DP_OP_UPDATE)) DP_TRY(check_update(&c));
  for (int k = 0; k < node->n_outputs; k++) {
    int32_t p = node->outputs[k] ? source->update[node->outputs[k]->id] : -1;
    if (p >= 0) c.home[k] = place->model->persistents[p].placements;
  }
  for (int a = 0; a < place->model->mesh.n_axes; a++) DP_TRY(choose(&c, a));
  bool done = false;
  if (c.lower) DP_TRY(dp_status_context(lower(&c, &done), "node '%s' (%s), taken apart", node->name, node->op->name));
  if (!done) add_node(&c);
  return DP_OK;
}

dp_status dp_place_node_walk(dp_place *place, dp_place_source *source) {
  bool outermost = !place->scratch;
  dp_status status = DP_OK;
  for (int32_t i = 0; i < source->graph->n_nodes && !status; i++) {
    if (outermost && (!place->scratch || dp_arena_bytes(place->scratch) > SCRATCH_BYTES)) {
      dp_arena_destroy(place->scratch);
      place->scratch = dp_arena_create(0);
      if (!place->scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
    }
    status = place_node(place, source, source->graph->nodes[i]);
  }
  if (outermost) {
    dp_arena_destroy(place->scratch);
    place->scratch = NULL;
  }
  return status;
}

dp_value *dp_place_node_identity(dp_place *place, dp_value *device) {
  const char *name = dp_printf(place->model->arena, "%s/Identity", device->logical->name);
  const dp_op *op = dp_op_find("", "Identity");
  dp_node *logical = dp_graph_add_node(place->logical, op, name, 1, &device->logical, 1, NULL, 0, NULL);
  dp_node *node = dp_graph_add_node(place->device, op, name, 1, &device, 1, NULL, 0, NULL);
  dp_value *y = node->outputs[0];
  logical->outputs[0]->type = y->type = device->type;
  node->logical = logical;
  y->space = DP_SPACE_TRANSIENT;
  memcpy(y->placements, device->placements, sizeof y->placements);
  dp_place_copy_add(place, logical->outputs[0], y);
  return y;
}
