// Which elements Slice takes along each dim, and which placements it allows. See slice.h.
#include "ir/ops/slice.h"

enum { FAR = INT32_MAX };  // exporters write this, or more, for "to the end"

static int64_t clamp(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }

static dp_status cut_dim(dp_slice *s, int d, dp_dim extent, int64_t start, int64_t end, int64_t step) {
  if (!step) return dp_fail(EX_DATAERR, "the step along dim %d is 0", d);
  if (dp_dim_is_symbolic(extent)) {
    if (step != 1 || start != 0 || end < FAR)
      return dp_fail(EX_DATAERR, "dim %d depends on the number of samples: it must be taken whole", d);
    return DP_OK;
  }
  int64_t length = extent.offset, last = step > 0 ? length : length - 1, first = step > 0 ? 0 : -1;
  if (start < 0) start += length;
  if (end < 0 && end > -FAR - (int64_t)1) end += length;
  start = clamp(start, 0, last < 0 ? 0 : last);
  end = clamp(end, first, last);
  int64_t reach = step > 0 ? end - start : start - end;
  int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  s->start[d] = start;
  s->step[d] = step > 0 ? stride : -stride;
  s->extent[d] = dp_dim_of(reach <= 0 || !length ? 0 : (reach - 1) / stride + 1);
  s->cut[d] = !(step == 1 && s->extent[d].offset == length);
  return DP_OK;
}

dp_status dp_slice_make(const dp_node *node, const dp_shape *x, dp_slice *slice) {
  size_t n_starts, n_ends, n_axes, n_steps;
  const int64_t *starts = dp_node_ints(node, "starts", &n_starts), *ends = dp_node_ints(node, "ends", &n_ends);
  const int64_t *axes = dp_node_ints(node, "axes", &n_axes), *steps = dp_node_ints(node, "steps", &n_steps);
  bool taken[DP_MAX_RANK] = {0};
  if (!dp_node_attr(node, "starts") || !dp_node_attr(node, "ends"))
    return dp_fail(EX_DATAERR, "starts or ends is missing");
  if (n_ends != n_starts || (axes && n_axes != n_starts) || (steps && n_steps != n_starts))
    return dp_fail(EX_DATAERR, "there are %zu starts, %zu ends, %zu axes and %zu steps where equal counts are expected",
                   n_starts, n_ends, axes ? n_axes : n_starts, steps ? n_steps : n_starts);
  if (n_starts > (size_t)x->rank)
    return dp_fail(EX_DATAERR, "there are %zu starts for a tensor of rank %d", n_starts, x->rank);
  *slice = (dp_slice){.rank = x->rank};
  for (int d = 0; d < x->rank; d++) {
    slice->step[d] = 1;
    slice->extent[d] = x->dims[d];
  }
  for (size_t i = 0; i < n_starts; i++) {
    int axis;
    DP_TRY(dp_common_axis("axis", axes ? axes[i] : (int64_t)i, x->rank, &axis));
    if (taken[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    taken[axis] = true;
    DP_TRY(cut_dim(slice, axis, x->dims[axis], starts[i], ends[i], steps ? steps[i] : 1));
  }
  return DP_OK;
}

void dp_slice_sharding(dp_sharding_rules *rules, const dp_shape *x, bool long_operands) {
  dp_slice s;
  dp_status status = dp_slice_make(rules->node, x, &s);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  for (int d = 0; d < x->rank; d++) {
    if (!s.cut[d]) {
      dp_sharding_split(rules, x->dims[d], &d, &d);
      continue;
    }
    // Each of several equal blocks is split as all of them are.
    int64_t length = s.extent[d].offset;
    if (s.step[d] == 1 && length && x->dims[d].offset % length == 0 && s.start[d] % length == 0)
      dp_blocks_sharding(rules, d, s.extent[d], x->dims[d].offset / length, long_operands);
  }
  dp_sharding_linear(rules, 1);
}
