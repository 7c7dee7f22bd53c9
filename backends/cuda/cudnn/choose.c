// Which engine of cuDNN computes a convolution: the one that a calibration names, or the first, or the fastest. See
// plan.h.
#include <stdio.h>
#include <string.h>

#include "backends/cuda/cudnn/plan.h"
#include "backends/cuda/gpu/calibration.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/function.h"

// ---- texts ----------------------------------------------------------------------------------------------------------

// " name 1,2,3"
static void put(char *text, const char *name, const int64_t *numbers, int count) {
  size_t at = strlen(text);
  at += (size_t)snprintf(text + at, DP_CALIBRATION_TEXT - at, " %s", name);
  for (int i = 0; i < count && at < DP_CALIBRATION_TEXT; i++)
    at += (size_t)snprintf(text + at, DP_CALIBRATION_TEXT - at, "%s%lld", i ? "," : " ", (long long)numbers[i]);
}

void dp_cudnn_describe_call(const dp_cudnn_spec *s, char text[DP_CALIBRATION_TEXT]) {
  static const char *const kinds[] = {[DP_CUDNN_CONV] = "convolution",
                                      [DP_CUDNN_GRAD_INPUT] = "gradient of input",
                                      [DP_CUDNN_GRAD_WEIGHT] = "gradient of weight"};
  const int rank = 2 + s->spatial;
  const int64_t workspace = (int64_t)s->workspace;
  snprintf(text, DP_CALIBRATION_TEXT, "cuDNN %s %s%s%s%s", kinds[s->kind], dp_type_name(s->dtype),
           s->tf32 ? " as TF32" : "", s->winograd ? " by Winograd" : "", s->channels_last ? " in NHWC" : "");
  put(text, "x", s->x, rank);
  put(text, "w", s->w, rank);
  put(text, "y", s->y, rank);
  put(text, "pads", s->pad_begin, s->spatial);
  put(text, "to", s->pad_end, s->spatial);
  put(text, "strides", s->stride, s->spatial);
  put(text, "dilations", s->dilation, s->spatial);
  put(text, "workspace", &workspace, 1);
  if (s->bias) put(text, "bias", NULL, 0);
  if (s->residual) put(text, "sum", NULL, 0);
  if (s->relu) put(text, "Relu", NULL, 0);
}

// ---- measuring ------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_cudnn_plan *plan;
  const dp_cuda_trial *operands;  // x, w, y, workspace, bias, residual
} trial;

static dp_status run(void *context, dp_queue *queue) {
  const trial *t = context;
  void *const *at = t->operands->at;
  const dp_cudnn_tensors tensors = {at[0], at[1], at[2], at[4], at[5]};
  return dp_cudnn_plan_enqueue(t->plan, dp_cuda_queue_stream(queue), &tensors, at[3]);
}

typedef struct {
  const dp_cudnn_calls *calls;
  cudnnHandle_t handle;
  const dp_cudnn_spec *spec;
} asked;

// Configurations that are measured: those that the heuristics think little of are slow, and some engines are compiled
// for as long as others run.
enum { MOST_MEASURED = 8 };

// Measures the first configurations that will do. One that fails is passed over. *place: of the fastest; -1: there is
// none.
static dp_status find_fastest(const asked *a, const dp_cuda_trial *operands, dp_calibrated_choice *best, int *place) {
  dp_cudnn_wanted wanted = {0};
  *place = -1;
  bool first = true;
  for (int measured = 0; measured < MOST_MEASURED;) {
    dp_cudnn_plan plan;
    bool found;
    double ns;
    DP_TRY(dp_cudnn_plan_make(a->calls, a->handle, NULL, a->spec, &wanted, &plan, &found));
    if (!found) return DP_OK;
    wanted.from = plan.place + 1;
    dp_status failure = dp_cuda_trial_time(run, &(trial){&plan, operands}, best->ns, &ns);
    if (!failure && first) best->first_ns = ns, first = false;
    if (!failure && (*place < 0 || ns < best->ns)) best->ns = ns, *place = plan.place;
    measured += !failure;
    dp_status_free(failure);
    dp_cudnn_plan_release(&plan);
  }
  return DP_OK;
}

static dp_status take_fastest(const asked *a, const dp_cuda_trial *operands, const char *call, dp_cudnn_plan *plan,
                              bool *found) {
  char choice[DP_CALIBRATION_TEXT], version[DP_CALIBRATION_TEXT];
  dp_calibrated_choice best = {.call = call, .choice = choice};
  int place;
  DP_TRY(find_fastest(a, operands, &best, &place));
  *found = false;
  if (place < 0) return DP_OK;
  DP_TRY(dp_cudnn_version(version, sizeof version));
  DP_TRY(dp_cudnn_plan_make(a->calls, a->handle, NULL, a->spec, &(dp_cudnn_wanted){.from = place}, plan, found));
  if (!*found) return DP_OK;
  dp_cudnn_plan_choice(plan, choice, sizeof choice);
  dp_cuda_calibration_add(version, &best);
  return DP_OK;
}

static uint64_t bytes_of(const dp_cudnn_spec *s, const int64_t *extents) {
  uint64_t bytes = dp_type_bytes(s->dtype);
  for (int d = 0; d < 2 + s->spatial; d++) bytes *= (uint64_t)extents[d];
  return bytes;
}

static dp_status measure(const asked *a, const char *call, dp_cudnn_plan *plan, bool *found) {
  const dp_cudnn_spec *s = a->spec;
  const uint64_t bytes[DP_CUDA_TRIAL_OPERANDS] = {bytes_of(s, s->x),
                                                  bytes_of(s, s->w),
                                                  bytes_of(s, s->y),
                                                  s->workspace,
                                                  s->bias ? (uint64_t)s->y[1] * dp_type_bytes(s->dtype) : 0,
                                                  s->residual ? bytes_of(s, s->y) : 0};
  dp_cuda_trial operands;
  DP_TRY(dp_cuda_trial_make(bytes, &operands));
  dp_status status = take_fastest(a, &operands, call, plan, found);
  dp_cuda_trial_free(&operands);
  return status;
}

// ---- choosing -------------------------------------------------------------------------------------------------------

dp_status dp_cudnn_plan_choose(const dp_cudnn_calls *calls, cudnnHandle_t handle, const dp_cudnn_spec *spec,
                               dp_cudnn_plan *plan, bool *found) {
  char call[DP_CALIBRATION_TEXT];
  dp_cudnn_describe_call(spec, call);
  const char *choice = dp_cuda_calibration_choice(call);
  const dp_cudnn_wanted wanted = {.choice = choice};
  if (dp_cuda_calibration_measures() && !dp_cuda_calibration_has(call))
    DP_TRY(measure(&(asked){calls, handle, spec}, call, plan, found));
  else
    DP_TRY(dp_cudnn_plan_make(calls, handle, NULL, spec, &wanted, plan, found));
  if (choice && !*found) return dp_cuda_calibration_missing(call, choice);
  if (*found)
    dp_cuda_choice_add("cuDNN engine %lld, workspace %lld bytes%s%s%s%s%s%s", (long long)plan->engine,
                       (long long)plan->workspace_bytes, spec->tf32 && plan->tensor_cores ? ", TF32" : "",
                       plan->winograd ? ", Winograd" : "", spec->bias ? ", bias" : "", spec->residual ? ", sum" : "",
                       spec->relu ? ", Relu" : "", choice ? ", measured" : "");
  return DP_OK;
}
