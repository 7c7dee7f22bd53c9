// See target.h. The checker knows no kernels, so it cannot tell which of them depend on an instruction set.
#include "runtime/target.h"

#include <string.h>

// The first kernel of a program that depends on an instruction set; NULL: there is none.
static const dp_kernel *find_dependent(const Dp__Program *program, const dp_target *target) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const char *name = program->streams[s]->instructions[i]->kernel;
      const dp_kernel *kernel = *name ? dp_kernel_find(target, name) : NULL;
      if (kernel && kernel->isa) return kernel;
    }
  return NULL;
}

static dp_status check_isa(const Dp__Plan *plan, const dp_target *target) {
  const dp_kernel *dependent = NULL;
  for (size_t r = 0; r < plan->n_roles && !dependent; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs && !dependent; p++)
      dependent = find_dependent(plan->roles[r]->programs[p], target);
  const char *isa = plan->target->isa;
  if (!dependent == !*isa) return DP_OK;
  if (dependent)
    return dp_fail(EX_DATAERR,
                   "the plan names no instruction set, and its kernel %s depends on one: compile the model again",
                   dependent->name);
  return dp_fail(EX_DATAERR,
                 "the plan names the instruction set '%s', and none of its kernels depends on any: compile the model "
                 "again",
                 isa);
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
