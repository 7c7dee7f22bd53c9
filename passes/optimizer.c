// optimizer: turns the gradients of "train" into updates of parameters and of the optimizer's state, which it adds to the
// model. State follows its parameter: type, shape, annotations. The learning rate is the per-step scalar dp.lr.
#include <string.h>

#include "ir/builder.h"
#include "passes/list.h"
#include "passes/spec.h"

typedef struct {
  dp_builder builder;
  dp_optimizer_spec spec;
  dp_value *lr[DP_MAX_TYPE + 1];  // in each parameter type
} sgd;

static dp_status add_momentum(dp_model *model, int32_t parameter, int32_t *added) {
  dp_persistent state = model->persistents[parameter];
  state.name = dp_printf(model->arena, DP_MOMENTUM_STATE "%s", state.name);
  if (dp_model_find_persistent(model, state.name) >= 0)
    return dp_fail(EX_DATAERR, "'%s' is the name of the optimizer's state; the model has something of that name",
                   state.name);
  state.kind = DP_STATE;
  state.init = (dp_init){.kind = DP_INIT_FILL};
  *added = dp_model_add_persistent(model, &state);
  return DP_OK;
}

static void push_update(dp_graph *graph, int32_t persistent, dp_value *value) {
  dp_update update = {persistent, value};  // each is the first of its persistent value
  DP_PUSH(graph->arena, graph->updates, graph->n_updates, update);
}

static dp_status update_parameter(sgd *s, int32_t parameter, dp_value *gradient) {
  dp_graph *graph = s->builder.graph;
  dp_model *model = graph->model;
  bool momentum = s->spec.momentum > 0, damped = momentum && s->spec.dampening != 0;
  dp_value *w = dp_graph_persistent(graph, parameter);
  dp_dtype dtype = w->type.dtype;
  s->builder.prefix = "optimizer";
  if (!s->lr[dtype]) s->lr[dtype] = dp_build_scalar(&s->builder, DP_SCALAR_LR, dtype);
  int32_t state = -1;
  if (momentum) DP_TRY(add_momentum(model, parameter, &state));
  dp_value *in[] = {w, momentum ? dp_graph_persistent(graph, state) : NULL, gradient, s->lr[dtype],
                    damped ? dp_graph_scalar(graph, DP_SCALAR_STEP) : NULL};
  dp_attr attrs[4];
  int n_attrs = 0;
  if (momentum) attrs[n_attrs++] = dp_attr_float("momentum", s->spec.momentum);
  if (damped) attrs[n_attrs++] = dp_attr_float("dampening", s->spec.dampening);
  if (s->spec.nesterov) attrs[n_attrs++] = dp_attr_int("nesterov", 1);
  if (s->spec.weight_decay > 0) attrs[n_attrs++] = dp_attr_float("weight_decay", s->spec.weight_decay);
  s->builder.prefix = dp_printf(model->arena, "optimizer/%s", model->persistents[parameter].name);
  dp_value *next = dp_build(&s->builder, "dp.SGD", damped ? 5 : 4, in, momentum ? 2 : 1, n_attrs, attrs);
  if (s->builder.status) return s->builder.status;
  push_update(graph, parameter, next);
  if (momentum) push_update(graph, state, next->producer->outputs[1]);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  dp_graph *graph = dp_model_find_graph(model, "train");
  sgd s = {.builder = {.graph = graph}};
  if (!model->optimizer) return dp_fail(EX_USAGE, "the model names no optimizer: give one with --optimizer=...");
  DP_TRY(dp_spec_optimizer(model->arena, (dp_spec_origin){"the optimizer", EX_DATAERR}, model->optimizer, &s.spec));
  const size_t prefix = strlen(DP_GRADIENT_OUTPUT);
  int kept = 0;
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_output *output = &graph->outputs[i];
    if (strncmp(output->name, DP_GRADIENT_OUTPUT, prefix)) {
      graph->outputs[kept++] = *output;
      continue;
    }
    int32_t parameter = dp_model_find_persistent(model, output->name + prefix);
    if (parameter < 0)
      return dp_fail(EX_DATAERR, "output '%s' is a gradient, but there is no such parameter", output->name);
    DP_TRY(update_parameter(&s, parameter, output->value));
  }
  graph->n_outputs = kept;
  return DP_OK;
}

const dp_pass dp_pass_optimizer = {
    .name = "optimizer",
    .what = "gradients become updates",
    .needs = DP_HAS_GRADIENTS,
    .gives = DP_HAS_UPDATES,
    .run = run,
};
