// options: checks that the options are consistent and applies them to the model: mesh (options_mesh.c), SPECs, frozen
// parameters.
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/base/suggest.h"
#include "ir/plan/options.h"
#include "ir/spec/spec.h"
#include "passes/options_mesh.h"
#include "passes/strategy/table.h"

enum { MAX_THREADS = 4096 };

// Must be one of `known`.
static dp_status check_choice(const char *option, const char *given, const char *const *known) {
  dp_suggest suggest = dp_suggest_begin(given);
  char hint[96], words[96] = "";
  for (int i = 0, at = 0; known[i]; i++) {
    if (!strcmp(known[i], given)) return DP_OK;
    dp_suggest_offer(&suggest, known[i]);
    at += snprintf(words + at, sizeof words - (size_t)at, "%s%s", i ? ", " : "", known[i]);
  }
  dp_suggest_print(&suggest, hint, sizeof hint);
  return dp_fail(EX_USAGE, "%s=%s: there is no such choice; choose one of %s%s", option, given, words, hint);
}

static dp_status refuse_zero_stage(void) {
  const dp_strategy *const *s = dp_strategies;
  while (*s && !(*s)->n_zero_stages) s++;
  return dp_fail(EX_CONFIG, "--zero-stage goes with --strategy=%s", *s ? (*s)->name : "none");
}

static dp_status check_offload(const dp_options *o) {
  if (!o->offload || !strcmp(o->offload, "none")) return DP_OK;
  if (!*o->offload || !dp_plan_options_is_offload(o->offload))
    return dp_fail(EX_USAGE, "--offload=%s: 'none', 'optimizer', 'activations' or 'optimizer,activations' is expected",
                   o->offload);
  if (!o->target->offload_bytes)
    return dp_fail(
        EX_CONFIG,
        "--offload=%s moves data to the host's memory, but devices of backend %s have no other: leave it out",
        o->offload, o->target->name);
  return DP_OK;
}

static bool heeds(const dp_target *target, const char *name) {
  for (size_t i = 0; i < DP_COUNT(target->fast_math) && target->fast_math[i]; i++)
    if (!strcmp(target->fast_math[i], name)) return true;
  return false;
}

static dp_status check_fast_math(const dp_options *o) {
  static const char *const names[] = {"tf32", "winograd"}, *const maths[] = {"tf32", "winograd", "tf32,winograd", NULL};
  const char *own = o->target->fast_math[0];
  if (!o->fast_math) return DP_OK;
  DP_TRY(check_choice("--fast-math", o->fast_math, maths));
  for (size_t i = 0; i < DP_COUNT(names); i++)
    if (dp_options_fast_math(o, names[i]) && !heeds(o->target, names[i]))
      return dp_fail(EX_CONFIG, "--fast-math=%s: kernels of backend %s know nothing of %s; %s%s", o->fast_math,
                     o->target->name, names[i], own ? "there it is --fast-math=" : "leave it out", own ? own : "");
  if (o->precision == DP_FLOAT64)
    return dp_fail(EX_CONFIG, "--fast-math=%s is for products in float32, but --precision=fp64 has them in float64",
                   o->fast_math);
  return DP_OK;
}

