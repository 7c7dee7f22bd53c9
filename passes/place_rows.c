// Choosing a placement row for each node, one mesh axis after the other: the cheapest, which is to say the one for which
// fewest bytes are moved to have the operands placed as it takes them. Where rows cost the same, the one that moves least
// now, then the one that splits most, then the one with fewest partial results, then the first. See place.h.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/place.h"

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
static bool goes_with(const dp_place_choice *c, int axis, dp_placement p, int operand, bool result) {
  for (int a = 0; a < axis && p.kind == DP_SHARD; a++) {
    dp_placement q = result ? c->rows[a]->out[operand] : c->rows[a]->in[operand];
    if (q.kind == DP_SHARD && q.dim == p.dim && (q.outer != p.outer || q.unit != p.unit)) return false;
  }
  return true;
}

// What the user wants the first result to be on the axis; NULL: anything. One device splits nothing.
static const dp_pin *pin_on(const dp_place_choice *c, int axis) {
  const dp_mesh_axis *on = &c->place->model->mesh.axes[axis];
  for (int i = 0; i < c->node->n_pins && on->size > 1; i++)
    if (!strcmp(c->node->pins[i].axis, on->name)) return &c->node->pins[i];
  return NULL;
}

static bool is_legal(const dp_place_choice *c, int axis, const dp_row *row) {
  const dp_node *node = c->node;
  const dp_pin *pin = c->unmet ? NULL : pin_on(c, axis);
  if (pin && !dp_placement_equal(row->out[0], pin->placement)) return false;
  if (!dp_row_holds_on(row, &c->place->model->mesh.axes[axis])) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !goes_with(c, axis, row->in[i], i, false)) return false;
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    if (!goes_with(c, axis, row->out[k], k, true)) return false;
    if (!dp_op_is(node->op, DP_OP_UPDATE)) continue;
    // It works where the persistent value is, or on parts of what every device has.
    dp_placement home = c->home[k][axis];
    if (!dp_placement_equal(row->in[k], row->out[k])) return false;
    if (!dp_placement_equal(row->in[k], home) && home.kind != DP_REPLICATE) return false;
  }
  return true;
}

// Whether a persistent value lies so and is updated with this one.
static bool serves(const dp_place_choice *c, int axis, const dp_value *x, dp_placement p) {
  int32_t served = c->source->serves ? c->source->serves[x->id] : -1;
  return served >= 0 && dp_placement_equal(p, c->place->model->persistents[served].placements[axis]);
}

// Whether a split that no operand brings is asked for: by the strategy, or by a persistent value that lies so and is updated
// with the result, or with an operand that is wanted so anyway.
static bool is_asked(const dp_place_choice *c, int axis, const dp_row *row, const dp_value *result, dp_placement p) {
  if (serves(c, axis, result, p)) return true;
  for (int i = 0; i < c->node->n_inputs && dp_op_is(c->node->op, DP_OP_ELEMENTWISE); i++)
    if (c->node->inputs[i] && dp_placement_equal(row->in[i], p) && serves(c, axis, c->node->inputs[i], p)) return true;
  return (axis == c->place->data_axis || axis == c->place->micro_axis) &&
         dp_dim_is_symbolic(result->type.shape.dims[p.dim]);
}

// Whether the row adds up gradients of micro-batches, of a parameter that is used several times, while they are parts: where
// they are scattered before they are accumulated it takes no more bytes to have one sum.
static bool adds_parts(const dp_place_choice *c, int axis, const dp_row *row) {
  if (axis != c->place->micro_axis || !dp_place_copy_scatters_each(c->place) || c->node->n_inputs < 2) return false;
  for (int i = 0; i < c->node->n_inputs; i++)
    if (row->in[i].kind != DP_PARTIAL) return false;
  int32_t served = c->source->serves ? c->source->serves[c->node->outputs[0]->id] : -1;
  return served >= 0 && c->place->model->persistents[served].placements[c->place->data_axis].kind == DP_SHARD;
}

static score score_of(const dp_place_choice *c, int axis, const dp_row *row) {
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
    s.partial -= adds_parts(c, axis, row) ? 2 : 0;
    if (c->home[k])
      s.cost += dp_place_copy_price(place, &y->type, axis, p, c->home[k][axis]);
    else if ((p.kind == DP_PARTIAL && partial) || (p.kind == DP_SHARD && !split && !is_asked(c, axis, row, y, p)))
      // A sum that stays partial is still to be made whole; a split that nobody asked for is likely to be undone.
      s.cost += dp_place_copy_price(place, &y->type, axis, p, dp_replicate());
  }
  return s;
}

