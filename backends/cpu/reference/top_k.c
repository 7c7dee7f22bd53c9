// TopK: the k best elements along `axis`, found one at a time: each is the best among those after the previous one, in
// order of value, then index. NaN counts as the largest.
#ifndef T
#include "backends/cpu/reference/reference.h"

#define T float
#include __FILE__
#define T double
#include __FILE__
#define T int64_t
#include __FILE__
#define T int32_t
#include __FILE__
#define T uint64_t
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_call call = {spec, in, out, scratch, part, parts};
  switch (spec->inputs[0].dtype) {
    case DP_FLOAT32:
      select_float(&call);
      break;
    case DP_FLOAT64:
      select_double(&call);
      break;
    case DP_INT64:
      select_int64_t(&call);
      break;
    case DP_INT32:
      select_int32_t(&call);
      break;
    case DP_UINT64:
      select_uint64_t(&call);
      break;
    default:
      return dp_fail(EX_SOFTWARE, "no TopK of type %s", dp_type_name(spec->inputs[0].dtype));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_TopK = {
    .name = "cpu.reference.TopK",
    .op = "TopK",
    .domain = "",
    .parts = true,
    .run = run,
};

#else

// Whether a, at index i, comes before b, at index j.
static bool FN(before)(T a, int64_t i, T b, int64_t j, bool largest) {
  bool a_nan = isnan((double)a), b_nan = isnan((double)b);
  bool equal = a_nan ? b_nan : a == b, larger = a_nan ? !b_nan : !b_nan && a > b;
  return equal ? i < j : larger == largest;
}

static void FN(select)(const dp_call *call) {
  const dp_local *x = &call->spec->inputs[0].local, *y = &call->spec->outputs[0].local;
  int axis = dp_axis(dp_node_int(call->spec->node, "axis", -1), x->rank);
  bool largest = dp_node_int(call->spec->node, "largest", 1) != 0;
  int64_t lo, hi, length = x->extents[axis], count = y->extents[axis],
                  inner = dp_product(x->extents, axis + 1, x->rank);
  dp_part_range(dp_product(x->extents, 0, axis) * inner, call->part, call->parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    const T *from = (const T *)call->in[0] + row / inner * length * inner + row % inner;
    int64_t to = row / inner * count * inner + row % inner, last = -1;
    for (int64_t n = 0; n < count; n++) {
      int64_t best = -1;
      for (int64_t k = 0; k < length; k++) {
        T value = from[k * inner];
        if (last >= 0 && !FN(before)(from[last * inner], last, value, k, largest)) continue;
        if (best < 0 || FN(before)(value, k, from[best * inner], best, largest)) best = k;
      }
      ((T *)call->out[0])[to + n * inner] = from[best * inner];
      ((int64_t *)call->out[1])[to + n * inner] = best;
      last = best;
    }
  }
}
#undef T
#endif
