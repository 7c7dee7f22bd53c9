// strategy: annotates variables with what the strategy needs beyond splitting samples and finding stages;
// passes/place/place.c applies the annotations. Each strategy is a file beside this one; this pass calls its struct's
// function.
#include "passes/base/strategy.h"

// A dim of one element cannot be split: operators would treat it as broadcast over the others' elements.
static dp_status check_constraints(const dp_model *model) {
  for (int32_t i = 0; i < model->n_variables; i++)
    for (int k = 0; k < model->variables[i].n_constraints; k++) {
      const dp_variable *p = &model->variables[i];
      const dp_constraint *constraint = &p->constraints[k];
      int axis = dp_mesh_find(&model->mesh, constraint->axis);
      if (axis < 0 || model->mesh.axes[axis].size == 1 || constraint->placement.kind != DP_SHARD) continue;
      if (p->type->shape.dims[constraint->placement.dim].offset == 1)
        return dp_fail(EX_CONFIG,
                       "'%s' is to be split along dim %d on mesh axis '%s', but that dim has one element: annotate a "
                       "longer dim, or none",
                       p->name, constraint->placement.dim, constraint->axis);
    }
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = true;
  DP_TRY(check_constraints(compile->model));
  return compile->strategy->annotate ? compile->strategy->annotate(compile) : DP_OK;
}

const dp_pass dp_pass_strategy = {
    .name = "strategy",
    .what = "annotates parameters and state as the strategy needs",
    .needs = DP_HAS_MESH | DP_HAS_UPDATES | DP_HAS_INIT,
    .gives = DP_HAS_STRATEGY,
    .run = run,
};
