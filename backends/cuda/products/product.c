// See product.h.
#include "backends/cuda/products/product.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/types.h"

typedef struct {
  const dp_cuda_function *function;
  dp_product_arguments arguments;
} step;

static dp_status add(dp_dtype dtype, const dp_cuda_function **function) {
  static const char floats[] = "#define A double\n#define SCALE(FACTOR, SUM) ((FACTOR) * (SUM))\n";
  static const char integers[] = "#define A dp_u64\n#define SCALE(FACTOR, SUM) ((dp_u64)(dp_i64)(FACTOR) * (SUM))\n";
  char name[64], defines[256];
  snprintf(name, sizeof name, "product_%s", dp_type_name(dtype));
  snprintf(defines, sizeof defines, "%s%s", dp_cuda_type_of(dtype)->defines,
           dp_type_is_float(dtype) ? floats : integers);
  return dp_cuda_function_add(name, defines, dp_cuda_source_product, function);
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
  const int64_t tiles = dp_product_tiles(arguments.m) * dp_product_tiles(arguments.n);
  const int64_t blocks = arguments.count ? arguments.count / arguments.m / arguments.n * tiles : 0;
  return dp_cuda_launch(queue, s->function, blocks, DP_TILE_THREADS, &arguments, sizeof arguments);
}
