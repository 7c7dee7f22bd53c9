// The form of a plan: head, mesh, roles, arenas, variables. See form.h; programs are in
// form_program.c.
#include "ir/plan/form.h"

#include <math.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/file/proto.h"
#include "ir/plan/form_private.h"
#include "ir/plan/schedule.h"

const Dp__Arena *dp_plan_form_arena(const Dp__Role *role, Dp__Space space) {
  for (size_t i = 0; i < role->n_arenas; i++)
    if (role->arenas[i]->space == space) return role->arenas[i];
  return NULL;
}

// ---- head -----------------------------------------------------------------------------------------------------------

static bool is_kind(const Dp__Schedule *s) {
  bool known = !*s->kind;
  for (int k = 0; dp_schedule_kinds[k]; k++) known |= !strcmp(s->kind, dp_schedule_kinds[k]);
  return known;
}

// Steps that a kind of schedule divides by, or counts in.
static dp_status check_steps(dp_fault *fault, const Dp__Schedule *s) {
  const struct {
    const char *kind, *name;
    uint64_t steps;
  } needed[] = {{"step", "step size", s->step_size},
                {"warm_restarts", "period", s->period},
                {"warm_restarts", "factor of its period", s->period_factor}};
  for (size_t i = 0; i < DP_COUNT(needed); i++)
    if (!strcmp(s->kind, needed[i].kind) && !needed[i].steps)
      return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "the schedule has a %s of 0; it must be 1 or more",
                          needed[i].name);
  if (s->n_milestones > DP_LIMIT_OPTIONS)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "the schedule has %zu milestones; the limit is %d", s->n_milestones,
                        DP_LIMIT_OPTIONS);
  return DP_OK;
}

static dp_status check_learning_rate(dp_fault *fault, const Dp__Schedule *s) {
  if (!is_kind(s)) return dp_rule_fail(fault, DP_RULE_FORM_NAME, "the schedule '%s' is unknown", s->kind);
  for (int i = 0; i < DP_SCHEDULE_NUMBERS; i++)
    if (!isfinite(dp_schedule_number(s, i)))
      return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "the schedule's %s is not finite", dp_schedule_numbers[i].name);
  return check_steps(fault, s);
}

static dp_status check_head(dp_fault *fault, const Dp__Plan *plan) {
  if (!plan->target || !*plan->target->backend)
    return dp_rule_fail(fault, DP_RULE_FORM_MISSING, "the target has no backend");
  if (plan->target->threads > DP_LIMIT_THREADS)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%u threads per instruction; the limit is %d", plan->target->threads,
                        DP_LIMIT_THREADS);
  if (plan->batch < 1 || plan->batch > INT32_MAX)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "a batch of %lld; it must be 1 to %d", (long long)plan->batch,
                        INT32_MAX);
  if (plan->precision != DP_NO_TYPE && plan->precision != DP_FLOAT64 && plan->precision != DP_BFLOAT16 &&
      plan->precision != DP_FLOAT16)
    return dp_rule_fail(fault, DP_RULE_FORM_NAME, "precision %d is unknown", plan->precision);
  if (plan->n_graphs > DP_LIMIT_LOGICAL || plan->n_variables > DP_LIMIT_VARIABLES)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%zu graphs, %zu variables; the limits are %d and %d",
                        plan->n_graphs, plan->n_variables, DP_LIMIT_LOGICAL, DP_LIMIT_VARIABLES);
  for (size_t i = 0; i < plan->n_graphs; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(plan->graphs[i]->name, plan->graphs[k]->name))
        return dp_rule_fail(fault, DP_RULE_FORM_NAME, "two graphs are called '%s'", plan->graphs[i]->name);
  dp_mesh mesh;
  DP_TRY(dp_rule_wrap(fault, DP_RULE_FORM_LIMIT, dp_proto_to_mesh(plan->n_mesh, plan->mesh, &mesh)));
  if (plan->calibration) DP_TRY(dp_plan_form_calibration(fault, plan->calibration));
  return plan->schedule ? check_learning_rate(fault, plan->schedule) : DP_OK;
}

// ---- roles ----------------------------------------------------------------------------------------------------------

