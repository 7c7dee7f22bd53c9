// See member.h.
#include "ir/kernel/member.h"

#include <stdlib.h>
#include <string.h>

void dp_member_spec_make(const dp_kernel_region *region, int member, const dp_kernel_operand *values,
                         dp_member_spec *made) {
  const dp_kernel_member *m = &region->members[member];
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

dp_kernel_spec *dp_member_spec_keep(const dp_kernel_spec *made) {
  typedef struct {
    dp_kernel_spec spec;
    dp_kernel_operand operands[];
  } kept;
  kept *k = malloc(sizeof *k + (size_t)(made->n_inputs + made->n_outputs) * sizeof *k->operands);
  if (!k) return NULL;
  k->spec = *made;
  k->spec.inputs = k->operands;
  k->spec.outputs = k->operands + made->n_inputs;
  for (int i = 0; i < made->n_inputs; i++) k->operands[i] = made->inputs[i];
  for (int i = 0; i < made->n_outputs; i++) k->operands[made->n_inputs + i] = made->outputs[i];
  return &k->spec;
}

void dp_member_operands(const dp_kernel_member *member, void *const *values, const void **in, void **out) {
  for (int i = 0; i < member->n_inputs; i++) in[i] = member->inputs[i] < 0 ? NULL : values[member->inputs[i]];
  for (int i = 0; i < member->n_outputs; i++) out[i] = member->outputs[i] < 0 ? NULL : values[member->outputs[i]];
}

// Of the values from `first` on, as many as fit here: whether each that a member replaces is read only by that member,
// once. Nothing is allocated, so a kernel that matches always does.
enum { AT_ONCE = 4096 };

static bool are_read_alone(const dp_kernel_region *region, int first) {
  uint8_t reads[AT_ONCE] = {0};  // 0, 1 or more
  for (int m = 0; m < region->n_members; m++)
    for (int i = 0; i < region->members[m].n_inputs; i++) {
      const int at = region->members[m].inputs[i] - first;
      if (region->members[m].inputs[i] >= 0 && at >= 0 && at < AT_ONCE && reads[at] < 2) reads[at]++;
    }
  for (int m = 0; m < region->n_members; m++)
    for (int k = 0; k < region->members[m].n_outputs; k++) {
      const int value = region->members[m].inputs[k], at = value - first;
      if (value < 0 || (at >= 0 && at < AT_ONCE && reads[at] != 1)) return false;
    }
  return true;
}

static bool read_alone(const dp_kernel_region *region) {
  for (int first = 0; first < region->n_values; first += AT_ONCE)
    if (!are_read_alone(region, first)) return false;
  return true;
}

bool dp_member_is_named(const dp_kernel_member *member, const char *name) {
  return !*member->op->domain && !strcmp(member->op->name, name);
}

bool dp_member_is_cast(const dp_kernel_member *member) { return dp_member_is_named(member, "Cast"); }

static bool is_cast(const dp_kernel_region *region, int32_t value) {
  for (int m = 0; m < region->n_members; m++)
    if (dp_member_is_cast(&region->members[m]) && region->members[m].outputs[0] == value) return true;
  return false;
}

// Whether the member takes only operands of the region and makes only results of it, but for what a Cast leaves to an
// update.
static bool stays_outside(const dp_kernel_spec *spec, const dp_kernel_member *member) {
  const int n_outside = spec->n_inputs + spec->n_outputs;
  const bool cast = dp_member_is_cast(member);
  for (int i = 0; i < member->n_inputs; i++) {
    const int32_t value = member->inputs[i];
    if (value >= spec->n_inputs && (cast || value < n_outside || !is_cast(spec->region, value))) return false;
  }
  for (int k = 0; k < member->n_outputs; k++)
    if (cast != (member->outputs[k] >= n_outside)) return false;
  return true;
}

bool dp_members_are_independent(const dp_kernel_spec *spec) {
  for (int m = 0; m < spec->region->n_members; m++)
    if (!stays_outside(spec, &spec->region->members[m])) return false;
  return read_alone(spec->region);
}
