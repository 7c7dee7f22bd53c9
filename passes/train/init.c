// init: makes the program that computes variables' first values, where the model gives them as a rule (filled, uniform,
// normal). The runtime copies first values that are tensors. Random numbers are keyed by the value's name.
#include "ir/graph/builder.h"
#include "passes/base/pass.h"

static dp_value *first_value(dp_builder *b, const dp_variable *p) {
  dp_arena *arena = b->graph->arena;
  dp_attr attrs[5];
  int n = 0;
  attrs[n++] = dp_attr_dims(arena, "shape", &p->type->shape);
  attrs[n++] = dp_attr_int("dtype", p->type->dtype);
  if (p->init.kind == DP_INIT_FILL) {
    attrs[n++] = dp_attr_float("value", p->init.a);
    return dp_build(b, "dp.Fill", 0, NULL, 1, n, attrs);
  }
  bool uniform = p->init.kind == DP_INIT_UNIFORM;
  attrs[n++] = dp_attr_float(uniform ? "low" : "mean", p->init.a);
  attrs[n++] = dp_attr_float(uniform ? "high" : "scale", p->init.b);
  attrs[n++] = dp_attr_int("key", dp_hash_name(p->name));
  dp_value *seed = dp_graph_scalar(b->graph, DP_SCALAR_SEED);
  return dp_build(b, uniform ? "dp.RandomUniform" : "dp.RandomNormal", 1, &seed, 1, n, attrs);
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  dp_graph *graph = dp_graph_create(model, "init");
  for (int i = 0; i < model->n_graphs; i++) model->graphs[i]->unchanged = true;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *p = &model->variables[i];
    if (p->init.kind == DP_INIT_TENSOR) continue;
    dp_builder builder = {.graph = graph, .prefix = dp_printf(model->arena, "init/%s", p->name)};
    dp_value *value = first_value(&builder, p);
    DP_TRY(dp_status_context(builder.status, "the first value of '%s'", p->name));
    dp_graph_append_update(graph, i, value);
  }
  dp_model_add_graph(model, graph);
  return DP_OK;
}

const dp_pass dp_pass_init = {
    .name = "init",
    .what = "makes the program for first values",
    .needs = DP_HAS_UPDATES | DP_HAS_NO_CONSTANTS,
    .gives = DP_HAS_INIT,
    .run = run,
};
