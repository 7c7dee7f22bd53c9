// See member.h.
#include "backends/cpu/member.h"

#include "backends/cpu/target.h"
#include "backends/cpu/widened.h"

const dp_kernel *dp_member_kernel(const dp_member_spec *spec) {
  return dp_kernel_select(&dp_target_cpu, &spec->spec, true);
}

static bool is_of_parts(const dp_kernel *kernel) {
  return kernel && kernel->parts && !kernel->scratch_bytes && !kernel->release &&
         (!kernel->prepare || kernel->shares_state);
}

const dp_kernel *dp_member_kernel_of_parts(const dp_member_spec *spec, bool fast) {
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &spec->spec, !fast);
  if (fast && !is_of_parts(kernel)) kernel = dp_member_kernel(spec);
  return is_of_parts(kernel) ? kernel : NULL;
}

const dp_kernel *dp_member_kernel_of_rows(const dp_member_spec *spec, bool fast, dp_member_spec *wide) {
  const dp_kernel *reference = dp_member_kernel_of_parts(spec, false);
  wide->spec.op = NULL;
  if (reference) return fast ? dp_member_kernel_of_parts(spec, true) : reference;
  dp_widened_make(&spec->spec, wide);
  return dp_member_kernel_of_parts(wide, fast);
}

bool dp_members_have_fast_kernels(const dp_kernel_spec *spec) {
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member, wide;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    const dp_kernel *kernel = dp_member_kernel_of_rows(&member, true, &wide);
    if (kernel && kernel->isa) return true;
  }
  return false;
}
