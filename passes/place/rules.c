// Chooses a sharding rule for each node, one mesh axis after the other: the cheapest one, which moves the fewest bytes
// to bring the operands into its placements. Ties go to the row that moves least now, then splits most, then has the
// fewest partial results, then comes first. See place.h.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/place/place.h"

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

// Whether a split is compatible with those of earlier axes: one view a dim.
static bool goes_with(const dp_place_choice *c, int axis, dp_placement p, int operand, bool result) {
  for (int a = 0; a < axis && p.kind == DP_SHARD; a++) {
    dp_placement q = result ? c->rules[a]->out[operand] : c->rules[a]->in[operand];
    if (q.kind == DP_SHARD && q.dim == p.dim && (q.outer != p.outer || q.unit != p.unit)) return false;
  }
  return true;
}

// The user's constraint on the first result on the axis; NULL: none. One device splits nothing.
static const dp_constraint *constraint_on(const dp_place_choice *c, int axis) {
  const dp_mesh_axis *on = &c->place->model->mesh.axes[axis];
  for (int i = 0; i < c->node->n_constraints && on->size > 1; i++)
    if (!strcmp(c->node->constraints[i].axis, on->name)) return &c->node->constraints[i];
  return NULL;
}

static bool is_legal(const dp_place_choice *c, int axis, const dp_sharding_rule *rule) {
  const dp_node *node = c->node;
  const dp_constraint *constraint = c->unmet ? NULL : constraint_on(c, axis);
  if (constraint && !dp_placement_equal(rule->out[0], constraint->placement)) return false;
  if (!dp_sharding_rule_holds_on(rule, &c->place->model->mesh.axes[axis])) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !goes_with(c, axis, rule->in[i], i, false)) return false;
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    if (!goes_with(c, axis, rule->out[k], k, true)) return false;
    if (!dp_op_is(node->op, DP_OP_UPDATE)) continue;
    // The update runs where the variable is, or on parts of what every device has.
    dp_placement storage = c->storage[k][axis];
    if (!dp_placement_equal(rule->in[k], rule->out[k])) return false;
    if (!dp_placement_equal(rule->in[k], storage) && storage.kind != DP_REPLICATE) return false;
  }
  return true;
}

// Whether a variable with that placement is updated with this value.
static bool serves(const dp_place_choice *c, int axis, const dp_value *x, dp_placement p) {
  int32_t served = c->source->serves ? c->source->serves[x->id] : -1;
  return served >= 0 && dp_placement_equal(p, c->place->model->variables[served].placements[axis]);
}

// Whether a split that no operand brings is requested: by the strategy, or by a variable with that placement that is
// updated with the result, or with an operand that is needed with it anyway.
static bool is_asked(const dp_place_choice *c, int axis, const dp_sharding_rule *rule, const dp_value *result,
                     dp_placement p) {
  if (serves(c, axis, result, p)) return true;
  for (int i = 0; i < c->node->n_inputs && dp_op_is(c->node->op, DP_OP_ELEMENTWISE); i++)
    if (c->node->inputs[i] && dp_placement_equal(rule->in[i], p) && serves(c, axis, c->node->inputs[i], p)) return true;
  return (axis == c->place->data_axis || axis == c->place->micro_axis) &&
         dp_dim_is_symbolic(result->type->shape.dims[p.dim]);
}

// Whether the row adds gradients of micro-batches, of a parameter used several times, while they are parts. If they are
// scattered before they are accumulated, adding them first moves no more bytes.
static bool adds_parts(const dp_place_choice *c, int axis, const dp_sharding_rule *rule) {
  if (axis != c->place->micro_axis || !dp_place_copy_scatters_each(c->place) || c->node->n_inputs < 2) return false;
  for (int i = 0; i < c->node->n_inputs; i++)
    if (rule->in[i].kind != DP_PARTIAL) return false;
  int32_t served = c->source->serves ? c->source->serves[c->node->outputs[0]->id] : -1;
  return served >= 0 && c->place->model->variables[served].placements[c->place->data_axis].kind == DP_SHARD;
}

