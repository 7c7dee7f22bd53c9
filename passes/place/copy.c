// The copies of logical values in the device form: the cost of converting one into another, and the communication that
// does it. See place.h.
//
// A conversion changes one mesh axis. Where two axes split one dim, the later one splits the parts that the earlier one
// left. So an axis can be converted from or to a split of a dim only while no later axis splits that dim: later ones
// are gathered first and split again afterwards.
//
// On the axis of micro-batches nothing moves between devices. A sum over them is reduced as soon as it is needed, at no
// cost, before it is reduced on other axes, which then happens once. Under ZeRO stage 2 each part is scattered first,
// so that no device accumulates more than its part. Concatenating micro-batches holds a whole batch where a part would
// do.
#include <math.h>
#include <string.h>

#include "passes/base/pass.h"
#include "passes/place/place.h"

// Slicing a replicated value moves no bytes between devices, but is work that a row without it avoids.
static const double slice_price = 0.1;

dp_place_value *dp_place_copy_of(dp_place *place, const dp_value *logical) {
  while (place->n_values <= logical->id) {
    dp_place_value none = {0};
    DP_PUSH(place->tables, place->values, place->n_values, none);
  }
  return &place->values[logical->id];
}

void dp_place_copy_add(dp_place *place, dp_value *logical, dp_value *device) {
  dp_place_copy *copy = dp_alloc(place->tables, sizeof *copy), **end;
  copy->value = device;
  device->logical = logical;
  for (end = &dp_place_copy_of(place, logical)->copies; *end;) end = &(*end)->next;
  *end = copy;
}

double dp_place_copy_bytes(const dp_place *place, const dp_type *type) {
  return (double)dp_shape_count(&type->shape, place->model->batch) * (double)dp_type_bytes(type->dtype);
}

// ---- cost -----------------------------------------------------------------------------------------------------------

// On the axis of micro-batches, where every conversion goes through the whole batch's value.
static double sequential_price(double m, double bytes, dp_placement from, dp_placement to) {
  double whole = from.kind == DP_SHARD ? m * bytes : 0;
  return to.kind == DP_SHARD ? whole + slice_price * bytes / m : whole;
}

double dp_place_copy_price(const dp_place *place, const dp_type *type, int axis, dp_placement from, dp_placement to) {
  if (dp_placement_equal(from, to)) return 0;
  if (to.kind == DP_PARTIAL) return INFINITY;
  double p = (double)place->model->mesh.axes[axis].size, bytes = dp_place_copy_bytes(place, type);
  if (axis == place->micro_axis) return sequential_price(p, bytes, from, to);
  if (from.kind == DP_REPLICATE) return slice_price * bytes / p;
  // A sum that is split immediately is usually needed whole later, so it costs as much as one that is not.
  if (from.kind == DP_PARTIAL) return 2 * (p - 1) / p * bytes;
  return (p - 1) / p * bytes / (to.kind == DP_SHARD ? p : 1);
}

// The number of parts into which the axes other than `but` split the value. Micro-batches do not count: their costs add
// up.
static double parts_of(const dp_place *place, const dp_value *device, int but) {
  double parts = 1;
  for (int a = 0; a < place->model->mesh.n_axes; a++)
    if (a != but && a != place->micro_axis && device->placements[a].kind == DP_SHARD)
      parts *= (double)place->model->mesh.axes[a].size;
  return parts;
}

// A variable, or one in another type: Cast on each part, it is gathered in that type.
static bool is_stored(const dp_value *logical) {
  const dp_node *node = logical->producer;
  if (node && node->n_inputs == 1 && node->n_outputs == 1 && dp_op_is_pointwise(node->op)) logical = node->inputs[0];
  return logical->kind == DP_VALUE_VARIABLE;
}

// Where a strategy gathers variables at each use, the variable is gathered rather than the other operand.
static bool is_gathered(const dp_place *place, const dp_value *logical, int axis, dp_placement to) {
  return axis == place->data_axis && to.kind == DP_REPLICATE && place->shares.gathers_again & DP_SHARES_PARAMETERS &&
         is_stored(logical);
}

