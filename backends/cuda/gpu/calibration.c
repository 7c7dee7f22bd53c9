// See calibration.h.
#include "backends/cuda/gpu/calibration.h"

#include <string.h>

#include "backends/cuda/gpu/memory.h"

static const dp_calibration *taken;  // by kernels that are prepared

// ---- taking ---------------------------------------------------------------------------------------------------------

void dp_cuda_calibration_use(const dp_calibration *calibration) { taken = calibration; }

// The place of a call among choices by call, or where it belongs.
static int find(const dp_calibration *c, const char *call, bool *found) {
  int low = 0, high = c->n_choices;
  *found = false;
  while (low < high) {
    const int middle = low + (high - low) / 2, order = strcmp(c->choices[middle].call, call);
    if (!order) *found = true;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const char *dp_cuda_calibration_choice(const char *call) {
  bool found = false;
  const int at = taken ? find(taken, call, &found) : 0;
  return found ? taken->choices[at].choice : NULL;
}

dp_status dp_cuda_calibration_missing(const char *call, const char *choice) {
  return dp_fail(EX_CONFIG,
                 "the plan's calibration says '%s' for '%s', which the library does not offer here: measure again with "
                 "'dpc calibrate PLAN --device=cuda -o FILE', and compile with --calibration=FILE",
                 choice, call);
}

// ---- measuring ------------------------------------------------------------------------------------------------------

static struct {
  dp_arena *arena;  // NULL: nothing is measured
  dp_calibration all;
} measured;

void dp_cuda_calibration_begin(dp_arena *arena) {
  measured.arena = arena;
  measured.all = (dp_calibration){0};
}

void dp_cuda_calibration_end(dp_calibration *calibration) {
  *calibration = measured.all;
  measured.arena = NULL;
}

bool dp_cuda_calibration_measures(void) { return measured.arena != NULL; }

bool dp_cuda_calibration_has(const char *call) {
  bool found;
  find(&measured.all, call, &found);
  return found;
}

void dp_cuda_calibration_add(const char *library, const dp_calibrated_choice *choice) {
  dp_calibration *all = &measured.all;
  bool found;
  const int at = find(all, choice->call, &found);
  if (found) return;
  const dp_calibrated_choice kept = {dp_strdup(measured.arena, choice->call), dp_strdup(measured.arena, choice->choice),
                                     choice->ns, choice->first_ns};
  DP_PUSH(measured.arena, all->choices, all->n_choices, kept);
  memmove(&all->choices[at + 1], &all->choices[at], (size_t)(all->n_choices - 1 - at) * sizeof kept);
  all->choices[at] = kept;
  for (int i = 0; i < all->n_libraries; i++)
    if (!strcmp(all->libraries[i], library)) return;
  const char *name = dp_strdup(measured.arena, library);
  DP_PUSH(measured.arena, all->libraries, all->n_libraries, name);
}

// ---- trials ---------------------------------------------------------------------------------------------------------

// Of every byte: a small positive number in each type of float, for which a GPU works as hard as in training. Zeros
// would take less power, and so less time.
enum { OPERAND_BYTE = 0x3c, RUNS_AT_ONCE = 4, TIMES = 5, HOPELESS = 2 };

dp_status dp_cuda_trial_make(const uint64_t bytes[DP_CUDA_TRIAL_OPERANDS], dp_cuda_trial *trial) {
  *trial = (dp_cuda_trial){{NULL}};
  for (int i = 0; i < DP_CUDA_TRIAL_OPERANDS; i++) {
    if (!bytes[i]) continue;
    void *room = NULL;
    dp_status status = dp_cuda_gpu_allocate(dp_cuda_gpu_current(), bytes[i], &room);
    if (status)
      status =
          dp_status_context(status, "an operand of %llu MiB to measure with", (unsigned long long)(bytes[i] >> 20));
    else
      trial->at[i] = room;
    if (!status)
      status = dp_cuda_check(dp_cu.cuMemsetD8_v2((CUdeviceptr)(uintptr_t)trial->at[i], OPERAND_BYTE, bytes[i]),
                             "filling operands");
    if (!status) status = dp_cuda_check(dp_cu.cuCtxSynchronize(), "filling operands");
    if (status) {
      dp_cuda_trial_free(trial);
      return status;
    }
  }
  return DP_OK;
}

void dp_cuda_trial_free(dp_cuda_trial *trial) {
  for (int i = 0; i < DP_CUDA_TRIAL_OPERANDS; i++)
    if (trial->at[i]) dp_cuda_gpu_release(dp_cuda_gpu_current(), trial->at[i]);
}

typedef struct {
  dp_queue *queue;
  dp_event *begin, *end;
} stopwatch;

// The time of each of so many runs.
static dp_status time_runs(const stopwatch *w, dp_status (*run)(void *, dp_queue *), void *context, int runs,
                           double *ns) {
  DP_TRY(dp_cuda_queue_signal(w->queue, w->begin));
  for (int i = 0; i < runs; i++) DP_TRY(run(context, w->queue));
  DP_TRY(dp_cuda_queue_signal(w->queue, w->end));
  DP_TRY(dp_cuda_event_await(w->end));
  DP_TRY(dp_cuda_event_elapsed(w->begin, w->end, ns));
  *ns /= runs;
  return DP_OK;
}

static dp_status time_all(const stopwatch *w, dp_status (*run)(void *, dp_queue *), void *context, double best_ns,
                          double *ns) {
  double time;
  DP_TRY(time_runs(w, run, context, 1, ns));  // what is slow only at first does not count
  DP_TRY(time_runs(w, run, context, RUNS_AT_ONCE, ns));
  for (int i = 1; i < TIMES && !(best_ns > 0 && *ns > HOPELESS * best_ns); i++) {
    DP_TRY(time_runs(w, run, context, RUNS_AT_ONCE, &time));
    if (time < *ns) *ns = time;
  }
  return DP_OK;
}

dp_status dp_cuda_trial_time(dp_status (*run)(void *context, dp_queue *queue), void *context, double best_ns,
                             double *ns) {
  stopwatch w = {0};
  dp_status status = dp_cuda_queue_create(0, false, &w.queue);
  if (!status) status = dp_cuda_event_create(0, true, &w.begin);
  if (!status) status = dp_cuda_event_create(0, true, &w.end);
  if (!status) status = time_all(&w, run, context, best_ns, ns);
  if (w.end) dp_cuda_event_destroy(w.end);
  if (w.begin) dp_cuda_event_destroy(w.begin);
  if (w.queue) dp_cuda_queue_destroy(w.queue);
  return status;
}
