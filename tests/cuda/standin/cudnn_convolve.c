// Convolutions and their gradients, from what the descriptors say.
#include <string.h>

#include "tests/cuda/standin/cudnn_private.h"

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

void standin_cudnn_convolve(void *argument) {
  convolution c = *(const convolution *)argument;
  runs++;
  if (c.type == CUDNN_DATA_DOUBLE)
    convolve_double(&c);
  else
    convolve_float(&c);
}