// Whether some row takes operand i in the split that it has.
static bool can_keep(const dp_place_choice *c, int axis, const dp_rows *rows, int i) {
  for (int r = 0; r < rows->count; r++) {
    dp_placement from, in = rows->rows[r].in[i];
    if (in.kind != DP_SHARD || dp_place_copy_cost(c->place, c->in[i], axis, in, &from) > 0) continue;
    if (from.kind == DP_SHARD && is_legal(c, axis, &rows->rows[r]) && isfinite(score_of(c, axis, &rows->rows[r]).cost))
      return true;
  }
  return false;
}

// Whether the chosen row undoes the split of an operand that no row of this operator can keep.
static bool loses_split(const dp_place_choice *c, int axis, const dp_rows *rows) {
  for (int i = 0; i < c->node->n_inputs; i++) {
    dp_placement from, to = c->rows[axis]->in[i];
    if (!c->node->inputs[i]) continue;
    if (dp_place_copy_cost(c->place, c->in[i], axis, to, &from) > 0 && from.kind == DP_SHARD &&
        !can_keep(c, axis, rows, i))
      return true;
  }
  return false;
}

// Rows in all views that operands and results are placed in, or are wanted in.
static dp_rows *list_rows(const dp_place_choice *c, int axis) {
  const dp_node *node = c->node;
  dp_arena *scratch = c->place->scratch;
  dp_placement *given = NULL;
  int n_given = 0;
  const dp_pin *pin = pin_on(c, axis);
  for (int i = 0; i < node->n_inputs; i++)
    for (dp_place_copy *p = c->in[i] ? dp_place_copy_of(c->place, c->in[i])->copies : NULL; p; p = p->next)
      DP_PUSH(scratch, given, n_given, p->value->placements[axis]);
  for (int k = 0; k < node->n_outputs; k++)
    if (c->home[k]) DP_PUSH(scratch, given, n_given, c->home[k][axis]);
  if (pin) DP_PUSH(scratch, given, n_given, pin->placement);
  dp_rows *rows = dp_alloc(scratch, sizeof *rows);
  dp_op_rows_at(scratch, node, n_given, given, rows);
  return rows;
}

static void choose(dp_place_choice *c, int axis, const dp_rows *rows) {
  // With one device on the axis there is nothing to split, and between stages nothing is.
  const dp_mesh_axis *on = &c->place->model->mesh.axes[axis];
  int count = on->size > 1 && !dp_mesh_is_staged(on) ? rows->count : 1;
  score best = {.cost = INFINITY};
  for (int r = 0; r < count; r++) {
    if (!is_legal(c, axis, &rows->rows[r])) continue;
    score s = score_of(c, axis, &rows->rows[r]);
    if (!is_better(s, best)) continue;
    best = s;
    c->rows[axis] = &rows->rows[r];
  }
}

dp_status dp_place_rows_choose(dp_place_choice *c, int axis) {
  const dp_node *node = c->node;
  const dp_rows *rows = list_rows(c, axis);
  choose(c, axis, rows);
  if (!c->rows[axis] && pin_on(c, axis) && !c->unmet) {
    // The pieces of which it consists may do it.
    c->unmet = pin_on(c, axis);
    c->lower = node->op->lower != NULL;
    choose(c, axis, rows);
  }
  if (!c->rows[axis]) {
    char text[64];
    return dp_fail(EX_DATAERR, "node '%s' (%s) cannot work on '%s' placed as %s on mesh axis '%s'", node->name,
                   node->op->name, c->in[0] ? c->in[0]->name : "",
                   c->home[0] ? dp_placement_print(c->home[0][axis], text, sizeof text) : "",
                   c->place->model->mesh.axes[axis].name);
  }
  c->lower |= node->op->lower && loses_split(c, axis, rows);
  return DP_OK;
}

dp_status dp_place_rows_unmet(const dp_place_choice *c) {
  const int axis = dp_mesh_find(&c->place->model->mesh, c->unmet->axis);
  const dp_rows *rows = list_rows(c, axis);
  char wanted[64], one[64], all[256] = "";
  for (int r = 0, at = 0; r < rows->count && at < (int)sizeof all - 64; r++) {
    bool known = false;
    for (int k = 0; k < r; k++) known |= dp_placement_equal(rows->rows[k].out[0], rows->rows[r].out[0]);
    if (known || !is_legal(c, axis, &rows->rows[r])) continue;
    at += snprintf(all + at, sizeof all - (size_t)at, "%s%s", at ? ", " : "",
                   dp_placement_print(rows->rows[r].out[0], one, sizeof one));
  }
  return dp_fail(EX_CONFIG,
                 "node '%s' (%s) is annotated as %s on mesh axis '%s', which it cannot give; here it can: %s",
                 c->node->name, c->node->op->name, dp_placement_print(c->unmet->placement, wanted, sizeof wanted),
                 c->unmet->axis, all);
}
