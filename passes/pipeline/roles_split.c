// A graph for each stage, with transfers. See roles.h.
//
// The order of all nodes is walked once; each node is appended to its stage's graph. A Send and its Recv are added
// together. Between them is a value without memory: the Send's result, which in the other graph is an input that the
// Recv takes.
//
// A stage's streams run concurrently, so events must show when its memory may be reused:
//   - an arrival waits for the first node of the run before its user's: it occupies memory for little more than a run;
//   - the first node of a run waits for what its stage sent before the previous run began: sent values are freed then;
//   - a Recv waits for the last Send of its own stage that its data derives from: it cannot complete before it anyway.
#include <string.h>

#include "passes/pipeline/roles.h"

// What stands for a value on a stage.
typedef struct copy {
  int stage;
  dp_value *value;
  int from, n_sent;  // received: the stage that sent it, and how many that stage had sent by then; -1
  struct copy *next;
} copy;

typedef struct {
  int count;
  dp_node **nodes;
} node_list;

typedef struct {
  const dp_roles *r;
  dp_graph **graphs;  // (stages)
  dp_arena *scratch;
  dp_value **map;    // (values) for the node being copied
  copy **copies;     // (values)
  dp_node **nodes;   // (items)
  int *sent;         // (items, stages) how many of each stage's Sends it derives from, counted in order
  node_list *sends;  // (stages)
  int *sent_before;  // (stages) how many it had sent when its last run began
  int channels;
} work;

// ---- values ---------------------------------------------------------------------------------------------------------

static copy *find_copy(const work *w, const dp_value *v, int stage) {
  copy *c = w->copies[v->id];
  while (c && c->stage != stage) c = c->next;
  return c;
}

static copy *add_copy(work *w, const dp_value *v, int stage, dp_value *value) {
  copy *c = dp_alloc(w->scratch, sizeof *c);
  *c = (copy){stage, value, -1, 0, w->copies[v->id]};
  return w->copies[v->id] = c;
}

// What stands for an operand on a stage; a value without producer is added there.
static dp_value *operand_on_stage(work *w, dp_value *v, int stage) {
  copy *c = find_copy(w, v, stage);
  if (c) return c->value;
  w->map[v->id] = NULL;
  return add_copy(w, v, stage, dp_graph_copy_value(w->graphs[stage], v, w->map))->value;
}

// ---- events ---------------------------------------------------------------------------------------------------------

static void wait_for_run(const work *w, dp_node *node, int stage, int run) {
  if (run >= 0) dp_roles_wait(node, w->nodes[w->r->order[w->r->runs[stage].positions[run]]]);
}

static void wait_for_sends(const work *w, dp_node *node, int stage, int count) {
  if (count > 0) dp_roles_wait(node, w->sends[stage].nodes[count - 1]);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static int *sent_of(const work *w, int32_t item) { return &w->sent[(size_t)item * (size_t)w->r->n_stages]; }

static void raise(int *sent, int stage, int count) {
  if (sent[stage] < count) sent[stage] = count;
}

static dp_node *add_node(work *w, int32_t index) {
  const dp_roles_item *item = &w->r->items[index];
  const dp_node *node = item->node;
  int *sent = sent_of(w, index);
  for (int k = 0; k < node->n_inputs; k++) {
    dp_value *x = node->inputs[k];
    if (!x) continue;
    dp_value *in = operand_on_stage(w, x, item->stage);
    w->map[x->id] = in;
    const copy *c = find_copy(w, x, item->stage);
    if (x->producer) {
      const int *of_operand = sent_of(w, dp_roles_item_of(w->r, x, item->stage));
      for (int s = 0; s < w->r->n_stages; s++) raise(sent, s, of_operand[s]);
    }
    if (c->from >= 0) raise(sent, c->from, c->n_sent);
  }
  dp_node *added = w->nodes[index] = dp_graph_copy_node(w->graphs[item->stage], node, w->map);
  added->stage = item->stage;
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k]) add_copy(w, node->outputs[k], item->stage, added->outputs[k]);
  return added;
}

static dp_node *add_transfer(work *w, const char *op, const char *name, dp_value *x, int stage, int peer) {
  dp_graph *graph = w->graphs[stage];
  dp_attr attrs[] = {dp_attr_string("axis", DP_MESH_PIPE), dp_attr_int("channel", w->channels),
                     dp_attr_int("peer", peer)};
  dp_node *node = dp_graph_add_node(graph, dp_op_find("dp", op), name, 1, &x, 1, NULL, DP_COUNT(attrs), attrs);
  node->stage = stage;
  return node;
}

static void place_as(dp_value *v, const dp_value *x, dp_space space) {
  v->type = x->type;
  v->logical = x->logical;
  v->space = space;
  v->micro_first = x->micro_first;
  v->micro_count = x->micro_count;
  v->placements = x->placements;
}

