// Runs any operator on types that its reference kernel does not compute in. Operands are converted to wider types, the
// kernel computes with them, and the results are rounded: floats to nearest even, integers to their low bits, so that
// they wrap as in their own type. One kernel for each operator thus serves all types. cpu.wide runs reference kernels;
// cpu.fast_wide runs libraries' products on 16-bit floats, with the same roundings: none but that of the result.
#include <stdlib.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/reference/half.h"
#include "backends/cpu/reference/reference.h"
#include "backends/cpu/target.h"

typedef struct {
  dp_dtype wide;
  void (*widen)(int64_t count, const void *x, void *y);
  void (*narrow)(int64_t count, const void *x, void *y);
} conversion;

#define CONVERSION(NAME, T, W)                                              \
  static void widen_##NAME(int64_t count, const void *x, void *y) {         \
    for (int64_t i = 0; i < count; i++) ((W *)y)[i] = ((const T *)x)[i];    \
  }                                                                         \
  static void narrow_##NAME(int64_t count, const void *x, void *y) {        \
    for (int64_t i = 0; i < count; i++) ((T *)y)[i] = (T)((const W *)x)[i]; \
  }
CONVERSION(int8, int8_t, int32_t)
CONVERSION(uint8, uint8_t, int32_t)
CONVERSION(int16, int16_t, int32_t)
CONVERSION(uint16, uint16_t, int32_t)
CONVERSION(uint32, uint32_t, int64_t)

static const conversion conversions[DP_MAX_TYPE + 1] = {
    [DP_INT8] = {DP_INT32, widen_int8, narrow_int8},
    [DP_UINT8] = {DP_INT32, widen_uint8, narrow_uint8},
    [DP_INT16] = {DP_INT32, widen_int16, narrow_int16},
    [DP_UINT16] = {DP_INT32, widen_uint16, narrow_uint16},
    [DP_UINT32] = {DP_INT64, widen_uint32, narrow_uint32},
    [DP_FLOAT16] = {DP_FLOAT32, dp_half_from_float16, dp_half_to_float16},
    [DP_BFLOAT16] = {DP_FLOAT32, dp_half_from_bfloat16, dp_half_to_bfloat16},
};

// The same node with every operand and result in a wide type.
typedef struct {
  dp_kernel_spec spec;
  dp_kernel_operand inputs[DP_MAX_OPERANDS], outputs[DP_MAX_OPERANDS];
} widened;

static void widen(int count, const dp_kernel_operand *from, dp_kernel_operand *to) {
  for (int i = 0; i < count; i++) {
    to[i] = from[i];
    const dp_dtype dtype = from[i].present ? conversions[from[i].dtype].wide : DP_NO_TYPE;
    if (dtype) to[i].dtype = dtype;
  }
}

// It points into itself, so it stays where it is made.
static void make_widened(const dp_kernel_spec *spec, widened *wide) {
  wide->spec = *spec;
  widen(spec->n_inputs, spec->inputs, wide->inputs);
  widen(spec->n_outputs, spec->outputs, wide->outputs);
  wide->spec.inputs = wide->inputs;
  wide->spec.outputs = wide->outputs;
}

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

// A library's kernel for a product of 16-bit floats; NULL: none.
static const dp_kernel *library_of(const dp_kernel_spec *wide) {
  const dp_kernel *found = NULL;
  for (const dp_kernel *const *k = dp_cpu_kernels; *k; k++)
    if ((*k)->library && dp_kernel_computes(*k, wide->op) && dp_kernel_takes(*k, wide) &&
        (!(*k)->match || (*k)->match(wide)) && (!found || (*k)->priority > found->priority))
      found = *k;
  return found;
}

static bool is_half(const dp_kernel_operand *operand) {
  return operand->present && (operand->dtype == DP_FLOAT16 || operand->dtype == DP_BFLOAT16);
}

static bool is_half_product(const dp_kernel_spec *spec) {
  return !spec->region && spec->op->precision == DP_PRECISION_HALF && spec->n_inputs && is_half(&spec->inputs[0]);
}

static const dp_kernel *kernel_of(const dp_kernel_spec *spec, const dp_kernel_spec *wide, bool fast) {
  return fast ? library_of(wide) : reference_of(spec, wide);
}

static bool match(const dp_kernel_spec *spec) {
  if (spec->region) return false;
  widened wide;
  make_widened(spec, &wide);
  return kernel_of(spec, &wide.spec, false) != NULL;
}

static bool match_fast(const dp_kernel_spec *spec) {
  if (!is_half_product(spec)) return false;
  widened wide;
  make_widened(spec, &wide);
  return kernel_of(spec, &wide.spec, true) != NULL;
}

// The scratch bytes of a converted operand or result. A result of a wide type needs them too: a kernel writes it while
// it still reads operands, and result 0 may overwrite operand 0.
static uint64_t bytes_of(const dp_kernel_operand *wide, dp_dtype dtype, bool result) {
  bool needed = wide->present && (result || wide->dtype != dtype);
  return needed ? dp_align_up((uint64_t)dp_local_count(&wide->local) * dp_type_bytes(wide->dtype), DP_CPU_ALIGNMENT)
                : 0;
}

static uint64_t bytes_with(const dp_kernel_spec *spec, bool fast) {
  widened wide;
  make_widened(spec, &wide);
  const dp_kernel *kernel = kernel_of(spec, &wide.spec, fast);
  uint64_t bytes = kernel->scratch_bytes ? dp_align_up(kernel->scratch_bytes(&wide.spec), DP_CPU_ALIGNMENT) : 0;
  for (int i = 0; i < spec->n_inputs; i++) bytes += bytes_of(&wide.inputs[i], spec->inputs[i].dtype, false);
  for (int i = 0; i < spec->n_outputs; i++) bytes += bytes_of(&wide.outputs[i], spec->outputs[i].dtype, true);
  return bytes;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return bytes_with(spec, false); }
static uint64_t scratch_bytes_fast(const dp_kernel_spec *spec) { return bytes_with(spec, true); }

typedef struct {
  const dp_kernel *kernel;
  widened wide;
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
  make_widened(spec, &s->wide);
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
  wide_state *s = state;
  const void *from[DP_MAX_OPERANDS];
  void *to[DP_MAX_OPERANDS];
  char *free_at = scratch;
  for (int i = 0; i < spec->n_inputs; i++) {
    dp_dtype dtype = spec->inputs[i].dtype;
    uint64_t bytes = bytes_of(&s->wide.inputs[i], dtype, false);
    from[i] = bytes ? free_at : in[i];
    if (bytes) conversions[dtype].widen(dp_in_count(spec, i), in[i], free_at);
    free_at += bytes;
  }
  for (int i = 0; i < spec->n_outputs; i++) {
    uint64_t bytes = bytes_of(&s->wide.outputs[i], spec->outputs[i].dtype, true);
    to[i] = bytes ? free_at : out[i];
    free_at += bytes;
  }
  DP_TRY(s->kernel->run(&s->wide.spec, s->state, from, to, free_at, 0, 1));
  for (int i = 0; i < spec->n_outputs; i++) {
    dp_dtype dtype = spec->outputs[i].dtype;
    if (to[i] == out[i]) continue;
    if (s->wide.outputs[i].dtype == dtype)
      dp_copy(out[i], to[i], dp_out_count(spec, i) * (int64_t)dp_type_bytes(dtype));
    else
      conversions[dtype].narrow(dp_out_count(spec, i), to[i], out[i]);
  }
  return DP_OK;
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
