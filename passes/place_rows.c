// Choosing, on each mesh axis by itself, the row of a node that moves the fewest bytes. See place.h.
#include <math.h>

#include "passes/place.h"

typedef struct {
  double cost;
  int shards, partials;  // among the results
} rating;

static bool better(rating a, rating b) {
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.shards != b.shards) return a.shards > b.shards;
  return a.partials < b.partials;
}

static double result_cost(const dp_place *place, const dp_value *value, int axis, dp_placement placement) {
  int32_t home = value->id < place->n_homes ? place->homes[value->id] : -1;
  if (home < 0) return 0;
  dp_placement wanted = place->model->persistents[home].placements[axis];
  double cost = dp_place_convert_cost(placement, wanted, place->mesh->axes[axis].size);
  return cost > 0 ? cost * dp_place_bytes(place, value) + 1 : 0;
}

static rating rate(const dp_place *place, const dp_node *node, int axis, const dp_row *row) {
  rating r = {0};
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) r.cost += dp_place_operand_cost(place, node->inputs[i], axis, row->in[i]);
  for (int i = 0; i < node->n_outputs; i++) {
    if (!node->outputs[i]) continue;
    r.cost += result_cost(place, node->outputs[i], axis, row->out[i]);
    r.shards += row->out[i].kind == DP_SHARD;
    r.partials += row->out[i].kind == DP_PARTIAL;
  }
  return r;
}

// Rows are made for one axis; together with those chosen on earlier axes they must still be legal views of each dim.
static bool fits(const dp_place *place, const dp_node *node, const dp_choice *choice, int axis, const dp_row *row) {
  for (int i = 0; i < node->n_inputs + node->n_outputs; i++) {
    const dp_value *value = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
    if (!value) continue;
    dp_placement placements[DP_MAX_MESH] = {0};
    for (int a = 0; a <= axis; a++) {
      const dp_row *r = a < axis ? choice->row[a] : row;
      placements[a] = i < node->n_inputs ? r->in[i] : r->out[i - node->n_inputs];
    }
    dp_status status = dp_placement_check(&value->type.shape, placements, place->mesh);
    if (!status) continue;
    dp_status_free(status);
    return false;
  }
  return true;
}

// Whether an operand is only to be had split on this axis but the row wants it otherwise.
static bool loses_shard(const dp_place *place, const dp_node *node, int axis, const dp_row *row) {
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->inputs[i] || row->in[i].kind == DP_PARTIAL) continue;
    const dp_versions *versions = dp_place_versions(place, node->inputs[i]);
    bool only_split = versions->count > 0;
    for (int v = 0; v < versions->count; v++) {
      dp_placement have = versions->values[v]->placements[axis];
      only_split &= have.kind == DP_SHARD && !dp_placement_equal(have, row->in[i]);
    }
    if (only_split) return true;
  }
  return false;
}

dp_choice dp_place_choose(dp_place *place, dp_node *logical) {
  dp_rows rows;
  dp_choice choice = {0};
  dp_op_rows(place->arena, logical, &rows);
  for (int axis = 0; axis < place->mesh->n_axes; axis++) {
    const dp_row *best = &rows.rows[0];  // all Replicate: always legal
    rating best_rating = rate(place, logical, axis, best);
    for (int r = 1; r < rows.count && place->mesh->axes[axis].size > 1; r++) {
      rating this_rating = rate(place, logical, axis, &rows.rows[r]);
      if (!(this_rating.cost < INFINITY) || !better(this_rating, best_rating)) continue;
      if (!fits(place, logical, &choice, axis, &rows.rows[r])) continue;
      best = &rows.rows[r];
      best_rating = this_rating;
    }
    choice.row[axis] = best;
    choice.loses_shard |= loses_shard(place, logical, axis, best);
  }
  return choice;
}