static dp_status check_devices(dp_fault *fault, const Dp__Plan *plan, const Dp__Role *role) {
  if (role->n_devices != plan->n_mesh)
    return dp_rule_fail(fault, DP_RULE_FORM_INDEX, "role '%s' has %zu ranges of coordinates on a mesh of %zu axes",
                        role->name, role->n_devices, plan->n_mesh);
  for (size_t a = 0; a < role->n_devices; a++) {
    const Dp__AxisRange *r = role->devices[a];
    if (r->first < 0 || r->count < 1 || r->first > plan->mesh[a]->size || r->count > plan->mesh[a]->size - r->first)
      return dp_rule_fail(
          fault, DP_RULE_FORM_INDEX, "role '%s' takes coordinates %lld and %lld more of axis '%s' of %lld", role->name,
          (long long)r->first, (long long)r->count, plan->mesh[a]->name, (long long)plan->mesh[a]->size);
  }
  return DP_OK;
}

static dp_status check_arena(dp_fault *fault, const Dp__Role *role, const Dp__Arena *arena) {
  const char *name = dp_plan_form_space(arena->space);
  if (!name || arena->space == DP__SPACE__INSIDE)
    return dp_rule_fail(fault, DP_RULE_FORM_NAME, "role '%s' has an arena of an unknown memory", role->name);
  int count = 0;  // equal ones may be one message
  for (size_t i = 0; i < role->n_arenas; i++) count += role->arenas[i]->space == arena->space;
  if (count > 1) return dp_rule_fail(fault, DP_RULE_FORM_NAME, "role '%s' has two arenas of %s", role->name, name);
  if (!arena->alignment || arena->alignment & (arena->alignment - 1) || arena->alignment > DP_LIMIT_ALIGNMENT)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT,
                        "the arena of %s has alignment %u where a power of two, at most %d, is expected", name,
                        arena->alignment, DP_LIMIT_ALIGNMENT);
  if (arena->bytes > INT64_MAX / 4)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "the arena of %s has %llu bytes", name,
                        (unsigned long long)arena->bytes);
  const bool two = arena->space == DP__SPACE__HOST_INPUT || arena->space == DP__SPACE__DEVICE_INPUT;
  const uint32_t least = two ? 2 : 1, most = two || arena->space == DP__SPACE__HOST_OUTPUT ? 2 : 1;
  if (arena->copies < least || arena->copies > most)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "the arena of %s has %u copies where %s", name, arena->copies,
                        least == 2  ? "2 are expected: one is filled while the other is read"
                        : most == 2 ? "1 or 2 are expected"
                                    : "1 is expected");
  return DP_OK;
}

static dp_status check_role(dp_fault *fault, const Dp__Plan *plan, const Dp__Role *role) {
  if (role->n_arenas > DP_LIMIT_ARENAS || role->n_programs > DP_LIMIT_PROGRAMS)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT,
                        "role '%s' has %zu arenas and %zu programs; the limits are %d and %d", role->name,
                        role->n_arenas, role->n_programs, DP_LIMIT_ARENAS, DP_LIMIT_PROGRAMS);
  for (size_t i = 0; i < role->n_arenas; i++) DP_TRY(check_arena(fault, role, role->arenas[i]));
  for (size_t i = 0; i < role->n_programs; i++) {
    for (size_t k = 0; k < i; k++)
      if (!strcmp(role->programs[i]->name, role->programs[k]->name))
        return dp_rule_fail(fault, DP_RULE_FORM_NAME, "role '%s' has two programs '%s'", role->name,
                            role->programs[i]->name);
    fault->program = role->programs[i]->name;
    DP_TRY(dp_plan_form_program(fault, plan, role, role->programs[i]));
    fault->program = NULL;
  }
  return DP_OK;
}

// Role r is stage r of the pipeline: its coordinate on the staged axis and all coordinates on every other axis. Without
// a staged axis there is one role.
static dp_status check_stage(dp_fault *fault, const Dp__Plan *plan, size_t r, const dp_mesh *mesh) {
  const Dp__Role *role = plan->roles[r];
  for (int a = 0; a < mesh->n_axes; a++) {
    bool staged = dp_mesh_is_staged(&mesh->axes[a]);
    int64_t first = staged ? (int64_t)r : 0, count = staged ? 1 : mesh->axes[a].size;
    if (role->devices[a]->first != first || role->devices[a]->count != count)
      return dp_rule_fail(
          fault, DP_RULE_FORM_ROLE,
          "role '%s' takes %lld coordinates from %lld on of axis '%s'; role %zu takes %lld from %lld on", role->name,
          (long long)role->devices[a]->count, (long long)role->devices[a]->first, mesh->axes[a].name, r,
          (long long)count, (long long)first);
    if (a && dp_mesh_is_sequential(&mesh->axes[a]))
      return dp_rule_fail(fault, DP_RULE_FORM_ROLE, "axis '%s' is number %d of the mesh; it must be the first",
                          mesh->axes[a].name, a);
  }
  return DP_OK;
}