double dp_place_copy_cost(dp_place *place, const dp_value *logical, int axis, dp_placement to, dp_placement *from) {
  double best = INFINITY;
  *from = dp_replicate();
  if (is_gathered(place, logical, axis, to)) return 0;
  for (const dp_place_copy *c = dp_place_copy_of(place, logical)->copies; c; c = c->next) {
    dp_placement at = c->value->placements[axis];
    double cost = dp_place_copy_price(place, logical->type, axis, at, to) / parts_of(place, c->value, axis);
    if (cost >= best) continue;
    best = cost;
    *from = at;
  }
  return best;
}

// ---- conversion -----------------------------------------------------------------------------------------------------

static bool is_placed(const dp_place *place, const dp_value *device, const dp_placement *placements) {
  for (int a = 0; a < place->model->mesh.n_axes; a++)
    if (!dp_placement_equal(device->placements[a], placements[a])) return false;
  return true;
}

static dp_value *best_copy(dp_place *place, const dp_value *logical, const dp_placement *to) {
  dp_value *best = NULL;
  double least = INFINITY;
  for (const dp_place_copy *c = dp_place_copy_of(place, logical)->copies; c; c = c->next) {
    if (is_placed(place, c->value, to)) return c->value;
    double cost = 0;
    for (int a = 0; a < place->model->mesh.n_axes; a++)
      cost +=
          dp_place_copy_price(place, logical->type, a, c->value->placements[a], to[a]) / parts_of(place, c->value, a);
    if (cost >= least) continue;
    least = cost;
    best = c->value;
  }
  return best;
}

static const char *communication(dp_placement from, dp_placement to) {
  if (from.kind == DP_PARTIAL) return to.kind == DP_SHARD ? "ReduceScatter" : "AllReduce";
  if (from.kind == DP_REPLICATE) return "Slice";
  return to.kind == DP_SHARD ? "AllToAll" : "AllGather";
}

static dp_value *add_communication(dp_place *place, const char *name, dp_value *operand, int n_attrs,
                                   const dp_attr *attrs) {
  const dp_value *logical = operand->logical;
  dp_node *node =
      dp_graph_add_node(place->device, dp_op_find("dp", name), dp_printf(place->tables, "%s/%s", logical->name, name),
                        1, &operand, 1, NULL, n_attrs, attrs);
  // A copy of a variable, or of an input for the devices, is made where it is used.
  node->stage = operand->producer ? operand->producer->stage : -1;
  dp_value *result = node->outputs[0];
  result->type = operand->type;
  result->space = DP_SPACE_TRANSIENT;
  result->placements = operand->placements;
  return result;
}

// Converts one axis of a copy; returns an existing copy with that placement if there is one.
static dp_value *convert_axis(dp_place *place, dp_value *logical, dp_value *from, int axis, dp_placement to) {
  dp_placement placements[DP_MAX_MESH];
  if (dp_placement_equal(from->placements[axis], to)) return from;
  if (axis == place->micro_axis && from->placements[axis].kind != DP_REPLICATE && to.kind != DP_REPLICATE)
    from = convert_axis(place, logical, from, axis, dp_replicate());
  memcpy(placements, from->placements, sizeof placements);
  placements[axis] = to;
  for (const dp_place_copy *c = dp_place_copy_of(place, logical)->copies; c; c = c->next)
    if (is_placed(place, c->value, placements)) return c->value;
  dp_attr attr = dp_attr_string("axis", place->model->mesh.axes[axis].name);
  dp_value *result = add_communication(place, communication(from->placements[axis], to), from, 1, &attr);
  dp_value_place(place->device, result, placements);
  result->logical = logical;
  if (!is_gathered(place, logical, axis, to)) dp_place_copy_add(place, logical, result);
  return result;
}

static bool splits(dp_placement p, int dim) { return p.kind == DP_SHARD && p.dim == dim; }

bool dp_place_copy_scatters_each(const dp_place *place) {
  return place->data_axis >= 0 && place->micro_axis >= 0 && place->shares.splits & DP_SHARES_GRADIENTS;
}

// Not where other axes that split the dim would have to be converted first.
static bool is_scattered_first(const dp_place *place, const dp_value *now, const dp_placement *to) {
  const int data = place->data_axis;
  if (!dp_place_copy_scatters_each(place)) return false;
  if (now->placements[data].kind != DP_PARTIAL || to[data].kind != DP_SHARD) return false;
  for (int a = 0; a < data; a++)
    if (splits(to[a], to[data].dim) && !dp_placement_equal(now->placements[a], to[a])) return false;
  for (int a = data + 1; a < place->model->mesh.n_axes; a++)
    if (splits(now->placements[a], to[data].dim)) return false;
  return true;
}