// Whether the row adds up a gradient in too narrow a type. One that is made wider is added up afterwards, unless it was
// made narrower on purpose just before (--comm-precision); and that is done once, to the sum over micro-batches.
static bool adds_narrowly(const dp_place_choice *c, int axis, const dp_sharding_rule *rule, dp_placement from) {
  const int widening = dp_op_widening(c->node);
  if (!widening || from.kind != DP_PARTIAL || !c->source->serves) return false;
  if (c->source->serves[c->node->outputs[0]->id] < 0) return false;
  const bool parts = rule->in[0].kind == DP_PARTIAL;
  if (widening < 0) return parts && axis == c->place->micro_axis;
  return !parts && dp_op_widening(c->node->inputs[0]->producer) >= 0;
}

static score score_of(const dp_place_choice *c, int axis, const dp_sharding_rule *rule) {
  dp_place *place = c->place;
  const dp_node *node = c->node;
  score s = {0};
  bool split = false, partial = false;
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->inputs[i]) continue;
    dp_placement from;
    double bytes = dp_place_copy_bytes(place, node->inputs[i]->type);
    double cost = dp_place_copy_cost(place, c->in[i], axis, rule->in[i], &from);
    if (adds_narrowly(c, axis, rule, from)) cost = INFINITY;
    s.moved += cost;
    // A sum that is reduced is reduced for all its users.
    int uses = dp_place_copy_of(place, c->in[i])->uses;
    s.cost += from.kind == DP_PARTIAL && rule->in[i].kind != DP_PARTIAL && uses > 1 ? cost / uses : cost;
    split |= rule->in[i].kind == DP_SHARD && from.kind == DP_SHARD && cost == 0;
    partial |= rule->in[i].kind == DP_PARTIAL;
    if (rule->in[i].kind == DP_SHARD) s.split += bytes;
  }
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (!y) continue;
    dp_placement p = rule->out[k];
    if (p.kind == DP_SHARD) s.split += dp_place_copy_bytes(place, y->type);
    s.partial += p.kind == DP_PARTIAL;
    s.partial -= adds_parts(c, axis, rule) ? 2 : 0;
    if (c->storage[k])
      s.cost += dp_place_copy_price(place, y->type, axis, p, c->storage[k][axis]);
    else if ((p.kind == DP_PARTIAL && partial) || (p.kind == DP_SHARD && !split && !is_asked(c, axis, rule, y, p)))
      // A partial sum must still be reduced later; a split that was not requested will likely be undone.
      s.cost += dp_place_copy_price(place, y->type, axis, p, dp_replicate());
  }
  return s;
}

// Whether some row takes operand i with its current split.
static bool can_keep(const dp_place_choice *c, int axis, const dp_sharding_rules *rules, int i) {
  for (int r = 0; r < rules->count; r++) {
    dp_placement from, in = rules->rules[r].in[i];
    if (in.kind != DP_SHARD || dp_place_copy_cost(c->place, c->in[i], axis, in, &from) > 0) continue;
    if (from.kind == DP_SHARD && is_legal(c, axis, &rules->rules[r]) &&
        isfinite(score_of(c, axis, &rules->rules[r]).cost))
      return true;
  }
  return false;
}

// Whether the chosen row undoes the split of an operand that no row of this operator can keep.
static bool loses_split(const dp_place_choice *c, int axis, const dp_sharding_rules *rules) {
  for (int i = 0; i < c->node->n_inputs; i++) {
    dp_placement from, to = c->rules[axis]->in[i];
    if (!c->node->inputs[i]) continue;
    if (dp_place_copy_cost(c->place, c->in[i], axis, to, &from) > 0 && from.kind == DP_SHARD &&
        !can_keep(c, axis, rules, i))
      return true;
  }
  return false;
}

