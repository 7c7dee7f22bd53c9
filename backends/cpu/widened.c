// See widened.h.
#include "backends/cpu/widened.h"

#include "backends/cpu/alignment.h"
#include "backends/cpu/reference/half.h"
#include "backends/cpu/reference/reference.h"
#include "backends/cpu/team.h"

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

const dp_conversion dp_conversions[DP_MAX_TYPE + 1] = {
    [DP_INT8] = {DP_INT32, widen_int8, narrow_int8},
    [DP_UINT8] = {DP_INT32, widen_uint8, narrow_uint8},
    [DP_INT16] = {DP_INT32, widen_int16, narrow_int16},
    [DP_UINT16] = {DP_INT32, widen_uint16, narrow_uint16},
    [DP_UINT32] = {DP_INT64, widen_uint32, narrow_uint32},
    [DP_FLOAT16] = {DP_FLOAT32, dp_half_from_float16, dp_half_to_float16},
    [DP_BFLOAT16] = {DP_FLOAT32, dp_half_from_bfloat16, dp_half_to_bfloat16},
};

static void widen(int count, const dp_kernel_operand *from, dp_kernel_operand *to) {
  for (int i = 0; i < count; i++) {
    to[i] = from[i];
    const dp_dtype dtype = from[i].present ? dp_conversions[from[i].dtype].wide : DP_NO_TYPE;
    if (dtype) to[i].dtype = dtype;
  }
}

void dp_widened_make(const dp_kernel_spec *spec, dp_member_spec *wide) {
  wide->spec = *spec;
  widen(spec->n_inputs, spec->inputs, wide->inputs);
  widen(spec->n_outputs, spec->outputs, wide->outputs);
  wide->spec.inputs = wide->inputs;
  wide->spec.outputs = wide->outputs;
}

bool dp_is_half(const dp_kernel_operand *operand) {
  return operand->present && (operand->dtype == DP_FLOAT16 || operand->dtype == DP_BFLOAT16);
}

// The scratch bytes of a converted operand or result. A result of a wide type needs them too: a kernel writes it while
// it still reads operands, and result 0 may overwrite operand 0.
static uint64_t bytes_of(const dp_kernel_operand *wide, dp_dtype dtype, bool result) {
  bool needed = wide->present && (result || wide->dtype != dtype);
  return needed ? dp_align_up((uint64_t)dp_local_count(&wide->local) * dp_type_bytes(wide->dtype), DP_CPU_ALIGNMENT)
                : 0;
}

uint64_t dp_widened_bytes(const dp_kernel_spec *spec, const dp_kernel_spec *wide) {
  uint64_t bytes = 0;
  for (int i = 0; i < spec->n_inputs; i++) bytes += bytes_of(&wide->inputs[i], spec->inputs[i].dtype, false);
  for (int i = 0; i < spec->n_outputs; i++) bytes += bytes_of(&wide->outputs[i], spec->outputs[i].dtype, true);
  return bytes;
}

dp_status dp_widened_run(const dp_kernel_spec *spec, const dp_kernel_spec *wide, const dp_kernel *kernel, void *state,
                         const void *const *in, void *const *out, char *scratch) {
  const void *from[DP_MAX_OPERANDS];
  void *to[DP_MAX_OPERANDS];
  char *free_at = scratch;
  for (int i = 0; i < spec->n_inputs; i++) {
    dp_dtype dtype = spec->inputs[i].dtype;
    uint64_t bytes = bytes_of(&wide->inputs[i], dtype, false);
    from[i] = bytes ? free_at : in[i];
    if (bytes) dp_conversions[dtype].widen(dp_in_count(spec, i), in[i], free_at);
    free_at += bytes;
  }
  for (int i = 0; i < spec->n_outputs; i++) {
    uint64_t bytes = bytes_of(&wide->outputs[i], spec->outputs[i].dtype, true);
    to[i] = bytes ? free_at : out[i];
    free_at += bytes;
  }
  DP_TRY(dp_team_run(kernel, wide, state, from, to, free_at));
  for (int i = 0; i < spec->n_outputs; i++) {
    dp_dtype dtype = spec->outputs[i].dtype;
    if (to[i] == out[i]) continue;
    if (wide->outputs[i].dtype == dtype)
      dp_copy(out[i], to[i], dp_out_count(spec, i) * (int64_t)dp_type_bytes(dtype));
    else
      dp_conversions[dtype].narrow(dp_out_count(spec, i), to[i], out[i]);
  }
  return DP_OK;
}
