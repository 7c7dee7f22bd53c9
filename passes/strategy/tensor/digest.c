// A program without its repetitions: the first node of each kind. See tensor.h.
//
// Kinds are colours, refined for a few rounds by the Weisfeiler-Lehman method: a node's next colour combines its own,
// those of its operands and those of its results' users. An operand is replaced by the first of its kind, which comes
// earlier, so the order stays topological. Types are part of the first colour, so they are equal. Nodes that update
// variables in place come last, as nothing may read those variables afterwards.
#include <string.h>

#include "ir/graph/op.h"
#include "passes/simplify/cse.h"
#include "passes/strategy/tensor/tensor.h"

// Rounds: for a node's neighbourhood, and for the smaller one of a group.
enum { ROUNDS = 4, GROUP_ROUNDS = 2 };

typedef struct {
  const dp_graph *graph;
  uint64_t *nodes, *leaves;  // colours by node, and by value without producer
  uint64_t *uses;            // by value: the combined colours of its users, in any order
  uint64_t *groups;          // by value: the leaf's colour after GROUP_ROUNDS
} colours;

static uint64_t mix(uint64_t a, uint64_t b) { return dp_cse_mix(dp_hash64, a, b); }

static uint64_t hash_type(const dp_type *type) {
  uint64_t hash = mix((uint64_t)type->dtype, (uint64_t)type->shape.rank);
  for (int d = 0; d < type->shape.rank; d++)
    hash = mix(mix(hash, (uint64_t)type->shape.dims[d].scale), (uint64_t)type->shape.dims[d].offset);
  return hash;
}

static uint64_t hash_constraints(uint64_t hash, int count, const dp_constraint *constraints) {
  for (int i = 0; i < count; i++) {
    dp_placement at = constraints[i].placement;
    uint64_t words[] = {(uint64_t)at.kind, (uint64_t)at.dim, (uint64_t)at.outer, (uint64_t)at.unit};
    hash = mix(mix(hash, dp_hash_name(constraints[i].axis)), dp_hash64(words, sizeof words));
  }
  return hash;
}

static uint64_t colour_of(const colours *c, const dp_value *v) {
  if (!v) return 0;
  return v->producer ? mix(c->nodes[v->producer->id], (uint64_t)v->result + 1) : c->leaves[v->id];
}

// ---- first colours --------------------------------------------------------------------------------------------------

// A random node's key says which numbers it draws, and nothing about placement.
static uint64_t first_of_node(const dp_node *node) {
  uint64_t hash = mix((uint64_t)(uintptr_t)node->op, (uint64_t)node->n_inputs), attrs = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (!dp_op_is(node->op, DP_OP_RANDOM) || strcmp(node->attrs[i].name, "key"))
      attrs += dp_cse_hash_attr(dp_hash64, &node->attrs[i]);
  for (int i = 0; i < node->n_inputs; i++) hash = mix(hash, node->inputs[i] ? hash_type(node->inputs[i]->type) : 0);
  for (int k = 0; k < node->n_outputs; k++) hash = mix(hash, node->outputs[k] ? hash_type(node->outputs[k]->type) : 0);
  return hash_constraints(mix(hash, attrs), node->n_constraints, node->constraints);
}

static uint64_t first_of_leaf(const dp_model *model, const dp_value *v) {
  uint64_t hash = mix(hash_type(v->type), (uint64_t)v->kind);
  if (v->kind != DP_VALUE_VARIABLE) return mix(hash, dp_hash_name(v->name));
  const dp_variable *p = &model->variables[v->variable];
  return hash_constraints(mix(mix(hash, (uint64_t)p->kind), p->frozen), p->n_constraints, p->constraints);
}

static colours first_colours(dp_arena *arena, const dp_graph *g) {
  size_t n = (size_t)g->n_values;
  colours c = {.graph = g, .nodes = dp_alloc_n(arena, (size_t)g->n_nodes, sizeof *c.nodes)};
  c.leaves = dp_alloc_n(arena, n, sizeof *c.leaves);
  c.uses = dp_alloc_n(arena, n, sizeof *c.uses);
  c.groups = dp_alloc_n(arena, n, sizeof *c.groups);
  for (int32_t i = 0; i < g->n_nodes; i++) c.nodes[i] = first_of_node(g->nodes[i]);
  for (int32_t i = 0; i < g->n_values; i++)
    if (!g->values[i]->producer) c.leaves[i] = first_of_leaf(g->model, g->values[i]);
  return c;
}

// ---- rounds ---------------------------------------------------------------------------------------------------------

