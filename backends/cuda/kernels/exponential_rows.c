// Functions for rows whose exponentials are summed in registers. See exponential_rows.h.
#include "backends/cuda/kernels/exponential_rows.h"

#include <stdio.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/kernels/types.h"
#include "ir/base/base.h"

// The threads of rows up to some length.
static const struct {
  int64_t length;
  int threads;
} kinds[] = {{1024, DP_WARP}, {8192, 256}, {INT64_MAX, DP_ROWS_MOST_THREADS}};

static int threads_of(int64_t length) {
  int k = 0;
  while (length > kinds[k].length) k++;
  return kinds[k].threads;
}

static int width_of(dp_dtype dtype) { return (int)(DP_VECTOR_BYTES / dp_type_bytes(dtype)); }

static int64_t vectors_of(dp_dtype dtype, int64_t length) {
  const int64_t each = (int64_t)threads_of(length) * width_of(dtype);
  return (length + each - 1) / each;
}

// Rows that keep a GPU busy, a block for each.
enum { ENOUGH_ROWS = 64 };

bool dp_cuda_exponential_rows_fit(dp_dtype dtype, int64_t rows, int64_t length) {
  return dtype != DP_FLOAT64 && length > 0 && length <= INT32_MAX / 2 &&
         (rows >= ENOUGH_ROWS || dp_cuda_row_shares(rows, length) == 1);
}

dp_status dp_cuda_exponential_rows_add(const char *name, dp_dtype dtype, int64_t length, int made, const char *defines,
                                       const dp_cuda_function **function) {
  char all[1024];
  const int64_t vectors = vectors_of(dtype, length);
  snprintf(all, sizeof all,
           "%s%s%s#define MADE %d\n#define THREADS %d\n#define VECTORS %d\n#define HELD %d\n#define WIDTH %d\n",
           dp_cuda_type_of(dtype)->defines, dp_cuda_type_of(dtype)->pairs, defines, made, threads_of(length),
           (int)vectors, (int)dp_min_i64(vectors, DP_ROWS_MOST_HELD), width_of(dtype));
  return dp_cuda_function_add(name, all, dp_cuda_source_exponential_rows, function);
}

dp_status dp_cuda_exponential_rows(dp_queue *queue, const dp_cuda_function *function,
                                   dp_exponential_rows_arguments *a) {
  const int threads = threads_of(a->length), rows = threads > DP_WARP ? 1 : DP_CUDA_THREADS / DP_WARP;
  a->aligned = ((uintptr_t)a->x | (uintptr_t)a->y) % DP_VECTOR_BYTES == 0;
  return dp_cuda_launch(queue, function, (a->rows + rows - 1) / rows, threads * rows, a, sizeof *a);
}
