// Windows that slide over spatial dims. See geometry.h.
#include "ir/ops/geometry.h"

#include <string.h>

// Beyond any sensible use, and small enough that products do not overflow.
enum { LARGEST = 1 << 30 };

// list[0..count) from an INTS attribute, `otherwise` when absent, each within [low, LARGEST].
static dp_status take_ints(const dp_node *node, const char *name, int count, int64_t low, int64_t otherwise,
                           int64_t *list) {
  size_t given;
  const int64_t *ints = dp_node_ints(node, name, &given);
  if (given && given != (size_t)count)
    return dp_fail(EX_DATAERR, "attribute '%s' has %zu numbers where %d are expected", name, given, count);
  for (int i = 0; i < count; i++) {
    list[i] = given ? ints[i] : otherwise;
    if (list[i] < low || list[i] > LARGEST)
      return dp_fail(EX_DATAERR, "attribute '%s' has %lld where %lld to %d is expected", name, (long long)list[i],
                     (long long)low, LARGEST);
  }
  return DP_OK;
}

// Pads for a result of ceil(x / stride), the odd one at the end or at the beginning.
static void pad_to_same(dp_geometry *g, int i, bool upper) {
  int64_t y = (g->x[i] + g->stride[i] - 1) / g->stride[i];
  int64_t total = (y - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1 - g->x[i];
  if (total < 0) total = 0;
  g->pad_begin[i] = upper ? total / 2 : total - total / 2;
  g->pad_end[i] = total - g->pad_begin[i];
}

static dp_status take_pads(const dp_node *node, dp_geometry *g) {
  int64_t pads[2 * DP_MAX_SPATIAL];
  const char *auto_pad = dp_node_string(node, "auto_pad", "NOTSET");
  bool upper = !strcmp(auto_pad, "SAME_UPPER"), decompose = !strcmp(auto_pad, "SAME_LOWER");
  if (!upper && !decompose && strcmp(auto_pad, "NOTSET") && strcmp(auto_pad, "VALID"))
    return dp_fail(EX_DATAERR, "auto_pad is '%s' where NOTSET, VALID, SAME_UPPER or SAME_LOWER is expected", auto_pad);
  DP_TRY(take_ints(node, "pads", 2 * g->rank, 0, 0, pads));
  for (int i = 0; i < 2 * g->rank; i++)
    if (pads[i] && strcmp(auto_pad, "NOTSET"))
      return dp_fail(EX_DATAERR, "attribute 'pads' requires auto_pad=\"NOTSET\", found \"%s\"", auto_pad);
  for (int i = 0; i < g->rank; i++) {
    g->pad_begin[i] = pads[i];
    g->pad_end[i] = pads[g->rank + i];
    if (upper || decompose) pad_to_same(g, i, upper);
  }
  return DP_OK;
}

static dp_status take_kernel(const dp_node *node, const int64_t *kernel, dp_geometry *g) {
  size_t given;
  (void)dp_node_ints(node, "kernel_shape", &given);
  if (!kernel && !given) return dp_fail(EX_DATAERR, "attribute 'kernel_shape' is missing");
  DP_TRY(take_ints(node, "kernel_shape", g->rank, 1, 1, g->kernel));
  for (int i = 0; kernel && i < g->rank; i++) {
    if (given && g->kernel[i] != kernel[i])
      return dp_fail(EX_DATAERR, "attribute 'kernel_shape' has %lld where the weights have %lld",
                     (long long)g->kernel[i], (long long)kernel[i]);
    if (kernel[i] < 1 || kernel[i] > LARGEST)
      return dp_fail(EX_DATAERR, "the weights have a spatial extent of %lld where 1 to %d is expected",
                     (long long)kernel[i], LARGEST);
    g->kernel[i] = kernel[i];
  }
  return DP_OK;
}

dp_status dp_geometry_make(const dp_node *node, int rank, const int64_t *x, const int64_t *kernel,
                           dp_geometry *geometry) {
  dp_geometry g = {.rank = rank};
  DP_TRY(take_kernel(node, kernel, &g));
  DP_TRY(take_ints(node, "strides", rank, 1, 1, g.stride));
  DP_TRY(take_ints(node, "dilations", rank, 1, 1, g.dilation));
  memcpy(g.x, x, (size_t)rank * sizeof *x);
  DP_TRY(take_pads(node, &g));
  bool ceil_mode = dp_node_int(node, "ceil_mode", 0) != 0;
  for (int i = 0; i < rank; i++) {
    int64_t window = (g.kernel[i] - 1) * g.dilation[i] + 1;
    int64_t room = g.x[i] + g.pad_begin[i] + g.pad_end[i] - window;
    if (room < 0)
      return dp_fail(EX_DATAERR, "a window of %lld does not fit into a padded extent of %lld (spatial dim %d)",
                     (long long)window, (long long)(room + window), i);
    g.y[i] = room / g.stride[i] + 1;
    // One more, partial window, if it starts before the padding at the end.
    if (ceil_mode && room % g.stride[i] && g.y[i] * g.stride[i] < g.x[i] + g.pad_begin[i]) g.y[i]++;
  }
  *geometry = g;
  return DP_OK;
}

dp_status dp_geometry_shapes(const dp_node *node, const dp_shape *x, const dp_shape *w, dp_dim channels,
                             dp_geometry *geometry, dp_shape *y) {
  char text[256];
  int rank = x->rank - 2;
  int64_t extents[DP_MAX_SPATIAL], kernel[DP_MAX_SPATIAL];
  if (rank < 1 || rank > DP_MAX_SPATIAL)
    return dp_fail(EX_DATAERR,
                   "the operand has shape %s; [N, C, spatial extents...] with 1 to %d spatial extents is expected",
                   dp_shape_print(x, text, sizeof text), DP_MAX_SPATIAL);
  if (w && w->rank != x->rank)
    return dp_fail(EX_DATAERR, "the weights have shape %s; rank %d is expected, like the operand's",
                   dp_shape_print(w, text, sizeof text), x->rank);
  for (int i = 0; i < rank; i++) {
    if (dp_dim_is_symbolic(x->dims[2 + i]) || (w && dp_dim_is_symbolic(w->dims[2 + i])))
      return dp_fail(EX_DATAERR, "a spatial extent depends on the number of samples; only dim 0 may");
    extents[i] = x->dims[2 + i].offset;
    if (w) kernel[i] = w->dims[2 + i].offset;
  }
  DP_TRY(dp_geometry_make(node, rank, extents, w ? kernel : NULL, geometry));
  *y = *x;
  y->dims[1] = channels;
  for (int i = 0; i < rank; i++) y->dims[2 + i] = dp_dim_of(geometry->y[i]);
  return DP_OK;
}

dp_status dp_geometry_infer_pool(dp_node *node) {
  dp_geometry g;
  dp_shape y;
  const dp_shape *x = dp_common_shape(node, 0);
  DP_TRY(dp_geometry_shapes(node, x, NULL, x->rank > 1 ? x->dims[1] : dp_dim_of(0), &g, &y));
  for (int i = 0; i < g.rank; i++)
    if (g.pad_begin[i] >= (g.kernel[i] - 1) * g.dilation[i] + 1 ||
        g.pad_end[i] >= (g.kernel[i] - 1) * g.dilation[i] + 1)
      return dp_fail(
          EX_DATAERR, "pads of %lld and %lld leave a window of %lld with nothing but padding (spatial dim %d)",
          (long long)g.pad_begin[i], (long long)g.pad_end[i], (long long)((g.kernel[i] - 1) * g.dilation[i] + 1), i);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

void dp_geometry_sharding_pool(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  for (int d = 0; d < 2; d++) dp_sharding_split(rules, x->dims[d], (int[]){d, d, d}, (int[]){d, d});
}
