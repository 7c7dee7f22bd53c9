// See convolution.h. cuDNN adds a bias too where it has an engine for both; else a function of our own does, in 16 bits
// to sums that have been rounded. What follows in a region is cuDNN's, or left to the region (region_convolution.h).
#include "backends/cuda/cudnn/convolution.h"

#include <stdlib.h>

#include "backends/cuda/kernels/region_convolution.h"
#include "backends/cuda/kernels/spread.h"
#include "ir/kernel/extents.h"

// What is done, in this order.
typedef struct {
  bool planned;
  dp_cudnn_plan plan;              // if planned
  void *own;                       // the state of our own convolution, instead of a plan; NULL: none
  const dp_cuda_function *spread;  // of the bias, or of zeros where there is nothing to sum; NULL: neither
  dp_spread_arguments arguments;   // but for the addresses
  bool bias;
  bool planned_bias, residual;  // the plan adds them
} step;

enum { BIAS = 2 };

bool dp_cudnn_convolution_is_followed(const dp_kernel_spec *spec) {
  return spec->then || dp_has_in(spec, DP_CUDA_CONVOLUTION_RESIDUAL);
}

static uint64_t bytes_of(const dp_kernel_operand *operand) {
  return operand->present ? dp_cudnn_room(operand->dtype, operand->local.rank, operand->local.extents) : 0;
}

static bool takes_winograd(const dp_kernel_spec *spec) { return spec->winograd && spec->inputs[0].dtype == DP_FLOAT32; }

// Winograd's algorithm keeps what it has transformed: of tiles of 6 x 6, which are 4 x 4 apart, 2.25 times the tensors.
uint64_t dp_cudnn_convolution_scratch_bytes(const dp_kernel_spec *spec) {
  uint64_t bytes = bytes_of(&spec->outputs[0]);
  for (int i = 0; i < spec->n_inputs; i++) bytes += bytes_of(&spec->inputs[i]);
  return dp_cudnn_workspace(takes_winograd(spec) ? 3 * bytes : bytes);
}

// The pad at a dim's end: the one at its beginning, if that gives as many windows, for an end's pad matters through
// their number alone.
static int64_t pad_end_of(const dp_window *w, int d) {
  const int64_t room = w->x[d] + 2 * w->pad[d] - (w->kernel[d] - 1) * w->dilation[d] - 1;
  return room >= 0 && room / w->stride[d] + 1 == w->y[d] ? w->pad[d] : w->pad_end[d];
}

// cuDNN has two spatial dims or three.
static dp_cudnn_spec spec_of(const dp_kernel_spec *spec, dp_cudnn_kind kind, const dp_conv *e) {
  const dp_window *w = &e->window;
  dp_cudnn_spec s = {.kind = kind,
                     .dtype = spec->inputs[0].dtype,
                     .channels_last = spec->outputs[0].layout == DP_LAYOUT_NHWC,
                     .tf32 = dp_kernel_takes_tf32(spec),
                     .winograd = takes_winograd(spec),
                     .spatial = spec->inputs[0].local.rank > 4 ? 3 : 2,
                     .x = {e->samples, e->x_channels},
                     .w = {e->y_channels, e->x_group},
                     .y = {e->samples, e->y_channels},
                     .workspace = dp_cudnn_convolution_scratch_bytes(spec),
                     .residual = dp_has_in(spec, DP_CUDA_CONVOLUTION_RESIDUAL),
                     .relu = spec->then != NULL};
  s.bias = kind == DP_CUDNN_CONV && s.dtype != DP_FLOAT64 && dp_has_in(spec, BIAS);
  for (int d = 0; d < s.spatial; d++) {
    const int from = d + 3 - s.spatial;
    s.x[2 + d] = w->x[from];
    s.w[2 + d] = w->kernel[from];
    s.y[2 + d] = w->y[from];
    s.pad_begin[d] = w->pad[from];
    s.pad_end[d] = pad_end_of(w, from);
    s.stride[d] = w->stride[from];
    s.dilation[d] = w->dilation[from];
  }
  return s;
}

dp_status dp_cudnn_convolution_spec(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, dp_cudnn_spec *made) {
  dp_conv e;
  DP_TRY(dp_cuda_conv_extents(spec, c->conv, &e));
  *made = spec_of(spec, c->kind, &e);
  return DP_OK;
}

