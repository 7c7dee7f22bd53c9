// Resampling along one dim after another. See resize.h.
#include <math.h>
#include <string.h>

#include "ir/ops/resize.h"

dp_status dp_resize_by_scale(dp_dim extent, double scale, dp_resize_dim *dim) {
  if (scale == 1) return DP_OK;
  if (dp_dim_is_symbolic(extent)) return dp_fail(EX_DATAERR, "a dim that depends on the batch cannot be resized");
  double out = floor((double)extent.offset * scale);
  if (!(scale > 0) || !(out >= 0 && out <= INT32_MAX) || extent.offset > INT32_MAX)
    return dp_fail(EX_DATAERR, "a scale of %g does not match an extent of %lld", scale, (long long)extent.offset);
  *dim = (dp_resize_dim){true, extent.offset, (int64_t)out, scale, dim->roi_start, dim->roi_end};
  return DP_OK;
}

static dp_status check_type(const dp_resize *resize, dp_dtype dtype) {
  if (!strcmp(resize->mode, "nearest") || dp_type_is_float(dtype)) return DP_OK;
  return dp_fail(EX_DATAERR, "mode %s cannot be combined with %s", resize->mode, dp_type_name(dtype));
}

static dp_shape shape_of(const dp_resize *resize, const dp_shape *x) {
  dp_shape y = *x;
  for (int d = 0; d < y.rank; d++)
    if (resize->dims[d].resized) y.dims[d] = dp_dim_of(resize->dims[d].out);
  return y;
}

// ---- coordinates and weights ----------------------------------------------------------------------------------------

// Where position i of the result lies in the operand.
static double origin(const dp_resize *r, const dp_resize_dim *dim, double i) {
  double in = (double)dim->in, width = dim->scale * in, half = (i + 0.5) / dim->scale - 0.5;
  if (!strcmp(r->coordinates, "align_corners")) return width == 1 ? 0 : i * (in - 1) / (width - 1);
  if (!strcmp(r->coordinates, "asymmetric")) return i / dim->scale;
  if (!strcmp(r->coordinates, "tf_crop_and_resize")) {
    double part = (dim->roi_end - dim->roi_start) * (in - 1);
    return dim->roi_start * (in - 1) + (width == 1 ? part / 2 : i * part / (width - 1));
  }
  if (!strcmp(r->coordinates, "pytorch_half_pixel")) return width == 1 ? -0.5 : half;
  if (!strcmp(r->coordinates, "half_pixel_symmetric")) return in / 2 * (1 - (double)dim->out / width) + half;
  return half;
}

static bool outside(const dp_resize *r, const dp_resize_dim *dim, double at) {
  return !strcmp(r->coordinates, "tf_crop_and_resize") && (at < 0 || at > (double)dim->in - 1);
}

// The weight of an element at this distance, for a kernel that extends 1 (linear) or 2 (cubic) to each side.
static double kernel(const dp_resize *r, double x) {
  double a = r->cubic_a;
  x = fabs(x);
  if (!strcmp(r->mode, "linear")) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Adds the weights of the operand's elements for the result's element at `at` to row[in].
static void weigh(const dp_resize *r, const dp_resize_dim *dim, double at, double *rule) {
  double shrink = r->antialias && dim->scale < 1 ? dim->scale : 1;
  double reach = (strcmp(r->mode, "linear") ? 2 : 1) / shrink, sum = 0, clamped = fmin(fmax(at, -1e9), 1e9);
  int64_t first = (int64_t)floor(clamped - reach), last = (int64_t)ceil(clamped + reach);
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = first; i <= last; i++) {
      if (r->exclude_outside && (i < 0 || i >= dim->in)) continue;
      double weight = kernel(r, ((double)i - clamped) * shrink);
      if (pass)
        rule[dp_max_i64(0, dp_min_i64(i, dim->in - 1))] += sum ? weight / sum : 0;
      else
        sum += weight;
    }
}

