// dp.ScaledDotProductAttentionGrad by cuDNN.
#include "backends/cuda/cudnn/attention_step.h"
#include "backends/cuda/device/attention_around.h"

enum { DY, Q, K, V, Y, LSE, MASK };
enum { DQ, DK, DV };

static const dp_cudnn_attention_kind *const kind = &dp_cudnn_attention_backward;

static bool match(const dp_kernel_spec *spec) { return dp_cudnn_attention_match(spec, kind); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_cudnn_attention_scratch_bytes(spec, kind); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_cudnn_attention_prepare(spec, kind, state);
}

// The statistics that cuDNN takes: those given, or a copy in scratch.
static dp_status put_statistics(const dp_cudnn_attention_step *s, dp_queue *queue, void *scratch,
                                const void **statistics) {
  if (!s->make_statistics) return DP_OK;
  const dp_attention_statistics_arguments a = {.y = (float *)((char *)scratch + s->room.statistics),
                                               .lse = *statistics,
                                               .count = s->e.batch * s->e.heads * s->e.length};
  *statistics = a.y;
  return dp_cuda_launch(queue, s->make_statistics, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const dp_cudnn_attention_step *s = state;
  if (!s->planned) return kind->own->enqueue(spec, s->own, queue, in, out, scratch);
  const void *data[DP_CUDNN_ATTENTION_TENSORS] = {
      [DP_CUDNN_DY] = in[DY],  [DP_CUDNN_Q] = in[Q],    [DP_CUDNN_K] = in[K],
      [DP_CUDNN_V] = in[V],    [DP_CUDNN_Y] = in[Y],    [DP_CUDNN_LSE] = in[LSE],
      [DP_CUDNN_DQ] = out[DQ], [DP_CUDNN_DK] = out[DK], [DP_CUDNN_DV] = out[DV],
  };
  DP_TRY(dp_cudnn_attention_put_mask(s, queue, s->e.mask ? in[MASK] : NULL, scratch));
  DP_TRY(put_statistics(s, queue, scratch, &data[DP_CUDNN_LSE]));
  return dp_cudnn_attention_run(s, queue, data, scratch);
}

const dp_kernel dp_kernel_cuda_cudnn_ScaledDotProductAttentionGrad = {
    .name = "cuda.cudnn.dp.ScaledDotProductAttentionGrad",
    .op = "ScaledDotProductAttentionGrad",
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
