// Conversions of placement: what they cost, and the communication nodes that do them. See place.h.
#include <math.h>

#include "passes/place.h"

double dp_place_convert_cost(dp_placement from, dp_placement to, int64_t devices) {
  double p = (double)devices;
  if (dp_placement_equal(from, to)) return 0;
  switch (from.kind) {
    case DP_REPLICATE:
      return to.kind == DP_SHARD ? 0.01 / p : INFINITY;  // a local copy, far cheaper than a link
    case DP_SHARD:
      return to.kind == DP_REPLICATE ? (p - 1) / p : to.kind == DP_SHARD ? (p - 1) / (p * p) : INFINITY;
    case DP_PARTIAL:
      return to.kind == DP_REPLICATE ? 2 * (p - 1) / p : to.kind == DP_SHARD ? (p - 1) / p : INFINITY;
  }
  return INFINITY;
}

const dp_versions *dp_place_versions(const dp_place *place, const dp_value *logical) {
  static const dp_versions none;
  return logical->id < place->n_versions ? &place->versions[logical->id] : &none;
}

void dp_place_add_version(dp_place *place, dp_value *logical, dp_value *value) {
  while (place->n_versions <= logical->id) DP_PUSH(place->arena, place->versions, place->n_versions, (dp_versions){0});
  dp_versions *versions = &place->versions[logical->id];
  DP_PUSH(place->arena, versions->values, versions->count, value);
}

double dp_place_bytes(const dp_place *place, const dp_value *value) {
  return (double)dp_shape_count(&value->type.shape, place->model->batch) * (double)dp_type_bytes(value->type.dtype);
}

double dp_place_operand_cost(const dp_place *place, const dp_value *logical, int axis, dp_placement wanted) {
  const dp_versions *versions = dp_place_versions(place, logical);
  double best = INFINITY;
  for (int i = 0; i < versions->count; i++) {
    double cost = dp_place_convert_cost(versions->values[i]->placements[axis], wanted, place->mesh->axes[axis].size);
    if (cost < best) best = cost;
  }
  // A conversion has a price even when there is next to nothing to move.
  return best > 0 && best < INFINITY ? best * dp_place_bytes(place, logical) + 1 : best;
}

// ---- communication nodes --------------------------------------------------------------------------------------------

static const char *operator_for(dp_placement from, dp_placement to) {
  if (from.kind == DP_PARTIAL) return to.kind == DP_REPLICATE ? "AllReduce" : "ReduceScatter";
  if (from.kind == DP_REPLICATE) return "Slice";
  return to.kind == DP_REPLICATE ? "AllGather" : "AllToAll";
}

static dp_value *convert_axis(dp_place *place, dp_value *value, int axis, dp_placement to) {
  const char *op = operator_for(value->placements[axis], to), *axis_name = place->mesh->axes[axis].name;
  dp_attr attr = dp_attr_string("axis", axis_name);
  char text[64];
  const char *name =
      dp_printf(place->arena, "%s@%s=%s", value->logical->name, axis_name, dp_placement_print(to, text, sizeof text));
  dp_node *node = dp_graph_add_node(place->device, dp_op_find("dp", op), dp_printf(place->arena, "%s/%s", op, name), 1,
                                    &value, 1, &name, 1, &attr);
  dp_value *result = node->outputs[0];
  result->type = value->type;
  result->logical = value->logical;
  for (int a = 0; a < place->mesh->n_axes; a++) result->placements[a] = value->placements[a];
  result->placements[axis] = to;
  dp_place_add_version(place, value->logical, result);
  return result;
}

static bool shards(dp_placement p, int dim) { return p.kind == DP_SHARD && p.dim == dim; }

// Whether axis `later` splits a dim that changing `axis` from one placement to the other splits or joins: nested splits
// are in mesh order, so it has to be joined first.
static bool blocks(const dp_value *value, const dp_placement *wanted, int axis, int later) {
  dp_placement from = value->placements[axis], to = wanted[axis], inner = value->placements[later];
  if (dp_placement_equal(from, to) || inner.kind != DP_SHARD) return false;
  return shards(from, inner.dim) || shards(to, inner.dim);
}

static dp_value *convert(dp_place *place, dp_value *value, const dp_placement *wanted) {
  int n = place->mesh->n_axes;
  for (int later = n - 1; later > 0; later--)
    for (int axis = 0; axis < later; axis++)
      if (blocks(value, wanted, axis, later)) value = convert_axis(place, value, later, dp_replicate());
  for (int axis = 0; axis < n; axis++)
    if (!dp_placement_equal(value->placements[axis], wanted[axis]))
      value = convert_axis(place, value, axis, wanted[axis]);
  return value;
}

static double total_cost(const dp_place *place, const dp_value *value, const dp_placement *wanted) {
  double cost = 0;
  for (int a = 0; a < place->mesh->n_axes; a++)
    cost += dp_place_convert_cost(value->placements[a], wanted[a], place->mesh->axes[a].size);
  return cost;
}

dp_status dp_place_get(dp_place *place, dp_value *logical, const dp_placement wanted[DP_MAX_MESH], dp_value **value) {
  const dp_versions *versions = dp_place_versions(place, logical);
  dp_value *best = NULL;
  double least = INFINITY;
  for (int i = 0; i < versions->count; i++) {
    double cost = total_cost(place, versions->values[i], wanted);
    if (cost < least) {
      least = cost;
      best = versions->values[i];
    }
  }
  if (!best) return dp_fail(EX_SOFTWARE, "'%s' cannot be brought to where it is used", logical->name);
  *value = convert(place, best, wanted);
  return DP_OK;
}
