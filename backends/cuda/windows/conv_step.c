// See conv.h.
#include <stdlib.h>

#include "backends/cuda/device/conv.h"
#include "backends/cuda/windows/conv.h"

typedef struct {
  const dp_cuda_function *function;
  dp_conv_arguments arguments;  // but for the addresses
  bool bias;
} step;

static const dp_kernel_operand *operand_at(const dp_kernel_spec *spec, int operand) {
  return operand == DP_CONV_OUT ? &spec->outputs[0] : &spec->inputs[operand];
}

dp_status dp_cuda_conv_extents(const dp_kernel_spec *spec, const dp_cuda_conv *conv, dp_conv *extents) {
  dp_conv e;
  DP_TRY(dp_conv_make(spec, &operand_at(spec, conv->x)->local, &operand_at(spec, conv->w)->local, &e));
  if (e.groups * e.x_group != e.x_channels || e.groups * e.y_group != e.y_channels)
    return dp_fail(EX_DATAERR, "a convolution of %lld to %lld channels is not made of %lld whole groups",
                   (long long)e.x_channels, (long long)e.y_channels, (long long)e.groups);
  *extents = e;
  return DP_OK;
}

bool dp_cuda_conv_has_bias(const dp_kernel_spec *spec, const dp_cuda_conv *conv) {
  return conv->bias != DP_CONV_OUT && conv->bias < spec->n_inputs && spec->inputs[conv->bias].present;
}

dp_status dp_cuda_conv_prepare(const dp_kernel_spec *spec, const dp_cuda_conv *conv, void **state) {
  dp_conv extents;
  const dp_cuda_function *function;
  DP_TRY(dp_cuda_conv_extents(spec, conv, &extents));
  DP_TRY(dp_cuda_window_function(conv->name, spec->inputs[0].dtype, "", conv->source, &function));
  step *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a convolution");
  *s = (step){.function = function,
              .bias = dp_cuda_conv_has_bias(spec, conv),
              .arguments = {.count = dp_local_count(&spec->outputs[0].local),
                            .samples = extents.samples,
                            .x_channels = extents.x_channels,
                            .y_channels = extents.y_channels,
                            .x_group = extents.x_group,
                            .y_group = extents.y_group,
                            .x_strides = dp_cuda_image_strides(operand_at(spec, conv->x)),
                            .w_strides = dp_cuda_image_strides(operand_at(spec, conv->w)),
                            .y_strides = dp_cuda_image_strides(operand_at(spec, conv->y)),
                            .window = dp_cuda_window(&extents.window)}};
  *state = s;
  return DP_OK;
}

// The device only reads what an operand points at.
static void *address_of(int operand, const void *const *in, void *const *out) {
  return operand == DP_CONV_OUT ? out[0] : (void *)(uintptr_t)in[operand];
}

dp_status dp_cuda_conv_enqueue(const dp_cuda_conv *conv, void *state, dp_queue *queue, const void *const *in,
                               void *const *out) {
  const step *s = state;
  dp_conv_arguments arguments = s->arguments;
  arguments.x = address_of(conv->x, in, out);
  arguments.w = address_of(conv->w, in, out);
  arguments.y = address_of(conv->y, in, out);
  arguments.bias = s->bias ? in[conv->bias] : NULL;
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks(arguments.count), DP_CUDA_THREADS, &arguments,
                        sizeof arguments);
}
