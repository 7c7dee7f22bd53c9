// See convolution_graph.h.
#include "backends/cuda/cudnn/convolution_graph.h"

enum { ALIGNMENT = 16 };

// An operation's descriptor and its attributes.
static const struct {
  int type, convolution, x, w, y, alpha, beta;
} operations[] = {
    [DP_CUDNN_CONV] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [DP_CUDNN_GRAD_INPUT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [DP_CUDNN_GRAD_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

#define ADD(PLAN, TYPE, ATTRIBUTES, MADE) dp_cudnn_plan_add(PLAN, TYPE, DP_COUNT(ATTRIBUTES), ATTRIBUTES, MADE)

// ---- tensors --------------------------------------------------------------------------------------------------------

// id 0: a virtual tensor, of float32, which no memory outside the engine holds.
static cudnnStatus_t add_tensor(dp_cudnn_plan *p, const dp_cudnn_spec *s, int64_t id, const int64_t *extents,
                                cudnnBackendDescriptor_t *made) {
  const int rank = 2 + s->spatial;
  const bool is_virtual = !id;
  const cudnnDataType_t type = is_virtual ? (cudnnDataType_t)CUDNN_DATA_FLOAT : dp_cudnn_data_type(s->dtype);
  const int64_t alignment = ALIGNMENT, number = id ? id : 100 + p->n_descriptors;
  int64_t strides[5], stride = s->channels_last ? extents[1] : 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = s->channels_last && d == 1 ? 1 : stride;
    stride *= s->channels_last && d == 1 ? 1 : extents[d];
  }
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type),
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &number),
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment),
      {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, extents},
      {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides},
      DP_CUDNN_ONE(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual ? &is_virtual : NULL),
  };
  return ADD(p, CUDNN_BACKEND_TENSOR_DESCRIPTOR, attributes, made);
}

// ---- operations -----------------------------------------------------------------------------------------------------

static cudnnStatus_t add_convolution(dp_cudnn_plan *p, const dp_cudnn_spec *s, cudnnBackendDescriptor_t *made) {
  const cudnnDataType_t type = s->dtype == DP_FLOAT64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const int64_t spatial = s->spatial;
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type),
      DP_CUDNN_ONE(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode),
      DP_CUDNN_ONE(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &spatial),
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial, s->dilation},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial, s->stride},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, s->pad_begin},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, s->pad_end},
  };
  return ADD(p, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, attributes, made);
}

// The convolution or gradient by itself. y: where its result goes, or where it comes from.
static cudnnStatus_t add_operation(dp_cudnn_plan *p, const dp_cudnn_spec *s, cudnnBackendDescriptor_t y,
                                   cudnnBackendDescriptor_t *operation) {
  cudnnBackendDescriptor_t x, w, convolution;
  cudnnStatus_t status = add_tensor(p, s, DP_CUDNN_X, s->x, &x);
  if (status == CUDNN_STATUS_SUCCESS) status = add_tensor(p, s, DP_CUDNN_W, s->w, &w);
  if (status == CUDNN_STATUS_SUCCESS) status = add_convolution(p, s, &convolution);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = s->dtype == DP_FLOAT64;
  const int scale = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
#define NAME(FIELD) (cudnnBackendAttributeName_t) operations[s->kind].FIELD
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(NAME(convolution), CUDNN_TYPE_BACKEND_DESCRIPTOR, &convolution),
      DP_CUDNN_ONE(NAME(x), CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(NAME(w), CUDNN_TYPE_BACKEND_DESCRIPTOR, &w),
      DP_CUDNN_ONE(NAME(y), CUDNN_TYPE_BACKEND_DESCRIPTOR, &y),
      {NAME(alpha), (cudnnBackendAttributeType_t)scale, 1, wide ? (const void *)&wide_one : (const void *)&one},
      {NAME(beta), (cudnnBackendAttributeType_t)scale, 1, wide ? (const void *)&wide_zero : (const void *)&zero},
  };
#undef NAME
  return ADD(p, operations[s->kind].type, attributes, operation);
}

// z = x mode y, or mode of x where y is NULL. NaN stays NaN.
static cudnnStatus_t add_pointwise(dp_cudnn_plan *p, int mode, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                                   cudnnBackendDescriptor_t z, cudnnBackendDescriptor_t *operation) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const int propagate = CUDNN_PROPAGATE_NAN;
  const dp_cudnn_attribute how[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode),
      DP_CUDNN_ONE(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &type),
      DP_CUDNN_ONE(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                   mode == CUDNN_POINTWISE_RELU_FWD ? &propagate : NULL),
  };
  cudnnBackendDescriptor_t pointwise;
  cudnnStatus_t status = ADD(p, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, how, &pointwise);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const dp_cudnn_attribute attributes[] = {
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, &pointwise),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &x),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, y ? &y : NULL),
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &z),
  };
  return ADD(p, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, attributes, operation);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

enum { MOST_OPERATIONS = 4, ALONE = -1 };

// What follows the convolution, in order: an operation with another operand, or ALONE.
typedef struct {
  int mode;
  int64_t id;
  const int64_t *extents;
} following;

// cuDNN has engines for this order alone, which has a bias (measured with cuDNN 9.19).
static int find_following(const dp_cudnn_spec *s, const int64_t *channels, following *all) {
  int count = 0;
  if (s->residual) all[count++] = (following){CUDNN_POINTWISE_ADD, DP_CUDNN_RESIDUAL, s->y};
  if (s->bias) all[count++] = (following){CUDNN_POINTWISE_ADD, DP_CUDNN_BIAS, channels};
  if (s->relu) all[count++] = (following){CUDNN_POINTWISE_RELU_FWD, ALONE, NULL};
  return count;
}

static cudnnStatus_t add_operations(dp_cudnn_plan *p, const dp_cudnn_spec *s, cudnnBackendDescriptor_t *made,
                                    int64_t *count) {
  const int64_t channels[5] = {1, s->y[1], 1, 1, 1};
  following all[MOST_OPERATIONS];
  const int n = find_following(s, channels, all);
  cudnnBackendDescriptor_t z;
  cudnnStatus_t status = add_tensor(p, s, n ? 0 : DP_CUDNN_Y, s->y, &z);
  if (status == CUDNN_STATUS_SUCCESS) status = add_operation(p, s, z, &made[0]);
  for (int i = 0; i < n && status == CUDNN_STATUS_SUCCESS; i++) {
    cudnnBackendDescriptor_t x = z, y = NULL;
    status = add_tensor(p, s, i + 1 < n ? 0 : DP_CUDNN_Y, s->y, &z);
    if (status == CUDNN_STATUS_SUCCESS && all[i].id != ALONE) status = add_tensor(p, s, all[i].id, all[i].extents, &y);
    if (status == CUDNN_STATUS_SUCCESS) status = add_pointwise(p, all[i].mode, x, y, z, &made[i + 1]);
  }
  *count = n + 1;
  return status;
}

cudnnStatus_t dp_cudnn_convolution_graph(dp_cudnn_plan *plan, cudnnHandle_t handle, const dp_cudnn_spec *spec,
                                         cudnnBackendDescriptor_t *graph) {
  cudnnBackendDescriptor_t made[MOST_OPERATIONS];
  int64_t count;
  const cudnnStatus_t status = add_operations(plan, spec, made, &count);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const dp_cudnn_attribute attributes[] = {
      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, made},
      DP_CUDNN_ONE(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle ? &handle : NULL),
  };
  return ADD(plan, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, attributes, graph);
}
