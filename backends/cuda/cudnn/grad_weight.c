// See grad_weight.h.
#include "backends/cuda/cudnn/grad_weight.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/gpu/calibration.h"
#include "backends/cuda/gpu/functions.h"

static const dp_grad_weight_way *const ways[] = {&dp_grad_weight_by_columns, &dp_grad_weight_by_cudnn};
enum { N_WAYS = sizeof ways / sizeof *ways };

// "way to the gradient of weight float32 x 64,3,8,8 ..."
static dp_status describe(const dp_kernel_spec *spec, char text[DP_CALIBRATION_TEXT]) {
  static const char library[] = "cuDNN ";
  char call[DP_CALIBRATION_TEXT];
  dp_cudnn_spec asked;
  DP_TRY(dp_cudnn_convolution_spec(spec, &dp_grad_weight_convolution, &asked));
  dp_cudnn_describe_call(&asked, call);
  snprintf(text, DP_CALIBRATION_TEXT, "way to the %.*s", DP_CALIBRATION_TEXT - 16, call + sizeof library - 1);
  return DP_OK;
}

// ---- measuring ------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_grad_weight_way *way;
  void *state;
  const dp_cuda_trial *operands;  // x, dy, dw, scratch
} trial;

static dp_status run(void *context, dp_queue *queue) {
  const trial *t = context;
  void *const *at = t->operands->at;
  const void *const in[] = {at[0], at[1]};
  void *const out[] = {at[2]};
  return t->way->enqueue(t->state, queue, in, out, at[3]);
}

// The time of one way; *found: whether it can be gone.
static dp_status time_way(const dp_kernel_spec *spec, const dp_grad_weight_way *way, const dp_cuda_trial *operands,
                          double *ns, bool *found) {
  trial t = {.way = way, .operands = operands};
  DP_TRY(way->prepare(spec, &t.state));
  *found = t.state != NULL;
  dp_status status = *found ? dp_cuda_functions_load() : DP_OK;
  if (*found && !status) status = dp_cuda_trial_time(run, &t, 0, ns);
  way->release(t.state);
  return status;
}

static dp_status time_all(const dp_kernel_spec *spec, const dp_cuda_trial *operands, const char *call,
                          const dp_grad_weight_way **way) {
  dp_calibrated_choice best = {.call = call};
  char version[DP_CALIBRATION_TEXT];
  for (int i = 0; i < N_WAYS; i++) {
    double ns;
    bool found;
    DP_TRY(time_way(spec, ways[i], operands, &ns, &found));
    if (!found) continue;
    if (!best.choice) best.first_ns = ns;
    if (best.choice && ns >= best.ns) continue;
    best.ns = ns;
    best.choice = ways[i]->name;
    *way = ways[i];
  }
  DP_TRY(dp_cudnn_version(version, sizeof version));
  dp_cuda_calibration_add(version, &best);
  return DP_OK;
}

static uint64_t bytes_of(const dp_kernel_operand *operand) {
  return (uint64_t)dp_local_count(&operand->local) * dp_type_bytes(operand->dtype);
}

static dp_status measure(const dp_kernel_spec *spec, const char *call, const dp_grad_weight_way **way) {
  const uint64_t bytes[DP_CUDA_TRIAL_OPERANDS] = {bytes_of(&spec->inputs[0]), bytes_of(&spec->inputs[1]),
                                                  bytes_of(&spec->outputs[0]), dp_grad_weight_scratch_bytes(spec)};
  dp_cuda_trial operands;
  DP_TRY(dp_cuda_trial_make(bytes, &operands));
  dp_status status = time_all(spec, &operands, call, way);
  dp_cuda_trial_free(&operands);
  return status;
}

// ---- choosing -------------------------------------------------------------------------------------------------------

dp_status dp_grad_weight_choose(const dp_kernel_spec *spec, const dp_grad_weight_way **way) {
  char call[DP_CALIBRATION_TEXT];
  DP_TRY(describe(spec, call));
  const char *choice = dp_cuda_calibration_choice(call);
  *way = ways[0];
  if (!choice && dp_cuda_calibration_measures() && !dp_cuda_calibration_has(call)) return measure(spec, call, way);
  if (!choice) return DP_OK;
  for (int i = 0; i < N_WAYS; i++) {
    *way = ways[i];
    if (!strcmp(choice, ways[i]->name)) return DP_OK;
  }
  return dp_cuda_calibration_missing(call, choice);
}