static int64_t nearest(const dp_resize *r, const dp_resize_dim *dim, double at) {
  double low = floor(at), rest = at - low;
  bool up = !strcmp(r->nearest, "ceil")                ? rest > 0
            : !strcmp(r->nearest, "floor")             ? false
            : !strcmp(r->nearest, "round_prefer_ceil") ? rest >= 0.5
                                                       : rest > 0.5;
  double position = fmin(fmax(up ? low + 1 : low, 0), (double)dim->in - 1);
  return (int64_t)position;
}

// ---- the graph ------------------------------------------------------------------------------------------------------

static dp_value *along(dp_builder *b, const dp_resize *r, dp_value *x, int d) {
  const dp_resize_dim *dim = &r->dims[d];
  bool is_nearest = !strcmp(r->mode, "nearest"), last = d == x->type->shape.rank - 1;
  dp_shape table = {is_nearest ? 1 : 2, {dp_dim_of(dim->out), dp_dim_of(dim->in)}}, y = x->type->shape;
  int64_t count;
  double *numbers = dp_compose_room(b, &table, &count);
  for (int64_t i = 0; numbers && i < dim->out; i++) {
    double at = origin(r, dim, (double)i);
    if (is_nearest)
      numbers[i] = (double)nearest(r, dim, at);
    else
      weigh(r, dim, at, numbers + i * dim->in);
  }
  dp_value *weights = dp_compose_constant(b, is_nearest ? DP_INT64 : x->type->dtype, &table, numbers);
  if (is_nearest) return dp_compose_gather(b, x, weights, d);
  y.dims[d] = dp_dim_of(dim->out);
  // x as matrices whose rows or columns are the dim
  dp_value *seen = last ? x : dp_compose_merge(b, x, d + 1, x->type->shape.rank);
  if (x->type->shape.rank == 1) seen = dp_compose_unsqueeze(b, x, 0);
  if (last) weights = dp_compose_swap(b, weights, 0, 1);
  return dp_build_reshape(b, last ? dp_build2(b, "MatMul", seen, weights) : dp_build2(b, "MatMul", weights, seen), &y);
}

// Inserts the extrapolation value where a coordinate lies outside of the operand.
static dp_value *extrapolate(dp_builder *b, const dp_resize *r, dp_value *y, int d) {
  const dp_resize_dim *dim = &r->dims[d];
  dp_shape shape = {.rank = r->rank};
  for (int i = 0; i < r->rank; i++) shape.dims[i] = dp_dim_of(i == d ? dim->out : 1);
  int64_t count;
  bool any = false;
  double *is_outside = dp_compose_room(b, &shape, &count);
  for (int64_t i = 0; is_outside && i < dim->out; i++)
    any |= (is_outside[i] = outside(r, dim, origin(r, dim, (double)i))) != 0;
  if (!any) return y;
  dp_value *mask = dp_compose_constant(b, DP_BOOL, &shape, is_outside);
  return dp_compose_where(b, mask, dp_build_fill(b, y->type->dtype, r->extrapolation), y);
}

static dp_value *build(dp_builder *b, const dp_resize *r, dp_value *x) {
  dp_value *y = dp_build1(b, "Identity", x);
  for (int d = 0; d < r->rank; d++)
    if (r->dims[d].resized && r->dims[d].in > 0) y = along(b, r, y, d);
  for (int d = 0; d < r->rank; d++)
    if (r->dims[d].resized && !strcmp(r->coordinates, "tf_crop_and_resize")) y = extrapolate(b, r, y, d);
  return y;
}

dp_status dp_resize_infer(dp_node *node, dp_resize_make make) {
  dp_resize r;
  DP_TRY(make(node, &r));
  DP_TRY(check_type(&r, node->inputs[0]->type->dtype));
  dp_shape y = shape_of(&r, dp_common_shape(node, 0));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

void dp_resize_specialize(dp_builder *b, const dp_node *node, dp_resize_make make, dp_value *const *in,
                          dp_value **out) {
  dp_resize r;
  dp_status status = make(node, &r);
  if (status)  // infer has refused the node
    dp_status_free(status);
  else
    out[0] = build(b, &r, in[0]);
}
