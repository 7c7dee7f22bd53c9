// Graphs of pooling. See pooling.h.
#include "backends/cuda/cudnn/pooling.h"

enum { X_ID = 1, Y_ID };  // as pooling.c names the addresses

static cudnnStatus_t add_window(dp_cudnn_plan *p, const dp_cudnn_pool *pool, cudnnBackendDescriptor_t *made) {
  const bool maximum = pool->kind == DP_CUDNN_MAXIMUM;
  const int mode = maximum        ? CUDNN_RESAMPLE_MAXPOOL
                   : pool->counts ? CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING
                                  : CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
  const int padding = maximum ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD, nan = CUDNN_PROPAGATE_NAN;
  const int type = pool->dtype == DP_FLOAT64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const int64_t spatial = pool->spatial;
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, &mode),
      DP_CUDNN_ONE(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type),
      DP_CUDNN_ONE(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, &nan),
      DP_CUDNN_ONE(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, &padding),
      DP_CUDNN_ONE(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64, &spatial),
      {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_TYPE_INT64, spatial, pool->window},
      {CUDNN_ATTR_RESAMPLE_STRIDES, CUDNN_TYPE_INT64, spatial, pool->stride},
      {CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, pool->pre},
      {CUDNN_ATTR_RESAMPLE_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, pool->post},
  };
  return dp_cudnn_plan_add(p, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, DP_COUNT(attributes), attributes, made);
}

static cudnnStatus_t add_operation(dp_cudnn_plan *p, cudnnBackendDescriptor_t window, cudnnBackendDescriptor_t x,
                                   cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t *made) {
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &window),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &y),
  };
  return dp_cudnn_plan_add(p, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, DP_COUNT(attributes), attributes, made);
}

static cudnnStatus_t add_graph(dp_cudnn_plan *p, cudnnHandle_t handle, const dp_cudnn_pool *pool,
                               const dp_cudnn_spec *limits, cudnnBackendDescriptor_t *graph) {
  cudnnBackendDescriptor_t x, y, window, operation;
  cudnnStatus_t status = dp_cudnn_plan_add_tensor(p, limits, X_ID, pool->x, &x);
  if (status == CUDNN_STATUS_SUCCESS) status = dp_cudnn_plan_add_tensor(p, limits, Y_ID, pool->y, &y);
  if (status == CUDNN_STATUS_SUCCESS) status = add_window(p, pool, &window);
  if (status == CUDNN_STATUS_SUCCESS) status = add_operation(p, window, x, y, &operation);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operation),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle ? &handle : NULL),
  };
  return dp_cudnn_plan_add(p, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, DP_COUNT(attributes), attributes, graph);
}

dp_status dp_cudnn_pool_plan(const dp_cudnn_calls *calls, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                             const dp_cudnn_pool *pool, dp_cudnn_plan *plan, bool *found) {
  const dp_cudnn_spec limits = {.dtype = pool->dtype, .spatial = pool->spatial};
  cudnnBackendDescriptor_t graph = NULL;
  *plan = (dp_cudnn_plan){.calls = calls};
  const cudnnStatus_t status = add_graph(plan, handle, pool, &limits, &graph);
  return dp_cudnn_plan_search(plan, handle, device, &limits, NULL, status, graph, "planning pooling", found);
}
