// Resize: resamples each dim to its scale or size. nearest takes one element; linear and cubic weigh neighbours, with
// antialias more of them where a dim shrinks. Specialized into a Gather (nearest) or a product with a table of weights
// for each dim.
#include "ir/ops/resize.h"

#include <math.h>
#include <string.h>

static dp_status check_word(const dp_node *node, const char *name, const char *otherwise, const char *const *words,
                            const char **found) {
  *found = dp_node_string(node, name, otherwise);
  for (; *words; words++)
    if (!strcmp(*words, *found)) return DP_OK;
  return dp_fail(EX_DATAERR, "%s is '%s', which ONNX does not define", name, *found);
}

static dp_status check_words(const dp_node *node, dp_resize *r, const char **policy) {
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
  static const char *const coordinates[] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
      NULL};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  DP_TRY(check_word(node, "mode", "nearest", modes, &r->mode));
  DP_TRY(check_word(node, "coordinate_transformation_mode", "half_pixel", coordinates, &r->coordinates));
  DP_TRY(check_word(node, "nearest_mode", "round_prefer_floor", nearest, &r->nearest));
  DP_TRY(check_word(node, "keep_aspect_ratio_policy", "stretch", policies, policy));
  r->cubic_a = dp_node_float(node, "cubic_coeff_a", -0.75);
  r->extrapolation = dp_node_float(node, "extrapolation_value", 0);
  r->exclude_outside = dp_node_int(node, "exclude_outside", 0) != 0;
  r->antialias = dp_node_int(node, "antialias", 0) != 0;
  if (r->antialias && !strcmp(r->mode, "nearest"))
    return dp_fail(EX_DATAERR, "antialias does not support mode nearest");
  return DP_OK;
}

// The dims that scales, sizes and roi apply to.
static dp_status axes_of(const dp_node *node, int rank, int axes[DP_MAX_RANK], size_t *count) {
  const int64_t *given = dp_node_ints(node, "axes", count);
  bool taken[DP_MAX_RANK] = {0};
  if (!dp_node_attr(node, "axes")) *count = (size_t)rank;
  if (*count > (size_t)rank) return dp_fail(EX_DATAERR, "axes names %zu dims of %d", *count, rank);
  for (size_t i = 0; i < *count; i++) {
    DP_TRY(dp_common_axis("axes", given ? given[i] : (int64_t)i, rank, &axes[i]));
    if (taken[axes[i]]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axes[i]);
    taken[axes[i]] = true;
  }
  return DP_OK;
}

static dp_status by_sizes(const dp_shape *x, const dp_attr *sizes, const int *axes, const char *policy, dp_resize *r) {
  bool stretch = !strcmp(policy, "stretch"), larger = !strcmp(policy, "not_smaller");
  double common = larger ? 0 : INFINITY;
  for (size_t i = 0; i < sizes->count; i++) {
    dp_dim from = x->dims[axes[i]], to = sizes->dims[i];
    bool same = dp_dim_equal(from, to), symbolic = dp_dim_is_symbolic(from) || dp_dim_is_symbolic(to);
    if (symbolic && same && stretch) continue;
    if (symbolic || from.offset < 1 || from.offset > INT32_MAX || to.offset < 0 || to.offset > INT32_MAX)
      return dp_fail(EX_DATAERR,
                     "dim %d cannot be resized: it depends on the batch, is empty, or its new size is invalid",
                     axes[i]);
    double scale = (double)to.offset / (double)from.offset;
    common = larger ? fmax(common, scale) : fmin(common, scale);
    if (!same || !stretch)
      r->dims[axes[i]] =
          (dp_resize_dim){true, from.offset, to.offset, scale, r->dims[axes[i]].roi_start, r->dims[axes[i]].roi_end};
  }
  for (size_t i = 0; i < sizes->count && !stretch; i++) {
    dp_resize_dim *dim = &r->dims[axes[i]];
    dim->scale = common;
    dim->out = (int64_t)(common * (double)dim->in + 0.5);
  }
  return DP_OK;
}

