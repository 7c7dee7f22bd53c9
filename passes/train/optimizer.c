// optimizer: turns the gradients of "train" into updates of parameters and of the optimizer's state, which it adds to
// the model. State follows its parameter: type, shape, annotations. The learning rate is the per-step scalar dp.lr.
// optimizer_clip.c clips gradients first; optimizer_rule.c names the operator that does the update, or
// optimizer_formula.c writes it in elementary ones; optimizer_average.c averages parameters; optimizer_skip.c counts
// data that nodes refuse, for which every update is skipped; loss_scale.c does what float16 needs.
#include "passes/train/optimizer.h"

#include <string.h>

#include "passes/base/pass.h"
#include "passes/train/loss_scale.h"

typedef struct {
  dp_builder builder;
  dp_optimizer_spec spec;
  dp_value *lr[DP_MAX_TYPE + 1];  // in each type
  dp_value *t;                    // the step's number, from 1: float64
  dp_value *skip;                 // NULL: no node refuses data
  int n_items;
  dp_optimizer_item *items;
} updating;

// The learning rate; that of a group is made for each parameter, and equal ones are merged later.
static dp_value *rate_of(updating *u, const dp_optimizer_spec *own, dp_dtype dtype) {
  dp_builder *b = &u->builder;
  const char *prefix = b->prefix;
  if (own->lr_scale != 1) {
    dp_value *factor = dp_build_fill(b, DP_FLOAT64, own->lr_scale);
    return dp_build_cast(b, dp_build2(b, "Mul", dp_graph_scalar(b->graph, DP_SCALAR_LR), factor), dtype);
  }
  b->prefix = "optimizer";
  if (!u->lr[dtype]) u->lr[dtype] = dp_build_scalar(b, DP_SCALAR_LR, dtype);
  b->prefix = prefix;
  return u->lr[dtype];
}

static dp_value *step_of(updating *u) {
  dp_builder *b = &u->builder;
  const char *prefix = b->prefix;
  b->prefix = "optimizer";
  if (!u->t)
    u->t = dp_build2(b, "Add", dp_build_scalar(b, DP_SCALAR_STEP, DP_FLOAT64), dp_build_fill(b, DP_FLOAT64, 1));
  b->prefix = prefix;
  return u->t;
}

static dp_status update_by_rule(updating *u, const dp_optimizer_item *item, const dp_optimizer_spec *own,
                                const dp_optimizer_rule *rule, dp_value **updated) {
  dp_graph *graph = u->builder.graph;
  dp_model *model = graph->model;
  int32_t states[DP_OPTIMIZER_MAX_STATES];
  int n_in = 0, n_out = 1;
  dp_value *in[DP_MAX_OPERANDS];
  in[n_in++] = dp_graph_variable(graph, item->parameter);
  for (int s = 0; s < rule->n_states; s++) {
    if (rule->states[s]) DP_TRY(dp_optimizer_add_variable(model, rule->states[s], item->parameter, 0, &states[s]));
    if (rule->states[s]) n_out = s + 2;
    in[n_in++] = rule->states[s] ? dp_graph_variable(graph, states[s]) : NULL;
  }
  in[n_in++] = item->gradient;
  in[n_in++] = rate_of(u, own, in[0]->type->dtype);
  in[n_in++] = rule->step ? dp_graph_scalar(graph, DP_SCALAR_STEP) : NULL;
  in[n_in++] = item->scale;
  in[n_in++] = u->skip;
  while (!in[n_in - 1]) n_in--;
  dp_value *next = dp_build(&u->builder, rule->op, n_in, in, n_out, rule->n_attrs, rule->attrs);
  if (u->builder.status) return u->builder.status;
  *updated = next;
  dp_graph_append_update(graph, item->parameter, next);
  for (int s = 0; s < rule->n_states; s++)
    if (rule->states[s]) dp_graph_append_update(graph, states[s], next->producer->outputs[s + 1]);
  return DP_OK;
}

