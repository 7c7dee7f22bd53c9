// See target.h. The checker knows no kernels, so it cannot tell which of them depend on an instruction set.
#include "runtime/target.h"

#include <string.h>

// Whether a kernel is not one for plans that name the instruction set `isa`, or none if it is empty.
static bool depends(const dp_kernel *kernel, const char *isa) { return kernel->isa && !*isa; }
static bool needs_another(const dp_kernel *kernel, const char *isa) {
  return kernel->least_isa && strcmp(kernel->least_isa, isa);
}
static bool is_dependent(const dp_kernel *kernel, const char *isa) {
  (void)isa;
  return kernel->isa;
}

typedef bool (*question)(const dp_kernel *kernel, const char *isa);

static const dp_kernel *find_in_program(const Dp__Program *program, const dp_target *target, question is,
                                        const char *isa) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const char *name = program->streams[s]->instructions[i]->kernel;
      const dp_kernel *kernel = *name ? dp_kernel_find(target, name) : NULL;
      if (kernel && is(kernel, isa)) return kernel;
    }
  return NULL;
}

// The first kernel of the plan of which that is true; NULL: there is none.
static const dp_kernel *find(const Dp__Plan *plan, const dp_target *target, question is) {
  const dp_kernel *found = NULL;
  for (size_t r = 0; r < plan->n_roles && !found; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs && !found; p++)
      found = find_in_program(plan->roles[r]->programs[p], target, is, plan->target->isa);
  return found;
}

static dp_status check_isa(const Dp__Plan *plan, const dp_target *target) {
  const char *isa = plan->target->isa;
  const dp_kernel *kernel = find(plan, target, depends);
  if (kernel)
    return dp_fail(EX_DATAERR,
                   "the plan names no instruction set, and its kernel %s depends on one: compile the model again",
                   kernel->name);
  if (*isa && !find(plan, target, is_dependent))
    return dp_fail(EX_DATAERR,
                   "the plan names the instruction set '%s', and none of its kernels depends on any: compile the model "
                   "again",
                   isa);
  kernel = find(plan, target, needs_another);
  if (!kernel) return DP_OK;
  return dp_fail(EX_DATAERR,
                 "the plan names the instruction set '%s', and its kernel %s needs %s: compile the model again", isa,
                 kernel->name, kernel->least_isa);
}

dp_status dp_target_hold(const Dp__Plan *plan, const dp_backend *backend) {
  const Dp__Target *of_plan = plan->target;
  const dp_target *target = backend->target;
  if (!of_plan) return DP_OK;
  if (*of_plan->backend && strcmp(of_plan->backend, target->name))
    return dp_fail(EX_UNAVAILABLE, "the plan is for '%s', not for '%s': compile the model with --target=%s",
                   of_plan->backend, target->name, target->name);
  DP_TRY(check_isa(plan, target));
  return *of_plan->isa && target->set_isa && backend->computes ? target->set_isa(of_plan->isa) : DP_OK;
}
