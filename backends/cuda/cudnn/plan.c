// See plan.h.
#include "backends/cuda/cudnn/plan.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/cudnn/convolution_graph.h"

enum { MOST_CONFIGURATIONS = 64, MOST_NOTES = 16 };

// Room is left for an engine's configuration and its plan.
cudnnStatus_t dp_cudnn_plan_add(dp_cudnn_plan *p, int type, size_t count, const dp_cudnn_attribute *attributes,
                                cudnnBackendDescriptor_t *made) {
  if (p->n_descriptors == DP_CUDNN_MOST_DESCRIPTORS - 2) return CUDNN_STATUS_INTERNAL_ERROR;
  cudnnStatus_t status = dp_cudnn_describe(p->calls, (cudnnBackendDescriptorType_t)type, (int)count, attributes, made);
  if (status == CUDNN_STATUS_SUCCESS) p->descriptors[p->n_descriptors++] = *made;
  return status;
}
cudnnDataType_t dp_cudnn_data_type(dp_dtype dtype) {
  static const int types[DP_MAX_TYPE + 1] = {[DP_FLOAT32] = CUDNN_DATA_FLOAT,
                                             [DP_FLOAT64] = CUDNN_DATA_DOUBLE,
                                             [DP_FLOAT16] = CUDNN_DATA_HALF,
                                             [DP_BFLOAT16] = CUDNN_DATA_BFLOAT16};
  return (cudnnDataType_t)types[dtype];
}

// ---- engines --------------------------------------------------------------------------------------------------------

// Whether results are the same in every run and as exact as the type allows, or as TF32 or Winograd's algorithm where
// these are allowed. Engines that convert float32 to types of 16 bits say DOWN_CONVERT_INPUTS; of TF32 they say no more
// than TENSOR_CORE. Winograd's errors grow with the tile: that of 13 x 13 loses too much of float32.
static cudnnStatus_t check_notes(dp_cudnn_plan *p, cudnnBackendDescriptor_t engine, const dp_cudnn_spec *s,
                                 bool *fits) {
  cudnnBackendNumericalNote_t notes[MOST_NOTES];
  int64_t count = 0;
  cudnnStatus_t status = p->calls->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                            CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &count, notes);
  *fits = true;
  p->tensor_cores = p->winograd = false;
  for (int64_t i = 0; i < count && status == CUDNN_STATUS_SUCCESS; i++) {
    const int note = (int)notes[i];
    if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) p->tensor_cores = true;
    if (note == CUDNN_NUMERICAL_NOTE_WINOGRAD) p->winograd = true;
    const bool inexact = note >= CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS && note < CUDNN_NUMERICAL_NOTE_WINOGRAD;
    if (inexact || note == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13) *fits = false;
  }
  if (p->tensor_cores && s->dtype == DP_FLOAT32 && !s->tf32) *fits = false;
  if (p->winograd && !s->winograd) *fits = false;
  return status;
}

// What a plan is asked for: `device` instead of a handle, where there is none.
typedef struct {
  cudnnHandle_t handle;
  cudnnBackendDescriptor_t device;
  const dp_cudnn_spec *spec;
  dp_cudnn_wanted wanted;
} request;

static bool is_wanted(const dp_cudnn_plan *p, const dp_cudnn_wanted *wanted) {
  char text[64];
  dp_cudnn_plan_choice(p, text, sizeof text);
  return !wanted->choice || !strcmp(wanted->choice, text);
}

// Makes the plan of one configuration, if its engine will do. What cuDNN does not support is no failure.
static cudnnStatus_t try_configuration(dp_cudnn_plan *p, const request *r, cudnnBackendDescriptor_t configuration,
                                       bool *found) {
  const dp_cudnn_calls *calls = p->calls;
  cudnnBackendDescriptor_t engine, plan;
  int64_t count;
  bool fits;
  cudnnStatus_t status = calls->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  status = calls->cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                           &count, &engine);
  if (status == CUDNN_STATUS_SUCCESS) status = check_notes(p, engine, r->spec, &fits);
  if (status == CUDNN_STATUS_SUCCESS)
    status = calls->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count,
                                             &p->engine);
  calls->cudnnBackendDestroyDescriptor(engine);
  if (status != CUDNN_STATUS_SUCCESS || !fits || !is_wanted(p, &r->wanted)) return status;
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, &configuration),
      DP_CUDNN_ONE(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, r->handle ? &r->handle : NULL),
      DP_CUDNN_ONE(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, r->handle ? NULL : &r->device),
  };
  status =
      dp_cudnn_describe(calls, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, (int)DP_COUNT(attributes), attributes, &plan);
  if (status != CUDNN_STATUS_SUCCESS) return dp_cudnn_is_unsupported(status) ? CUDNN_STATUS_SUCCESS : status;
  status = calls->cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                           &p->workspace_bytes);
  *found = status == CUDNN_STATUS_SUCCESS && (uint64_t)p->workspace_bytes <= r->spec->workspace;
  if (*found)
    p->plan = plan;
  else
    calls->cudnnBackendDestroyDescriptor(plan);
  return status;
}

// Keeps what will do of `count` configurations, of which the first has a place among those of all modes: one.
static cudnnStatus_t take_first(dp_cudnn_plan *p, const request *r, int first, int64_t count,
                                cudnnBackendDescriptor_t *configurations, bool *found) {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  for (int64_t i = 0; i < count && status == CUDNN_STATUS_SUCCESS && !*found; i++) {
    p->place = first + (int)i;
    if (p->place < r->wanted.from) continue;
    status = try_configuration(p, r, configurations[i], found);
    if (!*found) continue;
    p->descriptors[p->n_descriptors++] = configurations[i];
    p->descriptors[p->n_descriptors++] = p->plan;
    configurations[i] = NULL;
  }
  return status;
}

