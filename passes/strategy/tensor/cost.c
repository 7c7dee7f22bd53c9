// The cost of placing a program in one way: the program is placed and its device form measured. See tensor.h.
//
// The figures assume a machine which, in the time to move one byte between devices, moves eight between a device and
// its memory and does 32 operations. That fits a processor's cores over shared memory, and is not far from accelerators
// over their links. Four bytes held permanently cost as much as one moved each step: splitting parameters is meant to
// save memory. A message costs as much as 4 KiB.
#include <math.h>
#include <string.h>

#include "passes/place/place.h"
#include "passes/strategy/tensor/tensor.h"

static const double per_memory_byte = 1.0 / 8, per_operation = 1.0 / 32, per_byte_held = 1.0 / 4, per_message = 4096;

// ---- nodes ----------------------------------------------------------------------------------------------------------

// The share of a dim that the device with the most has, with placement p on the axis.
static double largest_share(const dp_model *model, const dp_value *v, dp_placement p, int axis) {
  double devices = (double)model->mesh.axes[axis].size;
  int64_t k = dp_dim_at(v->type->shape.dims[p.dim], model->batch) / (p.outer * p.unit);
  return k > 0 ? ceil((double)k / devices) / (double)k : 1;
}

static double share_of_value(const dp_model *model, const dp_value *v, int but) {
  double share = 1;
  for (int a = 0; a < model->mesh.n_axes; a++)
    if (a != but && v->placements[a].kind == DP_SHARD) share *= largest_share(model, v, v->placements[a], a);
  return share;
}

static double bytes_of(const dp_model *model, const dp_value *v) {
  return (double)dp_shape_count(&v->type->shape, model->batch) * (double)dp_type_bytes(v->type->dtype);
}

static double local_bytes(const dp_model *model, const dp_value *v) {
  return v ? bytes_of(model, v) * share_of_value(model, v, -1) : 0;
}

// Operations are divided by any axis that splits an operand or a result.
static double share_of_node(const dp_model *model, const dp_node *node) {
  double share = 1;
  for (int a = 0; a < model->mesh.n_axes; a++) {
    double on_axis = 1;
    for (int i = 0; i < node->n_inputs + node->n_outputs; i++) {
      const dp_value *v = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
      if (v && v->placements[a].kind == DP_SHARD) on_axis = fmin(on_axis, largest_share(model, v, v->placements[a], a));
    }
    share *= on_axis;
  }
  return share;
}

static double cost_of_message(const dp_model *model, const dp_node *node) {
  const dp_value *x = node->inputs[0], *y = node->outputs[0];
  const char *name = dp_node_string(node, "axis", NULL);
  int axis = name ? dp_mesh_find(&model->mesh, name) : -1;
  if (axis < 0) return 0;  // the host's
  double p = (double)model->mesh.axes[axis].size, bytes = bytes_of(model, x) * share_of_value(model, x, axis);
  dp_placement from = x->placements[axis], to = y->placements[axis];
  if (from.kind == DP_REPLICATE) return 2 * local_bytes(model, y) * per_memory_byte;
  if (from.kind == DP_PARTIAL && to.kind == DP_REPLICATE) bytes *= 2;
  if (from.kind == DP_SHARD && to.kind == DP_SHARD) bytes /= p;
  return (p - 1) / p * bytes + per_message;
}

static double cost_of_node(const dp_model *model, const dp_node *node) {
  if (dp_op_is(node->op, DP_OP_COMMUNICATION)) return cost_of_message(model, node);
  double bytes = 0;
  for (int i = 0; i < node->n_inputs; i++) bytes += local_bytes(model, node->inputs[i]);
  for (int k = 0; k < node->n_outputs; k++) bytes += local_bytes(model, node->outputs[k]);
  return dp_op_cost(node->logical, model->batch).flops * share_of_node(model, node) * per_operation +
         bytes * per_memory_byte;
}

// ---- programs -------------------------------------------------------------------------------------------------------