// All roles have the same programs by name, and share one host.
static dp_status check_alike(dp_fault *fault, const Dp__Role *first, const Dp__Role *role) {
  bool alike = first->n_programs == role->n_programs;
  for (size_t i = 0; i < role->n_programs && alike; i++)
    alike = !strcmp(first->programs[i]->name, role->programs[i]->name) &&
            first->programs[i]->graph == role->programs[i]->graph;
  if (!alike)
    return dp_rule_fail(fault, DP_RULE_FORM_ROLE,
                        "roles '%s' and '%s' differ in their programs, in the programs' graphs or in their order",
                        first->name, role->name);
  static const Dp__Space host[] = {DP__SPACE__HOST_INPUT, DP__SPACE__HOST_OUTPUT};
  for (size_t i = 0; i < DP_COUNT(host); i++) {
    const Dp__Arena *a = dp_plan_form_arena(first, host[i]), *b = dp_plan_form_arena(role, host[i]);
    if (!a && !b) continue;
    if (!a || !b || a->bytes != b->bytes || a->alignment != b->alignment || a->copies != b->copies)
      return dp_rule_fail(fault, DP_RULE_FORM_ROLE,
                          "roles '%s' and '%s' differ in their arenas of %s, but there is one host", first->name,
                          role->name, dp_plan_form_space(host[i]));
  }
  return DP_OK;
}

static dp_status check_roles(dp_fault *fault, const Dp__Plan *plan) {
  dp_mesh mesh;
  if (!plan->n_roles || plan->n_roles > DP_LIMIT_ROLES)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%zu roles; there must be 1 to %d", plan->n_roles, DP_LIMIT_ROLES);
  DP_TRY(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &mesh));
  for (size_t r = 0; r < plan->n_roles; r++) {
    if (!*plan->roles[r]->name) return dp_rule_fail(fault, DP_RULE_FORM_MISSING, "a role has no name");
    DP_TRY(check_devices(fault, plan, plan->roles[r]));
  }
  if ((int64_t)plan->n_roles != dp_mesh_stages(&mesh))
    return dp_rule_fail(fault, DP_RULE_FORM_ROLE, "%zu roles; there must be one per stage: %lld", plan->n_roles,
                        (long long)dp_mesh_stages(&mesh));
  for (size_t r = 0; r < plan->n_roles; r++) DP_TRY(check_stage(fault, plan, r, &mesh));
  return DP_OK;
}

// Each variable's storage lies within the arenas of the stages that have it.
static dp_status check_storages(dp_fault *fault, const Dp__Plan *plan) {
  size_t storages = 0;
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    size_t count = p->n_stages ? p->n_stages : plan->n_roles;
    storages += count;
    if (storages > DP_LIMIT_STORAGES)
      return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "storages of variables exceed the limit of %d", DP_LIMIT_STORAGES);
    for (size_t k = 0; k < count; k++) {
      size_t stage = p->n_stages ? p->stages[k] : k;
      if (stage >= plan->n_roles)
        return dp_rule_fail(fault, DP_RULE_FORM_INDEX, "'%s' is on stage %zu of %zu", p->name, stage, plan->n_roles);
      const Dp__Space space = p->offloaded ? DP__SPACE__OFFLOAD : DP__SPACE__PERSISTENT;
      DP_TRY(dp_plan_form_range(fault, plan->roles[stage], space, p->offset, p->bytes, p->name));
    }
  }
  return DP_OK;
}

dp_status dp_plan_form_check(const Dp__Plan *plan, dp_fault *fault) {
  dp_fault own;
  if (!fault) fault = &own;
  *fault = (dp_fault){0};
  DP_TRY(check_head(fault, plan));
  DP_TRY(check_roles(fault, plan));
  if (plan->options) DP_TRY(dp_plan_form_options(fault, plan));
  for (size_t i = 0; i < plan->n_roles; i++) {
    fault->role = plan->n_roles > 1 ? plan->roles[i]->name : NULL;
    DP_TRY(check_role(fault, plan, plan->roles[i]));
    fault->role = NULL;
    DP_TRY(check_alike(fault, plan->roles[0], plan->roles[i]));
  }
  return check_storages(fault, plan);
}