// Rows in all views in which operands and results are placed, or are wanted. With one device on the axis, or between
// stages, there is nothing to split, and only the first row: everything Replicate.
static dp_sharding_rules *list_rules(const dp_place_choice *c, int axis) {
  const dp_node *node = c->node;
  const dp_mesh_axis *on = &c->place->model->mesh.axes[axis];
  dp_arena *scratch = c->place->scratch;
  dp_sharding_rules *rules = dp_alloc(scratch, sizeof *rules);
  if (on->size == 1 || dp_mesh_is_staged(on)) {
    *rules = (dp_sharding_rules){.arena = scratch, .node = node};
    dp_sharding_add(rules);
    return rules;
  }
  dp_placement *given = NULL;
  int n_given = 0;
  const dp_constraint *constraint = constraint_on(c, axis);
  for (int i = 0; i < node->n_inputs; i++)
    for (dp_place_copy *p = c->in[i] ? dp_place_copy_of(c->place, c->in[i])->copies : NULL; p; p = p->next)
      DP_PUSH(scratch, given, n_given, p->value->placements[axis]);
  for (int k = 0; k < node->n_outputs; k++)
    if (c->storage[k]) DP_PUSH(scratch, given, n_given, c->storage[k][axis]);
  if (constraint) DP_PUSH(scratch, given, n_given, constraint->placement);
  dp_op_sharding_rules_at(scratch, node, n_given, given, rules);
  return rules;
}

static void choose_rule(dp_place_choice *c, int axis, const dp_sharding_rules *rules) {
  score best = {.cost = INFINITY};
  for (int r = 0; r < rules->count; r++) {
    if (!is_legal(c, axis, &rules->rules[r])) continue;
    score s = score_of(c, axis, &rules->rules[r]);
    if (!is_better(s, best)) continue;
    best = s;
    c->rules[axis] = &rules->rules[r];
  }
}

dp_status dp_place_rows_choose(dp_place_choice *c, int axis) {
  const dp_node *node = c->node;
  const dp_sharding_rules *rules = list_rules(c, axis);
  choose_rule(c, axis, rules);
  if (!c->rules[axis] && constraint_on(c, axis) && !c->unmet) {
    // The nodes of its decomposition may satisfy it.
    c->unmet = constraint_on(c, axis);
    c->decompose = node->op->decompose != NULL;
    choose_rule(c, axis, rules);
  }
  if (!c->rules[axis]) {
    char text[64];
    return dp_fail(EX_DATAERR, "node '%s' (%s) does not support '%s' placed as %s on mesh axis '%s'", node->name,
                   node->op->name, c->in[0] ? c->in[0]->name : "",
                   c->storage[0] ? dp_placement_print(c->storage[0][axis], text, sizeof text) : "",
                   c->place->model->mesh.axes[axis].name);
  }
  c->decompose |= node->op->decompose && loses_split(c, axis, rules);
  return DP_OK;
}

dp_status dp_place_rows_unmet(const dp_place_choice *c) {
  const int axis = dp_mesh_find(&c->place->model->mesh, c->unmet->axis);
  const dp_sharding_rules *rules = list_rules(c, axis);
  char wanted[64], one[64], all[256] = "";
  for (int r = 0, at = 0; r < rules->count && at < (int)sizeof all - 64; r++) {
    bool known = false;
    for (int k = 0; k < r; k++) known |= dp_placement_equal(rules->rules[k].out[0], rules->rules[r].out[0]);
    if (known || !is_legal(c, axis, &rules->rules[r])) continue;
    at += snprintf(all + at, sizeof all - (size_t)at, "%s%s", at ? ", " : "",
                   dp_placement_print(rules->rules[r].out[0], one, sizeof one));
  }
  return dp_fail(EX_CONFIG,
                 "node '%s' (%s) is annotated as %s on mesh axis '%s', which it does not support; it supports %s",
                 c->node->name, c->node->op->name, dp_placement_print(c->unmet->placement, wanted, sizeof wanted),
                 c->unmet->axis, all);
}
