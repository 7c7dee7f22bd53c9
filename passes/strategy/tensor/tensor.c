// Tensor parallelism: which parameters are split over mesh axis `tensor`, along which dim and in which view.
//
// This code knows no layers or operators. A parameter's choices are those that its users' sharding rules list
// (views.c). The cost of a choice is found by placing the program and counting what is moved, computed and held
// (cost.c). The program is placed without repetitions (digest.c), so a hundred equal layers take as much time as one.
// Groups of parameters are decided one after the other, each given the others, until a round changes nothing: once
// starting with the largest, once with the smallest; the better result wins. A split is judged both alone and with the
// splits that it induces: a replicated variable that its users slice is split where they slice it, such as the bias of
// a product and the next product's weight. Vectors are split only by induction. State follows its parameter. A user's
// annotation of the axis is kept.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/base/pass.h"
#include "passes/strategy/tensor/tensor.h"

// NODES: the most that are placed in total. Groups not tried by then stay whole, or are induced.
enum { ROUNDS = 4, NODES = 200000 };

// What counts as an improvement: a smaller one could be rounding.
static const double enough = 1 - 1e-9;

typedef struct {
  int number;
  double bytes;  // of all its members
  bool tried;    // in each of its ways; else it is only induced by others
  dp_tensor_ways ways;
} group;

typedef struct {
  dp_compile *compile;
  dp_arena *arena;
  int axis;
  dp_tensor_digest digest;
  int32_t n;             // variables of the digest
  bool *open;            // by variable: to be decided
  dp_placement *chosen;  // by variable, on the axis
  dp_placement *sliced;  // by variable, for the best way so far
  double cost;           // of the best way so far
  int n_groups;
  group *groups;  // the largest first
  int64_t nodes;  // that may still be placed
} search;

// ---- trying ---------------------------------------------------------------------------------------------------------

// Whether this member can be split so: its extent divides, and there is something to split.
static bool can_split(const search *s, int32_t p, dp_placement to) {
  const dp_shape *shape = &s->digest.graph->model->variables[p].type->shape;
  if (to.kind != DP_SHARD) return true;
  return to.dim < shape->rank && shape->dims[to.dim].offset % (to.outer * to.unit) == 0 &&
         shape->dims[to.dim].offset / (to.outer * to.unit) > 1;
}

static dp_placement *copy_of(const search *s, const dp_placement *placements) {
  return dp_memdup(s->arena, placements, (size_t)s->n * sizeof *placements);
}

// Gives all of a group, with its state, the placement `to`.
static void place_group(const search *s, int number, dp_placement to, dp_placement *placements) {
  for (int32_t p = 0; p < s->n; p++)
    if (s->open[p] && s->digest.group[s->digest.follows[p]] == number && can_split(s, p, to)) placements[p] = to;
}

static int32_t member_of(const search *s, int number) {
  for (int32_t p = 0; p < s->n; p++)
    if (s->open[p] && s->digest.follows[p] == p && s->digest.group[p] == number) return p;
  return -1;
}

// The cost of the placements, and where they slice replicated values; infinite when the program cannot be placed so.
static double cost_of(search *s, const dp_placement *placements, dp_placement *sliced) {
  double cost = 0;
  dp_status status = dp_tensor_cost_of(s->compile, &s->digest, s->axis, placements, &cost, sliced);
  s->nodes -= s->digest.graph->n_nodes;
  if (status) cost = INFINITY;
  dp_status_free(status);
  return cost;
}

// Induces splits: splits whole groups where their users slice them anyway; `only`: that group, -1: all. Returns whether
// there was any.
static bool induce_splits(const search *s, int only, const dp_placement *sliced, dp_placement *placements) {
  bool any = false;
  for (int i = 0; i < s->n_groups; i++) {
    int32_t member = member_of(s, s->groups[i].number);
    if ((only >= 0 && only != i) || placements[member].kind == DP_SHARD || sliced[member].kind != DP_SHARD) continue;
    place_group(s, s->groups[i].number, sliced[member], placements);
    any = true;
  }
  return any;
}

static bool keep_if_cheaper(search *s, double cost, const dp_placement *placements, const dp_placement *sliced) {
  if (!(cost < s->cost * enough)) return false;
  s->cost = cost;
  memcpy(s->chosen, placements, (size_t)s->n * sizeof *placements);
  memcpy(s->sliced, sliced, (size_t)s->n * sizeof *sliced);
  return true;
}

// Keeps the placements if they are better than those chosen so far, alone or with the splits that they induce.
static bool try_placements(search *s, const dp_placement *placements) {
  dp_placement *sliced = dp_alloc_n(s->arena, (size_t)s->n, sizeof *sliced), *drawn = copy_of(s, placements);
  double cost = cost_of(s, placements, sliced);
  bool better = keep_if_cheaper(s, cost, placements, sliced);
  if (!isfinite(cost) || !induce_splits(s, -1, sliced, drawn)) return better;
  cost = cost_of(s, drawn, sliced);
  return keep_if_cheaper(s, cost, drawn, sliced) || better;
}

// A group that was only induced by others is decided again.
static bool try_group(search *s, const group *g) {
  bool better = false;
  for (int i = -1; i < g->ways.count && s->nodes > 0; i++) {
    dp_placement to = i < 0 ? dp_replicate() : g->ways.ways[i];
    if (dp_placement_equal(s->chosen[member_of(s, g->number)], to)) continue;
    dp_placement *placements = copy_of(s, s->chosen);
    for (int k = 0; k < s->n_groups; k++)
      if (!s->groups[k].tried) place_group(s, s->groups[k].number, dp_replicate(), placements);
    place_group(s, g->number, to, placements);
    better |= try_placements(s, placements);
  }
  return better;
}