static dp_status check_choices(const dp_compile *compile) {
  const dp_options *o = compile->options;
  static const char *const modes[] = {"train", "infer", NULL};
  static const char *const norms[] = {"sync", "local", NULL};
  static const char *const bounds[] = {"pass", "zero", NULL};
  static const char *const layouts[] = {"auto", "plain", NULL};
  static const char *const schedules[] = {"1f1b", "gpipe", NULL};
  if (o->mode) DP_TRY(check_choice("--mode", o->mode, modes));
  if (o->batchnorm) DP_TRY(check_choice("--batchnorm", o->batchnorm, norms));
  if (o->layout) DP_TRY(check_choice("--layout", o->layout, layouts));
  if (o->clip_grad_at_bound) DP_TRY(check_choice("--clip-grad-at-bound", o->clip_grad_at_bound, bounds));
  if (o->pipeline_schedule) DP_TRY(check_choice("--schedule", o->pipeline_schedule, schedules));
  if (o->zero_stage && !compile->strategy->n_zero_stages) return refuse_zero_stage();
  if (o->zero_stage < 0 || o->zero_stage > compile->strategy->n_zero_stages)
    return dp_fail(EX_USAGE, "--zero-stage=%lld: it must be 1 to %d", (long long)o->zero_stage,
                   compile->strategy->n_zero_stages);
  if (o->precision != DP_NO_TYPE && o->precision != DP_FLOAT32 && o->precision != DP_FLOAT64 && !dp_options_half(o))
    return dp_fail(EX_USAGE, "--precision must be fp32, fp64, bf16 or fp16");
  if (o->n_keep_fp32 && !dp_options_half(o))
    return dp_fail(EX_CONFIG, "--keep-fp32 is for --precision=bf16 and fp16: otherwise no node computes in 16 bits");
  if (o->comm_precision != DP_NO_TYPE && o->comm_precision != DP_FLOAT32 && o->comm_precision != DP_BFLOAT16)
    return dp_fail(EX_USAGE, "--comm-precision must be fp32 or bf16");
  if (o->comm_precision != DP_NO_TYPE && o->precision == DP_FLOAT64)
    return dp_fail(EX_CONFIG, "--comm-precision is for gradients in float32, but --precision=fp64 has them in float64");
  DP_TRY(check_fast_math(o));
  const struct {
    const char *name;
    int count;
  } repeated[] = {{"freeze", o->n_freeze},      {"train", o->n_train},  {"split", o->n_splits},
                  {"dim", o->n_dims},           {"group", o->n_groups}, {"normalize", o->n_normalize},
                  {"keep-fp32", o->n_keep_fp32}};
  for (size_t i = 0; i < DP_COUNT(repeated); i++)
    if (repeated[i].count > DP_LIMIT_OPTIONS)
      return dp_fail(EX_USAGE, "%d times --%s; the limit is %d", repeated[i].count, repeated[i].name, DP_LIMIT_OPTIONS);
  if (o->recompute && !strcmp(o->recompute, "auto") && !o->memory_bytes)
    return dp_fail(EX_CONFIG, "--recompute=auto needs --memory=BYTES, the bytes to fit into");
  DP_TRY(check_offload(o));
  if (o->threads < 0 || o->threads > MAX_THREADS)
    return dp_fail(EX_USAGE, "--threads=%d: it must be 1 to %d", o->threads, MAX_THREADS);
  return DP_OK;
}

// ---- SPECs ----------------------------------------------------------------------------------------------------------

// The command line overrides the model.
static dp_status choose_spec(dp_arena *arena, const char *what, const char *asked, const char **spec,
                             dp_spec_origin *origin) {
  *origin = (dp_spec_origin){dp_printf(arena, asked ? "--%s" : "the model's %s", what), asked ? EX_USAGE : EX_DATAERR};
  if (asked) *spec = dp_strdup(arena, asked);
  return *spec ? DP_OK : dp_fail(EX_USAGE, "the model names no %s: give one with --%s=...", what, what);
}

static bool recomputes(const dp_options *o) { return o->recompute && strcmp(o->recompute, "none") != 0; }

static bool offloads(const dp_options *o) { return o->offload && strcmp(o->offload, "none") != 0; }

// A plan without training: ignores the model's loss and optimizer, refuses those of the command line.
static dp_status leave_training(dp_compile *compile) {
  const dp_options *o = compile->options;
  const char *asked = o->loss             ? "--loss"
                      : o->optimizer      ? "--optimizer"
                      : o->n_groups       ? "--group"
                      : o->n_freeze       ? "--freeze"
                      : o->n_train        ? "--train"
                      : o->as_exported    ? "--as-exported"
                      : recomputes(o)     ? "--recompute"
                      : offloads(o)       ? "--offload"
                      : o->comm_precision ? "--comm-precision"
                                          : NULL;
  if (asked) return dp_fail(EX_CONFIG, "%s is for training, but --mode=infer makes a plan without training", asked);
  compile->model->loss = compile->model->optimizer = NULL;
  return DP_OK;
}