void dp_tensor_cost_constraint(dp_arena *arena, dp_variable *p, const char *axis, dp_placement placement) {
  dp_constraint *constraints = dp_alloc_n(arena, (size_t)p->n_constraints + 1, sizeof *constraints);
  if (p->n_constraints) memcpy(constraints, p->constraints, (size_t)p->n_constraints * sizeof *constraints);
  constraints[p->n_constraints++] = (dp_constraint){axis, placement};
  p->constraints = constraints;
}

static dp_model *make_model(dp_arena *arena, const dp_tensor_digest *digest, int axis, const dp_placement *placements) {
  const dp_model *from = digest->graph->model;
  dp_model *model = dp_model_create(arena, from->name);
  model->opset = from->opset;
  model->symbol = from->symbol;
  model->mesh = from->mesh;
  model->batch = from->batch;
  for (int32_t i = 0; i < from->n_variables; i++) {
    dp_variable p = from->variables[i];
    if (placements[i].kind == DP_SHARD)
      dp_tensor_cost_constraint(arena, &p, model->mesh.axes[axis].name, placements[i]);
    dp_model_add_variable(model, &p);
  }
  return model;
}

static double sum_up(const dp_tensor_digest *digest, const dp_model *model, const dp_graph *device,
                     const int32_t *starts) {
  double cost = 0;
  for (int32_t i = 0; i < digest->graph->n_nodes; i++) {
    int32_t end = i + 1 < digest->graph->n_nodes ? starts[i + 1] : device->n_nodes;
    for (int32_t k = starts[i]; k < end; k++) cost += digest->times[i] * cost_of_node(model, device->nodes[k]);
  }
  for (int32_t i = 0; i < digest->graph->model->n_variables; i++) {
    const dp_variable *p = &model->variables[i];
    int64_t elements = dp_local_max_count(&p->type->shape, p->placements, &model->mesh, model->batch);
    cost += digest->held[i] * (double)elements * (double)dp_type_bytes(p->type->dtype) * per_byte_held;
  }
  return cost;
}

static void find_slices(const dp_graph *device, int axis, int32_t n, dp_placement *sliced) {
  for (int32_t i = 0; i < n; i++) sliced[i] = dp_replicate();
  for (int32_t i = 0; i < device->n_nodes; i++) {
    const dp_node *node = device->nodes[i];
    const dp_value *x = node->n_inputs ? node->inputs[0] : NULL;
    if (!dp_op_is(node->op, DP_OP_COMMUNICATION) || !x || x->variable < 0 || x->variable >= n) continue;
    dp_placement to = node->outputs[0]->placements[axis];
    if (x->placements[axis].kind == DP_REPLICATE && sliced[x->variable].kind == DP_REPLICATE)
      sliced[x->variable] = to.kind == DP_SHARD ? to : dp_replicate();
  }
}

typedef struct {
  const dp_compile *compile;
  const dp_tensor_digest *digest;
  int axis;
  const dp_placement *placements;
  dp_arena *arena;
  double cost;
  dp_placement *sliced;
} work;

static dp_status measure_placed(void *arg) {
  work *w = arg;
  dp_model *model = make_model(w->arena, w->digest, w->axis, w->placements);
  dp_compile compile = {.model = model, .options = w->compile->options, .strategy = w->compile->strategy};
  int32_t *starts = dp_alloc_n(w->arena, (size_t)w->digest->graph->n_nodes, sizeof *starts);
  dp_graph *device;
  DP_TRY(dp_place_storages(model));
  DP_TRY(dp_place_program(&compile, w->digest->graph, starts, &device));
  w->cost = sum_up(w->digest, model, device, starts);
  if (w->sliced) find_slices(device, w->axis, w->digest->graph->model->n_variables, w->sliced);
  return DP_OK;
}

dp_status dp_tensor_cost_of(const dp_compile *compile, const dp_tensor_digest *digest, int axis,
                            const dp_placement *placements, double *cost, dp_placement *sliced) {
  work w = {compile, digest, axis, placements, dp_arena_create(0), 0, sliced};
  if (!w.arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = dp_arena_run(w.arena, measure_placed, &w);
  *cost = w.cost;
  dp_arena_destroy(w.arena);
  return status;
}
