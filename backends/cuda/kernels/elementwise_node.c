// One elementwise node, of any operator that has an expression, as a run of one.
#include <stdlib.h>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/expressions.h"

static bool match(const dp_kernel_spec *spec) { return !spec->region && dp_cuda_expression_of(spec); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  dp_kernel_operand values[4];
  int32_t operands[3], result = spec->n_inputs;
  bool kept[4] = {false};
  for (int i = 0; i < spec->n_inputs; i++) {
    operands[i] = i;
    values[i] = spec->inputs[i];
  }
  values[result] = spec->outputs[0];
  kept[result] = true;
  const dp_kernel_member member = {.op = spec->op,
                                   .node = spec->node,
                                   .n_inputs = spec->n_inputs,
                                   .n_outputs = 1,
                                   .inputs = operands,
                                   .outputs = &result};
  const dp_kernel_region region = {.n_members = 1, .n_values = result + 1, .members = &member, .values = values};
  dp_cuda_elementwise *made;
  DP_TRY(dp_cuda_elementwise_make(&region, 0, 1, kept, &made));
  *state = made;
  return DP_OK;
}

static void release(void *state) { dp_cuda_elementwise_free(state); }

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const dp_cuda_values values = {.n_inputs = spec->n_inputs, .n_outputs = 1, .in = in, .out = out};
  return dp_cuda_elementwise_enqueue(state, queue, &values);
}

const dp_kernel dp_kernel_cuda_elementwise = {
    .name = "cuda.elementwise",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
