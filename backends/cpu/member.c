// See member.h.
#include "backends/cpu/member.h"

#include "backends/cpu/target.h"

const dp_kernel *dp_member_kernel(const dp_member_spec *spec) {
  return dp_kernel_select(&dp_target_cpu, &spec->spec, true);
}
