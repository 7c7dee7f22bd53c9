// See layout_ends.h.
#include "passes/emit/layout_ends.h"

#include "ir/graph/op.h"

static bool updates(const dp_node *node) {
  for (int32_t m = 0; node->body && m < node->body->n_nodes; m++)
    if (dp_op_is(node->body->nodes[m]->op, DP_OP_UPDATE)) return true;
  return dp_op_is(node->op, DP_OP_UPDATE);
}

static void put(dp_layout_end_role *roles, const dp_value *v, int group, bool stored) {
  if (v && v->type->shape.rank == 4) roles[v->id] = (dp_layout_end_role){group, stored};
}

// Result k of an update replaces its operand k. Other operands with four dims are gradients.
static void put_update(dp_layout_end_role *roles, const dp_node *update, int group) {
  for (int k = 0; k < update->n_inputs; k++) put(roles, update->inputs[k], group, k < update->n_outputs);
  for (int k = 0; k < update->n_outputs; k++) put(roles, update->outputs[k], group, true);
}

// The roles of the body's values: those of its updates, from the last member to the first, so that a Cast's operand
// goes where its result does.
static dp_layout_end_role *roles_inside(dp_arena *arena, const dp_graph *body) {
  dp_layout_end_role *roles = dp_alloc_n(arena, (size_t)body->n_values, sizeof *roles);
  for (int32_t v = 0; v < body->n_values; v++) roles[v].group = -1;
  for (int32_t m = body->n_nodes - 1; m >= 0; m--) {
    const dp_node *member = body->nodes[m];
    if (dp_op_is(member->op, DP_OP_UPDATE))
      put_update(roles, member, m);
    else if (member->n_inputs == 1)
      put(roles, member->inputs[0], roles[member->outputs[0]->id].group, false);
  }
  return roles;
}

static void take_inside(dp_arena *arena, const dp_node *region, dp_layout_end_role *roles) {
  const dp_graph *body = region->body;
  const dp_layout_end_role *inside = roles_inside(arena, body);
  int k = 0;
  for (int32_t v = 0; v < body->n_values; v++)
    if (body->values[v]->kind != DP_VALUE_RESULT) roles[k++] = inside[v];
  for (int i = 0; i < body->n_outputs; i++) roles[k++] = inside[body->outputs[i].value->id];
}

const dp_layout_end_role *dp_layout_roles(dp_arena *arena, const dp_node *node) {
  const bool moves = dp_op_is(node->op, DP_OP_COMMUNICATION) && node->n_outputs > 1, has_updates = updates(node);
  if (!moves && !has_updates) return NULL;
  const int count = dp_layout_ends(node);
  dp_layout_end_role *roles = dp_alloc_n(arena, (size_t)count, sizeof *roles);
  for (int k = 0; k < count; k++) roles[k] = (dp_layout_end_role){moves ? k % node->n_outputs : -1, false};
  if (has_updates && node->body) take_inside(arena, node, roles);
  for (int k = 0; has_updates && !node->body && k < count; k++) {
    const dp_value *v = dp_layout_end(node, k);
    if (!v || v->type->shape.rank != 4) continue;
    roles[k] = (dp_layout_end_role){0, k < node->n_outputs || k >= node->n_inputs};
  }
  return roles;
}
