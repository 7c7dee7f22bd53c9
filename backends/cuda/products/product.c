// See product.h.
#include "backends/cuda/products/product.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/sources.h"

typedef struct {
  const dp_cuda_function *function;
  dp_product_arguments arguments;
} step;

#define FLOATS "#define A double\n#define SCALE(FACTOR, SUM) ((FACTOR) * (SUM))\n"
#define INTEGERS "#define A dp_u64\n#define SCALE(FACTOR, SUM) ((dp_u64)(dp_i64)(FACTOR) * (SUM))\n"

static dp_status add(dp_dtype dtype, const dp_cuda_function **function) {
  static const struct {
    const char *name, *defines;
  } types[DP_MAX_TYPE + 1] = {
      [DP_FLOAT32] = {"float32", "#define T float\n" FLOATS}, [DP_FLOAT64] = {"float64", "#define T double\n" FLOATS},
      [DP_INT32] = {"int32", "#define T int\n" INTEGERS},     [DP_UINT32] = {"uint32", "#define T dp_u32\n" INTEGERS},
      [DP_INT64] = {"int64", "#define T dp_i64\n" INTEGERS},  [DP_UINT64] = {"uint64", "#define T dp_u64\n" INTEGERS},
  };
  char name[64];
  snprintf(name, sizeof name, "product_%s", types[dtype].name);
  return dp_cuda_function_add(name, types[dtype].defines, dp_cuda_source_product, function);
}

dp_status dp_cuda_product_prepare(dp_dtype dtype, const dp_product_arguments *arguments, void **state) {
  const dp_cuda_function *function;
  DP_TRY(add(dtype, &function));
  step *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a product");
  *s = (step){function, *arguments};
  *state = s;
  return DP_OK;
}

dp_status dp_cuda_product_enqueue(void *state, dp_queue *queue, const void *a, const void *b, const void *c, void *y) {
  const step *s = state;
  dp_product_arguments arguments = s->arguments;
  arguments.a = a;
  arguments.b = b;
  arguments.c = c;
  arguments.y = y;
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks(arguments.count), DP_CUDA_THREADS, &arguments,
                        sizeof arguments);
}
