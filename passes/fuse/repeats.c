// Pointwise results of the forward pass that a region of the backward pass makes again, from what it reads anyway, so
// that they are not kept from one to the other. See groups.h.
//
// What SiLU has between its operand and its result is then read by nobody in the backward pass, and what a product has
// multiplied is written once more where the gradient of what made it is computed: no launch comes with it. A node is
// repeated in one region, and only if none of its other users in the backward pass comes before that. They all get what
// is made again; users of the forward pass keep the first. A region whose depth is less cannot lie before one of larger
// depth, so this makes no cycle.
#include "ir/graph/op.h"
#include "passes/fuse/groups.h"

typedef struct {
  dp_fuse_work *w;
  int32_t n_nodes, n_values;  // before any was repeated
  bool *forward;              // (nodes) an output of the program depends on it
  bool *fixed;                // (values) an output, or a variable's new value
  int32_t *first_user;        // (values + 1) into users
  int32_t *users;             // (nodes) by value
  int32_t *repeated_in;       // (values) the group; -1: none
  dp_value **again, **map;    // (values) what that group makes; themselves
  dp_node ***inserted;        // (groups) the nodes that it got, in order
  int32_t *n_inserted;
} repeats;

// ---- facts of the graph ---------------------------------------------------------------------------------------------

static void find_forward(repeats *r) {
  const dp_graph *graph = r->w->graph;
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_value *v = graph->outputs[i].value;
    r->fixed[v->id] = true;
    if (v->producer) r->forward[v->producer->id] = true;
  }
  for (int i = 0; i < graph->n_updates; i++) r->fixed[graph->updates[i].value->id] = true;
  for (int32_t i = graph->n_nodes; i-- > 0;)
    for (int k = 0; k < graph->nodes[i]->n_inputs && r->forward[i]; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (x && x->producer) r->forward[x->producer->id] = true;
    }
}

static void find_users(repeats *r) {
  const dp_graph *graph = r->w->graph;
  r->first_user = dp_alloc_n(r->w->scratch, (size_t)graph->n_values + 2, sizeof *r->first_user);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < graph->n_nodes; i++)
      for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
        const dp_value *x = graph->nodes[i]->inputs[k];
        if (!x) continue;
        if (pass)
          r->users[r->first_user[x->id + 1]++] = i;
        else
          r->first_user[x->id + 2]++;
      }
    if (pass) break;
    for (int32_t v = 0; v < graph->n_values; v++) r->first_user[v + 2] += r->first_user[v + 1];
    r->users = dp_alloc_n(r->w->scratch, (size_t)r->first_user[graph->n_values + 1] + 1, sizeof *r->users);
  }
}

static bool reads(const dp_node *node, const dp_value *x) {
  for (int k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] == x) return true;
  return false;
}

// ---- whether a region can repeat a node -----------------------------------------------------------------------------

static bool is_scalar(const dp_value *x) { return !x->type->shape.rank && x->space == DP_SPACE_PERSISTENT; }

// Whether the group has the value at hand: a member reads it, or makes it again.
static bool has(const repeats *r, int32_t g, const dp_value *x) {
  if (r->repeated_in[x->id] == g || is_scalar(x)) return true;
  for (int32_t e = r->first_user[x->id]; e < r->first_user[x->id + 1]; e++)
    if (dp_fuse_find(r->w, r->users[e]) == g && reads(r->w->graph->nodes[r->users[e]], x)) return true;
  return false;
}

// Whether the users of a result can take it from the group, but for those of the forward pass, of which there are some.
static bool suits_users(const repeats *r, int32_t g, const dp_value *y) {
  bool stays = false, repeats = false;
  for (int32_t e = r->first_user[y->id]; e < r->first_user[y->id + 1]; e++) {
    const dp_node *user = r->w->graph->nodes[r->users[e]];
    const int32_t at = dp_fuse_find(r->w, user->id);
    if (r->forward[user->id]) {
      stays = true;
      continue;
    }
    repeats = true;
    if (dp_op_is(user->op, DP_OP_COMMUNICATION)) return false;
    if (at == g && (dp_op_is(user->op, DP_OP_PRODUCT) || dp_op_is(user->op, DP_OP_CONVOLUTION))) return false;
    if (at != g &&
        (r->w->groups[at].depth >= r->w->groups[g].depth || r->w->segment[user->id] < r->w->groups[g].segment))
      return false;
  }
  return stays && repeats;
}

static bool can_repeat(const repeats *r, int32_t g, const dp_node *node) {
  const dp_fuse_group *into = &r->w->groups[g];
  dp_fuse_frame both;
  if (dp_fuse_find(r->w, node->id) == g || !into->open || into->frame.channels || into->n_members >= DP_FUSE_MEMBERS ||
      into->n_operands + node->n_inputs + 1 > DP_FUSE_OPERANDS)
    return false;
  for (int k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] && !has(r, g, node->inputs[k])) return false;
  return suits_users(r, g, node->outputs[0]) && dp_fuse_can(r->w, node, &both) &&
         dp_fuse_cover(r->w->graph, &both, &into->frame) && dp_fuse_is_good(&both);
}

// Of the groups of the backward pass that use the value and can repeat the node, the first; or the one found before.
static int32_t earliest(const repeats *r, const dp_node *node, const dp_value *x, int32_t found) {
  for (int32_t e = r->first_user[x->id]; e < r->first_user[x->id + 1]; e++) {
    const int32_t user = r->users[e], g = dp_fuse_find(r->w, user);
    if (r->forward[user] || user < node->id || g == found) continue;
    if (found >= 0 && r->w->groups[found].depth >= r->w->groups[g].depth) continue;
    if (can_repeat(r, g, node)) found = g;
  }
  return found;
}

