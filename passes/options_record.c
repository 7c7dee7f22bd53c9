// See options_record.h.
#include "passes/options_record.h"

#include <string.h>

#include "ir/file/proto.h"
#include "ir/plan/options.h"
#include "passes/base/strategy.h"
#include "passes/emit/kernels.h"

// The record outlives the options.
static char *copy_string(dp_arena *arena, const char *s) { return dp_strdup(arena, s ? s : ""); }

static char **texts_of(dp_arena *arena, int count, const char *const *words) {
  char **texts = dp_alloc_n(arena, (size_t)count + 1, sizeof *texts);
  for (int i = 0; i < count; i++) texts[i] = copy_string(arena, words[i]);
  return texts;
}

static char **splits_of(dp_arena *arena, const dp_options *o) {
  char **texts = dp_alloc_n(arena, (size_t)o->n_splits + 1, sizeof *texts);
  for (int i = 0; i < o->n_splits; i++) {
    const dp_split *s = &o->splits[i];
    if (s->axis == DP_SPLIT_NONE)
      texts[i] = dp_printf(arena, "%s=none", s->input);
    else
      texts[i] = dp_printf(arena, "%s=%d%s%s", s->input, s->axis, s->on ? "@" : "", s->on ? s->on : "");
  }
  return texts;
}

static const char *precision_of(dp_dtype dtype) {
  static const char *const names[DP_MAX_TYPE + 1] = {
      [DP_FLOAT32] = "fp32", [DP_FLOAT64] = "fp64", [DP_BFLOAT16] = "bf16", [DP_FLOAT16] = "fp16"};
  return names[dtype];
}

Dp__Options *dp_options_message(dp_arena *arena, const dp_options *o) {
  Dp__Options *m = dp_alloc(arena, sizeof *m);
  dp__options__init(m);
  m->strategy = copy_string(arena, o->strategy);
  m->devices = o->devices;
  m->mesh = copy_string(arena, dp_plan_options_mesh(arena, &o->mesh));
  m->microbatches = o->microbatches;
  m->schedule = copy_string(arena, o->pipeline_schedule);
  m->zero_stage = o->zero_stage;
  m->target = copy_string(arena, o->target ? o->target->name : NULL);
  m->memory = o->memory_bytes;
  m->threads = o->threads;
  m->isa = copy_string(arena, o->isa);
  m->batch = o->batch;
  m->loss = copy_string(arena, o->loss);
  m->optimizer = copy_string(arena, o->optimizer);
  m->metrics = copy_string(arena, o->metrics);
  m->mode = copy_string(arena, o->mode);
  m->n_freeze = (size_t)o->n_freeze;
  m->freeze = texts_of(arena, o->n_freeze, o->freeze);
  m->n_group = (size_t)o->n_groups;
  m->group = texts_of(arena, o->n_groups, o->groups);
  m->n_train = (size_t)o->n_train;
  m->train = texts_of(arena, o->n_train, o->train);
  m->as_exported = o->as_exported;
  m->no_fuse = o->no_fuse;
  m->layout = copy_string(arena, o->layout);
  m->fast_math = copy_string(arena, o->fast_math);
  m->reproducible = o->reproducible;
  m->calibration = copy_string(arena, o->calibration);
  m->recompute = copy_string(arena, o->recompute);
  m->offload = copy_string(arena, o->offload);
  m->n_dim = (size_t)o->n_dims;
  m->dim = texts_of(arena, o->n_dims, o->dims);
  m->n_split = (size_t)o->n_splits;
  m->split = splits_of(arena, o);
  m->n_normalize = (size_t)o->n_normalize;
  m->normalize = texts_of(arena, o->n_normalize, o->normalize);
  m->precision = copy_string(arena, precision_of(o->precision));
  m->n_keep_fp32 = (size_t)o->n_keep_fp32;
  m->keep_fp32 = texts_of(arena, o->n_keep_fp32, o->keep_fp32);
  m->comm_precision = copy_string(arena, precision_of(o->comm_precision));
  m->batchnorm = copy_string(arena, o->batchnorm);
  m->clip_grad_at_bound = copy_string(arena, o->clip_grad_at_bound);
  return m;
}

// ---- what was taken where nothing was given -------------------------------------------------------------------------

static void take_text(char **field, const char *taken) {
  if (!**field) *field = dp_proto_string(taken);
}

static void take_number(int64_t *field, int64_t taken) {
  if (!*field) *field = taken;
}

// The ISA is left unset when no kernel of the plan depends on it.
static void take_target(const dp_compile *compile, Dp__Options *m) {
  if (compile->plan) take_text(&m->isa, compile->plan->target->isa);
  if (compile->options->target) take_number(&m->threads, dp_kernels_threads(compile));
}

// The model's optimizer less the groups of --group.
static const char *optimizer_of(const dp_compile *compile) {
  const dp_options *o = compile->options;
  dp_arena *arena = compile->model->arena;
  const char *whole = compile->model->optimizer;
  if (!whole) return NULL;
  const size_t groups = strlen(dp_plan_options_optimizer(arena, "", (size_t)o->n_groups, o->groups));
  return dp_strndup(arena, whole, strlen(whole) - groups);
}

Dp__Options *dp_options_record(const dp_compile *compile) {
  const dp_model *model = compile->model;
  Dp__Options *given = dp_options_message(model->arena, compile->options),
              *m = dp_memdup(model->arena, given, sizeof *m);
  m->mesh = dp_proto_string(dp_plan_options_mesh(model->arena, &model->mesh));
  take_text(&m->strategy, compile->strategy->name);
  take_number(&m->devices, dp_mesh_devices(&model->mesh));
  take_number(&m->microbatches, dp_mesh_microbatches(&model->mesh));
  if (dp_mesh_find(&model->mesh, DP_MESH_PIPE) >= 0) take_text(&m->schedule, "1f1b");
  if (compile->strategy->n_zero_stages) take_number(&m->zero_stage, 1);
  take_target(compile, m);
  take_number(&m->batch, model->batch);
  take_text(&m->loss, model->loss);
  take_text(&m->optimizer, optimizer_of(compile));
  take_text(&m->mode, "train");
  take_text(&m->precision, "fp32");
  take_text(&m->recompute, "none");
  take_text(&m->offload, "none");
  take_text(&m->layout, "auto");
  take_text(&m->batchnorm, "sync");
  take_text(&m->clip_grad_at_bound, "pass");
  dp_plan_options_set_defaulted(model->arena, given, m);
  return m;
}
