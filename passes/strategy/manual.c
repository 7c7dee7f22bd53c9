// manual: adds nothing to the model's annotations, all of which must be satisfiable.
#include "passes/strategy/table.h"

static dp_status check_axis(const dp_model *model, const char *what, const char *name,
                            const dp_constraint *constraint) {
  if (dp_mesh_find(&model->mesh, constraint->axis) >= 0) return DP_OK;
  return dp_fail(EX_CONFIG, "%s'%s' is annotated for mesh axis '%s', which the mesh does not have: add it with --mesh",
                 what, name, constraint->axis);
}

static dp_status check_annotations(dp_compile *compile) {
  const dp_model *model = compile->model;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *p = &model->variables[i];
    for (int k = 0; k < p->n_constraints; k++) DP_TRY(check_axis(model, "", p->name, &p->constraints[k]));
  }
  for (int g = 0; g < model->n_graphs; g++)
    for (int32_t i = 0; i < model->graphs[g]->n_nodes; i++) {
      const dp_node *node = model->graphs[g]->nodes[i];
      for (int k = 0; k < node->n_constraints; k++)
        DP_TRY(check_axis(model, "node ", node->name, &node->constraints[k]));
    }
  return DP_OK;
}

const dp_strategy dp_strategy_manual = {
    .name = "manual",
    .what = "as annotated and no other way",
    .annotate = check_annotations,
};