static bool is_candidate(const repeats *r, const dp_node *node) {
  return r->forward[node->id] && node->n_inputs && node->n_outputs == 1 && dp_op_is_pointwise(node->op) &&
         dp_fuse_is_plain(node) && !r->fixed[node->outputs[0]->id];
}

// ---- repeating ------------------------------------------------------------------------------------------------------

static void repeat(repeats *r, int32_t g, dp_node *node) {
  dp_value *y = node->outputs[0];
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (x && r->repeated_in[x->id] == g) r->map[x->id] = r->again[x->id];
  }
  dp_node *copy = dp_graph_copy_node_as(r->w->graph, node, "/again", r->map);
  for (int k = 0; k < node->n_inputs; k++)
    if (node->inputs[k]) r->map[node->inputs[k]->id] = node->inputs[k];
  r->map[y->id] = y;
  r->repeated_in[y->id] = g;
  r->again[y->id] = copy->outputs[0];
  for (int32_t e = r->first_user[y->id]; e < r->first_user[y->id + 1]; e++) {
    dp_node *user = r->w->graph->nodes[r->users[e]];
    for (int k = 0; k < user->n_inputs && !r->forward[user->id]; k++)
      if (user->inputs[k] == y) user->inputs[k] = copy->outputs[0];
  }
  r->w->groups[g].n_members++;
  r->w->groups[g].n_operands += node->n_inputs + 1;
  DP_PUSH(r->w->scratch, r->inserted[g], r->n_inserted[g], copy);
}

// Whether what the group makes again has to be there before this member: it uses it, or it is the last pointwise one,
// or the last.
static bool comes_after(repeats *r, int32_t g, const dp_node *member, int32_t last) {
  for (int32_t i = 0; i < r->n_inserted[g]; i++)
    if (reads(member, r->inserted[g][i]->outputs[0])) return true;
  return member->id == last;
}

// Puts the new nodes into the graph, right before what uses them, behind the products of their region.
static void put_in_place(repeats *r) {
  dp_fuse_work *w = r->w;
  const int32_t n = w->graph->n_nodes;
  int32_t *last = dp_alloc_n(w->scratch, (size_t)w->n_groups + 1, sizeof *last);
  int32_t *group_of = dp_alloc_n(w->scratch, (size_t)n + 1, sizeof *group_of), count = 0;
  dp_node **order = dp_alloc_n(w->scratch, (size_t)n + 1, sizeof *order);
  for (int32_t i = r->n_nodes; i-- > 0;) last[dp_fuse_find(w, i)] = i;
  for (int32_t i = 0; i < r->n_nodes; i++) {
    int32_t *of_group = &last[dp_fuse_find(w, i)];
    if (dp_op_is_pointwise(w->graph->nodes[i]->op) || !dp_op_is_pointwise(w->graph->nodes[*of_group]->op))
      *of_group = i;
  }
  for (int32_t i = 0; i < r->n_nodes; i++) {
    const int32_t g = dp_fuse_find(w, i);
    if (r->n_inserted[g] && comes_after(r, g, w->graph->nodes[i], last[g])) {
      for (int32_t k = 0; k < r->n_inserted[g]; k++) {
        group_of[count] = g;
        order[count++] = r->inserted[g][k];
      }
      r->n_inserted[g] = 0;
    }
    group_of[count] = g;
    order[count++] = w->graph->nodes[i];
  }
  dp_graph_reorder(w->graph, order);
  w->group_of = group_of;
}

void dp_fuse_repeats(dp_fuse_work *w) {
  const size_t nodes = (size_t)w->graph->n_nodes + 1, values = (size_t)w->graph->n_values + 1;
  repeats r = {.w = w,
               .n_nodes = w->graph->n_nodes,
               .n_values = w->graph->n_values,
               .forward = dp_alloc_n(w->scratch, nodes, sizeof(bool)),
               .fixed = dp_alloc_n(w->scratch, values, sizeof(bool)),
               .repeated_in = dp_alloc_n(w->scratch, values, sizeof(int32_t)),
               .again = dp_alloc_n(w->scratch, values, sizeof(dp_value *)),
               .map = dp_alloc_n(w->scratch, values, sizeof(dp_value *)),
               .inserted = dp_alloc_n(w->scratch, (size_t)w->n_groups + 1, sizeof(dp_node **)),
               .n_inserted = dp_alloc_n(w->scratch, (size_t)w->n_groups + 1, sizeof(int32_t))};
  find_forward(&r);
  find_users(&r);
  for (int32_t v = 0; v < r.n_values; v++) {
    r.repeated_in[v] = -1;
    r.map[v] = w->graph->values[v];
  }
  for (int32_t i = 0; i < r.n_nodes; i++) {
    dp_node *node = w->graph->nodes[i];
    if (!is_candidate(&r, node)) continue;
    int32_t g = earliest(&r, node, node->outputs[0], -1);
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] && !is_scalar(node->inputs[k])) g = earliest(&r, node, node->inputs[k], g);
    if (g >= 0) repeat(&r, g, node);
  }
  if (w->graph->n_nodes > r.n_nodes) put_in_place(&r);
}
