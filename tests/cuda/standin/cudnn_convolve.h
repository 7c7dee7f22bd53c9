// Convolutions over type T, for cudnn_convolve.c, which includes this once for each type.

// The address of an element's row along the last dim.
static T *NAME(row)(const tensor *t, int64_t a, int64_t b, int64_t i, int64_t j) {
  return (T *)t->data + a * t->strides[0] + b * t->strides[1] + i * t->strides[2] + j * t->strides[3];
}

// For one tap (t), of channel `channel` of x and m of y, visits all runs of windows along the last dim. KIND adds to
// the plane of sums: of y from x and w, or of x from y and w; or returns the sum of the products of x and y.
static T NAME(visit)(const convolution *c, int64_t n, int64_t channel, int64_t m, const int64_t *t, T weight, T *sums) {
  const bool forward = c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  const bool input = c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const int64_t x_stride = c->x.strides[4] * c->stride[2], y_stride = c->y.strides[4];
  int64_t low[3], end[3];
  T sum = 0;
  for (int d = 0; d < 3; d++) end[d] = windows(c, d, t[d], &low[d]);
  for (int64_t i = low[0]; i < end[0]; i++)
    for (int64_t j = low[1]; j < end[1]; j++) {
      const int64_t xi = place(c, 0, i, t[0]), xj = place(c, 1, j, t[1]), xk = place(c, 2, low[2], t[2]);
      const T *x = NAME(row)(&c->x, n, channel, xi, xj) + xk * c->x.strides[4];
      const T *y = NAME(row)(&c->y, n, m, i, j) + low[2] * y_stride;
      T *to = forward ? sums + (i * c->y.extents[3] + j) * c->y.extents[4] + low[2]
                      : sums + (xi * c->x.extents[3] + xj) * c->x.extents[4] + xk;
      const int64_t count = end[2] - low[2];
      if (forward)
        for (int64_t k = 0; k < count; k++) to[k] += weight * x[k * x_stride];
      else if (input)
        for (int64_t k = 0; k < count; k++) to[k * c->stride[2]] += weight * y[k * y_stride];
      else
        for (int64_t k = 0; k < count; k++) sum += x[k * x_stride] * y[k * y_stride];
    }
  return sum;
}

static void NAME(blend)(const convolution *c, T sum, T *to) {
  *to = (T)c->alpha * sum + (c->beta != 0 ? (T)c->beta * *to : 0);
}

// Which of `count` is number i for an engine: the order of one that is not deterministic depends on the run.
static int64_t NAME(turn)(const convolution *c, int64_t i, int64_t count) {
  return c->engine == 25 ? (i + runs) % count : c->engine == STANDIN_CUDNN_WINOGRAD ? count - 1 - i : i;
}

// All taps of one pair of channels.
static void NAME(visit_taps)(const convolution *c, int64_t n, int64_t channel, int64_t m, T *sums) {
  const tensor *w = &c->w;
  const int64_t taps = w->extents[2] * w->extents[3] * w->extents[4];
  for (int64_t i = 0; i < taps; i++) {
    const int64_t tap = NAME(turn)(c, i, taps);
    const int64_t t[3] = {tap / w->extents[4] / w->extents[3], tap / w->extents[4] % w->extents[3],
                          tap % w->extents[4]};
    const T weight = NAME(row)(w, m, channel % w->extents[1], t[0], t[1])[t[2] * w->strides[4]];
    NAME(visit)(c, n, channel, m, t, weight, sums);
  }
}

// Writes a plane of sums to (n, channel) of a tensor.
static void NAME(write_plane)(const convolution *c, const T *sums, tensor *to, int64_t n, int64_t channel) {
  for (int64_t i = 0; i < to->extents[2]; i++)
    for (int64_t j = 0; j < to->extents[3]; j++)
      for (int64_t k = 0; k < to->extents[4]; k++)
        NAME(blend)(c, *sums++, NAME(row)(to, n, channel, i, j) + k * to->strides[4]);
}

