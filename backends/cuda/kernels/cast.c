// Cast where the operand or the result has a type that functions do not compute with. All other casts are expressions.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/narrow.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

typedef struct {
  const dp_cuda_function *function;
  dp_narrow_arguments arguments;  // but for count and addresses
} cast_state;

enum { WIDE, FLOAT, SCALE, INTEGER, UNSIGNED };

static bool is_narrow(dp_dtype dtype) { return !(DP_BIT(dtype) & DP_CUDA_COMPUTED); }

static bool match(const dp_kernel_spec *spec) {
  return is_narrow(spec->inputs[0].dtype) || is_narrow(spec->outputs[0].dtype);
}

static int form_of(dp_dtype dtype) {
  if (!is_narrow(dtype)) return WIDE;
  if (dtype == DP_FLOAT8E8M0) return SCALE;
  if (!(DP_BIT(dtype) & DP_SMALL_INTS)) return FLOAT;
  return dtype == DP_UINT4 || dtype == DP_UINT2 ? UNSIGNED : INTEGER;
}

static void list_numbers(dp_dtype dtype, float *numbers) {
  for (int code = 0; code < DP_NARROW_CODES; code++) {
    const uint8_t byte = (uint8_t)code;
    numbers[code] = (float)dp_element_get(dtype, &byte);
  }
}

// What the type's encoder does with numbers that tell.
static void describe_float(const dp_node *node, dp_dtype to, dp_narrow_arguments *a) {
  const bool saturate = (DP_BIT(to) & DP_FLOAT8S) && dp_node_int(node, "saturate", 1);
  const char *mode = dp_node_string(node, "round_mode", "up");
  a->most = dp_element_encode(to, HUGE_VAL, true);
  a->sign = dp_element_encode(to, -1, true) ^ dp_element_encode(to, 1, true);
  a->nan = dp_element_encode(to, NAN, saturate);
  a->over[0] = dp_element_encode(to, HUGE_VAL, saturate);
  a->over[1] = dp_element_encode(to, -HUGE_VAL, saturate);
  a->minus_zero = dp_element_encode(to, -0.0, saturate);
  a->limit = 2 * (double)a->to[a->most] - (double)a->to[a->most - 1];
  a->up = !strcmp(mode, "up");
  a->down = !strcmp(mode, "down");
}

static dp_status add_function(dp_dtype from, dp_dtype to, const dp_cuda_function **function) {
  const dp_dtype wide = !is_narrow(from) ? from : !is_narrow(to) ? to : DP_UINT8;
  char defines[256];
  snprintf(defines, sizeof defines,
           "%s#define FROM_NARROW %d\n#define TO %d\n#define IS_FLOAT %d\n#define IS_UNSIGNED %d\n#define IS_BOOL %d\n",
           dp_cuda_type_of(wide)->defines, is_narrow(from), form_of(to), dp_type_is_float(wide), wide == DP_UINT64,
           wide == DP_BOOL);
  return dp_cuda_function_add("narrow", defines, dp_cuda_source_narrow, function);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype from = spec->inputs[0].dtype, to = spec->outputs[0].dtype;
  cast_state *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  dp_narrow_arguments *a = &s->arguments;
  if (is_narrow(from)) list_numbers(from, a->from);
  if (is_narrow(to)) list_numbers(to, a->to);
  if (form_of(to) == FLOAT || form_of(to) == SCALE) describe_float(spec->node, to, a);
  a->unused_bits = to == DP_UINT4 || to == DP_INT4 ? 60 : 62;
  dp_status status = add_function(from, to, &s->function);
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const cast_state *s = state;
  dp_narrow_arguments a = s->arguments;
  a.count = dp_out_count(spec, 0);
  a.x = in[0];
  a.y = out[0];
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Cast = {
    .name = "cuda.device.Cast",
    .op = "Cast",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
