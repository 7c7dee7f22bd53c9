// Updates in elementary operators, which every backend has and every strategy can place. See optimizer.h.
#include "passes/base/pass.h"
#include "passes/train/optimizer.h"

dp_status dp_optimizer_add_variable(dp_model *model, const char *prefix, int32_t parameter, double first,
                                    int32_t *added) {
  dp_variable state = model->variables[parameter];
  state.name = dp_printf(model->arena, "%s%s", prefix, state.name);
  if (dp_model_find_variable(model, state.name) >= 0)
    return dp_fail(EX_DATAERR, "'%s' is the name of the optimizer's state, but the model already uses it", state.name);
  state.kind = DP_STATE;
  state.init = (dp_init){.kind = DP_INIT_FILL, .a = first};
  *added = dp_model_add_variable(model, &state);
  return DP_OK;
}

static dp_optimizer_state add_variable(dp_optimizer_formula *f, const char *prefix, double first, dp_dtype number) {
  dp_model *model = f->builder->graph->model;
  dp_optimizer_state state = {f->parameter, f->w};  // in case of failure
  if (f->builder->status) return state;
  f->builder->status = dp_optimizer_add_variable(model, prefix, f->parameter, first, &state.variable);
  if (f->builder->status) return state;
  dp_variable *variable = &model->variables[state.variable];
  if (number != DP_NO_TYPE) {
    variable->type = dp_model_type(model, &(dp_type){number, {0}});
    variable->constraints = NULL;
    variable->n_constraints = 0;
  }
  dp_value *old = dp_graph_variable(f->builder->graph, state.variable);
  state.old = number != DP_NO_TYPE ? old : dp_build_cast(f->builder, old, f->dtype);
  return state;
}

dp_optimizer_state dp_optimizer_state_add(dp_optimizer_formula *f, const char *prefix, double first) {
  return add_variable(f, prefix, first, DP_NO_TYPE);
}

dp_optimizer_state dp_optimizer_number_add(dp_optimizer_formula *f, const char *prefix, double first) {
  return add_variable(f, prefix, first, DP_FLOAT64);
}

dp_value *dp_optimizer_state_set(dp_optimizer_formula *f, const dp_optimizer_state *state, dp_value *next) {
  dp_optimizer_change change = {state->variable, next};
  DP_PUSH(f->builder->graph->arena, f->changes, f->n_changes, change);
  return next;
}

// Only after all else has been computed: an Assign overwrites what others read.
static dp_value *assign(dp_optimizer_formula *f, const dp_optimizer_change *change) {
  dp_graph *graph = f->builder->graph;
  dp_value *old = dp_graph_variable(graph, change->variable);
  dp_value *in[] = {old, dp_build_cast(f->builder, change->next, old->type->dtype), f->skip};
  dp_value *value = dp_build(f->builder, "dp.Assign", f->skip ? 3 : 2, in, 1, 0, NULL);
  dp_graph_append_update(graph, change->variable, value);
  return value;
}

void dp_optimizer_formula_assign(dp_optimizer_formula *f) {
  for (int i = 0; i < f->n_changes && !f->builder->status; i++) (void)assign(f, &f->changes[i]);
}

void dp_optimizer_formula_build(dp_optimizer_formula *f) {
  static dp_optimizer_update *const formulas[] = {
      [DP_OPTIMIZER_RMSPROP] = dp_optimizer_rmsprop, [DP_OPTIMIZER_ADAGRAD] = dp_optimizer_adagrad,
      [DP_OPTIMIZER_ADAMAX] = dp_optimizer_adamax,   [DP_OPTIMIZER_NADAM] = dp_optimizer_nadam,
      [DP_OPTIMIZER_RADAM] = dp_optimizer_radam,     [DP_OPTIMIZER_LION] = dp_optimizer_lion,
      [DP_OPTIMIZER_LAMB] = dp_optimizer_lamb,       [DP_OPTIMIZER_MUON] = dp_optimizer_muon,
  };
  dp_value *w = dp_graph_variable(f->builder->graph, f->parameter);
  f->dtype = w->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  f->w = dp_build_cast(f->builder, w, f->dtype);
  f->g = dp_build_cast(f->builder, f->g, f->dtype);
  f->n_changes = 0;
  f->changes = NULL;
  const dp_optimizer_change parameter = {f->parameter, formulas[f->spec->kind](f)};
  dp_optimizer_formula_assign(f);
  if (!f->builder->status) f->updated = assign(f, &parameter);
}
