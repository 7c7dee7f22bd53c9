// The form of the options that a plan records: known words, numbers within their limits, and nothing that contradicts
// the rest of the plan. The rest does not show some options (--freeze, --split, --normalize, --batchnorm,
// --clip-grad-at-bound, --schedule, --zero-stage, --memory); only `dpc verify --against` reads those. See form.h.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/file/proto.h"
#include "ir/graph/placement.h"
#include "ir/plan/form_private.h"
#include "ir/plan/options.h"

typedef struct {
  dp_fault *fault;
  const Dp__Plan *plan;
  const Dp__Options *o;
} form;

static dp_status refuse(const form *f, const char *option, const char *says, const char *is) {
  return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS, "option --%s is recorded as '%s', but the plan has %s%s%s",
                      option, says, *is ? "'" : "none", is, *is ? "'" : "");
}

static dp_status check_text(const form *f, const char *option, const char *says, const char *is) {
  return strcmp(says, is) ? refuse(f, option, says, is) : DP_OK;
}

static dp_status check_number(const form *f, const char *option, int64_t says, int64_t is) {
  char a[24], b[24];
  snprintf(a, sizeof a, "%" PRId64, says);
  snprintf(b, sizeof b, "%" PRId64, is);
  return check_text(f, option, a, b);
}

static dp_status check_limit(const form *f, const char *option, int64_t says, int64_t low, int64_t high) {
  if (says >= low && says <= high) return DP_OK;
  return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS, "option --%s is recorded as %lld; it must be %lld to %lld",
                      option, (long long)says, (long long)low, (long long)high);
}

static dp_status check_choice(const form *f, const char *option, const char *says, const char *a, const char *b) {
  if (!strcmp(says, a) || !strcmp(says, b)) return DP_OK;
  return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS, "option --%s is recorded as '%s'; '%s' or '%s' is expected",
                      option, says, a, b);
}

// Whether the text is "data=2,pipe=2": the plan's axes except `micro`.
static bool is_mesh(const char *text, const dp_mesh *mesh) {
  const char *begin = text;
  for (int a = 0; a < mesh->n_axes; a++) {
    const dp_mesh_axis *axis = &mesh->axes[a];
    const size_t length = strlen(axis->name);
    char size[24];
    if (dp_mesh_is_sequential(axis)) continue;
    const int digits = snprintf(size, sizeof size, "=%" PRId64, axis->size);
    if (text != begin && *text++ != ',') return false;
    if (strncmp(text, axis->name, length)) return false;
    text += length;
    if (strncmp(text, size, (size_t)digits)) return false;
    text += digits;
  }
  return !*text;
}

static dp_status check_devices(const form *f) {
  dp_mesh mesh;
  DP_TRY(dp_rule_wrap(f->fault, DP_RULE_FORM_LIMIT, dp_proto_to_mesh(f->plan->n_mesh, f->plan->mesh, &mesh)));
  DP_TRY(check_text(f, "strategy", f->o->strategy, f->plan->strategy));
  if (!is_mesh(f->o->mesh, &mesh)) return refuse(f, "mesh", f->o->mesh, "another");
  DP_TRY(check_number(f, "devices", f->o->devices, dp_mesh_devices(&mesh)));
  DP_TRY(check_limit(f, "microbatches", f->o->microbatches, 1, DP_LIMIT_MICROBATCHES));
  // Where something needs the whole batch at once, there is one micro-batch, whatever was requested.
  const int64_t micro = dp_mesh_microbatches(&mesh);
  if (micro > 1) DP_TRY(check_number(f, "microbatches", f->o->microbatches, micro));
  DP_TRY(check_limit(f, "zero-stage", f->o->zero_stage, 0, INT32_MAX));
  DP_TRY(check_limit(f, "memory", f->o->memory, 0, INT64_MAX));
  const bool staged = dp_mesh_find(&mesh, DP_MESH_PIPE) >= 0;
  return staged ? check_choice(f, "schedule", f->o->schedule, "1f1b", "gpipe")
                : check_text(f, "schedule", f->o->schedule, "");
}

static dp_status check_target(const form *f) {
  const Dp__Target *target = f->plan->target;
  DP_TRY(check_text(f, "target", f->o->target, target->backend));
  if (*target->isa) DP_TRY(check_text(f, "isa", f->o->isa, target->isa));
  return check_limit(f, "threads", f->o->threads, target->threads > 1 ? target->threads : 1, DP_LIMIT_THREADS);
}

static bool trains(const Dp__Plan *plan) {
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
    if (!strcmp(plan->roles[0]->programs[i]->name, "train")) return true;
  return false;
}

// Whether the plan's optimizer is that of --optimizer with the groups of --group, as dp_plan_options_optimizer joins
// them.
static bool is_optimizer(const char *at, const Dp__Options *o) {
  const char *part = o->optimizer;
  for (size_t i = 0;; part = o->group[i++]) {
    const size_t length = strlen(part);
    if (strncmp(at, part, length)) return false;
    at += length;
    if (i == o->n_group) return !*at;
    if (strncmp(at, "; ", 2)) return false;
    at += 2;
  }
}

static const char *precision_of(int32_t dtype) {
  return dtype == DP_FLOAT64 ? "fp64" : dtype == DP_BFLOAT16 ? "bf16" : dtype == DP_FLOAT16 ? "fp16" : "fp32";
}

static const char *fast_math_of(const Dp__Plan *plan) {
  static const char *const names[2][2] = {{"", "winograd"}, {"tf32", "tf32,winograd"}};
  return names[plan->tf32 != 0][plan->winograd != 0];
}

