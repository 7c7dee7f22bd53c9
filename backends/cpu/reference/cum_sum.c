// CumSum: running sums along `axis`. Floats are summed in float64; integers wrap.
#ifndef T
#include "backends/cpu/reference/reference.h"

#define T float
#define A double
#include __FILE__
#define T double
#define A double
#include __FILE__
#define T int64_t
#define A uint64_t
#include __FILE__
#define T uint64_t
#define A uint64_t
#include __FILE__
#define T int32_t
#define A uint64_t
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_call call = {spec, in, out, scratch, part, parts};
  switch (spec->inputs[0].dtype) {
    case DP_FLOAT32:
      sum_float(&call);
      break;
    case DP_FLOAT64:
      sum_double(&call);
      break;
    case DP_INT64:
      sum_int64_t(&call);
      break;
    case DP_UINT64:
      sum_uint64_t(&call);
      break;
    default:
      sum_int32_t(&call);
      break;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_CumSum = {
    .name = "cpu.reference.CumSum",
    .op = "CumSum",
    .domain = "",
    .parts = true,
    .run = run,
};

#else

static void FN(sum)(const dp_call *call) {
  const dp_local *x = &call->spec->inputs[0].local;
  int axis = dp_axis(dp_node_int(call->spec->node, "axis", 0), x->rank);
  bool exclusive = dp_node_int(call->spec->node, "exclusive", 0) != 0;
  bool reverse = dp_node_int(call->spec->node, "reverse", 0) != 0;
  int64_t lo, hi, length = x->extents[axis], inner = dp_product(x->extents, axis + 1, x->rank);
  dp_part_range(dp_product(x->extents, 0, axis) * inner, call->part, call->parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    int64_t first = row / inner * length * inner + row % inner;
    const T *from = (const T *)call->in[0] + first;
    T *to = (T *)call->out[0] + first;
    A sum = 0;
    for (int64_t k = 0; k < length; k++) {
      int64_t at = (reverse ? length - 1 - k : k) * inner;
      A before = sum;
      sum += (A)from[at];
      to[at] = (T)(exclusive ? before : sum);
    }
  }
}
#undef T
#undef A
#endif
