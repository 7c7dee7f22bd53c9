// options: checks that the options go together, and puts what they say of the model into it: mesh, SPECs, what is frozen.
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "ir/limits.h"
#include "ir/suggest.h"
#include "passes/list.h"
#include "passes/spec.h"

enum { MAX_DEVICES = DP_LIMIT_DEVICES, MAX_THREADS = 4096 };

static dp_status unavailable(const char *what) { return dp_fail(EX_UNAVAILABLE, "%s is not built yet", what); }

// One of `known`, of which the first `built` work.
static dp_status check_choice(const char *option, const char *given, const char *const *known, int built) {
  dp_suggest suggest = dp_suggest_begin(given);
  for (int i = 0; known[i]; i++) {
    dp_suggest_offer(&suggest, known[i]);
    if (strcmp(known[i], given)) continue;
    return i < built ? DP_OK : dp_fail(EX_UNAVAILABLE, "%s=%s is not built yet", option, given);
  }
  char hint[96];
  dp_suggest_print(&suggest, hint, sizeof hint);
  if (*hint) return dp_fail(EX_USAGE, "%s=%s: there is no such choice%s", option, given, hint);
  char words[96] = "";
  for (int i = 0, at = 0; i < built; i++)
    at += snprintf(words + at, sizeof words - (size_t)at, "%s%s", i ? ", " : "", known[i]);
  return dp_fail(EX_USAGE, "%s=%s: there is no such choice; expected one of %s", option, given, words);
}

static dp_status check_choices(const dp_options *o) {
  static const char *const strategies[] = {"single", "data", "zero", "tensor", "manual", "pipeline", "auto", NULL};
  static const char *const modes[] = {"train", "infer", NULL};
  static const char *const norms[] = {"sync", "local", NULL};
  if (o->strategy) DP_TRY(check_choice("--strategy", o->strategy, strategies, 5));
  if (o->mode) DP_TRY(check_choice("--mode", o->mode, modes, 2));
  if (o->batchnorm) DP_TRY(check_choice("--batchnorm", o->batchnorm, norms, 2));
  if (o->microbatches) return unavailable("--microbatches");
  if (o->schedule) return unavailable("--schedule");
  if (o->zero_stage && (!o->strategy || strcmp(o->strategy, "zero")))
    return dp_fail(EX_CONFIG, "--zero-stage goes with --strategy=zero");
  if (o->precision != DP_NO_TYPE && o->precision != DP_FLOAT32 && o->precision != DP_FLOAT64)
    return dp_fail(EX_USAGE, "--precision: fp32 or fp64 is expected");
  if (o->threads < 0 || o->threads > MAX_THREADS)
    return dp_fail(EX_USAGE, "--threads=%d: 1 to %d are expected", o->threads, MAX_THREADS);
  return DP_OK;
}

// ---- mesh -----------------------------------------------------------------------------------------------------------

static dp_status check_mesh(const dp_mesh *mesh) {
  int64_t devices = 1;
  for (int i = 0; i < mesh->n_axes; i++) {
    const dp_mesh_axis *axis = &mesh->axes[i];
    if (axis->size < 1 || axis->size > MAX_DEVICES || (devices *= axis->size) > MAX_DEVICES)
      return dp_fail(EX_USAGE, "--mesh: axis '%s' has size %lld; meshes of 1 to %d devices are supported", axis->name,
                     (long long)axis->size, MAX_DEVICES);
    for (int k = 0; k < i; k++)
      if (!strcmp(mesh->axes[k].name, axis->name))
        return dp_fail(EX_USAGE, "--mesh: axis '%s' is given twice", axis->name);
  }
  return DP_OK;
}

// The axis that a strategy cannot do without; NULL: whichever the mesh has.
static const char *axis_of(const dp_options *o) {
  if (dp_strategy_is(o, "manual")) return NULL;
  return dp_strategy_is(o, "tensor") ? "tensor" : "data";
}