static dp_status read_attributes(const dp_node *node, dp_resize *r) {
  const dp_shape *x = dp_common_shape(node, 0);
  const dp_attr *roi = dp_node_attr(node, "roi"), *scales = dp_node_attr(node, "scales");
  const dp_attr *sizes = dp_node_attr(node, "sizes");
  const char *policy;
  int axes[DP_MAX_RANK];
  size_t n_axes;
  *r = (dp_resize){.rank = x->rank};
  DP_TRY(check_words(node, r, &policy));
  DP_TRY(axes_of(node, x->rank, axes, &n_axes));
  if (scales && !scales->count) scales = NULL;
  if (sizes && !sizes->count) sizes = NULL;
  if (!scales == !sizes || (scales ? scales : sizes)->count != n_axes)
    return dp_fail(EX_DATAERR, "one of scales and sizes is expected, with %zu numbers", n_axes);
  bool crops = !strcmp(r->coordinates, "tf_crop_and_resize");
  if (crops && (!roi || roi->count != 2 * n_axes))
    return dp_fail(EX_DATAERR, "tf_crop_and_resize needs roi, with %zu numbers", 2 * n_axes);
  for (size_t i = 0; crops && i < n_axes; i++) {
    r->dims[axes[i]].roi_start = roi->floats[i];
    r->dims[axes[i]].roi_end = roi->floats[n_axes + i];
  }
  if (sizes) DP_TRY(by_sizes(x, sizes, axes, policy, r));
  for (size_t i = 0; scales && i < n_axes; i++)
    DP_TRY(dp_resize_by_scale(x->dims[axes[i]], scales->floats[i], &r->dims[axes[i]]));
  for (size_t i = 0; crops && i < n_axes; i++) {  // a part of the same size
    dp_resize_dim *dim = &r->dims[axes[i]];
    dp_dim extent = x->dims[axes[i]];
    if (dim->resized || (dim->roi_start == 0 && dim->roi_end == 1)) continue;
    if (dp_dim_is_symbolic(extent) || extent.offset > INT32_MAX)
      return dp_fail(EX_DATAERR, "dim %d, which depends on the batch or is too large, cannot be cropped", axes[i]);
    *dim = (dp_resize_dim){true, extent.offset, extent.offset, 1, dim->roi_start, dim->roi_end};
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) { return dp_resize_infer(node, read_attributes); }

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_resize_specialize(b, node, read_attributes, in, out);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,1,2,3]", .attrs = "scales=[1.0,1.0,2.5,1.5]", .n = 2},
    {.inputs = "float32[N,2,3,4]",
     .attrs = "sizes=[5,7], axes=[2,-1], mode=\"linear\", coordinate_transformation_mode=\"align_corners\"",
     .n = 2},
    {.inputs = "float32[N,2,6,7]",
     .attrs = "sizes=[4,3], axes=[2,3], mode=\"linear\", antialias=1, keep_aspect_ratio_policy=\"not_larger\"",
     .n = 2},
    {.inputs = "float32[N,1,4,5]",
     .attrs = "scales=[1.0,1.0,0.75,2.0], mode=\"cubic\", cubic_coeff_a=-0.5, exclude_outside=1",
     .n = 2},
    {.inputs = "float32[N,1,7,9]", .attrs = "sizes=[N,1,3,4], mode=\"cubic\", antialias=1", .n = 2},
    {.inputs = "float32[N,1,4,4]",
     .attrs = "sizes=[N,1,3,3], roi=[0.0,0.0,0.25,0.5,1.0,1.0,0.75,1.5], mode=\"linear\", extrapolation_value=10.0, "
              "coordinate_transformation_mode=\"tf_crop_and_resize\"",
     .n = 2},
    {.inputs = "float32[N,5]",
     .attrs = "scales=[1.0,1.5], nearest_mode=\"ceil\", coordinate_transformation_mode=\"asymmetric\"",
     .n = 2},
    {.inputs = "float32[4,3]",
     .attrs = "sizes=[6,6], nearest_mode=\"floor\", keep_aspect_ratio_policy=\"not_smaller\", "
              "coordinate_transformation_mode=\"half_pixel_symmetric\""},
    {.inputs = "float32[3]",
     .attrs = "scales=[0.5], mode=\"linear\", coordinate_transformation_mode=\"pytorch_half_pixel\""},
    {.inputs = "int32[N,4]",
     .attrs = "sizes=[7], axes=[1], nearest_mode=\"round_prefer_ceil\"",
     .n = 2,
     .low = -9,
     .high = 9},
    {.inputs = "int64[3]", .attrs = "sizes=[7]", .low = -9, .high = 9},
    {.inputs = "uint8[3]", .attrs = "sizes=[2]", .low = 0, .high = 255},
    {.inputs = "bool[3]", .attrs = "sizes=[5]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Resize = {
    .name = "Resize",
    .domain = "",
    .n_inputs = 4,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_ANY_TYPE, 'T'), DP_AS_ATTR("roi", DP_FLOATS, true),
               DP_AS_ATTR("scales", DP_FLOATS, true), DP_AS_ATTR("sizes", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("Y", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("antialias", 0),
              DP_INTS_ATTR("axes"),
              DP_STRING_ATTR("coordinate_transformation_mode", "half_pixel"),
              DP_FLOAT_ATTR("cubic_coeff_a", -0.75),
              DP_INT_ATTR("exclude_outside", 0),
              DP_FLOAT_ATTR("extrapolation_value", 0),
              DP_STRING_ATTR("keep_aspect_ratio_policy", "stretch"),
              DP_STRING_ATTR("mode", "nearest"),
              DP_STRING_ATTR("nearest_mode", "round_prefer_floor"),
              {.name = "roi", .kind = DP_ATTR_FLOATS},
              {.name = "scales", .kind = DP_ATTR_FLOATS},
              {.name = "sizes", .kind = DP_ATTR_DIMS}},
    .precision = DP_PRECISION_WITHIN,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
