// dp.GatherGrad(dY, indices): zeros, to which the slices of dY are added where the indices say, in their order. Slices
// for other devices' shards are skipped.
#ifndef T
#include "backends/cpu/reference/index.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_call call = {spec, in, out, scratch, part, parts};
  return spec->inputs[0].dtype == DP_FLOAT32 ? add_slices_float(&call) : add_slices_double(&call);
}

const dp_kernel dp_kernel_reference_GatherGrad = {
    .name = "cpu.reference.dp.GatherGrad",
    .op = "GatherGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else

// A part is a range of columns, which are the dims before and after the axis.
static dp_status FN(add_slices)(const dp_call *call) {
  const dp_kernel_spec *spec = call->spec;
  const dp_local *dx = &spec->outputs[0].local;
  int axis = dp_axis(dp_node_int(spec->node, "axis", 0), dx->rank);
  int64_t length = dx->extents[axis], inner = dp_product(dx->extents, axis + 1, dx->rank);
  int64_t lo, hi, count = dp_in_count(spec, 1);
  dp_part_range(dp_product(dx->extents, 0, axis) * inner, call->part, call->parts, &lo, &hi);
  while (lo < hi) {
    int64_t outer = lo / inner, column = lo % inner, width = dp_min_i64(inner - column, hi - lo);
    T *to = (T *)call->out[0] + outer * length * inner + column;
    const T *from = (const T *)call->in[0] + outer * count * inner + column;
    for (int64_t k = 0; k < length; k++) dp_zero(to + k * inner, width * (int64_t)sizeof(T));
    for (int64_t j = 0; j < count; j++) {
      int64_t index = 0;
      DP_TRY(dp_index_at(spec, call->in, 1, j, dx->whole[axis], &index));
      index = dp_index_here(dx, axis, index);
      for (int64_t i = 0; index >= 0 && i < width; i++) to[index * inner + i] += from[j * inner + i];
    }
    lo += width;
  }
  return DP_OK;
}
#undef T
#endif
