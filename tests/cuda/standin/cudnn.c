// A stand-in of cuDNN's graphs that computes on the host, from what the descriptors say when they are finalised: this
// file has the calls, cudnn_check.c what finalisation checks, cudnn_engines.c the engines, cudnn_convolve.c what they
// compute, cudnn_followed.c what follows a convolution. It knows graphs of one convolution, with what follows it, or of
// one of its gradients, and of attention (cudnn_graph.h).
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/cudnn_graph.h"
#include "tests/cuda/standin/cudnn_private.h"
#include "tests/cuda/standin/standin.h"

#define DP_CALL(name, parameters) __attribute__((visibility("default"))) cudnnStatus_t name parameters;
DP_CUDA_CUDNN_CALLS(DP_CALL)
#undef DP_CALL

// What a call that is told to fail returns.
static cudnnStatus_t refusal(CUresult error) {
  return error == CUDA_ERROR_OUT_OF_MEMORY ? CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
                                           : CUDNN_STATUS_INTERNAL_ERROR;
}
#define BEGIN()                                    \
  do {                                             \
    CUresult begin_r_ = dp_standin_call(__func__); \
    if (begin_r_) return refusal(begin_r_);        \
  } while (0)

struct cudnnContext {
  int device;
  cudaStream_t stream;
};

// A handle for each device. It lives as long as the process, as the library's do that nobody destroys.
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  BEGIN();
  static struct cudnnContext contexts[64];
  const int device = dp_standin_device();
  if (!handle || device < 0) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  contexts[device].device = device;
  *handle = &contexts[device];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType property, int *value) {
  BEGIN();
  return dp_standin_version("DP_STANDIN_CUDNN", 91900, (int)property, value) ? CUDNN_STATUS_SUCCESS
                                                                             : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  BEGIN();
  if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

// ---- descriptors ----------------------------------------------------------------------------------------------------

// The attributes of each kind of descriptor that can be set.
static const struct {
  int descriptor, name, type;
  int64_t most;
  bool needed;
} known[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 5, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 5, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, false},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, false},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 3, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 3, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 3, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 3, true},
#define OPERATION(KIND, PREFIX, X, W, Y)                                                                    \
  {KIND, PREFIX##_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},                                       \
      {KIND, X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true}, {KIND, W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true}, \
      {KIND, Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true}, {KIND, PREFIX##_ALPHA, -1, 1, true}, {             \
    KIND, PREFIX##_BETA, -1, 1, true                                                                        \
  }
    OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y),
    OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY),
    OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY),
#undef OPERATION
#define PART(KIND, NAME, NEEDED) \
  { KIND, NAME, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, NEEDED }
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, false},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, false},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, true},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, true},
    PART(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_DESC, true),
    PART(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_ADESC, true),
    PART(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_BDESC, true),
    PART(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_CDESC, true),
    PART(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, true),
    PART(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, true),
    PART(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, false),
    PART(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, false),
    PART(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, true),
    PART(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_DESC, true),
    PART(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, true),
    PART(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, true),
    PART(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, true),
    PART(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, true),
#undef PART
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
     STANDIN_MOST_OPERATIONS, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 16, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 16, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, false},
};
enum { N_KNOWN = sizeof known / sizeof *known };

static size_t bytes_of(int type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return sizeof(void *);
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

const void *standin_cudnn_values(const descriptor *d, int name) {
  for (const attribute *a = d->attributes; a; a = a->next)
    if (a->name == name) return a->values;
  return NULL;
}

const descriptor *standin_cudnn_part(const descriptor *d, int name) {
  const void *values = standin_cudnn_values(d, name);
  return values ? *(descriptor *const *)values : NULL;
}

static void put_back(descriptor *d);

static void drop(attribute *a) {
  for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
    put_back(((descriptor **)a->values)[i]);
  free(a->values);
  free(a);
}

static void put_back(descriptor *d) {
  if (--d->references) return;
  for (attribute *a = d->attributes, *next; a; a = next) {
    next = a->next;
    drop(a);
  }
  free(d);
}

bool standin_cudnn_store(descriptor *d, int name, int type, int64_t count, const void *values) {
  attribute *a = malloc(sizeof *a);
  void *copy = malloc((size_t)count * bytes_of(type) + 1);
  if (!a || !copy) {
    free(a);
    free(copy);
    return false;
  }
  memcpy(copy, values, (size_t)count * bytes_of(type));
  *a = (attribute){.next = d->attributes, .name = name, .type = type, .count = count, .values = copy};
  for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++) ((descriptor **)copy)[i]->references++;
  d->attributes = a;
  return true;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made) {
  BEGIN();
  if (!made) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  descriptor *d = calloc(1, sizeof *d);
  if (!d) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  d->type = (int)type;
  d->references = 1;
  *made = d;
  dp_standin_handles(1);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t made) {
  CUresult refused = dp_standin_call(__func__);
  if (!made) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  put_back(made);
  dp_standin_handles(-1);
  return refused ? refusal(refused) : CUDNN_STATUS_SUCCESS;
}

