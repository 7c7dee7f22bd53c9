// ArgMax and ArgMin: the index of the largest (smallest) element along `axis`; of equal elements the first, or the last
// when select_last_index is 1. A NaN counts as the most extreme, as in NumPy and PyTorch.
#ifndef T
#include <string.h>

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
  int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", 0), rank);
  const int64_t *extents = dp_in_extents(spec, 0);
  int64_t lo, hi, length = extents[axis], inner = dp_product(extents, axis + 1, rank);
  bool last = dp_node_int(spec->node, "select_last_index", 0), largest = !strcmp(spec->op->name, "ArgMax");
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  switch (spec->inputs[0].dtype) {
    case DP_FLOAT32:
      find_indices_float(in[0], length, inner, last, largest, out[0], lo, hi);
      break;
    case DP_FLOAT64:
      find_indices_double(in[0], length, inner, last, largest, out[0], lo, hi);
      break;
    case DP_INT64:
      find_indices_int64_t(in[0], length, inner, last, largest, out[0], lo, hi);
      break;
    case DP_INT32:
      find_indices_int32_t(in[0], length, inner, last, largest, out[0], lo, hi);
      break;
    case DP_UINT64:
      find_indices_uint64_t(in[0], length, inner, last, largest, out[0], lo, hi);
      break;
    default:
      return dp_fail(EX_SOFTWARE, "no %s of type %s", spec->op->name, dp_type_name(spec->inputs[0].dtype));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_ArgMax = {
    .name = "cpu.reference.ArgMax",
    .op = "ArgMax",
    .domain = "",
    .parts = true,
    .run = run,
};

const dp_kernel dp_kernel_reference_ArgMin = {
    .name = "cpu.reference.ArgMin",
    .op = "ArgMin",
    .domain = "",
    .parts = true,
    .run = run,
};

#else

// Finds the indices of y (outer, inner), elements lo to hi, in x (outer, length, inner).
static void FN(find_indices)(const T *x, int64_t length, int64_t inner, bool last, bool largest, int64_t *y, int64_t lo,
                             int64_t hi) {
  for (int64_t i = lo; i < hi; i++) {
    const T *from = x + i / inner * length * inner + i % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < length; k++) {
      T value = from[k * inner], most = from[best * inner];
      bool nan = isnan((double)value), most_nan = isnan((double)most);
      bool better = nan ? !most_nan : !most_nan && (largest ? value > most : value < most);
      bool equal = nan ? most_nan : value == most;
      if (better || (last && equal)) best = k;
    }
    y[i] = best;
  }
}
#undef T
#endif
