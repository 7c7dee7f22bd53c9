// An operator on rows or channels, in types that its kernels do not compute in, as a region of one node: chunks are
// converted to wider types, computed and rounded in the cache. The bits are those of cpu.wide, which converts whole
// operands, or, in cpu.fast_wide_rows and cpu.fast_wide_channels, those of the fast kernel on converted ones.
#include <stdlib.h>

#include "backends/cpu/channels.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/widened.h"

// Operands first, then results, as values of a region and as what its only member takes and makes. It points into
// itself, so it stays where it is made.
typedef struct {
  dp_kernel_spec spec;
  dp_kernel_region region;
  dp_kernel_member member;
  dp_kernel_operand values[2 * DP_MAX_OPERANDS];
  int32_t numbers[2 * DP_MAX_OPERANDS];
} one;

static void make(const dp_kernel_spec *spec, one *made) {
  const int n_values = spec->n_inputs + spec->n_outputs;
  for (int v = 0; v < n_values; v++) {
    made->values[v] = v < spec->n_inputs ? spec->inputs[v] : spec->outputs[v - spec->n_inputs];
    made->numbers[v] = made->values[v].present ? v : -1;
  }
  made->member = (dp_kernel_member){.op = spec->op,
                                    .node = spec->node,
                                    .n_inputs = spec->n_inputs,
                                    .n_outputs = spec->n_outputs,
                                    .inputs = made->numbers,
                                    .outputs = made->numbers + spec->n_inputs};
  made->region = (dp_kernel_region){1, n_values, &made->member, made->values};
  made->spec = *spec;
  made->spec.inputs = made->values;
  made->spec.outputs = made->values + spec->n_inputs;
  made->spec.region = &made->region;
}

static bool has_half(int count, const dp_kernel_operand *operands) {
  for (int i = 0; i < count; i++)
    if (dp_is_half(&operands[i])) return true;
  return false;
}

// Only where the operator's own kernels do not take the types: the member is wide.
static bool match_with(const dp_kernel_spec *spec, bool (*match)(const dp_kernel_spec *)) {
  if (spec->region || !spec->n_inputs || spec->n_inputs > DP_MAX_OPERANDS || spec->n_outputs > DP_MAX_OPERANDS ||
      (!has_half(spec->n_inputs, spec->inputs) && !has_half(spec->n_outputs, spec->outputs)))
    return false;
  one region;
  make(spec, &region);
  dp_member_spec member, wide;
  dp_member_spec_make(&region.region, 0, region.values, &member);
  return dp_member_kernel_of_rows(&member, false, &wide) && wide.spec.op && match(&region.spec);
}

typedef struct {
  one region;
  const dp_kernel *kernel;
  void *state;
} state_of_one;

static void release(void *state) {
  state_of_one *s = state;
  if (s) s->kernel->release(s->state);
  free(s);
}

static dp_status prepare_with(const dp_kernel_spec *spec, const dp_kernel *kernel, void **state) {
  state_of_one *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  make(spec, &s->region);
  s->kernel = kernel;
  dp_status status = kernel->prepare(&s->region.spec, &s->state);
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)spec;
  const state_of_one *s = state;
  return s->kernel->run(&s->region.spec, s->state, in, out, scratch, part, parts);
}

// The functions of a kernel that computes the region by another.
#define BY(NAME, KERNEL)                                                                          \
  static bool match_##NAME(const dp_kernel_spec *spec) { return match_with(spec, KERNEL.match); } \
  static uint64_t scratch_bytes_##NAME(const dp_kernel_spec *spec) {                              \
    one region;                                                                                   \
    make(spec, &region);                                                                          \
    return KERNEL.scratch_bytes(&region.spec);                                                    \
  }                                                                                               \
  static dp_status prepare_##NAME(const dp_kernel_spec *spec, void **state) {                     \
    return prepare_with(spec, &KERNEL, state);                                                    \
  }

BY(rows, dp_kernel_rows_Region)
BY(fast_rows, dp_kernel_fast_rows_Region)
BY(channels, dp_kernel_channels_Region)
BY(fast_channels, dp_kernel_fast_channels_Region)

// Not reference kernels: those convert whole operands, and this is compared with them.
#define WIDE_PARTS(NAME)                                                                         \
  .types = DP_ANY_TYPE, .library = true, .parts = true, .in_place = true, .match = match_##NAME, \
  .scratch_bytes = scratch_bytes_##NAME, .prepare = prepare_##NAME, .release = release, .run = run

const dp_kernel dp_kernel_wide_rows = {
    .name = "cpu.wide_rows",
    .priority = 1,
    WIDE_PARTS(rows),
};

const dp_kernel dp_kernel_fast_wide_rows = {
    .name = "cpu.fast_wide_rows",
    .priority = 5,
    .isa = true,
    WIDE_PARTS(fast_rows),
};

const dp_kernel dp_kernel_wide_channels = {
    .name = "cpu.wide_channels",
    .priority = 1,
    WIDE_PARTS(channels),
};

const dp_kernel dp_kernel_fast_wide_channels = {
    .name = "cpu.fast_wide_channels",
    .priority = 5,
    .isa = true,
    WIDE_PARTS(fast_channels),
};