static dp_status make_mesh(dp_compile *compile) {
  const dp_options *o = compile->options;
  dp_model *model = compile->model;
  const char *axis = axis_of(o);
  bool single = !o->strategy || !strcmp(o->strategy, "single");
  if (o->devices < 0 || o->devices > MAX_DEVICES)
    return dp_fail(EX_USAGE, "--devices=%lld: 1 to %d are expected", (long long)o->devices, MAX_DEVICES);
  if (o->mesh.n_axes) {
    DP_TRY(check_mesh(&o->mesh));
    model->mesh = o->mesh;
    for (int i = 0; i < o->mesh.n_axes; i++) model->mesh.axes[i].name = dp_strdup(model->arena, o->mesh.axes[i].name);
  } else if (!axis && !model->mesh.n_axes) {
    return dp_fail(EX_CONFIG, "--strategy=manual needs a mesh, of the model or by --mesh");
  } else if (axis && (o->devices || !model->mesh.n_axes || single)) {
    // A model's own mesh is for those who ask for several devices.
    model->mesh = (dp_mesh){1, {{axis, o->devices ? o->devices : 1}}};
  }
  if (!single && axis && dp_mesh_find(&model->mesh, axis) < 0)
    return dp_fail(EX_CONFIG, "--strategy=%s splits over an axis '%s', which the mesh does not have", o->strategy,
                   axis);
  int64_t devices = dp_mesh_devices(&model->mesh);
  if (o->devices && o->devices != devices)
    return dp_fail(EX_CONFIG, "--devices=%lld, but the mesh has %lld devices", (long long)o->devices,
                   (long long)devices);
  if (single && devices > 1)
    return dp_fail(EX_CONFIG, "%lld devices, but --strategy=%s is for one; ask for --strategy=data", (long long)devices,
                   o->strategy ? o->strategy : "single (the default)");
  return DP_OK;
}

// ---- SPECs ----------------------------------------------------------------------------------------------------------

// The command line overrides the model.
static dp_status choose(dp_arena *arena, const char *what, const char *asked, const char **spec,
                        dp_spec_origin *origin) {
  *origin = (dp_spec_origin){dp_printf(arena, asked ? "--%s" : "the model's %s", what), asked ? EX_USAGE : EX_DATAERR};
  if (asked) *spec = dp_strdup(arena, asked);
  return *spec ? DP_OK : dp_fail(EX_USAGE, "the model names no %s: give one with --%s=...", what, what);
}

// A plan without training: what the model says of it is left aside, what the command line says contradicts.
static dp_status leave_training(dp_compile *compile) {
  const dp_options *o = compile->options;
  const char *asked = o->loss ? "--loss" : o->optimizer ? "--optimizer" : o->n_freeze ? "--freeze" : NULL;
  if (asked) return dp_fail(EX_CONFIG, "%s is about training; --mode=infer makes a plan without it", asked);
  compile->model->loss = compile->model->optimizer = NULL;
  return DP_OK;
}

static dp_status take_specs(dp_compile *compile) {
  dp_model *model = compile->model;
  if (dp_options_infers(compile->options)) return leave_training(compile);
  dp_spec_origin origin;
  dp_loss_spec loss;
  dp_optimizer_spec optimizer;
  DP_TRY(choose(model->arena, "loss", compile->options->loss, &model->loss, &origin));
  DP_TRY(dp_spec_loss(model->arena, origin, model->loss, &loss));
  DP_TRY(choose(model->arena, "optimizer", compile->options->optimizer, &model->optimizer, &origin));
  return dp_spec_optimizer(model->arena, origin, model->optimizer, &optimizer);
}

// ---- frozen parameters ----------------------------------------------------------------------------------------------

static dp_status freeze(dp_model *model, const char *glob) {
  bool any = false;
  dp_suggest suggest = dp_suggest_begin(glob);
  for (int32_t i = 0; i < model->n_persistents; i++) {
    dp_persistent *p = &model->persistents[i];
    if (p->kind != DP_PARAMETER) continue;
    dp_suggest_offer(&suggest, p->name);
    if (fnmatch(glob, p->name, 0)) continue;
    any = p->frozen = true;
  }
  char hint[96];
  return any ? DP_OK
             : dp_fail(EX_USAGE, "--freeze=%s: no parameter has such a name%s", glob,
                       dp_suggest_print(&suggest, hint, sizeof hint));
}

static dp_status run(dp_compile *compile) {
  const dp_options *o = compile->options;
  DP_TRY(check_choices(o));
  DP_TRY(make_mesh(compile));
  if (!dp_model_find_graph(compile->model, "main"))
    return dp_fail(EX_DATAERR, "model '%s' has no graph 'main': it is not a source model", compile->model->name);
  DP_TRY(take_specs(compile));
  for (int i = 0; i < o->n_freeze; i++) DP_TRY(freeze(compile->model, o->freeze[i]));
  return DP_OK;
}

const dp_pass dp_pass_options = {
    .name = "options",
    .what = "checks the options; mesh, loss, optimizer and frozen parameters go into the model",
    .gives = DP_HAS_MESH,
    .run = run,
};