static dp_status update_parameter(updating *u, const dp_optimizer_item *item) {
  dp_model *model = u->builder.graph->model;
  const dp_variable *parameter = &model->variables[item->parameter];
  dp_optimizer_spec own;
  dp_optimizer_rule rule;
  DP_TRY(dp_spec_optimizer_for(model->arena, &u->spec, parameter->name, &own));
  u->builder.prefix = dp_printf(model->arena, "optimizer/%s", parameter->name);
  dp_optimizer_formula formula = {
      .builder = &u->builder, .spec = &own, .parameter = item->parameter, .g = item->gradient, .skip = u->skip};
  const bool by_rule = dp_optimizer_rule_of(&own, parameter->type->shape.rank, &rule);
  if (!by_rule) formula.lr = rate_of(u, &own, DP_FLOAT64);
  if (!by_rule && item->scale) formula.g = dp_build2(&u->builder, "Mul", item->gradient, item->scale);
  if (!by_rule || own.ema > 0) formula.t = step_of(u);
  if (by_rule)
    DP_TRY(update_by_rule(u, item, &own, &rule, &formula.updated));
  else
    dp_optimizer_formula_build(&formula);
  if (own.ema > 0 && !u->builder.status) dp_optimizer_average(&formula, formula.updated, own.ema);
  return u->builder.status;
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
    const dp_optimizer_item item = {.parameter = dp_model_find_variable(graph->model, output->name + prefix),
                                    .gradient = output->value};
    if (item.parameter < 0)
      return dp_fail(EX_DATAERR, "output '%s' is a gradient, but there is no such parameter", output->name);
    DP_PUSH(graph->arena, u->items, u->n_items, item);
  }
  graph->n_outputs = kept;
  return DP_OK;
}

// For whoever watches training: what the gradients are before clipping.
static void give_gradients(updating *u) {
  dp_graph *graph = u->builder.graph;
  u->builder.prefix = "metrics";
  for (int i = 0; i < u->n_items; i++) {
    const dp_optimizer_item *item = &u->items[i];
    dp_value *value = item->scale ? dp_build2(&u->builder, "Mul", item->gradient, item->scale) : item->gradient;
    const char *name = graph->model->variables[item->parameter].name;
    dp_graph_add_output(graph, dp_printf(graph->arena, DP_GIVEN_GRADIENT_OUTPUT "%s", name), value);
  }
}

// What devices add up is a bfloat16: `place` adds between the two casts.
static dp_status round_gradients(updating *u) {
  dp_builder *b = &u->builder;
  bool any = !u->n_items;
  b->prefix = "reduce";
  for (int i = 0; i < u->n_items; i++) {
    dp_value **g = &u->items[i].gradient;
    if ((*g)->type->dtype != DP_FLOAT32) continue;
    *g = dp_build_cast(b, dp_build_cast(b, *g, DP_BFLOAT16), DP_FLOAT32);
    any = true;
  }
  return any ? DP_OK : dp_fail(EX_CONFIG, "--comm-precision is for gradients in float32, and the model has none");
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  updating u = {.builder = {.graph = dp_pass_train(compile)}};
  if (!u.builder.graph) return DP_OK;
  if (!model->optimizer) return dp_fail(EX_USAGE, "the model names no optimizer: give one with --optimizer=...");
  DP_TRY(dp_spec_optimizer(model->arena, (dp_spec_origin){"the optimizer", EX_DATAERR}, model->optimizer, &u.spec));
  DP_TRY(take_gradients(&u));
  if (compile->options->comm_precision == DP_BFLOAT16) DP_TRY(round_gradients(&u));
  const bool scaled = dp_loss_scale_is_on(compile->options);
  if (scaled) dp_loss_scale_undo(&u.builder, u.n_items, u.items);
  dp_value *overflow = scaled ? dp_loss_scale_overflow(&u.builder, u.n_items, u.items) : NULL;
  if (dp_options_give_gradients(compile->options)) give_gradients(&u);
  if (u.spec.clip_norm > 0) dp_optimizer_clip(&u.builder, u.n_items, u.items, u.spec.clip_norm);
  u.skip = dp_optimizer_skip(&u.builder);
  if (overflow) {
    dp_loss_scale_update(&u.builder, overflow, u.skip);
    u.builder.prefix = "skip";
    u.skip = u.skip ? dp_build2(&u.builder, "Add", u.skip, overflow) : overflow;
  }
  for (int i = 0; i < u.n_items; i++) DP_TRY(update_parameter(&u, &u.items[i]));
  dp_optimizer_guard(&u.builder, u.skip);
  if (u.spec.ema > 0 && !u.builder.status) dp_optimizer_read_averages(model);
  return u.builder.status;
}

const dp_pass dp_pass_optimizer = {
    .name = "optimizer",
    .what = "turns gradients into updates",
    .needs = DP_HAS_GRADIENTS,
    .gives = DP_HAS_UPDATES,
    .run = run,
};
