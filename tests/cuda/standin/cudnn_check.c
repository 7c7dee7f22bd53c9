// What finalisation checks, and operations read from their descriptors.
#include <string.h>

#include "tests/cuda/standin/cudnn_graph.h"
#include "tests/cuda/standin/cudnn_private.h"

static int64_t count_of(const descriptor *d, int name) {
  for (const attribute *a = d->attributes; a; a = a->next)
    if (a->name == name) return a->count;
  return 0;
}

static bool all_at_least(const descriptor *d, int name, int64_t low) {
  const int64_t *values = standin_cudnn_values(d, name);
  for (int64_t i = 0; i < count_of(d, name); i++)
    if (values[i] < low) return false;
  return true;
}

static int64_t number(const descriptor *d, int name) { return *(const int64_t *)standin_cudnn_values(d, name); }
static int data_type(const descriptor *d, int name) { return *(const int *)standin_cudnn_values(d, name); }

static cudnnStatus_t check_tensor(const descriptor *d) {
  const int64_t rank = count_of(d, CUDNN_ATTR_TENSOR_DIMENSIONS),
                alignment = number(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (rank < 4 || rank != count_of(d, CUDNN_ATTR_TENSOR_STRIDES)) return CUDNN_STATUS_BAD_PARAM;
  if (alignment < 1 || (alignment & (alignment - 1))) return CUDNN_STATUS_BAD_PARAM;
  return all_at_least(d, CUDNN_ATTR_TENSOR_DIMENSIONS, 1) && all_at_least(d, CUDNN_ATTR_TENSOR_STRIDES, 1)
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t check_convolution(const descriptor *d) {
  static const struct {
    int name, low;
  } lists[] = {{CUDNN_ATTR_CONVOLUTION_DILATIONS, 1},
               {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1},
               {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0},
               {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0}};
  const int64_t spatial = number(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  if (spatial < 2 || spatial > 3) return CUDNN_STATUS_NOT_SUPPORTED;
  if (data_type(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_NOT_SUPPORTED;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (count_of(d, lists[i].name) != spatial || !all_at_least(d, lists[i].name, lists[i].low))
      return CUDNN_STATUS_BAD_PARAM;
  return CUDNN_STATUS_SUCCESS;
}

// ---- operations -----------------------------------------------------------------------------------------------------

static const struct {
  int type, convolution, x, w, y, alpha, beta;
} operations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

// Lists of dims have three spatial ones here: leading ones are `missing` where there are two.
static void spread(const int64_t *from, int64_t spatial, int64_t missing, int64_t *to) {
  for (int64_t d = 0; d < 3; d++) to[d] = d < 3 - spatial ? missing : from[d - (3 - spatial)];
}

cudnnStatus_t standin_cudnn_read_tensor(const descriptor *d, int64_t spatial, tensor *t) {
  if (d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR || count_of(d, CUDNN_ATTR_TENSOR_DIMENSIONS) != 2 + spatial)
    return CUDNN_STATUS_BAD_PARAM;
  const int64_t *extents = standin_cudnn_values(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const int64_t *strides = standin_cudnn_values(d, CUDNN_ATTR_TENSOR_STRIDES);
  *t = (tensor){.id = number(d, CUDNN_ATTR_TENSOR_UNIQUE_ID),
                .alignment = number(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
                .type = data_type(d, CUDNN_ATTR_TENSOR_DATA_TYPE)};
  memcpy(t->extents, extents, 2 * sizeof *extents);
  memcpy(t->strides, strides, 2 * sizeof *strides);
  spread(extents + 2, spatial, 1, t->extents + 2);
  spread(strides + 2, spatial, 0, t->strides + 2);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t read_tensor(const descriptor *operation, int name, int64_t spatial, tensor *t) {
  return standin_cudnn_read_tensor(standin_cudnn_part(operation, name), spatial, t);
}

static double scale(const descriptor *d, int name) {
  for (const attribute *a = d->attributes; a; a = a->next)
    if (a->name == name)
      return a->type == CUDNN_TYPE_DOUBLE ? *(const double *)a->values : (double)*(const float *)a->values;
  return 0;
}

// The extents of y follow from the others.
static cudnnStatus_t check_extents(convolution *c) {
  const int64_t *x = c->x.extents, *w = c->w.extents, *y = c->y.extents;
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1]) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  c->groups = x[1] / w[1];
  if (w[0] % c->groups) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  for (int d = 0; d < 3; d++) {
    const int64_t room = x[2 + d] + c->pad[d] + c->pad_end[d] - (w[2 + d] - 1) * c->dilation[d] - 1;
    if (room < 0 || y[2 + d] != room / c->stride[d] + 1) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  return CUDNN_STATUS_SUCCESS;
}

static bool is_virtual(const descriptor *d) {
  const bool *value = standin_cudnn_values(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  return value && *value;
}

// Tensors have one type: that of the sums, or 16 bits where those are taken in float32. (cuDNN 9 has no engine that
// leaves sums of 16 bits in float32, but for what follows in the graph.)
static bool takes_types(const convolution *c, bool y_is_virtual) {
  if (c->x.type != c->w.type || c->y.type != (y_is_virtual ? CUDNN_DATA_FLOAT : c->x.type)) return false;
  const bool half = c->x.type == CUDNN_DATA_HALF || c->x.type == CUDNN_DATA_BFLOAT16;
  return c->x.type == c->type || (half && c->type == CUDNN_DATA_FLOAT);
}

cudnnStatus_t standin_cudnn_read(const descriptor *operation, convolution *c) {
  int i = 0;
  while (operations[i].type != operation->type) i++;
  const descriptor *d = standin_cudnn_part(operation, operations[i].convolution);
  if (d->type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
  const int64_t spatial = number(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  *c = (convolution){.operation = operation->type, .type = data_type(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE)};
  if (c->type != CUDNN_DATA_FLOAT && c->type != CUDNN_DATA_DOUBLE) return CUDNN_STATUS_NOT_SUPPORTED;
  cudnnStatus_t status = read_tensor(operation, operations[i].x, spatial, &c->x);
  if (status == CUDNN_STATUS_SUCCESS) status = read_tensor(operation, operations[i].w, spatial, &c->w);
  if (status == CUDNN_STATUS_SUCCESS) status = read_tensor(operation, operations[i].y, spatial, &c->y);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!takes_types(c, is_virtual(standin_cudnn_part(operation, operations[i].y)))) return CUDNN_STATUS_NOT_SUPPORTED;
  if (c->x.id == c->w.id || c->x.id == c->y.id || c->w.id == c->y.id) return CUDNN_STATUS_BAD_PARAM;
  spread(standin_cudnn_values(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), spatial, 0, c->pad);
  spread(standin_cudnn_values(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS), spatial, 0, c->pad_end);
  spread(standin_cudnn_values(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), spatial, 1, c->stride);
  spread(standin_cudnn_values(d, CUDNN_ATTR_CONVOLUTION_DILATIONS), spatial, 1, c->dilation);
  c->alpha = scale(operation, operations[i].alpha);
  c->beta = scale(operation, operations[i].beta);
  return check_extents(c);
}

// ---- plans ----------------------------------------------------------------------------------------------------------

static bool is_operation(const descriptor *d) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (operations[i].type == d->type) return true;
  return false;
}

// The workspace of the engine that a plan is made for; -1: it does not take the graph.
static cudnnStatus_t find_workspace(const descriptor *of_graph, int number, int64_t *bytes) {
  const descriptor *operation = standin_cudnn_part(of_graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (standin_cudnn_is_of_graph(operation)) {
    graph g;
    const cudnnStatus_t status = standin_cudnn_read_graph(of_graph, &g);
    if (status == CUDNN_STATUS_SUCCESS) *bytes = standin_cudnn_graph_workspace(&g);
    return status;
  }
  convolution c;
  const cudnnStatus_t status = standin_cudnn_read_followed(of_graph, &c);
  if (status == CUDNN_STATUS_SUCCESS && !standin_cudnn_takes_following(&c))
    *bytes = -1;
  else if (status == CUDNN_STATUS_SUCCESS)
    *bytes = standin_cudnn_workspace(standin_cudnn_engine(number), &c);
  return status;
}

// A plan is finalised if its engine takes the operation; its workspace can be asked for then.
static cudnnStatus_t check_plan(const descriptor *d) {
  const descriptor *configuration = standin_cudnn_part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (configuration->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
  int64_t bytes = 0;
  const cudnnStatus_t status = find_workspace(standin_cudnn_part(configuration, CUDNN_ATTR_OPERATIONGRAPH_OPS),
                                              (int)number(configuration, CUDNN_ATTR_ENGINE_GLOBAL_INDEX), &bytes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (bytes < 0) return CUDNN_STATUS_NOT_SUPPORTED;
  return standin_cudnn_store((descriptor *)(uintptr_t)d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                             &bytes)
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

static cudnnStatus_t check_graph(const descriptor *d) {
  const descriptor *operation = standin_cudnn_part(d, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  graph g;
  if (standin_cudnn_is_of_graph(operation)) return standin_cudnn_read_graph(d, &g);
  convolution c;
  return is_operation(operation) ? standin_cudnn_read_followed(d, &c) : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t check_pack(const descriptor *d) {
  const int64_t count = count_of(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  return count == count_of(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

// An operation of attention's graphs, or one that follows a convolution.
static cudnnStatus_t check_of_graph(const descriptor *d) {
  following f;
  const cudnnStatus_t status = standin_cudnn_check_operation(d);
  if (status == CUDNN_STATUS_SUCCESS || d->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return status;
  return standin_cudnn_read_following(d, &f) == CUDNN_STATUS_SUCCESS ? CUDNN_STATUS_SUCCESS : status;
}

cudnnStatus_t standin_cudnn_check(const descriptor *d) {
  convolution c;
  if (is_operation(d)) return standin_cudnn_read(d, &c);
  if (standin_cudnn_is_of_graph(d)) return check_of_graph(d);
  switch (d->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return check_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return check_convolution(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return check_graph(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return check_plan(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return check_pack(d);
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}
