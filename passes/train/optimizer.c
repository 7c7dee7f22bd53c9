// optimizer: turns the gradients of "train" into updates of parameters and of the optimizer's state, which it adds to
// the model. State follows its parameter: type, shape, annotations. The learning rate is the per-step scalar dp.lr.
// optimizer_clip.c clips gradients first; optimizer_rule.c names the operator that does the update; optimizer_skip.c
// counts data that nodes refuse, for which every update is skipped.
#include "passes/train/optimizer.h"

#include <string.h>

#include "passes/base/pass.h"

typedef struct {
  dp_builder builder;
  dp_optimizer_rule rule;
  dp_value *lr[DP_MAX_TYPE + 1];  // in each parameter type
  dp_value *skip;                 // NULL: no node refuses data
  int n_items;
  dp_optimizer_item *items;
} updating;

static dp_status add_state(dp_model *model, const char *prefix, int32_t parameter, int32_t *added) {
  dp_variable state = model->variables[parameter];
  state.name = dp_printf(model->arena, "%s%s", prefix, state.name);
  if (dp_model_find_variable(model, state.name) >= 0)
    return dp_fail(EX_DATAERR, "'%s' is the name of the optimizer's state, but the model already uses it", state.name);
  state.kind = DP_STATE;
  state.init = (dp_init){.kind = DP_INIT_FILL};
  *added = dp_model_add_variable(model, &state);
  return DP_OK;
}

static void push_update(dp_graph *graph, int32_t variable, dp_value *value) {
  dp_update update = {variable, value};  // each is the first of its variable
  DP_PUSH(graph->arena, graph->updates, graph->n_updates, update);
}

static dp_status update_parameter(updating *u, const dp_optimizer_item *item) {
  dp_graph *graph = u->builder.graph;
  dp_model *model = graph->model;
  const dp_optimizer_rule *rule = &u->rule;
  int32_t states[DP_OPTIMIZER_MAX_STATES];
  int n_in = 0, n_out = 1;
  dp_value *in[DP_MAX_OPERANDS];
  in[n_in++] = dp_graph_variable(graph, item->parameter);
  dp_dtype dtype = in[0]->type.dtype;
  u->builder.prefix = "optimizer";
  if (!u->lr[dtype]) u->lr[dtype] = dp_build_scalar(&u->builder, DP_SCALAR_LR, dtype);
  for (int s = 0; s < rule->n_states; s++) {
    if (rule->states[s]) DP_TRY(add_state(model, rule->states[s], item->parameter, &states[s]));
    if (rule->states[s]) n_out = s + 2;
    in[n_in++] = rule->states[s] ? dp_graph_variable(graph, states[s]) : NULL;
  }
  in[n_in++] = item->gradient;
  in[n_in++] = u->lr[dtype];
  in[n_in++] = rule->step ? dp_graph_scalar(graph, DP_SCALAR_STEP) : NULL;
  in[n_in++] = u->skip;
  while (!in[n_in - 1]) n_in--;
  u->builder.prefix = dp_printf(model->arena, "optimizer/%s", model->variables[item->parameter].name);
  dp_value *next = dp_build(&u->builder, rule->op, n_in, in, n_out, rule->n_attrs, rule->attrs);
  if (u->builder.status) return u->builder.status;
  push_update(graph, item->parameter, next);
  for (int s = 0; s < rule->n_states; s++)
    if (rule->states[s]) push_update(graph, states[s], next->producer->outputs[s + 1]);
  return DP_OK;
}

// Takes the gradients out of the graph's outputs.
static dp_status take_gradients(updating *u) {
  dp_graph *graph = u->builder.graph;
  const size_t prefix = strlen(DP_GRADIENT_OUTPUT);
  int kept = 0;
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_output *output = &graph->outputs[i];
    if (strncmp(output->name, DP_GRADIENT_OUTPUT, prefix)) {
      graph->outputs[kept++] = *output;
      continue;
    }
    dp_optimizer_item item = {dp_model_find_variable(graph->model, output->name + prefix), output->value};
    if (item.parameter < 0)
      return dp_fail(EX_DATAERR, "output '%s' is a gradient, but there is no such parameter", output->name);
    DP_PUSH(graph->arena, u->items, u->n_items, item);
  }
  graph->n_outputs = kept;
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  updating u = {.builder = {.graph = dp_model_find_graph(model, "train")}};
  dp_optimizer_spec spec;
  if (!u.builder.graph) return DP_OK;  // a plan without training
  if (!model->optimizer) return dp_fail(EX_USAGE, "the model names no optimizer: give one with --optimizer=...");
  DP_TRY(dp_spec_optimizer(model->arena, (dp_spec_origin){"the optimizer", EX_DATAERR}, model->optimizer, &spec));
  DP_TRY(take_gradients(&u));
  if (spec.clip_norm > 0) dp_optimizer_clip(&u.builder, u.n_items, u.items, spec.clip_norm);
  u.rule = dp_optimizer_rule_of(&spec);
  u.skip = dp_optimizer_skip(&u.builder);
  for (int i = 0; i < u.n_items; i++) DP_TRY(update_parameter(&u, &u.items[i]));
  dp_optimizer_guard(&u.builder, u.skip);
  return u.builder.status;
}

const dp_pass dp_pass_optimizer = {
    .name = "optimizer",
    .what = "turns gradients into updates",
    .needs = DP_HAS_GRADIENTS,
    .gives = DP_HAS_UPDATES,
    .run = run,
};
