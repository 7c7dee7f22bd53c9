// strategy: what the strategy asks for beyond splitting samples, as annotations of variables that passes/place/place.c honours.
//
//   zero: on axis `data`, optimizer state is split (stage 1), so that each device updates its part of a parameter and the
//         parts are gathered; gradients are summed up only where they are used, which is stage 2 as well; parameters are split
//         too (stage 3): what needs one whole gathers it, each time anew (passes/place/copy.c), the next ahead of its use
//         (passes/schedule/issue_order.c). Rajbhandari, Rasley, Ruwase, He: "ZeRO: Memory Optimizations Toward Training Trillion Parameter
//         Models", SC 2020.
//
//   tensor: parameters, with their state, are split over axis `tensor` as costs least (passes/strategy/tensor/tensor.c); under any strategy whose
//         mesh has that axis.
//   manual: nothing. Only what is annotated is split, and an annotation that cannot hold is refused.
//
// A user's annotation of the same axis stands. For zero a tensor is split along its first dim of as many extents as the axis has
// devices, else along its longest; scalars are not.
#include <string.h>

#include "passes/base/pass.h"
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

// A dim that is split already keeps its view: dims have one.
static dp_placement split_of(const dp_variable *p, int dim) {
  for (int i = 0; i < p->n_constraints; i++)
    if (p->constraints[i].placement.kind == DP_SHARD && p->constraints[i].placement.dim == dim)
      return p->constraints[i].placement;
  return dp_shard(dim);
}

static void split(dp_model *model, dp_variable *p, const dp_mesh_axis *axis) {
  int dim = dim_of(&p->type.shape, axis->size);
  if (dim < 0 || constraint_of(p, axis->name)) return;
  dp_constraint constraint = {axis->name, split_of(p, dim)};
  // Pins are shared with the parameter that the state follows.
  dp_constraint *constraints = dp_alloc_n(model->arena, (size_t)p->n_constraints + 1, sizeof *constraints);
  if (p->n_constraints) memcpy(constraints, p->constraints, (size_t)p->n_constraints * sizeof *constraints);
  constraints[p->n_constraints++] = constraint;
  p->constraints = constraints;
}

// What is written in the model holds, and nothing else is asked for: it must all be possible.
static dp_status check_manual(const dp_model *model) {
  for (int32_t i = 0; i < model->n_variables; i++)
    for (int k = 0; k < model->variables[i].n_constraints; k++)
      if (dp_mesh_find(&model->mesh, model->variables[i].constraints[k].axis) < 0)
        return dp_fail(EX_CONFIG, "'%s' is annotated for mesh axis '%s', which the mesh does not have; give --mesh",
                       model->variables[i].name, model->variables[i].constraints[k].axis);
  for (int g = 0; g < model->n_graphs; g++)
    for (int32_t i = 0; i < model->graphs[g]->n_nodes; i++) {
      const dp_node *node = model->graphs[g]->nodes[i];
      for (int k = 0; k < node->n_constraints; k++)
        if (dp_mesh_find(&model->mesh, node->constraints[k].axis) < 0)
          return dp_fail(EX_CONFIG,
                         "node '%s' is annotated for mesh axis '%s', which the mesh does not have; give "
                         "--mesh",
                         node->name, node->constraints[k].axis);
    }
  return DP_OK;
}

// A dim of one element cannot be split: operators take it for one that spreads over all others' elements.
static dp_status check_constraints(const dp_model *model) {
  for (int32_t i = 0; i < model->n_variables; i++)
    for (int k = 0; k < model->variables[i].n_constraints; k++) {
      const dp_variable *p = &model->variables[i];
      const dp_constraint *constraint = &p->constraints[k];
      int axis = dp_mesh_find(&model->mesh, constraint->axis);
      if (axis < 0 || model->mesh.axes[axis].size == 1 || constraint->placement.kind != DP_SHARD) continue;
      if (p->type.shape.dims[constraint->placement.dim].offset == 1)
        return dp_fail(EX_CONFIG,
                       "'%s' is to be split along dim %d on mesh axis '%s', but that dim has one element; annotate "
                       "a longer one, or none",
                       p->name, constraint->placement.dim, constraint->axis);
    }
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  DP_TRY(check_constraints(model));
  if (dp_strategy_is(compile->options, "manual")) return check_manual(model);
  DP_TRY(dp_tensor_choose(compile));
  int data = dp_mesh_find(&model->mesh, "data");
  if (!dp_strategy_is(compile->options, "zero") || data < 0 || model->mesh.axes[data].size == 1) return DP_OK;
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    bool parameter = p->kind == DP_PARAMETER && dp_strategy_gathers_again(compile->options);
    if (p->kind == DP_STATE || parameter) split(model, p, &model->mesh.axes[data]);
  }
  return DP_OK;
}

const dp_pass dp_pass_strategy = {
    .name = "strategy",
    .what = "what the strategy asks for, as annotations of parameters and state",
    .needs = DP_HAS_MESH | DP_HAS_UPDATES | DP_HAS_INIT,
    .gives = DP_HAS_STRATEGY,
    .run = run,
};
