// zero: on axis `data`, optimizer state is split (stage 1), so that each device updates its part of a parameter and the
// parts are gathered. Gradients are reduced only onto the devices that use them; from stage 2 on, those of each
// micro-batch too. At stage 3 parameters are split as well: each use gathers the whole parameter anew
// (passes/place/copy.c), one use ahead (passes/schedule/issue_order.c). Rajbhandari, Rasley, Ruwase, He: "ZeRO: Memory
// Optimizations Toward Training Trillion Parameter Models", SC 2020.
//
// A tensor is split along its first dim whose extent is at least the number of devices on the axis, else along its
// longest. Scalars are not split.
#include <string.h>

#include "passes/strategy/table.h"
#include "passes/strategy/tensor/tensor.h"

static const dp_constraint *constraint_of(const dp_variable *p, const char *axis) {
  for (int i = 0; i < p->n_constraints; i++)
    if (!strcmp(p->constraints[i].axis, axis)) return &p->constraints[i];
  return NULL;
}

// The dim to split over so many devices; -1: none.
static int dim_of(const dp_shape *shape, int64_t devices) {
  int longest = -1;
  for (int d = 0; d < shape->rank; d++) {
    int64_t extent = shape->dims[d].offset;
    if (extent >= devices) return d;
    if (extent > 1 && (longest < 0 || extent > shape->dims[longest].offset)) longest = d;
  }
  return longest;
}

// A dim that is already split keeps its view: a dim has one.
static dp_placement split_of(const dp_variable *p, int dim) {
  for (int i = 0; i < p->n_constraints; i++)
    if (p->constraints[i].placement.kind == DP_SHARD && p->constraints[i].placement.dim == dim)
      return p->constraints[i].placement;
  return dp_shard(dim);
}

static void split(dp_model *model, dp_variable *p, const dp_mesh_axis *axis) {
  int dim = dim_of(&p->type->shape, axis->size);
  if (dim < 0 || constraint_of(p, axis->name)) return;
  dp_constraint constraint = {axis->name, split_of(p, dim)};
  // Constraints are shared with the parameter that the state follows.
  dp_constraint *constraints = dp_alloc_n(model->arena, (size_t)p->n_constraints + 1, sizeof *constraints);
  if (p->n_constraints) memcpy(constraints, p->constraints, (size_t)p->n_constraints * sizeof *constraints);
  constraints[p->n_constraints++] = constraint;
  p->constraints = constraints;
}

static dp_status annotate(dp_compile *compile) {
  dp_model *model = compile->model;
  const unsigned splits = dp_strategy_shares(compile->strategy, compile->options).splits;
  const int axis = dp_strategy_shared_axis(compile);
  DP_TRY(dp_tensor_choose(compile));
  if (axis < 0 || model->mesh.axes[axis].size == 1) return DP_OK;
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    const unsigned is = p->kind == DP_STATE ? DP_SHARES_STATE : p->kind == DP_PARAMETER ? DP_SHARES_PARAMETERS : 0;
    if (is & splits) split(model, p, &model->mesh.axes[axis]);
  }
  return DP_OK;
}

const dp_strategy dp_strategy_zero = {
    .name = "zero",
    .what = "data, with optimizer state, gradients and parameters split",
    .axis = "data",
    .splits_samples = true,
    .finds_stages = true,
    .n_zero_stages = 3,
    .zero_stages = {{DP_SHARES_STATE, 0},
                    {DP_SHARES_STATE | DP_SHARES_GRADIENTS, 0},
                    {DP_SHARES_STATE | DP_SHARES_GRADIENTS | DP_SHARES_PARAMETERS, DP_SHARES_PARAMETERS}},
    .annotate = annotate,
};
