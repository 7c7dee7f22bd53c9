// See graph.h.
#include "backends/cuda/cudnn/graph.h"

enum { RANK = 4, ALIGNMENT = 16 };

static const cudnnDataType_t computed = CUDNN_DATA_FLOAT;

static cudnnBackendDescriptor_t add(dp_cudnn_graph *graph, int type, size_t count,
                                    const dp_cudnn_attribute *attributes) {
  cudnnBackendDescriptor_t made = NULL;
  if (graph->status == CUDNN_STATUS_SUCCESS)
    graph->status = dp_cudnn_plan_add(graph->plan, type, count, attributes, &made);
  return made;
}
#define ADD(GRAPH, TYPE, ATTRIBUTES) add(GRAPH, TYPE, DP_COUNT(ATTRIBUTES), ATTRIBUTES)

static void add_operation(dp_cudnn_graph *graph, int type, size_t count, const dp_cudnn_attribute *attributes) {
  if (graph->n_operations == DP_CUDNN_MOST_OPERATIONS) graph->status = CUDNN_STATUS_INTERNAL_ERROR;
  cudnnBackendDescriptor_t made = add(graph, type, count, attributes);
  if (made) graph->operations[graph->n_operations++] = made;
}
#define ADD_OPERATION(GRAPH, TYPE, ATTRIBUTES) add_operation(GRAPH, TYPE, DP_COUNT(ATTRIBUTES), ATTRIBUTES)

static cudnnBackendDescriptor_t add_tensor(dp_cudnn_graph *graph, int64_t id, cudnnDataType_t type, int64_t alignment,
                                           const int64_t *extents, const int64_t *strides) {
  const bool yes = true, by_value = alignment < ALIGNMENT;
  const int64_t number = id ? id : graph->next++;
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type),
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &number),
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment),
      {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, RANK, extents},
      {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, RANK, strides},
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, id ? NULL : &yes),
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value ? &yes : NULL),
  };
  return ADD(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, attributes);
}

cudnnBackendDescriptor_t dp_cudnn_graph_tensor(dp_cudnn_graph *graph, int64_t id, cudnnDataType_t type,
                                               const int64_t *extents, const int64_t *strides) {
  return add_tensor(graph, id, type, ALIGNMENT, extents, strides);
}

static const int64_t ones[RANK] = {1, 1, 1, 1};

cudnnBackendDescriptor_t dp_cudnn_graph_number(dp_cudnn_graph *graph, int64_t id) {
  return add_tensor(graph, id, CUDNN_DATA_FLOAT, sizeof(float), ones, ones);
}

cudnnBackendDescriptor_t dp_cudnn_graph_integer(dp_cudnn_graph *graph, int64_t id) {
  return add_tensor(graph, id, CUDNN_DATA_INT32, sizeof(int32_t), ones, ones);
}

void dp_cudnn_graph_product(dp_cudnn_graph *graph, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                            cudnnBackendDescriptor_t z) {
  const dp_cudnn_attribute how[] = {DP_CUDNN_ONE(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &computed)};
  cudnnBackendDescriptor_t product = ADD(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR, how);
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &product),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &y),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &z),
  };
  ADD_OPERATION(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, attributes);
}

// dim: NULL where the mode has none; y, which: NULL where it takes fewer operands.
static void add_pointwise(dp_cudnn_graph *graph, cudnnDataType_t type, int mode, const int64_t *dim,
                          cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t which,
                          cudnnBackendDescriptor_t z) {
  const dp_cudnn_attribute how[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode),
      DP_CUDNN_ONE(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &type),
      DP_CUDNN_ONE(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, dim),
  };
  cudnnBackendDescriptor_t pointwise = ADD(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, how);
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, &pointwise),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, y ? &y : NULL),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, which ? &which : NULL),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &z),
  };
  ADD_OPERATION(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, attributes);
}

void dp_cudnn_graph_pointwise(dp_cudnn_graph *graph, int mode, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                              cudnnBackendDescriptor_t z) {
  add_pointwise(graph, computed, mode, NULL, x, y, NULL, z);
}

void dp_cudnn_graph_pointwise_in(dp_cudnn_graph *graph, cudnnDataType_t type, int mode, cudnnBackendDescriptor_t x,
                                 cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t z) {
  add_pointwise(graph, type, mode, NULL, x, y, NULL, z);
}

void dp_cudnn_graph_places(dp_cudnn_graph *graph, int64_t dim, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t z) {
  add_pointwise(graph, computed, CUDNN_POINTWISE_GEN_INDEX, &dim, x, NULL, NULL, z);
}

void dp_cudnn_graph_select(dp_cudnn_graph *graph, cudnnBackendDescriptor_t which, cudnnBackendDescriptor_t x,
                           cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t z) {
  add_pointwise(graph, computed, CUDNN_POINTWISE_BINARY_SELECT, NULL, x, y, which, z);
}

void dp_cudnn_graph_reduce(dp_cudnn_graph *graph, int reduction, cudnnBackendDescriptor_t x,
                           cudnnBackendDescriptor_t z) {
  const dp_cudnn_attribute how[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &reduction),
      DP_CUDNN_ONE(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &computed),
  };
  cudnnBackendDescriptor_t reduce = ADD(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, how);
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &reduce),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &z),
  };
  ADD_OPERATION(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, attributes);
}

void dp_cudnn_graph_reshape(dp_cudnn_graph *graph, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t z) {
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &z),
  };
  ADD_OPERATION(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, attributes);
}

cudnnBackendDescriptor_t dp_cudnn_graph_end(dp_cudnn_graph *graph, cudnnHandle_t handle) {
  const dp_cudnn_attribute attributes[] = {
      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph->n_operations, graph->operations},
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle ? &handle : NULL),
  };
  return ADD(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, attributes);
}