// The sum over all micro-batches of a value that is partial on their axis.
static dp_value *sum_up(dp_place *place, dp_value *logical, dp_value *now, const dp_placement *to) {
  const int micro = place->micro_axis, data = place->data_axis;
  if (micro < 0 || now->placements[micro].kind != DP_PARTIAL || to[micro].kind == DP_PARTIAL) return now;
  if (is_scattered_first(place, now, to)) now = convert_axis(place, logical, now, data, to[data]);
  return convert_axis(place, logical, now, micro, dp_replicate());
}

dp_value *dp_place_copy_convert(dp_place *place, dp_value *logical, const dp_placement *to) {
  int n_axes = place->model->mesh.n_axes;
  dp_value *now = sum_up(place, logical, best_copy(place, logical, to), to);
  bool gather[DP_MAX_MESH] = {0};
  for (int a = 0; a < n_axes; a++) {
    dp_placement from = now->placements[a];
    if (!gather[a] && dp_placement_equal(from, to[a])) continue;
    for (int b = a + 1; b < n_axes; b++)
      gather[b] |= (from.kind == DP_SHARD && splits(now->placements[b], from.dim)) ||
                   (to[a].kind == DP_SHARD && splits(now->placements[b], to[a].dim));
  }
  for (int a = n_axes; a-- > 0;)
    if (gather[a]) now = convert_axis(place, logical, now, a, dp_replicate());
  for (int a = 0; a < n_axes; a++) now = convert_axis(place, logical, now, a, to[a]);
  return now;
}

// ---- values without producer ----------------------------------------------------------------------------------------

// The strategy's placement of inputs: split on the data axis, along their samples unless the user names another axis or
// none. Micro-batches split them the same way, under every strategy. On other mesh axes as the user says.
static void ask_for(const dp_place *place, const dp_value *input, dp_placement *placements) {
  const dp_shape *shape = &input->type->shape;
  for (int i = 0; i < place->options->n_splits; i++) {
    const dp_split *s = &place->options->splits[i];
    if (s->on && !strcmp(s->input, input->name))
      placements[dp_mesh_find(&place->model->mesh, s->on)] = dp_shard(s->axis < 0 ? s->axis + shape->rank : s->axis);
  }
  const dp_split *split = dp_options_split(place->options, input->name);
  if (split && split->axis == DP_SPLIT_NONE) return;
  int dim = split ? split->axis + (split->axis < 0 ? shape->rank : 0) : 0;
  while (!split && dim < shape->rank && !dp_dim_is_symbolic(shape->dims[dim])) dim++;
  if (dim >= shape->rank) return;
  if (place->micro_axis >= 0) placements[place->micro_axis] = dp_shard(dim);
  if (place->data_axis >= 0 && (split || place->splits_samples)) placements[place->data_axis] = dp_shard(dim);
}

void dp_place_copy_source(dp_place *place, dp_value *logical) {
  if (dp_place_copy_of(place, logical)->copies) return;
  dp_value *first = dp_graph_add_value(place->device, logical->kind, logical->name, *logical->type);
  first->logical = logical;
  first->variable = logical->variable;
  if (logical->kind == DP_VALUE_VARIABLE) {
    first->space = DP_SPACE_PERSISTENT;
    dp_value_place(place->device, first, place->model->variables[logical->variable].placements);
    dp_place_copy_add(place, logical, first);
    return;
  }
  first->space = DP_SPACE_HOST_INPUT;
  if (!dp_place_copy_of(place, logical)->uses) return;
  dp_placement placements[DP_MAX_MESH] = {0};
  bool scatter = false;
  if (logical->kind == DP_VALUE_INPUT) ask_for(place, logical, placements);
  for (int a = 0; a < place->model->mesh.n_axes; a++) scatter |= placements[a].kind == DP_SHARD;
  dp_value *device = add_communication(place, scatter ? "Scatter" : "Broadcast", first, 0, NULL);
  dp_value_place(place->device, device, placements);
  dp_place_copy_add(place, logical, device);
}