static void NAME(forward)(convolution *c) {
  const int64_t *y = c->y.extents, plane = y[2] * y[3] * y[4], x_group = c->w.extents[1], y_group = y[1] / c->groups;
  for (int64_t n = 0; n < y[0]; n++)
    for (int64_t m = 0; m < y[1]; m++) {
      memset(c->own, 0, (size_t)plane * sizeof(T));
      for (int64_t channel = 0; channel < x_group; channel++)
        NAME(visit_taps)(c, n, m / y_group * x_group + channel, m, c->own);
      NAME(write_plane)(c, c->own, &c->y, n, m);
    }
}

static void NAME(grad_input)(convolution *c) {
  const int64_t *x = c->x.extents, plane = x[2] * x[3] * x[4], x_group = c->w.extents[1];
  const int64_t y_group = c->y.extents[1] / c->groups;
  for (int64_t n = 0; n < x[0]; n++)
    for (int64_t channel = 0; channel < x[1]; channel++) {
      memset(c->own, 0, (size_t)plane * sizeof(T));
      for (int64_t m = 0; m < y_group; m++) NAME(visit_taps)(c, n, channel, channel / x_group * y_group + m, c->own);
      NAME(write_plane)(c, c->own, &c->x, n, channel);
    }
}

static void NAME(grad_weight)(convolution *c) {
  const int64_t *w = c->w.extents, y_group = w[0] / c->groups;
  for (int64_t m = 0; m < w[0]; m++)
    for (int64_t channel = 0; channel < w[1]; channel++)
      for (int64_t tap = 0; tap < w[2] * w[3] * w[4]; tap++) {
        const int64_t t[3] = {tap / w[4] / w[3], tap / w[4] % w[3], tap % w[4]};
        T sum = 0;
        for (int64_t i = 0; i < c->x.extents[0]; i++) {
          const int64_t n = NAME(turn)(c, i, c->x.extents[0]);
          sum += NAME(visit)(c, n, m / y_group * w[1] + channel, m, t, 0, c->own);
        }
        NAME(blend)(c, sum, NAME(row)(&c->w, m, channel, t[0], t[1]) + t[2] * c->w.strides[4]);
      }
}

// What an engine that rounds makes of an operand: a number of TF32, or of 16 bits if it says that it converts.
static T NAME(rounded)(const convolution *c, T value) {
  if (c->engine == STANDIN_CUDNN_CONVERTS) return (T)standin_get_bfloat16(standin_put_bfloat16((float)value));
  return (T)standin_round_tf32((float)value);
}

// Copies a tensor to the workspace, dense; the tensor is there from then on.
static void NAME(move)(const convolution *c, tensor *t, bool rounds, T **room) {
  tensor moved = *t;
  int64_t stride = 1;
  moved.data = (char *)*room;
  for (int d = 4; d >= 0; d--) {
    moved.strides[d] = stride;
    stride *= t->extents[d];
  }
  for (int64_t a = 0; a < t->extents[0]; a++)
    for (int64_t b = 0; b < t->extents[1]; b++)
      for (int64_t i = 0; i < t->extents[2]; i++)
        for (int64_t j = 0; j < t->extents[3]; j++)
          for (int64_t k = 0; k < t->extents[4]; k++) {
            const T value = NAME(row)(t, a, b, i, j)[k * t->strides[4]];
            NAME(row)(&moved, a, b, i, j)[k] = rounds ? NAME(rounded)(c, value) : value;
          }
  *room += stride;
  *t = moved;
}

static void NAME(convolve)(convolution *c) {
  const bool forward = c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  const bool input = c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const bool narrows = c->engine == STANDIN_CUDNN_TENSOR_CORES && sizeof(T) == sizeof(float);
  const bool rounds = c->engine == STANDIN_CUDNN_CONVERTS || narrows;
  if (c->engine == 38 || rounds) {
    T *room = c->workspace;
    if (!input) NAME(move)(c, &c->x, rounds, &room);
    if (forward || input) NAME(move)(c, &c->w, rounds, &room);
    if (!forward) NAME(move)(c, &c->y, rounds, &room);
  }
  if (forward)
    NAME(forward)(c);
  else if (input)
    NAME(grad_input)(c);
  else
    NAME(grad_weight)(c);
}
