// Reductions that end regions: gradients of biases and of normalizations' parameters, sums of squares. See groups.h.
//
// `fuse` computes nodes where their first user needs them, which for these is the update, at the end of the step. A
// reduction joins the region of its operand instead, and so does a pointwise node that only this reduction uses. What
// they need is made in that region alone, so nothing else has to come before them, and there is no cycle.
#include "passes/fuse/groups.h"

// The group that makes all operands of the node but variables; -1: none, or several.
static int32_t source_of(dp_fuse_work *w, const dp_node *node) {
  int32_t source = -1;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (!x || (!x->producer && x->space == DP_SPACE_PERSISTENT)) continue;
    const int32_t g = x->producer ? dp_fuse_find(w, x->producer->id) : -1;
    if (g < 0 || (source >= 0 && g != source)) return -1;
    source = g;
  }
  return source;
}

static bool is_alone(dp_fuse_work *w, const dp_node *node) {
  return w->groups[dp_fuse_find(w, node->id)].n_members == 1;
}

static bool is_reduction(dp_fuse_work *w, const dp_node *node) {
  if (!node->logical || node->n_waits || node->signal >= 0 || node->n_outputs != 1 || !node->n_inputs) return false;
  const dp_value *x = node->inputs[0], *y = node->outputs[0];
  return node->op->row && x && x->producer && !dp_op_row(node, x->type->shape.rank) && is_alone(w, node) &&
         y->space == DP_SPACE_TRANSIENT && y->micro_first == x->micro_first && y->micro_count == x->micro_count;
}

static bool has_room(const dp_fuse_work *w, int32_t g, const dp_node *node) {
  const dp_fuse_group *into = &w->groups[g];
  return into->open && into->segment == w->segment[node->id] && into->n_members < DP_FUSE_MEMBERS &&
         into->n_operands + node->n_inputs + node->n_outputs <= DP_FUSE_OPERANDS;
}

static void join(dp_fuse_work *w, int32_t g, const dp_node *node) {
  w->groups[g].n_members++;
  w->groups[g].n_operands += node->n_inputs + node->n_outputs;
  w->group_of[node->id] = g;
}

// A pointwise node that stands between a region and the reduction, its only user, joins the region.
static void join_operand(dp_fuse_work *w, const dp_node *node) {
  const int32_t g = source_of(w, node);
  dp_fuse_frame both;
  if (!dp_fuse_has_one_user(w, node) || !is_alone(w, node)) return;
  if (g < 0 || !dp_op_is_pointwise(node->op) || !dp_fuse_can(w, node, &both) || !has_room(w, g, node)) return;
  if (!dp_fuse_cover(w->graph, &both, &w->groups[g].frame) || !dp_fuse_is_good(&both)) return;
  w->groups[g].frame = both;
  join(w, g, node);
}

void dp_fuse_reductions(dp_fuse_work *w) {
  for (int32_t i = 0; i < w->graph->n_nodes; i++) {
    const dp_node *node = w->graph->nodes[i];
    if (!is_reduction(w, node)) continue;
    join_operand(w, node->inputs[0]->producer);
    const int32_t g = source_of(w, node);
    if (g >= 0 && has_room(w, g, node)) join(w, g, node);
  }
}