static dp_node *add_pair(work *w, const dp_roles_arrival *a) {
  dp_value *x = operand_on_stage(w, (dp_value *)(uintptr_t)a->value, a->from);
  dp_arena *arena = w->r->graph->arena;
  w->channels++;
  const char *name = dp_printf(arena, "%s/Send%d", a->value->name, a->stage);
  dp_node *send = add_transfer(w, "Send", name, x, a->from, a->stage);
  place_as(send->outputs[0], x, DP_SPACE_NONE);
  dp_value *between = dp_graph_add_value(w->graphs[a->stage], DP_VALUE_INPUT, send->outputs[0]->name, *x->type);
  place_as(between, x, DP_SPACE_NONE);
  dp_node *recv = add_transfer(w, "Recv", dp_printf(arena, "%s/Recv", a->value->name), between, a->stage, a->from);
  place_as(recv->outputs[0], x, DP_SPACE_TRANSIENT);
  node_list *sends = &w->sends[a->from];
  DP_PUSH(w->scratch, sends->nodes, sends->count, send);
  copy *c = add_copy(w, a->value, a->stage, recv->outputs[0]);
  c->from = a->from;
  c->n_sent = sends->count;
  if (a->item >= 0) wait_for_sends(w, recv, a->stage, sent_of(w, a->item)[a->stage]);
  return recv;
}

static void add_arrivals(work *w, int32_t position) {
  for (const dp_roles_arrival *a = w->r->arrivals[position]; a; a = a->next)
    wait_for_run(w, a->from < 0 ? add_node(w, a->item) : add_pair(w, a), a->stage, a->run - 1);
}

// The first node of a run.
static void begin_run(work *w, int stage, dp_node *node) {
  wait_for_sends(w, node, stage, w->sent_before[stage]);
  w->sent_before[stage] = w->sends[stage].count;
}

static void add_all(work *w) {
  const dp_roles *r = w->r;
  for (int32_t position = 0; position < r->n_order; position++) {
    const dp_roles_item *item = &r->items[r->order[position]];
    const dp_roles_runs *runs = &r->runs[item->stage];
    add_arrivals(w, position);
    dp_node *node = add_node(w, r->order[position]);
    if (item->run < runs->count && runs->positions[item->run] == position) begin_run(w, item->stage, node);
  }
  add_arrivals(w, r->n_order);
}

// ---- ends -----------------------------------------------------------------------------------------------------------

static void add_unread(work *w) {
  const dp_graph *graph = w->r->graph;
  for (int32_t i = 0; i < graph->n_values; i++)
    if (graph->values[i]->kind == DP_VALUE_INPUT && !w->copies[i]) operand_on_stage(w, graph->values[i], 0);
}

static dp_status add_ends(work *w) {
  const dp_graph *graph = w->r->graph;
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_value *v = graph->outputs[i].value;
    int stage = w->r->items[dp_roles_item_of(w->r, v, 0)].stage;
    dp_graph_add_output(w->graphs[stage], graph->outputs[i].name, find_copy(w, v, stage)->value);
  }
  for (int i = 0; i < graph->n_updates; i++) {
    const dp_update *u = &graph->updates[i];
    const dp_variable *p = &graph->model->variables[u->variable];
    for (int s = 0; s < w->r->n_stages; s++) {
      if (!dp_roles_is_storage(p, s)) continue;
      const copy *c = find_copy(w, u->value, s);
      if (!c)
        return dp_fail(EX_SOFTWARE, "'%s' is on stage %d, but '%s' is not computed there", p->name, s, u->value->name);
      dp_graph_append_update(w->graphs[s], u->variable, c->value);
    }
  }
  return DP_OK;
}

dp_status dp_roles_split_make(const dp_roles *r, dp_graph **graphs) {
  size_t stages = (size_t)r->n_stages, values = (size_t)r->graph->n_values + 1, items = (size_t)r->n_items + 1;
  work w = {.r = r, .graphs = graphs, .scratch = r->scratch};
  w.map = dp_alloc_n(w.scratch, values, sizeof(dp_value *));
  w.copies = dp_alloc_n(w.scratch, values, sizeof(copy *));
  w.nodes = dp_alloc_n(w.scratch, items, sizeof(dp_node *));
  w.sent = dp_alloc_n(w.scratch, items * stages, sizeof *w.sent);
  w.sends = dp_alloc_n(w.scratch, stages, sizeof *w.sends);
  w.sent_before = dp_alloc_n(w.scratch, stages, sizeof *w.sent_before);
  for (int s = 0; s < r->n_stages; s++) {
    graphs[s] = dp_graph_create(r->graph->model, dp_printf(r->graph->arena, "%s/%d", r->graph->name, s));
    graphs[s]->logical = r->graph->logical;
    graphs[s]->stage = s;
  }
  add_all(&w);
  add_unread(&w);
  return add_ends(&w);
}
