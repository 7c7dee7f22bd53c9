// dp.ConvGradWeight(x, dy): by cuDNN, or as a product of matrices by cuBLASLt (columns.h).
#include <stdlib.h>

#include "backends/cuda/blaslt/library.h"
#include "backends/cuda/cudnn/columns.h"
#include "backends/cuda/cudnn/grad_weight.h"
#include "ir/kernel/extents.h"

// ---- the ways -------------------------------------------------------------------------------------------------------

const dp_cudnn_convolution dp_grad_weight_convolution = {DP_CUDNN_GRAD_WEIGHT, &dp_cuda_conv_grad_weight};

static dp_status prepare_cudnn(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_convolution_prepare(spec, &dp_grad_weight_convolution, state);
}

static dp_status enqueue_cudnn(void *state, dp_queue *queue, const void *const *in, void *const *out, void *scratch) {
  return dp_cudnn_convolution_enqueue(&dp_grad_weight_convolution, state, queue, in, out, scratch);
}

static dp_status prepare_columns(const dp_kernel_spec *spec, void **state) {
  return dp_columns_prepare(spec, &dp_columns_usual, state);
}

static dp_status enqueue_columns(void *state, dp_queue *queue, const void *const *in, void *const *out, void *scratch) {
  return dp_columns_enqueue(state, queue, in[0], in[1], out[0], scratch);
}

const dp_grad_weight_way dp_grad_weight_by_columns = {"columns", prepare_columns, free, enqueue_columns};
const dp_grad_weight_way dp_grad_weight_by_cudnn = {"cuDNN", prepare_cudnn, dp_cudnn_convolution_release,
                                                    enqueue_cudnn};

// ---- the kernel -----------------------------------------------------------------------------------------------------

typedef struct {
  const dp_grad_weight_way *way;
  void *state;
} gradient;

uint64_t dp_grad_weight_scratch_bytes(const dp_kernel_spec *spec) {
  const uint64_t cudnn = dp_cudnn_convolution_scratch_bytes(spec);
  const uint64_t columns = dp_columns_scratch_bytes(spec, &dp_columns_usual);
  return cudnn > columns ? cudnn : columns;
}

static dp_status make(const dp_kernel_spec *spec, gradient *g) {
  g->way = &dp_grad_weight_by_cudnn;
  if (dp_columns_fit(spec, &dp_columns_usual)) DP_TRY(dp_grad_weight_choose(spec, &g->way));
  DP_TRY(g->way->prepare(spec, &g->state));
  if (g->state) return DP_OK;
  g->way = &dp_grad_weight_by_cudnn;
  return g->way->prepare(spec, &g->state);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  gradient *g = calloc(1, sizeof *g);
  if (!g) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a convolution");
  dp_status status = make(spec, g);
  if (status)
    free(g);
  else
    *state = g;
  return status;
}

static void release(void *state) {
  gradient *g = state;
  if (!g) return;
  g->way->release(g->state);
  free(g);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec;
  const gradient *g = state;
  return g->way->enqueue(g->state, queue, in, out, scratch);
}

static void expect(void) {
  dp_cudnn_expect();
  dp_blaslt_expect();
}

const dp_kernel dp_kernel_cuda_cudnn_dp_ConvGradWeight = {
    .name = "cuda.cudnn.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .types = DP_WINDOWS_TYPES,
    .channels_last = true,
    .match = dp_one_layout,
    .scratch_bytes = dp_grad_weight_scratch_bytes,
    .shares_state = true,
    .expect = expect,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