// A group that no parameter is in is a mistake about names.
static dp_status check_groups(const dp_model *model, const dp_optimizer_spec *optimizer) {
  for (int g = 0; g < optimizer->n_groups; g++) {
    const dp_optimizer_group *group = &optimizer->groups[g];
    dp_suggest suggest = dp_suggest_begin(group->globs[0]);
    bool any = false;
    for (int32_t i = 0; i < model->n_variables; i++) {
      const dp_variable *p = &model->variables[i];
      dp_optimizer_spec own;
      if (p->kind != DP_PARAMETER) continue;
      dp_suggest_offer(&suggest, p->name);
      if (!dp_spec_group_has(group, p->name)) continue;
      DP_TRY(dp_spec_optimizer_for(model->arena, optimizer, p->name, &own));
      any = true;
    }
    char hint[96];
    if (!any)
      return dp_fail(optimizer->origin.exit_code, "%s: no parameter is in the group '%s'%s", optimizer->origin.name,
                     group->text, dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

static dp_status take_specs(dp_compile *compile) {
  const dp_options *o = compile->options;
  dp_model *model = compile->model;
  if (dp_options_infers(compile->options)) return leave_training(compile);
  dp_spec_origin origin;
  dp_loss_spec loss;
  dp_optimizer_spec optimizer;
  DP_TRY(choose_spec(model->arena, "loss", compile->options->loss, &model->loss, &origin));
  DP_TRY(dp_spec_loss(model->arena, origin, model->loss, &loss));
  DP_TRY(choose_spec(model->arena, "optimizer", compile->options->optimizer, &model->optimizer, &origin));
  DP_TRY(dp_spec_optimizer(model->arena, origin, model->optimizer, &optimizer));
  if (o->n_groups) origin = (dp_spec_origin){"--group", EX_USAGE};
  model->optimizer = dp_plan_options_optimizer(model->arena, model->optimizer, (size_t)o->n_groups, o->groups);
  DP_TRY(dp_spec_optimizer(model->arena, origin, model->optimizer, &optimizer));
  return check_groups(model, &optimizer);
}

// ---- frozen parameters ----------------------------------------------------------------------------------------------

// Parameters whose name matches an option's glob are frozen, or not.
static dp_status set_frozen(dp_model *model, const char *option, const char *glob, bool frozen) {
  bool any = false;
  dp_suggest suggest = dp_suggest_begin(glob);
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    if (p->kind != DP_PARAMETER) continue;
    dp_suggest_offer(&suggest, p->name);
    if (fnmatch(glob, p->name, 0)) continue;
    p->frozen = frozen;
    any = true;
  }
  char hint[96];
  return any ? DP_OK
             : dp_fail(EX_USAGE, "--%s=%s: no parameter has a name that matches%s", option, glob,
                       dp_suggest_print(&suggest, hint, sizeof hint));
}

// Which parameters are trained, and whether training them is what the model's author intended.
static dp_status take_parameters(dp_compile *compile) {
  const dp_options *o = compile->options;
  dp_model *model = compile->model;
  for (int i = 0; i < o->n_freeze; i++) DP_TRY(set_frozen(model, "freeze", o->freeze[i], true));
  for (int i = 0; i < o->n_train; i++) DP_TRY(set_frozen(model, "train", o->train[i], false));
  if (dp_options_infers(o)) return DP_OK;
  if (model->caveat && !o->as_exported)
    return dp_fail(EX_DATAERR, "%s; or use --as-exported to train what the file holds", model->caveat);
  if (model->caveat) dp_pass_note(compile, "trained as it was exported: %s", model->caveat);
  model->caveat = NULL;
  for (int i = 0; i < model->n_notes; i++) dp_pass_note(compile, "%s", model->notes[i]);
  return DP_OK;
}

// ---- gradients at bounds --------------------------------------------------------------------------------------------

static bool may_say(const dp_op *op, const char *attr) {
  for (const dp_attr_schema *a = op->attrs; a->name; a++)
    if (!strcmp(a->name, attr)) return true;
  return false;
}

// Nodes that could say it and do not.
static void take_grad_at_bound(dp_compile *compile) {
  const char *given = compile->options->clip_grad_at_bound;
  if (!given || strcmp(given, "zero")) return;
  const dp_graph *graph = dp_model_find_graph(compile->model, "main");
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    if (!may_say(node->op, DP_ATTR_GRAD_AT_BOUND) || dp_node_attr(node, DP_ATTR_GRAD_AT_BOUND)) continue;
    dp_attr *attrs = dp_alloc_n(graph->arena, (size_t)node->n_attrs + 1, sizeof *attrs);
    for (int k = 0; k < node->n_attrs; k++) attrs[k] = node->attrs[k];
    attrs[node->n_attrs++] = dp_attr_int(DP_ATTR_GRAD_AT_BOUND, 0);
    node->attrs = attrs;
  }
}

static dp_status run(dp_compile *compile) {
  DP_TRY(check_choices(compile));
  DP_TRY(dp_options_mesh_make(compile));
  if (!dp_model_find_graph(compile->model, "main"))
    return dp_fail(EX_DATAERR, "model '%s' has no graph 'main': it is not a source model", compile->model->name);
  take_grad_at_bound(compile);
  DP_TRY(take_specs(compile));
  return take_parameters(compile);
}

const dp_pass dp_pass_options = {
    .name = "options",
    .what = "checks the options; sets the model's mesh, loss, optimizer and frozen parameters",
    .gives = DP_HAS_MESH,
    .run = run,
};
