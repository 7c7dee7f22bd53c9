// Range: start, start + delta, ... below limit (above it when delta is negative): integers in a tensor of rank 1 and
// type dtype. The limit may depend on the batch: [N] counts the samples present. A part knows its position in the
// whole.
#include "ir/ops/random.h"

#define RANGE_TYPES (DP_FLOATS | DP_BIT(DP_INT16) | DP_BIT(DP_INT32) | DP_BIT(DP_INT64))

// How many numbers there are: ceil((limit - start) / delta), which is a * N + b where delta divides N's factor.
static dp_status count_of(const dp_node *node, dp_dim *count) {
  dp_shape limit;
  int64_t start = dp_node_int(node, "start", 0), delta = dp_node_int(node, "delta", 1), span;
  DP_TRY(dp_common_dims(node, "limit", &limit));
  if (limit.rank != 1) return dp_fail(EX_DATAERR, "limit has %d numbers where one is expected", limit.rank);
  if (!delta) return dp_fail(EX_DATAERR, "delta is 0: the range would not end");
  if (__builtin_sub_overflow(limit.dims[0].offset, start, &span) || span == INT64_MIN ||
      limit.dims[0].scale == INT64_MIN)
    return dp_fail(EX_DATAERR, "the range is longer than any tensor");
  if (limit.dims[0].scale % delta)
    return dp_fail(EX_DATAERR, "steps of %lld do not divide a limit of %lld for each sample", (long long)delta,
                   (long long)limit.dims[0].scale);
  int64_t rest = span % delta;
  *count = (dp_dim){limit.dims[0].scale / delta, span / delta + (rest && (rest > 0) == (delta > 0))};
  if (!count->scale && count->offset < 0) count->offset = 0;
  if (count->scale < 0 || count->offset < 0)
    return dp_fail(EX_DATAERR, "from %lld in steps of %lld the limit lies behind the start for some numbers of samples",
                   (long long)start, (long long)delta);
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  dp_shape shape = {.rank = 1};
  int64_t dtype = dp_node_int(node, "dtype", DP_INT64);
  if (dtype < 1 || dtype > DP_MAX_TYPE || !(DP_BIT(dtype) & RANGE_TYPES))
    return dp_fail(EX_DATAERR, "dtype is %lld, which ranges do not support", (long long)dtype);
  DP_TRY(count_of(node, &shape.dims[0]));
  DP_TRY(dp_shape_check(&shape, 1));
  dp_common_set(node, 0, (dp_dtype)dtype, &shape);
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "", .attrs = "limit=[N]", .n = 5},
    {.inputs = "", .attrs = "limit=[6*N+4], delta=3", .n = 3},
    {.inputs = "", .attrs = "start=2, limit=[N+2], dtype=1", .n = 4},
    {.inputs = "", .attrs = "start=-3, limit=[-4*N-3], delta=-2, dtype=6", .n = 3},
    {.inputs = "", .attrs = "start=10, limit=[1], delta=-4, dtype=11"},
    {.inputs = "", .attrs = "start=3, limit=[3], dtype=6"},
    {.inputs = "", .attrs = "start=3, limit=[-5]"},
    {.inputs = "", .attrs = "start=3, limit=[7*N], delta=7", .n = 3},
    {.inputs = "", .attrs = "start=9, limit=[-4], delta=-5"},
    {.inputs = "", .attrs = "limit=[7], delta=2, dtype=5"},
    {.inputs = "", .attrs = "limit=[4], dtype=float16"},
    {.inputs = "", .attrs = "limit=[N], dtype=bfloat16", .n = 4},
    {0},
};

const dp_op dp_op_Range = {
    .name = "Range",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_AS_ATTR("start", RANGE_TYPES, true), DP_AS_ATTR("limit", RANGE_TYPES, false),
               DP_AS_ATTR("delta", RANGE_TYPES, true)},
    .outputs = {DP_OPERAND("output", RANGE_TYPES, 0)},
    .attrs = {DP_INT_ATTR("start", 0), DP_SHAPE_ATTR("limit"), DP_INT_ATTR("delta", 1), DP_INT_ATTR("dtype", DP_INT64)},
    .infer = infer,
    .sharding = dp_random_sharding,
    .samples = samples,
};