static void note_uses(colours *c) {
  const dp_graph *g = c->graph;
  memset(c->uses, 0, (size_t)g->n_values * sizeof *c->uses);
  for (int32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i]->n_inputs; k++)
      if (g->nodes[i]->inputs[k]) c->uses[g->nodes[i]->inputs[k]->id] += mix(c->nodes[i], (uint64_t)k);
  for (int i = 0; i < g->n_outputs; i++) c->uses[g->outputs[i].value->id] += dp_hash_name(g->outputs[i].name) | 1;
  for (int i = 0; i < g->n_updates; i++)
    c->uses[g->updates[i].value->id] += (uint64_t)g->model->variables[g->updates[i].variable].kind + 1;
}

static void refine(dp_arena *arena, colours *c) {
  const dp_graph *g = c->graph;
  note_uses(c);
  uint64_t *next = dp_alloc_n(arena, (size_t)g->n_nodes, sizeof *next);
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const dp_node *node = g->nodes[i];
    uint64_t hash = c->nodes[i];
    for (int k = 0; k < node->n_inputs; k++) hash = mix(hash, colour_of(c, node->inputs[k]));
    for (int k = 0; k < node->n_outputs; k++) hash = mix(hash, node->outputs[k] ? c->uses[node->outputs[k]->id] : 0);
    next[i] = hash;
  }
  for (int32_t i = 0; i < g->n_values; i++)
    if (!g->values[i]->producer) c->leaves[i] = mix(c->leaves[i], c->uses[i]);
  c->nodes = next;
}

// Gives variables of one kind updates of one kind, so that the digest has one update for them.
static void join_updates(dp_arena *arena, colours *c) {
  const dp_graph *g = c->graph;
  int32_t *leaf = dp_alloc_n(arena, (size_t)g->model->n_variables, sizeof *leaf);
  for (int32_t i = 0; i < g->n_values; i++)
    if (g->values[i]->kind == DP_VALUE_VARIABLE) leaf[g->values[i]->variable] = i + 1;
  for (int i = 0; i < g->n_updates; i++) {
    int32_t at = leaf[g->updates[i].variable] - 1;
    if (at >= 0) c->leaves[at] = mix(c->leaves[at], colour_of(c, g->updates[i].value));
  }
}

static colours colour(dp_arena *arena, const dp_graph *g) {
  colours c = first_colours(arena, g);
  for (int round = 0; round < ROUNDS; round++) {
    if (round == GROUP_ROUNDS) memcpy(c.groups, c.leaves, (size_t)g->n_values * sizeof *c.groups);
    refine(arena, &c);
  }
  join_updates(arena, &c);
  return c;
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

typedef struct {
  size_t capacity;  // a power of two
  struct {
    uint64_t hash;
    int32_t number;  // plus 1
  } * entries;
} table;

static table make_table(dp_arena *arena, int32_t most) {
  table t = {.capacity = 16};
  while (t.capacity < 2 * (size_t)most) t.capacity *= 2;
  t.entries = dp_alloc_n(arena, t.capacity, sizeof *t.entries);
  return t;
}

// The number stored under the hash; if there is none, stores and returns `number`.
static int32_t number_of(table *t, uint64_t hash, int32_t number) {
  size_t i = dp_hash_table(&hash, sizeof hash) & (t->capacity - 1);
  for (; t->entries[i].number; i = (i + 1) & (t->capacity - 1))
    if (t->entries[i].hash == hash) return t->entries[i].number - 1;
  t->entries[i].hash = hash;
  t->entries[i].number = number + 1;
  return number;
}

typedef struct {
  dp_arena *arena;
  const dp_graph *program;
  colours colours;
  dp_tensor_digest digest;
  int32_t *first;  // by node: the first of its kind
  dp_value **map;  // by value of the program: in the digest
  int n_nodes;     // the number of digest.times
} work;

static void add_variable(work *w, dp_value *v, table *leaves, table *groups) {
  dp_tensor_digest *d = &w->digest;
  dp_model *model = d->graph->model;
  int32_t number = number_of(leaves, w->colours.leaves[v->id], model->n_variables);
  if (number == model->n_variables) {
    dp_model_add_variable(model, &w->program->model->variables[v->variable]);
    dp_graph_variable(d->graph, number);
    d->follows[number] = number;
    d->group[number] = number_of(groups, w->colours.groups[v->id], d->n_groups);
    d->n_groups += d->group[number] == d->n_groups;
  }
  d->kind[v->variable] = number;
  d->held[number]++;
  w->map[v->id] = dp_graph_variable(d->graph, number);
}

static void add_leaves(work *w) {
  const dp_graph *g = w->program;
  table leaves = make_table(w->arena, g->n_values), groups = make_table(w->arena, g->n_values);
  for (int32_t i = 0; i < g->n_values; i++) {
    dp_value *v = g->values[i];
    if (v->producer) continue;
    if (v->kind == DP_VALUE_VARIABLE)
      add_variable(w, v, &leaves, &groups);
    else
      dp_graph_copy_value(w->digest.graph, v, w->map);
  }
}

static void find_kinds(work *w) {
  const dp_graph *g = w->program;
  table nodes = make_table(w->arena, g->n_nodes);
  w->first = dp_alloc_n(w->arena, (size_t)g->n_nodes, sizeof *w->first);
  for (int32_t i = 0; i < g->n_nodes; i++) w->first[i] = number_of(&nodes, w->colours.nodes[i], i);
}

static void add_nodes(work *w, const bool *late, bool which) {
  const dp_graph *g = w->program;
  double *count = dp_alloc_n(w->arena, (size_t)g->n_nodes, sizeof *count);
  for (int32_t i = 0; i < g->n_nodes; i++) count[w->first[i]]++;
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const dp_node *node = g->nodes[i];
    if (w->first[i] != i || late[i] != which) continue;
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *x = node->inputs[k];
      if (x && x->producer) w->map[x->id] = w->map[g->nodes[w->first[x->producer->id]]->outputs[x->result]->id];
    }
    dp_graph_copy_node(w->digest.graph, node, w->map);
    DP_PUSH(w->arena, w->digest.times, w->n_nodes, count[i]);
  }
}