static dp_status check_training(const form *f) {
  const Dp__Options *o = f->o;
  const struct {
    const char *name;
    size_t count;
  } repeated[] = {
      {"freeze", o->n_freeze}, {"train", o->n_train},         {"split", o->n_split},        {"dim", o->n_dim},
      {"group", o->n_group},   {"normalize", o->n_normalize}, {"keep-fp32", o->n_keep_fp32}};
  for (size_t i = 0; i < DP_COUNT(repeated); i++)
    if (repeated[i].count > DP_LIMIT_OPTIONS)
      return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS, "%zu times --%s; the limit is %d", repeated[i].count,
                          repeated[i].name, DP_LIMIT_OPTIONS);
  DP_TRY(check_number(f, "batch", o->batch, f->plan->batch));
  DP_TRY(check_text(f, "loss", o->loss, f->plan->loss));
  if (!is_optimizer(f->plan->optimizer, o)) return refuse(f, "optimizer", o->optimizer, f->plan->optimizer);
  DP_TRY(check_text(f, "mode", o->mode, trains(f->plan) ? "train" : "infer"));
  DP_TRY(check_text(f, "precision", o->precision, precision_of(f->plan->precision)));
  if (*o->comm_precision) DP_TRY(check_choice(f, "comm-precision", o->comm_precision, "fp32", "bf16"));
  if (o->reproducible != f->plan->reproducible)
    return refuse(f, "reproducible", o->reproducible ? "yes" : "no", f->plan->reproducible ? "yes" : "no");
  DP_TRY(check_text(f, "fast-math", o->fast_math, fast_math_of(f->plan)));
  if (f->plan->calibration && !*o->calibration) return refuse(f, "calibration", "", "one");
  DP_TRY(check_choice(f, "batchnorm", o->batchnorm, "sync", "local"));
  return check_choice(f, "clip-grad-at-bound", o->clip_grad_at_bound, "pass", "zero");
}

static bool has_region(const Dp__Program *program) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
      if (program->streams[s]->instructions[i]->n_members) return true;
  return false;
}

static bool has_layouts(const Dp__Program *program) {
  for (size_t t = 0; t < program->n_tensors; t++)
    if (program->tensors[t]->layout != DP__LAYOUT__PLAIN) return true;
  return false;
}

static dp_status check_layout(const form *f) {
  DP_TRY(check_choice(f, "layout", f->o->layout, "auto", "plain"));
  if (strcmp(f->o->layout, "plain")) return DP_OK;
  for (size_t v = 0; v < f->plan->n_variables; v++)
    if (f->plan->variables[v]->layout > DP__LAYOUT__PLAIN) return refuse(f, "layout", "plain", "others");
  for (size_t r = 0; r < f->plan->n_roles; r++)
    for (size_t p = 0; p < f->plan->roles[r]->n_programs; p++)
      if (has_layouts(f->plan->roles[r]->programs[p])) return refuse(f, "layout", "plain", "others");
  return DP_OK;
}

static dp_status check_fusion(const form *f) {
  for (size_t r = 0; f->o->no_fuse && r < f->plan->n_roles; r++)
    for (size_t p = 0; p < f->plan->roles[r]->n_programs; p++)
      if (has_region(f->plan->roles[r]->programs[p])) return refuse(f, "no-fuse", "yes", "regions");
  return DP_OK;
}

// Only variables that are offloaded show in the rest of the plan, and only if they are large.
static dp_status check_offload(const form *f) {
  const char *says = f->o->offload;
  if (!dp_plan_options_is_offload(says))
    return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS,
                        "option --offload is recorded as '%s', which is none of its values", says);
  for (size_t v = 0; v < f->plan->n_variables && !strstr(says, "optimizer"); v++)
    if (f->plan->variables[v]->offloaded) return refuse(f, "offload", says, f->plan->variables[v]->name);
  return DP_OK;
}

// Options are named after fields, with - for _.
static bool is_option(const char *name) {
  for (unsigned i = 0; i < dp__options__descriptor.n_fields; i++) {
    const char *field = dp__options__descriptor.fields[i].name, *n = name;
    while (*field && (*field == '_' ? '-' : *field) == *n) field++, n++;
    if (!*field && !*n) return strcmp(name, "defaulted") != 0;
  }
  return false;
}

static dp_status check_defaulted(const form *f) {
  if (f->o->n_defaulted >= dp__options__descriptor.n_fields)
    return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS, "%zu options are recorded as not given; there are only %u",
                        f->o->n_defaulted, dp__options__descriptor.n_fields - 1);
  for (size_t i = 0; i < f->o->n_defaulted; i++) {
    if (!is_option(f->o->defaulted[i]))
      return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS,
                          "'%s' is recorded as an option not given, but there is no such option", f->o->defaulted[i]);
    for (size_t k = 0; k < i; k++)
      if (!strcmp(f->o->defaulted[i], f->o->defaulted[k]))
        return dp_rule_fail(f->fault, DP_RULE_FORM_OPTIONS, "'%s' is recorded twice as not given", f->o->defaulted[i]);
  }
  return DP_OK;
}

dp_status dp_plan_form_options(dp_fault *fault, const Dp__Plan *plan) {
  const form f = {fault, plan, plan->options};
  DP_TRY(check_devices(&f));
  DP_TRY(check_target(&f));
  DP_TRY(check_fusion(&f));
  DP_TRY(check_layout(&f));
  DP_TRY(check_offload(&f));
  DP_TRY(check_training(&f));
  return check_defaulted(&f);
}