static dp_status make_plan(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, const dp_conv *e, step *s) {
  dp_cudnn_spec wanted = spec_of(spec, c->kind, e);
  // Where pads differ, cuDNN 9's gradient of the weight has given wrong numbers on an H200, without an error.
  for (int d = 0; d < wanted.spatial && c->kind == DP_CUDNN_GRAD_WEIGHT; d++)
    if (wanted.pad_begin[d] != wanted.pad_end[d]) return DP_OK;
  const dp_cudnn_calls *calls;
  cudnnHandle_t handle;
  DP_TRY(dp_cudnn_load(&calls));
  DP_TRY(dp_cudnn_open(&handle));
  DP_TRY(dp_cudnn_plan_choose(calls, handle, &wanted, &s->plan, &s->planned));
  s->planned_bias = s->planned && wanted.bias;
  s->residual = s->planned && wanted.residual;
  if (s->planned || !wanted.bias || dp_cudnn_convolution_is_followed(spec)) return DP_OK;
  wanted.bias = false;
  return dp_cudnn_plan_choose(calls, handle, &wanted, &s->plan, &s->planned);
}

static dp_status make(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, step *s) {
  dp_conv e;
  DP_TRY(dp_cuda_conv_extents(spec, c->conv, &e));
  s->bias = dp_cuda_conv_has_bias(spec, c->conv);
  const int64_t count = dp_local_count(&spec->outputs[0].local);
  const bool sums = count && e.samples && e.x_group && e.y_group && e.window.x_plane && e.window.y_plane;
  if (sums) DP_TRY(make_plan(spec, c, &e, s));
  if (dp_cudnn_convolution_is_followed(spec)) return DP_OK;
  if (sums && !s->planned) return dp_cuda_conv_prepare(spec, c->conv, &s->own);
  if (count == 0 || (sums && !s->bias) || s->planned_bias) return DP_OK;
  const int64_t columns = spec->outputs[0].layout == DP_LAYOUT_NHWC ? 1 : e.window.y_plane;
  s->arguments = (dp_spread_arguments){
      .count = count, .rows = e.y_channels, .columns = columns, .row = 1, .factor = 1, .adds = sums};
  return dp_cuda_spread_add(spec->inputs[0].dtype, &s->spread);
}

dp_status dp_cudnn_convolution_prepare(const dp_kernel_spec *spec, const dp_cudnn_convolution *convolution,
                                       void **state) {
  step *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a convolution");
  dp_status status = make(spec, convolution, s);
  const bool left = !s->planned && dp_cudnn_convolution_is_followed(spec);
  if (status || left)
    dp_cudnn_convolution_release(s);
  else
    *state = s;
  return status;
}

void dp_cudnn_convolution_release(void *state) {
  step *s = state;
  if (!s) return;
  if (s->planned) dp_cudnn_plan_release(&s->plan);
  free(s->own);
  free(s);
}

static const void *address_of(int operand, const void *const *in, void *const *out) {
  return operand == DP_CONV_OUT ? out[0] : in[operand];
}

dp_status dp_cudnn_convolution_enqueue(const dp_cudnn_convolution *convolution, void *state, dp_queue *queue,
                                       const void *const *in, void *const *out, void *scratch) {
  const step *s = state;
  const dp_cuda_conv *c = convolution->conv;
  if (s->own) return dp_cuda_conv_enqueue(c, s->own, queue, in, out);
  const dp_cudnn_tensors at = {.x = address_of(c->x, in, out),
                               .w = address_of(c->w, in, out),
                               .y = address_of(c->y, in, out),
                               .bias = s->planned_bias ? in[BIAS] : NULL,
                               .residual = s->residual ? in[DP_CUDA_CONVOLUTION_RESIDUAL] : NULL};
  if (s->planned) DP_TRY(dp_cudnn_plan_enqueue(&s->plan, dp_cuda_queue_stream(queue), &at, scratch));
  if (!s->spread) return DP_OK;
  dp_spread_arguments arguments = s->arguments;
  arguments.y = out[0];
  arguments.c = s->bias ? in[c->bias] : NULL;
  return dp_cuda_spread(queue, s->spread, &arguments);
}