// Tries the induced splits one by one that did not pay off together.
static bool try_partition(search *s) {
  bool better = false;
  for (int i = 0; i < s->n_groups && s->nodes > 0; i++) {
    dp_placement *one = copy_of(s, s->chosen);
    if (induce_splits(s, i, s->sliced, one)) better |= try_placements(s, one);
  }
  return better;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static bool is_constrained(const dp_variable *p) {
  for (int i = 0; i < p->n_constraints; i++)
    if (!strcmp(p->constraints[i].axis, DP_TENSOR_AXIS)) return true;
  return false;
}

static void find_open(search *s) {
  const dp_model *model = s->digest.graph->model;
  for (int32_t p = 0; p < s->n; p++) {
    const dp_variable *leader = &model->variables[s->digest.follows[p]];
    bool chosen = leader->kind == DP_PARAMETER || leader->kind == DP_BUFFER;
    s->open[p] = chosen && model->variables[p].type->shape.rank > 0 && !is_constrained(leader) &&
                 !is_constrained(&model->variables[p]);
  }
}

static void add_ways(search *s, group *g, const dp_tensor_ways *ways) {
  for (int i = 0; i < ways->count; i++) {
    bool known = false;
    for (int k = 0; k < g->ways.count; k++) known |= dp_placement_equal(g->ways.ways[k], ways->ways[i]);
    if (!known) DP_PUSH(s->arena, g->ways.ways, g->ways.count, ways->ways[i]);
  }
}

static int is_smaller(const void *a, const void *b) {
  const group *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->number - y->number;
}

static void make_groups(search *s) {
  const dp_model *model = s->digest.graph->model;
  const dp_tensor_ways *ways = dp_tensor_views_find(s->arena, s->digest.graph);
  group *all = dp_alloc_n(s->arena, (size_t)s->digest.n_groups, sizeof *all);
  for (int32_t p = 0; p < s->n; p++) {
    int32_t leader = s->digest.follows[p];
    group *g = &all[s->digest.group[leader]];
    g->number = s->digest.group[leader];
    if (!s->open[p]) continue;
    const dp_type *type = model->variables[p].type;
    g->bytes +=
        s->digest.held[p] * (double)dp_type_bytes(type->dtype) * (double)dp_shape_count(&type->shape, model->batch);
    if (leader == p) add_ways(s, g, &ways[p]);
    g->tried |= leader == p && type->shape.rank > 1;
  }
  for (int i = 0; i < s->digest.n_groups; i++)
    if (member_of(s, i) >= 0 && all[i].ways.count) DP_PUSH(s->arena, s->groups, s->n_groups, all[i]);
  if (s->n_groups) qsort(s->groups, (size_t)s->n_groups, sizeof *s->groups, is_smaller);
}

// ---- the pass's part ------------------------------------------------------------------------------------------------

static void annotate(const search *s) {
  dp_model *model = s->compile->model;
  for (int32_t i = 0; i < model->n_variables; i++) {
    int32_t p = s->digest.kind[i];
    if (p < 0 || s->chosen[p].kind != DP_SHARD) continue;
    dp_tensor_cost_constraint(model->arena, &model->variables[i], DP_TENSOR_AXIS, s->chosen[p]);
  }
}

// Rounds until nothing changes, the largest groups first or last.
static void descend(search *s, bool reverse) {
  bool changed = true;
  for (int round = 0; round < ROUNDS && changed && s->nodes > 0; round++) {
    changed = false;
    for (int i = 0; i < s->n_groups && s->nodes > 0; i++) {
      const group *g = &s->groups[reverse ? s->n_groups - 1 - i : i];
      if (g->tried) changed |= try_group(s, g);
    }
    changed |= try_partition(s);
  }
}

static dp_status choose_splits(void *arg) {
  search *s = arg;
  const dp_graph *program = dp_model_find_graph(s->compile->model, "train");
  if (!program) program = dp_model_find_graph(s->compile->model, "infer");
  if (!program) return DP_OK;
  s->digest = dp_tensor_digest_make(s->arena, program);
  s->axis = dp_mesh_find(&s->digest.graph->model->mesh, DP_TENSOR_AXIS);
  s->n = s->digest.graph->model->n_variables;
  s->open = dp_alloc_n(s->arena, (size_t)s->n, sizeof *s->open);
  s->chosen = dp_alloc_n(s->arena, (size_t)s->n, sizeof *s->chosen);
  s->sliced = dp_alloc_n(s->arena, (size_t)s->n, sizeof *s->sliced);
  s->cost = INFINITY;
  find_open(s);
  make_groups(s);
  if (!try_placements(s, copy_of(s, s->chosen))) return DP_OK;  // place reports why it is impossible
  descend(s, false);
  search again = *s;
  again.chosen = dp_alloc_n(s->arena, (size_t)s->n, sizeof *s->chosen);
  again.sliced = dp_alloc_n(s->arena, (size_t)s->n, sizeof *s->sliced);
  again.cost = INFINITY;
  descend(&again, true);
  annotate(again.cost < s->cost * enough ? &again : s);
  return DP_OK;
}

dp_status dp_tensor_choose(dp_compile *compile) {
  search s = {.compile = compile, .nodes = NODES};
  const int axis = dp_mesh_find(&compile->model->mesh, DP_TENSOR_AXIS);
  if (axis < 0 || compile->model->mesh.axes[axis].size == 1) return DP_OK;
  s.arena = dp_arena_create(0);
  if (!s.arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = dp_arena_run(s.arena, choose_splits, &s);
  dp_arena_destroy(s.arena);
  return status;
}