// The modes, in the order in which they are asked.
static const int modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};

// Asks the heuristics of a mode; destroys the configurations that are not kept.
static cudnnStatus_t ask(dp_cudnn_plan *p, const request *r, cudnnBackendDescriptor_t graph, int number, bool *found) {
  const dp_cudnn_calls *calls = p->calls;
  const cudnnBackendHeurMode_t mode = (cudnnBackendHeurMode_t)modes[number];
  cudnnBackendDescriptor_t heuristics, configurations[MOST_CONFIGURATIONS] = {NULL};
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, &graph),
      DP_CUDNN_ONE(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode),
      DP_CUDNN_ONE(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, r->handle ? NULL : &r->device),
  };
  cudnnStatus_t status =
      dp_cudnn_describe(calls, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, (int)DP_COUNT(attributes), attributes, &heuristics);
  if (status != CUDNN_STATUS_SUCCESS) return dp_cudnn_is_unsupported(status) ? CUDNN_STATUS_SUCCESS : status;
  int64_t count = 0;
  for (int i = 0; i < MOST_CONFIGURATIONS && status == CUDNN_STATUS_SUCCESS; i++)
    status = calls->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configurations[i]);
  if (status == CUDNN_STATUS_SUCCESS)
    status = calls->cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                             MOST_CONFIGURATIONS, &count, configurations);
  if (status == CUDNN_STATUS_SUCCESS)
    status = take_first(p, r, number * MOST_CONFIGURATIONS, count, configurations, found);
  for (int i = 0; i < MOST_CONFIGURATIONS; i++)
    if (configurations[i]) calls->cudnnBackendDestroyDescriptor(configurations[i]);
  calls->cudnnBackendDestroyDescriptor(heuristics);
  return status;
}

dp_status dp_cudnn_plan_search(dp_cudnn_plan *plan, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                               const dp_cudnn_spec *limits, const dp_cudnn_wanted *wanted, cudnnStatus_t status,
                               cudnnBackendDescriptor_t graph, const char *what, bool *found) {
  const request r = {handle, device, limits, wanted ? *wanted : (dp_cudnn_wanted){0}};
  *found = false;
  for (size_t m = 0; m < DP_COUNT(modes) && status == CUDNN_STATUS_SUCCESS && !*found; m++)
    status = ask(plan, &r, graph, (int)m, found);
  if (!*found) dp_cudnn_plan_release(plan);
  return dp_cudnn_is_unsupported(status) ? DP_OK : dp_cudnn_check(status, what);
}

dp_status dp_cudnn_plan_make(const dp_cudnn_calls *calls, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                             const dp_cudnn_spec *spec, const dp_cudnn_wanted *wanted, dp_cudnn_plan *plan,
                             bool *found) {
  dp_cudnn_plan p = {.calls = calls};
  cudnnBackendDescriptor_t graph = NULL;
  const cudnnStatus_t status = dp_cudnn_convolution_graph(&p, handle, spec, &graph);
  DP_TRY(dp_cudnn_plan_search(&p, handle, device, spec, wanted, status, graph, "planning a convolution", found));
  if (*found) *plan = p;
  return DP_OK;
}

void dp_cudnn_plan_choice(const dp_cudnn_plan *plan, char *text, size_t room) {
  snprintf(text, room, "configuration %d, engine %lld", plan->place + 1, (long long)plan->engine);
}

void dp_cudnn_plan_release(dp_cudnn_plan *plan) {
  while (plan->n_descriptors > 0) plan->calls->cudnnBackendDestroyDescriptor(plan->descriptors[--plan->n_descriptors]);
}

dp_status dp_cudnn_plan_put(const dp_cudnn_plan *plan, cudaStream_t stream, int64_t count, const int64_t *ids,
                            const void *const *data, void *workspace) {
  const dp_cudnn_attribute attributes[] = {
      {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids},
      {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data},
      DP_CUDNN_ONE(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace),
  };
  cudnnBackendDescriptor_t pack;
  DP_TRY(dp_cudnn_check(dp_cudnn_describe(plan->calls, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, (int)DP_COUNT(attributes),
                                          attributes, &pack),
                        "naming a graph's operands"));
  dp_status status = dp_cudnn_execute(stream, plan->plan, pack);
  plan->calls->cudnnBackendDestroyDescriptor(pack);
  return status;
}

dp_status dp_cudnn_plan_enqueue(const dp_cudnn_plan *plan, cudaStream_t stream, const dp_cudnn_tensors *at,
                                void *workspace) {
  const int64_t ids[] = {DP_CUDNN_X, DP_CUDNN_W, DP_CUDNN_Y, DP_CUDNN_BIAS, DP_CUDNN_RESIDUAL};
  const void *const all[] = {at->x, at->w, at->y, at->bias, at->residual};
  int64_t named[DP_COUNT(ids)], count = 0;
  const void *data[DP_COUNT(ids)];
  for (size_t i = 0; i < DP_COUNT(ids); i++) {
    if (!all[i]) continue;
    named[count] = ids[i];
    data[count++] = all[i];
  }
  return dp_cudnn_plan_put(plan, stream, count, named, data, workspace);
}
