// See ways.h.
#include "backends/cuda/cudnn/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/blaslt/library.h"
#include "backends/cuda/gpu/calibration.h"
#include "backends/cuda/gpu/functions.h"

enum { N_WAYS = 2 };

static const dp_conv_way by_cudnn = {"cuDNN", dp_cudnn_convolution_prepare, dp_cudnn_convolution_release,
                                     dp_cudnn_convolution_enqueue};

// The one that is gone where nothing was measured is number 0.
static const dp_conv_way *way_of(const dp_conv_ways *ways, int number) {
  return (number == 0) == ways->columns_first ? &ways->columns->way : &by_cudnn;
}

// "way to the gradient of weight float32 x 64,3,8,8 ..."
static dp_status describe(const dp_kernel_spec *spec, const dp_conv_ways *ways, char text[DP_CALIBRATION_TEXT]) {
  static const char library[] = "cuDNN ";
  char call[DP_CALIBRATION_TEXT];
  dp_cudnn_spec asked;
  DP_TRY(dp_cudnn_convolution_spec(spec, ways->convolution, &asked));
  dp_cudnn_describe_call(&asked, call);
  snprintf(text, DP_CALIBRATION_TEXT, "way to the %.*s", DP_CALIBRATION_TEXT - 16, call + sizeof library - 1);
  return DP_OK;
}

// ---- measuring ------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_conv_ways *ways;
  const dp_conv_way *way;
  void *state;
  const dp_cuda_trial *operands;  // of the kernel, its result, scratch
} trial;

static dp_status run(void *context, dp_queue *queue) {
  const trial *t = context;
  void *const *at = t->operands->at;
  const void *const in[] = {at[0], at[1], at[2]};
  void *const out[] = {at[3]};
  return t->way->enqueue(t->ways->convolution, t->state, queue, in, out, at[4]);
}

// The time of one way; *found: whether it can be gone.
static dp_status time_way(const dp_kernel_spec *spec, const dp_conv_ways *ways, const dp_conv_way *way,
                          const dp_cuda_trial *operands, double *ns, bool *found) {
  trial t = {.ways = ways, .way = way, .operands = operands};
  DP_TRY(way->prepare(spec, ways->convolution, &t.state));
  *found = t.state != NULL;
  dp_status status = *found ? dp_cuda_functions_load() : DP_OK;
  if (*found && !status) status = dp_cuda_trial_time(run, &t, 0, ns);
  way->release(t.state);
  return status;
}

// A way that fails is passed over, unless no other can be gone.
static dp_status time_all(const dp_kernel_spec *spec, const dp_conv_ways *ways, const dp_cuda_trial *operands,
                          const char *call, const dp_conv_way **way) {
  dp_calibrated_choice best = {.call = call};
  char version[DP_CALIBRATION_TEXT];
  dp_status failure = DP_OK;
  for (int i = 0; i < N_WAYS; i++) {
    double ns;
    bool found;
    dp_status status = time_way(spec, ways, way_of(ways, i), operands, &ns, &found);
    if (status && failure)
      dp_status_free(status);
    else if (status)
      failure = status;
    if (status || !found) continue;
    if (!best.choice) best.first_ns = ns;
    if (best.choice && ns >= best.ns) continue;
    best.ns = ns;
    best.choice = way_of(ways, i)->name;
    *way = way_of(ways, i);
  }
  if (!best.choice) return failure;
  dp_status_free(failure);
  DP_TRY(dp_cudnn_version(version, sizeof version));
  dp_cuda_calibration_add(version, &best);
  return DP_OK;
}

static uint64_t bytes_of(const dp_kernel_operand *operand) {
  return operand->present ? (uint64_t)dp_local_count(&operand->local) * dp_type_bytes(operand->dtype) : 0;
}

static dp_status measure(const dp_kernel_spec *spec, const dp_conv_ways *ways, const char *call,
                         const dp_conv_way **way) {
  const uint64_t bytes[DP_CUDA_TRIAL_OPERANDS] = {bytes_of(&spec->inputs[0]), bytes_of(&spec->inputs[1]),
                                                  spec->n_inputs > 2 ? bytes_of(&spec->inputs[2]) : 0,
                                                  bytes_of(&spec->outputs[0]), dp_conv_ways_scratch_bytes(spec, ways)};
  dp_cuda_trial operands;
  DP_TRY(dp_cuda_trial_make(bytes, &operands));
  dp_status status = time_all(spec, ways, &operands, call, way);
  dp_cuda_trial_free(&operands);
  return status;
}

// ---- choosing -------------------------------------------------------------------------------------------------------

static dp_status choose(const dp_kernel_spec *spec, const dp_conv_ways *ways, const dp_conv_way **way) {
  char call[DP_CALIBRATION_TEXT];
  DP_TRY(describe(spec, ways, call));
  const char *choice = dp_cuda_calibration_choice(call);
  *way = way_of(ways, 0);
  if (!choice && dp_cuda_calibration_measures() && !dp_cuda_calibration_has(call))
    return measure(spec, ways, call, way);
  if (!choice) return DP_OK;
  for (int i = 0; i < N_WAYS; i++) {
    *way = way_of(ways, i);
    if (!strcmp(choice, way_of(ways, i)->name)) return DP_OK;
  }
  return dp_cuda_calibration_missing(call, choice);
}

// ---- going ----------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_cudnn_convolution *convolution;
  const dp_conv_way *way;
  void *state;
} going;

uint64_t dp_conv_ways_scratch_bytes(const dp_kernel_spec *spec, const dp_conv_ways *ways) {
  const uint64_t cudnn = dp_cudnn_convolution_scratch_bytes(spec);
  const uint64_t columns = ways->columns->scratch_bytes(spec, ways->convolution);
  return cudnn > columns ? cudnn : columns;
}

static dp_status make(const dp_kernel_spec *spec, const dp_conv_ways *ways, going *g) {
  g->convolution = ways->convolution;
  g->way = &by_cudnn;
  const bool followed = dp_cudnn_convolution_is_followed(spec);
  if (!followed && ways->columns->fits(spec, ways->convolution)) DP_TRY(choose(spec, ways, &g->way));
  DP_TRY(g->way->prepare(spec, ways->convolution, &g->state));
  if (g->state || followed) return DP_OK;
  g->way = &by_cudnn;
  return g->way->prepare(spec, ways->convolution, &g->state);
}

dp_status dp_conv_ways_prepare(const dp_kernel_spec *spec, const dp_conv_ways *ways, void **state) {
  going *g = calloc(1, sizeof *g);
  if (!g) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of a convolution");
  dp_status status = make(spec, ways, g);
  if (status || !g->state)
    free(g);
  else
    *state = g;
  return status;
}

void dp_conv_ways_release(void *state) {
  going *g = state;
  if (!g) return;
  g->way->release(g->state);
  free(g);
}

dp_status dp_conv_ways_enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                               void *const *out, void *scratch) {
  (void)spec;
  const going *g = state;
  return g->way->enqueue(g->convolution, g->state, queue, in, out, scratch);
}

void dp_conv_ways_expect(void) {
  dp_cudnn_expect();
  dp_blaslt_expect();
}
