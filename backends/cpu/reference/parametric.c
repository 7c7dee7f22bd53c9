// Elementwise kernels with parameters from attributes. See parametric.h.
#include "backends/cpu/reference/parametric.h"

dp_status dp_parametric_run(const dp_call *call, const dp_parametric_row rows[DP_MAX_TYPE + 1], const double *p) {
  dp_dtype dtype = call->spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  dp_part_range(dp_out_count(call->spec, 0), call->part, call->parts, &lo, &hi);
  if (!rows[dtype])
    return dp_fail(EX_SOFTWARE, "the reference kernel of %s lacks type %s", call->spec->op->name, dp_type_name(dtype));
  if (lo < hi) rows[dtype](hi - lo, (const char *)call->in[0] + lo * bytes, (char *)call->out[0] + lo * bytes, p);
  return DP_OK;
}