// Operators that update in place, and what uses their results.
static bool *find_late(const work *w) {
  const dp_graph *g = w->program;
  bool *late = dp_alloc_n(w->arena, (size_t)g->n_nodes, sizeof *late);
  for (int32_t i = 0; i < g->n_nodes; i++) {
    late[i] = dp_op_is(g->nodes[i]->op, DP_OP_UPDATE);
    for (int k = 0; k < g->nodes[i]->n_inputs && !late[i]; k++) {
      const dp_value *x = g->nodes[i]->inputs[k];
      late[i] = x && x->producer && late[w->first[x->producer->id]];
    }
  }
  return late;
}

static void add_ends(work *w) {
  const dp_graph *g = w->program;
  for (int i = 0; i < g->n_outputs; i++)
    if (w->map[g->outputs[i].value->id])
      dp_graph_add_output(w->digest.graph, g->outputs[i].name, w->map[g->outputs[i].value->id]);
  for (int i = 0; i < g->n_updates; i++) {
    dp_value *value = w->map[g->updates[i].value->id];
    int32_t p = w->digest.kind[g->updates[i].variable];
    if (value && p >= 0) dp_graph_add_update(w->digest.graph, p, value);
  }
}

// State has its parameter's type and is updated together with it.
static void find_followers(dp_tensor_digest *d) {
  const dp_model *model = d->graph->model;
  for (int32_t p = 0; p < model->n_variables; p++) {
    const int32_t parameter = dp_pass_parameter_of(model, p);
    if (parameter >= 0 && dp_shape_equal(&model->variables[p].type->shape, &model->variables[parameter].type->shape))
      d->follows[p] = parameter;
  }
}

dp_tensor_digest dp_tensor_digest_make(dp_arena *arena, const dp_graph *program) {
  const dp_model *whole = program->model;
  dp_model *model = dp_model_create(arena, whole->name);
  model->opset = whole->opset;
  model->symbol = whole->symbol;
  model->mesh = whole->mesh;
  // Placements on these axes say nothing about how devices share a value.
  dp_mesh_drop(&model->mesh, DP_MESH_MICRO);
  dp_mesh_drop(&model->mesh, DP_MESH_PIPE);
  model->batch = whole->batch;
  size_t n = (size_t)whole->n_variables;
  work w = {.arena = arena, .program = program, .colours = colour(arena, program)};
  w.map = dp_alloc_n(arena, (size_t)program->n_values, sizeof(dp_value *));
  w.digest = (dp_tensor_digest){.graph = dp_graph_create(model, program->name),
                                .held = dp_alloc_n(arena, n, sizeof(double)),
                                .follows = dp_alloc_n(arena, n, sizeof(int32_t)),
                                .group = dp_alloc_n(arena, n, sizeof(int32_t)),
                                .kind = dp_alloc_n(arena, n, sizeof(int32_t))};
  memset(w.digest.kind, 0xff, n * sizeof(int32_t));
  add_leaves(&w);
  find_kinds(&w);
  const bool *late = find_late(&w);
  add_nodes(&w, late, false);
  add_nodes(&w, late, true);
  add_ends(&w);
  find_followers(&w.digest);
  return w.digest;
}