static bool is_set(const descriptor *d, int name) { return standin_cudnn_values(d, name) != NULL; }

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t made, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  BEGIN();
  descriptor *d = made;
  if (!d || !values) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (d->finalized || is_set(d, (int)name) || count < 1) return CUDNN_STATUS_BAD_PARAM;
  for (int i = 0; i < N_KNOWN; i++) {
    if (known[i].descriptor != d->type || known[i].name != (int)name) continue;
    const bool scale = known[i].type < 0 && ((int)type == CUDNN_TYPE_FLOAT || (int)type == CUDNN_TYPE_DOUBLE);
    if (known[i].type != (int)type && !scale) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (count > known[i].most) return CUDNN_STATUS_NOT_SUPPORTED;
    for (int64_t k = 0; (int)type == CUDNN_TYPE_BACKEND_DESCRIPTOR && k < count; k++)
      if (!((descriptor *const *)values)[k]->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    if ((int)type == CUDNN_TYPE_HANDLE && !*(void *const *)values) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return standin_cudnn_store(d, (int)name, (int)type, count, values)
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
  return CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t made) {
  BEGIN();
  descriptor *d = made;
  if (!d) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (d->finalized) return CUDNN_STATUS_BAD_PARAM;
  bool any = false;
  for (int i = 0; i < N_KNOWN; i++) {
    if (known[i].descriptor != d->type) continue;
    any = true;
    if (known[i].needed && !is_set(d, known[i].name)) return CUDNN_STATUS_BAD_PARAM;
  }
  if (!any) return CUDNN_STATUS_NOT_SUPPORTED;
  cudnnStatus_t status = standin_cudnn_check(d);
  d->finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

// ---- what can be asked ----------------------------------------------------------------------------------------------

static const descriptor *operation_of(const descriptor *graph) {
  return standin_cudnn_part(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
}

// An engine's descriptor holds its number and its graph.
static bool fill_engine(descriptor *d, const engine *e, const descriptor *graph) {
  const int64_t number = e->number;
  d->finalized = true;
  return standin_cudnn_store(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number) &&
         standin_cudnn_store(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
}

// The configurations that heuristics name, into descriptors that the caller has made.
static cudnnStatus_t get_results(const descriptor *heuristics, int64_t asked, int64_t *count, descriptor **results) {
  const engine *engines;
  const int mode = *(const int *)standin_cudnn_values(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE);
  const descriptor *graph = standin_cudnn_part(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const descriptor *operation = operation_of(graph);
  const int named = standin_cudnn_is_of_graph(operation) ? standin_cudnn_graph_engines(mode, &engines)
                                                         : standin_cudnn_engines(mode, &engines);
  *count = named < asked ? named : asked;
  for (int64_t i = 0; i < *count; i++) {
    if (results[i]->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR || results[i]->finalized) return CUDNN_STATUS_BAD_PARAM;
    if (!fill_engine(results[i], &engines[i], graph)) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
  return CUDNN_STATUS_SUCCESS;
}

static const engine *engine_of(const descriptor *d) {
  const int64_t *number = standin_cudnn_values(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  const engine *e = number ? standin_cudnn_graph_engine((int)*number) : NULL;
  return number && !e ? standin_cudnn_engine((int)*number) : e;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const made, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t asked, int64_t *count, void *values) {
  BEGIN();
  descriptor *d = made;
  if (!d || !count || !values) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!d->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  if (asked < 1) return CUDNN_STATUS_BAD_PARAM;
  *count = 1;
  if ((int)name == CUDNN_ATTR_ENGINEHEUR_RESULTS && d->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
      (int)type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return get_results(d, asked, count, values);
  const engine *e = engine_of(d);
  if ((int)name == CUDNN_ATTR_ENGINECFG_ENGINE && d->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
      (int)type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    descriptor *to = *(descriptor **)values;
    if (to->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
    return fill_engine(to, e, operation_of(d)) ? CUDNN_STATUS_SUCCESS
                                               : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
  if ((int)name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && (int)type == CUDNN_TYPE_NUMERICAL_NOTE &&
      d->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    *count = e->note >= 0;
    if (e->note >= 0) *(int *)values = e->note;
    return CUDNN_STATUS_SUCCESS;
  }
  const void *held = standin_cudnn_values(d, (int)name);
  if (!held || (int)type != CUDNN_TYPE_INT64) return CUDNN_STATUS_BAD_PARAM;
  memcpy(values, held, sizeof(int64_t));
  return CUDNN_STATUS_SUCCESS;
}

// ---- execution ------------------------------------------------------------------------------------------------------

// Finds a tensor's address in the variant pack, by its number.
static cudnnStatus_t find_address(const descriptor *pack, int64_t id, int64_t alignment, void **address) {
  const int64_t *ids = standin_cudnn_values(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  void *const *data = standin_cudnn_values(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  int64_t count = 0;
  for (const attribute *a = pack->attributes; a; a = a->next)
    if (a->name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) count = a->count;
  for (int64_t i = 0; i < count; i++)
    if (ids[i] == id) *address = data[i];
  if (!*address) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  return (uintptr_t)*address % (uintptr_t)alignment ? CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t find_data(const descriptor *pack, tensor *t) {
  void *address = NULL;
  const cudnnStatus_t status = find_address(pack, t->id, t->alignment, &address);
  t->data = address;
  return status;
}

static cudnnStatus_t execute_graph(cudnnHandle_t handle, const descriptor *configuration, const descriptor *pack) {
  graph *g = malloc(sizeof *g);
  if (!g) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  const engine *e = engine_of(configuration);
  void *const *workspace = standin_cudnn_values(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  cudnnStatus_t status = standin_cudnn_read_graph(operation_of(configuration), g);
  g->engine = e->number;
  g->workspace = workspace ? *workspace : NULL;
  g->workspace_bytes = standin_cudnn_graph_workspace(g);
  if (status == CUDNN_STATUS_SUCCESS && g->workspace_bytes > 0 && !g->workspace)
    status = CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  for (int i = 0; i < g->n_tensors && status == CUDNN_STATUS_SUCCESS; i++)
    if (!g->tensors[i].is_virtual)
      status = find_address(pack, g->tensors[i].id, g->tensors[i].alignment, &g->tensors[i].data);
  if (status == CUDNN_STATUS_SUCCESS && !standin_cudnn_graph_prepare(g))
    status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  if (status == CUDNN_STATUS_SUCCESS && dp_standin_enqueue(handle->stream, standin_cudnn_graph_run, g,
                                                           standin_cudnn_graph_free, standin_cudnn_graph_ns(g, e)))
    status = CUDNN_STATUS_EXECUTION_FAILED;
  if (status != CUDNN_STATUS_SUCCESS) standin_cudnn_graph_free(g);
  return status;
}

// A gradient of the weight with pads that differ is planned, and wrong on a GPU. Here it fails.
static bool is_wrong(const convolution *c) {
  return c->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR &&
         memcmp(c->pad, c->pad_end, sizeof c->pad) != 0;
}

static void release(void *context) {
  free(((convolution *)context)->own);
  free(context);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_made,
                                  cudnnBackendDescriptor_t pack_made) {
  BEGIN();
  const descriptor *plan = plan_made, *pack = pack_made;
  if (!handle || !plan || !pack) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!plan->finalized || !pack->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  cudnnHandle_t const *made_for = standin_cudnn_values(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  const int device = dp_standin_device();
  if (handle->device != device || dp_standin_device_of(handle->stream) != device) return CUDNN_STATUS_BAD_PARAM;
  if (!made_for || (*made_for)->device != device) return CUDNN_STATUS_BAD_PARAM;
  const descriptor *configuration = standin_cudnn_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const descriptor *operation = operation_of(operation_of(configuration));
  if (standin_cudnn_is_of_graph(operation)) return execute_graph(handle, configuration, pack);
  convolution c;
  cudnnStatus_t status = standin_cudnn_read_followed(operation_of(configuration), &c);
  for (int i = 0; i < c.n_following && status == CUDNN_STATUS_SUCCESS; i++)
    if (c.following[i].has_operand) status = find_data(pack, &c.following[i].operand);
  if (status == CUDNN_STATUS_SUCCESS) status = find_data(pack, &c.x);
  if (status == CUDNN_STATUS_SUCCESS) status = find_data(pack, &c.w);
  if (status == CUDNN_STATUS_SUCCESS) status = find_data(pack, &c.y);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (is_wrong(&c)) return CUDNN_STATUS_EXECUTION_FAILED;
  const engine *e = engine_of(configuration);
  void *const *workspace = standin_cudnn_values(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  c.engine = e->number;
  c.workspace = workspace ? *workspace : NULL;
  if (standin_cudnn_workspace(e, &c) > 0 && !c.workspace) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const int64_t plane_x = c.x.extents[2] * c.x.extents[3] * c.x.extents[4];
  const int64_t plane_y = c.y.extents[2] * c.y.extents[3] * c.y.extents[4];
  convolution *copy = malloc(sizeof *copy);
  if (!copy) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  c.own = malloc((size_t)(plane_x > plane_y ? plane_x : plane_y) * sizeof(double));
  *copy = c;
  // A GPU's time: 25 TFLOP/s.
  const double sums = (double)(c.y.extents[0] * c.y.extents[1] * plane_y);
  const double ns =
      e->slowness *
      (3e3 + 2 * sums * (double)(c.w.extents[1] * c.w.extents[2] * c.w.extents[3] * c.w.extents[4]) / 25e3);
  if (c.own && !dp_standin_enqueue(handle->stream, standin_cudnn_convolve, copy, release, ns))
    return CUDNN_STATUS_SUCCESS;
  release(copy);
  return CUDNN_STATUS_EXECUTION_FAILED;
}
