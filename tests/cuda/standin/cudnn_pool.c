// Pooling: what is read of its descriptors, and what it computes. See cudnn_pool.h. As in cuDNN 9, tensors whose
// channels do not come last have one engine, which the heuristics of the fallback name, and which says nothing of
// itself.
#include "tests/cuda/standin/cudnn_pool.h"

#include <math.h>
#include <string.h>

#include "tests/cuda/standin/half.h"

bool standin_cudnn_is_pooling(const descriptor *d) {
  return d->type == CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR;
}

static const engine engines[] = {{301, -1, false, 1}};

int standin_cudnn_pool_engines(int mode, const engine **first) {
  *first = engines;
  return mode == CUDNN_HEUR_MODE_FALLBACK;
}

const engine *standin_cudnn_pool_engine(int number) { return number == engines[0].number ? engines : NULL; }

// ---- descriptors ----------------------------------------------------------------------------------------------------

static const int64_t *numbers(const descriptor *d, int name, int64_t *count) {
  for (const attribute *a = d->attributes; a; a = a->next)
    if (a->name == name) return *count = a->count, a->values;
  return NULL;
}

static int one(const descriptor *d, int name) { return *(const int *)standin_cudnn_values(d, name); }

cudnnStatus_t standin_cudnn_check_window(const descriptor *d) {
  static const struct {
    int name;
    int64_t low;
  } lists[] = {{CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 1},
               {CUDNN_ATTR_RESAMPLE_STRIDES, 1},
               {CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0},
               {CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0}};
  const int64_t spatial = *(const int64_t *)standin_cudnn_values(d, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
  if (spatial < 2 || spatial > 3) return CUDNN_STATUS_NOT_SUPPORTED;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    int64_t count = 0;
    const int64_t *values = numbers(d, lists[i].name, &count);
    if (count != spatial) return CUDNN_STATUS_NOT_SUPPORTED;
    for (int64_t k = 0; k < count; k++)
      if (values[k] < lists[i].low) return CUDNN_STATUS_BAD_PARAM;
  }
  return one(d, CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION) == CUDNN_PROPAGATE_NAN ? CUDNN_STATUS_SUCCESS
                                                                            : CUDNN_STATUS_NOT_SUPPORTED;
}

static void spread(const descriptor *d, int name, int64_t missing, int64_t *to) {
  int64_t count = 0;
  const int64_t *from = numbers(d, name, &count);
  for (int64_t i = 0; i < 3; i++) to[i] = i < 3 - count ? missing : from[i - (3 - count)];
}

