// Runs any operator on types that its reference kernel does not compute in: the kernel computes with wider types
// (widened.h). One kernel for each operator thus serves all types. cpu.wide runs reference kernels; cpu.fast_wide runs
// products of libraries and fast kernels on 16-bit floats, with the same roundings: none but that of the result.
#include <stdlib.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/target.h"
#include "backends/cpu/widened.h"

// The reference kernel for the wide types, if there is none for the types themselves; NULL: none.
static const dp_kernel *reference_of(const dp_kernel_spec *spec, const dp_kernel_spec *wide) {
  const dp_kernel *found = NULL;
  for (const dp_kernel *const *k = dp_cpu_kernels; *k; k++) {
    if (!(*k)->op || (*k)->library || !dp_kernel_computes(*k, spec->op)) continue;
    if (dp_kernel_takes(*k, spec)) return NULL;
    if (dp_kernel_takes(*k, wide) && (!(*k)->match || (*k)->match(wide))) found = *k;
  }
  return found;
}

// A library's kernel, or a fast one, for the wide types; NULL: none.
static const dp_kernel *library_of(const dp_kernel_spec *wide) {
  const dp_kernel *found = NULL;
  for (const dp_kernel *const *k = dp_cpu_kernels; *k; k++)
    if ((*k)->library && dp_kernel_computes(*k, wide->op) && dp_kernel_takes(*k, wide) &&
        (!(*k)->match || (*k)->match(wide)) && (!found || (*k)->priority > found->priority))
      found = *k;
  return found;
}

// What works on rows or channels is converted chunk by chunk (wide_parts.c).
static bool is_half_without_parts(const dp_kernel_spec *spec) {
  return !spec->region && spec->n_inputs && dp_is_half(&spec->inputs[0]) &&
         !dp_op_row(spec->node, spec->inputs[0].local.rank) && !dp_op_is(spec->op, DP_OP_CHANNELS);
}

static const dp_kernel *kernel_of(const dp_kernel_spec *spec, const dp_kernel_spec *wide, bool fast) {
  return fast ? library_of(wide) : reference_of(spec, wide);
}

static bool match(const dp_kernel_spec *spec) {
  if (spec->region) return false;
  dp_member_spec wide;
  dp_widened_make(spec, &wide);
  return kernel_of(spec, &wide.spec, false) != NULL;
}

static bool match_fast(const dp_kernel_spec *spec) {
  if (!is_half_without_parts(spec)) return false;
  dp_member_spec wide;
  dp_widened_make(spec, &wide);
  return kernel_of(spec, &wide.spec, true) != NULL;
}

static uint64_t bytes_with(const dp_kernel_spec *spec, bool fast) {
  dp_member_spec wide;
  dp_widened_make(spec, &wide);
  const dp_kernel *kernel = kernel_of(spec, &wide.spec, fast);
  uint64_t bytes = kernel->scratch_bytes ? dp_align_up(kernel->scratch_bytes(&wide.spec), DP_CPU_ALIGNMENT) : 0;
  return bytes + dp_widened_bytes(spec, &wide.spec);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return bytes_with(spec, false); }
static uint64_t scratch_bytes_fast(const dp_kernel_spec *spec) { return bytes_with(spec, true); }

typedef struct {
  const dp_kernel *kernel;
  dp_member_spec wide;
  void *state;
} wide_state;

static void release(void *state) {
  wide_state *s = state;
  if (s && s->kernel->release) s->kernel->release(s->state);
  free(s);
}

static dp_status prepare_with(const dp_kernel_spec *spec, bool fast, void **state) {
  wide_state *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  s->state = NULL;
  dp_widened_make(spec, &s->wide);
  s->kernel = kernel_of(spec, &s->wide.spec, fast);
  dp_status status = s->kernel->prepare ? s->kernel->prepare(&s->wide.spec, &s->state) : DP_OK;
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return prepare_with(spec, false, state); }
static dp_status prepare_fast(const dp_kernel_spec *spec, void **state) { return prepare_with(spec, true, state); }

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  const wide_state *s = state;
  return dp_widened_run(spec, &s->wide.spec, s->kernel, s->state, in, out, scratch);
}

const dp_kernel dp_kernel_upcast = {
    .name = "cpu.wide",
    .types = DP_ANY_TYPE,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .in_place = true,
    .prepare = prepare,
    .release = release,
    .run = run,
};

const dp_kernel dp_kernel_fast_upcast = {
    .name = "cpu.fast_wide",
    .types = DP_ANY_TYPE,
    .priority = 10,
    .library = true,
    .match = match_fast,
    .scratch_bytes = scratch_bytes_fast,
    .own_threads = true,
    .isa = true,
    .in_place = true,
    .prepare = prepare_fast,
    .release = release,
    .run = run,
};
