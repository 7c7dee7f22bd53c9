// dp.ScaledDotProductAttention by cuDNN.
#include "backends/cuda/cudnn/attention_step.h"
#include "backends/cuda/device/attention_around.h"
#include "ir/kernel/extents.h"

enum { Q, K, V, MASK };
enum { Y, LSE };

static const dp_cudnn_attention_kind *const kind = &dp_cudnn_attention_forward;

static bool match(const dp_kernel_spec *spec) { return dp_cudnn_attention_match(spec, kind); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_cudnn_attention_scratch_bytes(spec, kind); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_attention_prepare(spec, kind, state);
}

static dp_status mend_rows(const dp_cudnn_attention_step *s, dp_queue *queue, void *y, float *lse,
                           const float *given_lse) {
  const dp_attention *e = &s->e;
  const dp_attention_rows_arguments a = {.y = y,
                                         .lse = lse,
                                         .given_lse = given_lse,
                                         .count = e->batch * e->heads * e->length,
                                         .heads = e->heads,
                                         .length = e->length,
                                         .size = e->v_size,
                                         .zero_rows = e->zero_rows};
  if (!s->mend_rows) return DP_OK;
  return dp_cuda_launch(queue, s->mend_rows, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const dp_cudnn_attention_step *s = state;
  if (!s->planned) return kind->own->enqueue(spec, s->own, queue, in, out, scratch);
  float *lse = dp_has_out(spec, LSE) ? out[LSE] : NULL;
  float *statistics = lse || !s->part.statistics ? lse : (float *)((char *)scratch + s->room.statistics);
  const void *data[DP_CUDNN_ATTENTION_TENSORS] = {
      [DP_CUDNN_Q] = in[Q],  [DP_CUDNN_K] = in[K],        [DP_CUDNN_V] = in[V],
      [DP_CUDNN_Y] = out[Y], [DP_CUDNN_LSE] = statistics,
  };
  DP_TRY(dp_cudnn_attention_put_mask(s, queue, s->e.mask ? in[MASK] : NULL, scratch));
  DP_TRY(dp_cudnn_attention_run(s, queue, data, scratch));
  return mend_rows(s, queue, out[Y], lse, statistics);
}

const dp_kernel dp_kernel_cuda_cudnn_ScaledDotProductAttention = {
    .name = "cuda.cudnn.dp.ScaledDotProductAttention",
    .op = "ScaledDotProductAttention",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .types = DP_STORED,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .shares_state = true,
    .expect = dp_cudnn_expect,
    .prepare = prepare,
    .release = dp_cudnn_attention_release,
    .enqueue = enqueue,
};