static cudnnStatus_t read_tensor(const descriptor *d, int64_t spatial, pooled *t) {
  int64_t count = 0;
  const int64_t *extents = numbers(d, CUDNN_ATTR_TENSOR_DIMENSIONS, &count);
  const int64_t *strides = numbers(d, CUDNN_ATTR_TENSOR_STRIDES, &count);
  if (d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR || count != 2 + spatial) return CUDNN_STATUS_BAD_PARAM;
  *t = (pooled){.id = *(const int64_t *)standin_cudnn_values(d, CUDNN_ATTR_TENSOR_UNIQUE_ID),
                .alignment = *(const int64_t *)standin_cudnn_values(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
                .type = one(d, CUDNN_ATTR_TENSOR_DATA_TYPE)};
  for (int64_t i = 0; i < 5; i++) {
    const int64_t from = i < 2 ? i : i - (3 - spatial);
    const bool missing = i >= 2 && i < 5 - spatial;
    t->extents[i] = missing ? 1 : extents[from];
    t->strides[i] = missing ? 0 : strides[from];
  }
  return CUDNN_STATUS_SUCCESS;
}

// Maxima are padded with -infinity here.
static cudnnStatus_t read_window(const descriptor *d, pooling *p) {
  const int mode = one(d, CUDNN_ATTR_RESAMPLE_MODE), padding = one(d, CUDNN_ATTR_RESAMPLE_PADDING_MODE);
  p->maximum = mode == CUDNN_RESAMPLE_MAXPOOL;
  p->counts = mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
  if (!p->maximum && !p->counts && mode != CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING) return CUDNN_STATUS_NOT_SUPPORTED;
  if (padding != (p->maximum ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD)) return CUDNN_STATUS_NOT_SUPPORTED;
  spread(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 1, p->window);
  spread(d, CUDNN_ATTR_RESAMPLE_STRIDES, 1, p->stride);
  spread(d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0, p->pre);
  spread(d, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0, p->post);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t standin_cudnn_read_pooling(const descriptor *d, pooling *p) {
  const descriptor *window = standin_cudnn_part(d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
  const descriptor *x = standin_cudnn_part(d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
  const descriptor *y = standin_cudnn_part(d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
  *p = (pooling){0};
  if (window->type != CUDNN_BACKEND_RESAMPLE_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
  const int64_t spatial = *(const int64_t *)standin_cudnn_values(window, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
  cudnnStatus_t status = read_window(window, p);
  if (status == CUDNN_STATUS_SUCCESS) status = read_tensor(x, spatial, &p->x);
  if (status == CUDNN_STATUS_SUCCESS) status = read_tensor(y, spatial, &p->y);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const int computed = p->x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  if (p->x.type != p->y.type || one(window, CUDNN_ATTR_RESAMPLE_COMP_TYPE) != computed)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (p->x.id == p->y.id || memcmp(p->x.extents, p->y.extents, 2 * sizeof *p->x.extents)) return CUDNN_STATUS_BAD_PARAM;
  for (int i = 0; i < 3; i++) {
    const int64_t room = p->x.extents[2 + i] + p->pre[i] + p->post[i] - p->window[i];
    if (room < 0 || p->y.extents[2 + i] != room / p->stride[i] + 1) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    if (p->pre[i] >= p->window[i] || p->post[i] >= p->window[i]) return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

// ---- computing ------------------------------------------------------------------------------------------------------

static double get(const pooled *t, int64_t at) {
  if (t->type == CUDNN_DATA_DOUBLE) return ((const double *)t->data)[at];
  if (t->type == CUDNN_DATA_FLOAT) return (double)((const float *)t->data)[at];
  const uint16_t bits = ((const uint16_t *)t->data)[at];
  return (double)(t->type == CUDNN_DATA_HALF ? standin_get_float16(bits) : standin_get_bfloat16(bits));
}

static void put(const pooled *t, int64_t at, double x) {
  if (t->type == CUDNN_DATA_DOUBLE)
    ((double *)t->data)[at] = x;
  else if (t->type == CUDNN_DATA_FLOAT)
    ((float *)t->data)[at] = (float)x;
  else
    ((uint16_t *)t->data)[at] =
        t->type == CUDNN_DATA_HALF ? standin_put_float16((float)x) : standin_put_bfloat16((float)x);
}

static int64_t place(const pooled *t, int64_t n, int64_t c, const int64_t *at) {
  return n * t->strides[0] + c * t->strides[1] + at[0] * t->strides[2] + at[1] * t->strides[3] + at[2] * t->strides[4];
}

// The elements of x that window o covers: [low, high) in each dim; returns what a mean divides by.
static double box_of(const pooling *p, const int64_t *o, int64_t *low, int64_t *high) {
  double inside = 1, all = 1;
  for (int d = 0; d < 3; d++) {
    const int64_t begin = o[d] * p->stride[d] - p->pre[d], end = begin + p->window[d], last = p->x.extents[2 + d];
    low[d] = begin < 0 ? 0 : begin;
    high[d] = end > last ? last : end;
    inside *= (double)(high[d] - low[d]);
    all *= (double)p->window[d];
  }
  return p->counts ? all : inside;
}

// Sums in float32, unless tensors are float64.
static double added(const pooling *p, double sum, double x) {
  return p->x.type == CUDNN_DATA_DOUBLE ? sum + x : (double)(float)(sum + x);
}

static double pool_of(const pooling *p, int64_t n, int64_t c, const int64_t *o) {
  int64_t low[3], high[3], at[3];
  const double count = box_of(p, o, low, high);
  double result = p->maximum ? -INFINITY : 0;
  for (at[0] = low[0]; at[0] < high[0]; at[0]++)
    for (at[1] = low[1]; at[1] < high[1]; at[1]++)
      for (at[2] = low[2]; at[2] < high[2]; at[2]++) {
        const double x = get(&p->x, place(&p->x, n, c, at));
        if (!p->maximum)
          result = added(p, result, x);
        else if (x > result || isnan(x))
          result = x;
      }
  return p->maximum ? result : result / count;
}

void standin_cudnn_pool(void *argument) {
  const pooling *p = argument;
  const pooled *to = &p->y;
  int64_t at[3];
  for (int64_t n = 0; n < to->extents[0]; n++)
    for (int64_t c = 0; c < to->extents[1]; c++)
      for (at[0] = 0; at[0] < to->extents[2]; at[0]++)
        for (at[1] = 0; at[1] < to->extents[3]; at[1]++)
          for (at[2] = 0; at[2] < to->extents[4]; at[2]++) put(to, place(to, n, c, at), pool_of(p, n, c, at));
}
