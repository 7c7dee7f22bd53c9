// Convolutions and their gradients, from what the descriptors say.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/cudnn_private.h"
#include "tests/cuda/standin/half.h"

static int runs;  // counts executions, for engines whose order is not the same in every run

// The windows along spatial dim d whose tap t is inside x: from *low, to below the result.
static int64_t windows(const convolution *c, int d, int64_t t, int64_t *low) {
  const int64_t shift = c->pad[d] - t * c->dilation[d], last = c->x.extents[2 + d] - 1 + shift;
  *low = shift > 0 ? (shift + c->stride[d] - 1) / c->stride[d] : 0;
  const int64_t end = last < 0 ? 0 : last / c->stride[d] + 1;
  return end < c->y.extents[2 + d] ? end : c->y.extents[2 + d];
}

// The place in x, along spatial dim d, of tap t of window o.
static int64_t place(const convolution *c, int d, int64_t o, int64_t t) {
  return o * c->stride[d] - c->pad[d] + t * c->dilation[d];
}

#define T float
#define NAME(name) name##_float
#include "tests/cuda/standin/cudnn_convolve.h"
#undef T
#undef NAME
#define T double
#define NAME(name) name##_double
#include "tests/cuda/standin/cudnn_convolve.h"
#undef T
#undef NAME

// ---- tensors of 16 bits: computed from copies in float --------------------------------------------------------------

static int64_t count_of(const tensor *t) {
  return t->extents[0] * t->extents[1] * t->extents[2] * t->extents[3] * t->extents[4];
}

// The element number i of a tensor.
static char *element(const tensor *t, int64_t i) {
  int64_t at = 0;
  for (int d = 4; d >= 0; d--) {
    at += i % t->extents[d] * t->strides[d];
    i /= t->extents[d];
  }
  return t->data + (size_t)at * (t->type == CUDNN_DATA_FLOAT ? sizeof(float) : sizeof(uint16_t));
}

float standin_cudnn_number(const tensor *t, int64_t i) {
  const void *at = element(t, i);
  if (t->type == CUDNN_DATA_FLOAT) return *(const float *)at;
  const uint16_t bits = *(const uint16_t *)at;
  return t->type == CUDNN_DATA_HALF ? standin_get_float16(bits) : standin_get_bfloat16(bits);
}

void standin_cudnn_set_number(const tensor *t, int64_t i, float x) {
  void *at = element(t, i);
  if (t->type == CUDNN_DATA_FLOAT)
    *(float *)at = x;
  else
    *(uint16_t *)at = t->type == CUDNN_DATA_HALF ? standin_put_float16(x) : standin_put_bfloat16(x);
}

// A dense copy in float, that the caller frees. False: no memory.
static bool widen(const tensor *t, tensor *wide) {
  int64_t stride = 1;
  float *numbers = malloc(((size_t)count_of(t) + 1) * sizeof *numbers);
  *wide = *t;
  wide->type = CUDNN_DATA_FLOAT;
  wide->data = (char *)numbers;
  for (int d = 4; d >= 0; d--) {
    wide->strides[d] = stride;
    stride *= t->extents[d];
  }
  for (int64_t i = 0; numbers && i < count_of(t); i++) numbers[i] = standin_cudnn_number(t, i);
  return numbers;
}

// An engine that wants a workspace writes into all of it.
static void convolve_halves(const convolution *c) {
  convolution wide = *c;
  const bool made = (int)widen(&c->x, &wide.x) & (int)widen(&c->w, &wide.w) & (int)widen(&c->y, &wide.y);
  const int64_t workspace = standin_cudnn_workspace(standin_cudnn_engine(c->engine), c);
  if (workspace > 0) memset(c->workspace, 0xff, (size_t)workspace);
  if (c->engine != 25) wide.engine = 0;
  if (made) convolve_float(&wide);
  const bool forward = c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  const bool input = c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const tensor *to = forward ? &c->y : input ? &c->x : &c->w;
  const tensor *from = forward ? &wide.y : input ? &wide.x : &wide.w;
  for (int64_t i = 0; made && i < count_of(to); i++)
    standin_cudnn_set_number(to, i, ((const float *)(const void *)from->data)[i]);
  free(wide.x.data);
  free(wide.w.data);
  free(wide.y.data);
}

// Sums in float, dense, are what the operations that follow begin with.
static void convolve_followed(const convolution *c) {
  convolution wide = *c;
  const bool half = c->x.type != CUDNN_DATA_FLOAT;
  const int64_t workspace = standin_cudnn_workspace(standin_cudnn_engine(c->engine), c);
  bool made = widen(&c->y, &wide.y);
  if (half) made = (int)made & (int)widen(&c->x, &wide.x) & (int)widen(&c->w, &wide.w);
  if (half && workspace > 0) memset(c->workspace, 0xff, (size_t)workspace);
  if (half && c->engine != 25) wide.engine = 0;
  if (made) convolve_float(&wide);
  if (made) standin_cudnn_follow(c, (const float *)(const void *)wide.y.data);
  free(wide.y.data);
  if (half) free(wide.x.data);
  if (half) free(wide.w.data);
}

void standin_cudnn_convolve(void *argument) {
  convolution c = *(const convolution *)argument;
  runs++;
  if (c.n_following)
    convolve_followed(&c);
  else if (c.x.type == CUDNN_DATA_HALF || c.x.type == CUDNN_DATA_BFLOAT16)
    convolve_halves(&c);
  else if (c.type == CUDNN_DATA_DOUBLE)
    convolve_double(&c);
  else
    convolve_float(&c);
}
