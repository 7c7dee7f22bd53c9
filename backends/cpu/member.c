// See member.h.
#include "backends/cpu/member.h"

#include "backends/cpu/target.h"

void dp_member_spec_make(const dp_kernel_spec *region, int member, const dp_kernel_operand *values,
                         dp_member_spec *made) {
  const dp_kernel_member *m = &region->region->members[member];
  made->spec = (dp_kernel_spec){.op = m->op,
                                .node = m->node,
                                .n_inputs = m->n_inputs,
                                .n_outputs = m->n_outputs,
                                .inputs = made->inputs,
                                .outputs = made->outputs,
                                .threads = 1};
  for (int i = 0; i < m->n_inputs; i++)
    made->inputs[i] = m->inputs[i] < 0 ? (dp_kernel_operand){0} : values[m->inputs[i]];
  for (int i = 0; i < m->n_outputs; i++)
    made->outputs[i] = m->outputs[i] < 0 ? (dp_kernel_operand){0} : values[m->outputs[i]];
}

const dp_kernel *dp_member_kernel(const dp_member_spec *spec) {
  return dp_kernel_select(&dp_target_cpu, &spec->spec, true);
}

void dp_member_operands(const dp_kernel_member *member, void *const *values, const void **in, void **out) {
  for (int i = 0; i < member->n_inputs; i++) in[i] = member->inputs[i] < 0 ? NULL : values[member->inputs[i]];
  for (int i = 0; i < member->n_outputs; i++) out[i] = member->outputs[i] < 0 ? NULL : values[member->outputs[i]];
}
