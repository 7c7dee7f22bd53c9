// Choosing and finding kernels. See kernel.h.
#include "ir/kernel.h"

#include <string.h>

const dp_kernel *dp_kernel_select(const dp_target *target, const dp_kernel_spec *spec, bool reference_only) {
  const dp_kernel *best = NULL;
  for (const dp_kernel *const *k = target->kernels; *k; k++) {
    if (strcmp((*k)->op, spec->op->name) || strcmp((*k)->domain, spec->op->domain)) continue;
    if (reference_only && (*k)->priority > 0) continue;
    if (best && best->priority >= (*k)->priority) continue;
    if (!(*k)->match || (*k)->match(spec)) best = *k;
  }
  return best;
}

const dp_kernel *dp_kernel_find(const dp_target *target, const char *name) {
  for (const dp_kernel *const *k = target->kernels; *k; k++)
    if (!strcmp((*k)->name, name)) return *k;
  return NULL;
}
