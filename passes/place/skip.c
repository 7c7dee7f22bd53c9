// Refused data (ir/graph/refusal.h) of nodes that decompositions brought in. The program counts what its own nodes
// refuse; the pieces of one may refuse other values, computed from those.
#include "ir/graph/refusal.h"

#include <string.h>

#include "passes/place/place.h"

typedef struct {
  dp_place *place;
  dp_builder builder;
  dp_refusal_table counts;  // by values of the logical graph
  dp_value **pieces;        // by value of the logical graph: the same in the builder's graph
  dp_value *total;
} counting;

static void note_counts(counting *c) {
  const dp_graph *logical = c->place->logical;
  for (int32_t i = 0; i < logical->n_nodes; i++)
    if (dp_op_is(logical->nodes[i]->op, DP_OP_COUNTS))
      dp_refusal_table_add(&c->counts, logical->nodes[i]->inputs[0], logical->nodes[i]->outputs[0]);
}

static dp_value *piece_of(counting *c, const dp_value *logical) {
  dp_value **piece = &c->pieces[logical->id];
  if (!*piece) *piece = dp_graph_add_value(c->builder.graph, DP_VALUE_INPUT, logical->name, *logical->type);
  return *piece;
}

static void count(counting *c, const dp_node *node) {
  dp_refusal refusal;
  if (!dp_refusal_of(node, &refusal)) return;
  const dp_value *data = node->inputs[refusal.operand];
  if (dp_refusal_table_find(&c->counts, data, &refusal)) return;
  c->builder.prefix = node->name;
  dp_value *refused = dp_refusal_count(&c->builder, &refusal, piece_of(c, data));
  if (c->builder.status) return;
  refused->producer->stage = node->stage;
  dp_refusal_table_add(&c->counts, data, refused);
  const int stage = c->total->producer ? c->total->producer->stage : -1;
  c->builder.prefix = "refused";
  c->total = dp_build2(&c->builder, "Add", c->total, refused);
  if (c->total->producer) c->total->producer->stage = node->stage > stage ? node->stage : stage;
}

// Places the pieces; the updates take their total.
static dp_status place_pieces(counting *c, dp_place_source *source, const dp_value *skip) {
  dp_graph *graph = c->builder.graph;
  dp_arena *arena = c->place->tables;
  const size_t n = (size_t)graph->n_values;
  dp_place_source pieces = {.graph = graph};
  pieces.map = dp_alloc_n(arena, n, sizeof *pieces.map);
  pieces.uses = dp_alloc_n(arena, n, sizeof *pieces.uses);
  pieces.update = dp_alloc_n(arena, n, sizeof *pieces.update);
  memset(pieces.update, 0xff, n * sizeof *pieces.update);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) pieces.uses[graph->nodes[i]->inputs[k]->id]++;
  pieces.uses[c->total->id] += source->uses[skip->id];
  for (int32_t i = 0; i < c->place->logical->n_values; i++) {
    if (!c->pieces[i]) continue;
    pieces.map[c->pieces[i]->id] = c->place->logical->values[i];
    dp_place_copy_of(c->place, c->place->logical->values[i])->uses += pieces.uses[c->pieces[i]->id];
  }
  DP_TRY(dp_place_node_walk(c->place, &pieces));
  source->map[skip->id] = dp_place_node_operand(c->place, &pieces, c->total);
  return DP_OK;
}

dp_status dp_place_skip(dp_place *place, dp_place_source *source, const dp_node *update) {
  const dp_value *skip = dp_refusal_skip(update);
  if (place->guarded || !skip) return DP_OK;
  place->guarded = true;
  const dp_graph *logical = place->logical;
  dp_arena *arena = place->tables;
  counting c = {.place = place,
                .builder = {.graph = dp_graph_create_within(place->device, "refused")},
                .counts = dp_refusal_table_make(arena, logical),
                .pieces = dp_alloc_n(arena, (size_t)logical->n_values, sizeof *c.pieces)};
  const dp_value *before = c.total = piece_of(&c, dp_place_node_operand(place, source, skip));
  const int32_t n_nodes = logical->n_nodes;
  note_counts(&c);
  for (int32_t i = 0; i < n_nodes; i++) count(&c, logical->nodes[i]);
  if (c.builder.status || c.total == before) return c.builder.status;
  return place_pieces(&c, source, skip);
}
