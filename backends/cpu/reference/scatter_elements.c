// ScatterElements: copies operand 0, then applies the updates in order, except those for other devices. Integers wrap.
#ifndef T
#include "ir/ops/scatter_elements.h"

#include "backends/cpu/reference/element_walk.h"

#define T float
#define U float
#include __FILE__
#define T double
#define U double
#include __FILE__
#define T int64_t
#define U uint64_t
#include __FILE__
#define T int32_t
#define U uint32_t
#include __FILE__
#define T uint64_t
#define U uint64_t
#include __FILE__
#define T uint8_t
#define U uint32_t
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch, (void)part, (void)parts;
  dp_scatter_mode mode;
  DP_TRY(dp_scatter_elements_mode(spec->node, &mode));
  dp_copy(out[0], in[0], dp_in_count(spec, 0) * (int64_t)dp_type_bytes(spec->inputs[0].dtype));
  switch (spec->inputs[0].dtype) {
    case DP_FLOAT32:
      return scatter_float(spec, in, mode, out[0]);
    case DP_FLOAT64:
      return scatter_double(spec, in, mode, out[0]);
    case DP_INT64:
      return scatter_int64_t(spec, in, mode, out[0]);
    case DP_INT32:
      return scatter_int32_t(spec, in, mode, out[0]);
    case DP_UINT64:
      return scatter_uint64_t(spec, in, mode, out[0]);
    default:  // bool too, which is only copied
      return scatter_uint8_t(spec, in, mode, out[0]);
  }
}

const dp_kernel dp_kernel_reference_ScatterElements = {
    .name = "cpu.reference.ScatterElements",
    .op = "ScatterElements",
    .domain = "",
    .run = run,
};

#else

static dp_status FN(scatter)(const dp_kernel_spec *spec, const void *const *in, dp_scatter_mode mode, T *y) {
  const T *updates = in[2];
  for (int64_t i = 0, count = dp_in_count(spec, 1); i < count; i++) {
    int64_t at = 0;
    DP_TRY(dp_element_walk_at(spec, in, i, &at));
    if (at < 0) continue;
    T old = y[at], new = updates[i];
    switch (mode) {
      case DP_SCATTER_PUT:
        y[at] = new;
        break;
      case DP_SCATTER_ADD:
        y[at] = (T)((U)old + (U) new);
        break;
      case DP_SCATTER_MUL:
        y[at] = (T)((U)old * (U) new);
        break;
      case DP_SCATTER_MAX:
        y[at] = new > old || isnan((double)new) ? new : old;
        break;
      case DP_SCATTER_MIN:
        y[at] = new < old || isnan((double)new) ? new : old;
        break;
    }
  }
  return DP_OK;
}
#undef T
#undef U
#endif
