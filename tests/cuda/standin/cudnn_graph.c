// Graphs of several operations: what is read of their descriptors, and what is refused. See cudnn_graph.h.
#include "tests/cuda/standin/cudnn_graph.h"

#include <stdlib.h>
#include <string.h>

enum { RANK = 4 };

// An operation's descriptors: of how it computes, and of tensors. y, t: 0 if there is never one.
static const struct {
  int type, how, how_type, mode, computes, x, y, z, t;
} kinds[] = {
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_BACKEND_MATMUL_DESCRIPTOR, -1,
     CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
     CUDNN_ATTR_OPERATION_MATMUL_CDESC, 0},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MATH_PREC,
     CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
     CUDNN_ATTR_OPERATION_POINTWISE_TDESC},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_DESC,
     CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_ATTR_REDUCTION_COMP_TYPE,
     CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 0, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 0},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 0, 0, -1, -1, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0,
     CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 0},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const descriptor *operation) {
  for (int i = 0; i < N_KINDS; i++)
    if (kinds[i].type == operation->type) return i;
  return -1;
}

bool standin_cudnn_is_of_graph(const descriptor *operation) { return kind_of(operation) >= 0; }

// ---- tensors --------------------------------------------------------------------------------------------------------

static bool is_half(int type) { return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16; }

static bool flag(const descriptor *d, int name) {
  const bool *value = standin_cudnn_values(d, name);
  return value && *value;
}

static cudnnStatus_t read_tensor(const descriptor *d, graph_tensor *t) {
  if (d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
  for (const attribute *a = d->attributes; a; a = a->next)
    if (a->name == CUDNN_ATTR_TENSOR_DIMENSIONS && a->count != RANK) return CUDNN_STATUS_NOT_SUPPORTED;
  *t = (graph_tensor){.id = *(const int64_t *)standin_cudnn_values(d, CUDNN_ATTR_TENSOR_UNIQUE_ID),
                      .alignment = *(const int64_t *)standin_cudnn_values(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
                      .type = *(const int *)standin_cudnn_values(d, CUDNN_ATTR_TENSOR_DATA_TYPE),
                      .is_virtual = flag(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL),
                      .by_value = flag(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE)};
  memcpy(t->extents, standin_cudnn_values(d, CUDNN_ATTR_TENSOR_DIMENSIONS), sizeof t->extents);
  memcpy(t->strides, standin_cudnn_values(d, CUDNN_ATTR_TENSOR_STRIDES), sizeof t->strides);
  const bool whole = t->type == CUDNN_DATA_INT32, truth = t->type == CUDNN_DATA_BOOLEAN;
  if (t->by_value && (t->is_virtual || (t->type != CUDNN_DATA_FLOAT && !whole))) return CUDNN_STATUS_NOT_SUPPORTED;
  if ((whole && !t->by_value && !t->is_virtual) || (truth && !t->is_virtual)) return CUDNN_STATUS_NOT_SUPPORTED;
  return is_half(t->type) || t->type == CUDNN_DATA_FLOAT || whole || truth ? CUDNN_STATUS_SUCCESS
                                                                           : CUDNN_STATUS_NOT_SUPPORTED;
}

static bool same_tensor(const graph_tensor *x, const graph_tensor *y) {
  return !memcmp(x->extents, y->extents, sizeof x->extents) && !memcmp(x->strides, y->strides, sizeof x->strides) &&
         x->type == y->type && x->alignment == y->alignment && x->is_virtual == y->is_virtual &&
         x->by_value == y->by_value;
}

// The tensor's place; adds it. -1: another tensor has its number, or there is no room.
static int place_of(graph *g, const graph_tensor *t) {
  for (int i = 0; i < g->n_tensors; i++)
    if (g->tensors[i].id == t->id) return same_tensor(&g->tensors[i], t) ? i : -1;
  if (g->n_tensors == STANDIN_MOST_TENSORS) return -1;
  g->tensors[g->n_tensors] = *t;
  return g->n_tensors++;
}

// ---- operations -----------------------------------------------------------------------------------------------------

static bool fit_product(const int64_t *x, const int64_t *y, const int64_t *z) {
  return x[0] == y[0] && x[0] == z[0] && x[1] == z[1] && x[1] % y[1] == 0 && x[3] == y[2] && z[2] == x[2] &&
         z[3] == y[3];
}

static bool fit_pointwise(const int64_t *x, const int64_t *y, const int64_t *z) {
  for (int d = 0; d < RANK; d++) {
    const int64_t wide = y && y[d] > x[d] ? y[d] : x[d];
    if (z[d] != wide || (x[d] != wide && x[d] != 1) || (y && y[d] != wide && y[d] != 1)) return false;
  }
  return true;
}

static bool fit_reduction(const int64_t *x, const int64_t *z) {
  for (int d = 0; d < RANK; d++)
    if (x[d] % z[d]) return false;
  return true;
}

// The same memory, with the last two dims exchanged.
static bool fit_exchange(const graph_tensor *x, const graph_tensor *z) {
  for (int d = 0; d < RANK; d++) {
    const int from = d < 2 ? d : 5 - d;
    if (z->extents[d] != x->extents[from] || z->strides[d] != x->strides[from]) return false;
  }
  return true;
}

// What an operation reads and writes, as its descriptors say.
typedef struct {
  int mode, computed, axis;
  bool has_y, has_t;
  graph_tensor x, y, t, z;
} reading;

static bool is_float(const graph_tensor *t) { return is_half(t->type) || t->type == CUDNN_DATA_FLOAT; }

// The places of elements, int32; a comparison of two such; a selection by what that gives.
static bool knows_places(const reading *r) {
  switch (r->mode) {
    case CUDNN_POINTWISE_GEN_INDEX:
      return !r->has_y && !r->has_t && r->axis >= 0 && r->axis < RANK && r->computed == CUDNN_DATA_FLOAT &&
             r->z.type == CUDNN_DATA_INT32;
    case CUDNN_POINTWISE_ADD:
      return r->has_y && !r->has_t && r->computed == CUDNN_DATA_INT32 && r->x.type == CUDNN_DATA_INT32 &&
             r->y.type == CUDNN_DATA_INT32 && r->z.type == CUDNN_DATA_INT32;
    case CUDNN_POINTWISE_CMP_GE:
      return r->has_y && !r->has_t && r->computed == CUDNN_DATA_BOOLEAN && r->x.type == CUDNN_DATA_INT32 &&
             r->y.type == CUDNN_DATA_INT32 && r->z.type == CUDNN_DATA_BOOLEAN;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return r->has_y && r->has_t && r->computed == CUDNN_DATA_FLOAT && is_float(&r->x) && is_float(&r->y) &&
             r->t.type == CUDNN_DATA_BOOLEAN && is_float(&r->z);
    default:
      return false;
  }
}

static bool knows(int type, const reading *r) {
  const int mode = r->mode;
  if (type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && knows_places(r)) return true;
  if (r->computed != CUDNN_DATA_FLOAT || !is_float(&r->x) || (r->has_y && !is_float(&r->y)) || !is_float(&r->z))
    return false;
  if (type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
    return mode == CUDNN_REDUCE_TENSOR_ADD || mode == CUDNN_REDUCE_TENSOR_MAX;
  if (type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return true;
  if (r->has_t) return false;
  if (mode == CUDNN_POINTWISE_EXP || mode == CUDNN_POINTWISE_LOG) return !r->has_y;
  return r->has_y && (mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_SUB || mode == CUDNN_POINTWISE_MUL ||
                      mode == CUDNN_POINTWISE_DIV);
}

static cudnnStatus_t read_part(const descriptor *d, int name, bool *has, graph_tensor *t) {
  const descriptor *part = name ? standin_cudnn_part(d, name) : NULL;
  *has = part != NULL;
  return part ? read_tensor(part, t) : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t read_operation(const descriptor *d, reading *r) {
  const int kind = kind_of(d);
  *r = (reading){.axis = -1, .computed = CUDNN_DATA_FLOAT};
  cudnnStatus_t status = read_tensor(standin_cudnn_part(d, kinds[kind].x), &r->x);
  if (status == CUDNN_STATUS_SUCCESS) status = read_part(d, kinds[kind].y, &r->has_y, &r->y);
  if (status == CUDNN_STATUS_SUCCESS) status = read_part(d, kinds[kind].t, &r->has_t, &r->t);
  if (status == CUDNN_STATUS_SUCCESS) status = read_tensor(standin_cudnn_part(d, kinds[kind].z), &r->z);
  if (status != CUDNN_STATUS_SUCCESS || !kinds[kind].how) return status;
  const descriptor *how = standin_cudnn_part(d, kinds[kind].how);
  if (how->type != kinds[kind].how_type) return CUDNN_STATUS_BAD_PARAM;
  r->computed = *(const int *)standin_cudnn_values(how, kinds[kind].computes);
  if (kinds[kind].mode >= 0) r->mode = *(const int *)standin_cudnn_values(how, kinds[kind].mode);
  const int64_t *axis = standin_cudnn_values(how, CUDNN_ATTR_POINTWISE_AXIS);
  if (axis) r->axis = (int)*axis;
  return knows(d->type, r) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static bool fit(int type, const reading *r) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return fit_product(r->x.extents, r->y.extents, r->z.extents);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return fit_pointwise(r->x.extents, r->has_y ? r->y.extents : NULL, r->z.extents) &&
             (!r->has_t || fit_pointwise(r->x.extents, r->t.extents, r->z.extents));
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return fit_reduction(r->x.extents, r->z.extents);
    default:
      return fit_exchange(&r->x, &r->z);
  }
}

cudnnStatus_t standin_cudnn_check_operation(const descriptor *d) {
  reading r;
  const cudnnStatus_t status = read_operation(d, &r);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return fit(d->type, &r) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

// Virtual tensors are made once, before they are used; by an operation in any order that cuDNN is given, in this one
// here. What is given is not made.
static bool is_ready(const graph *g, int place) { return !g->tensors[place].is_virtual || g->tensors[place].made; }

static cudnnStatus_t add_operation(graph *g, const descriptor *d) {
  graph_operation o = {.type = d->type, .y = -1, .t = -1};
  reading r;
  const cudnnStatus_t status = read_operation(d, &r);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  o.mode = r.mode;
  o.axis = r.axis;
  o.x = place_of(g, &r.x);
  if (r.has_y) o.y = place_of(g, &r.y);
  if (r.has_t) o.t = place_of(g, &r.t);
  o.z = place_of(g, &r.z);
  if (o.x < 0 || (r.has_y && o.y < 0) || (r.has_t && o.t < 0) || o.z < 0) return CUDNN_STATUS_BAD_PARAM;
  if (!is_ready(g, o.x) || (r.has_y && !is_ready(g, o.y)) || (r.has_t && !is_ready(g, o.t)) || g->tensors[o.z].made ||
      g->tensors[o.z].by_value)
    return CUDNN_STATUS_BAD_PARAM;
  g->tensors[o.z].made = true;
  g->operations[g->n_operations++] = o;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t standin_cudnn_read_graph(const descriptor *of, graph *g) {
  memset(g, 0, sizeof *g);
  for (const attribute *a = of->attributes; a; a = a->next) {
    if (a->name != CUDNN_ATTR_OPERATIONGRAPH_OPS) continue;
    for (int64_t i = 0; i < a->count; i++) {
      const descriptor *operation = ((descriptor *const *)a->values)[i];
      if (!standin_cudnn_is_of_graph(operation)) return CUDNN_STATUS_NOT_SUPPORTED;
      const cudnnStatus_t status = add_operation(g, operation);
      if (status != CUDNN_STATUS_SUCCESS) return status;
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

// ---- engines --------------------------------------------------------------------------------------------------------

enum { FUSED = 204 };

static const engine engines[] = {
    {STANDIN_CUDNN_UNORDERED, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, false, 0.1},
    {FUSED, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, true, 1},
};
enum { N_ENGINES = sizeof engines / sizeof *engines };

// The setting DP_STANDIN_CUDNN_ATTENTION=0 is a GPU for which there are none.
int standin_cudnn_graph_engines(int mode, const engine **first) {
  const char *setting = getenv("DP_STANDIN_CUDNN_ATTENTION");
  *first = engines;
  return mode == CUDNN_HEUR_MODE_A && (!setting || *setting != '0') ? N_ENGINES : 0;
}

const engine *standin_cudnn_graph_engine(int number) {
  for (int i = 0; i < N_ENGINES; i++)
    if (engines[i].number == number) return &engines[i];
  return NULL;
}

static int64_t count_of(const graph_tensor *t) { return t->extents[0] * t->extents[1] * t->extents[2] * t->extents[3]; }

// The fused engines know attention by its pattern, which has the logarithm of the sums of exponentials, needed or not
// (measured with cuDNN 9.19).
static bool has_logarithm(const graph *g) {
  for (int i = 0; i < g->n_operations; i++)
    if (g->operations[i].type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
        g->operations[i].mode == CUDNN_POINTWISE_LOG)
      return true;
  return false;
}

// What the fused engines ask for: addresses that are multiples of 16, and heads whose size is a multiple of 8 and at
// most 128.
static bool takes(const graph_tensor *t) {
  if (t->is_virtual || t->by_value) return true;
  if (t->alignment < 16) return false;
  if (!is_half(t->type)) return true;
  const int64_t size = t->strides[3] == 1 ? t->extents[3] : t->extents[2];
  return (t->strides[3] == 1 || t->strides[2] == 1) && size % 8 == 0 && size <= 128;
}

static int64_t in_tiles(int64_t extent) { return (extent + 63) / 64 * 64; }

int64_t standin_cudnn_graph_workspace(const graph *g) {
  int products = 0;
  const graph_tensor *scores = NULL;
  int64_t of_heads = 0;
  for (int i = 0; i < g->n_tensors; i++)
    if (!takes(&g->tensors[i])) return -1;
  for (int i = 0; i < g->n_operations; i++) {
    const graph_operation *o = &g->operations[i];
    const graph_tensor *x = &g->tensors[o->x];
    if (o->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR && is_half(x->type)) of_heads += count_of(x) * 2;
    if (o->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    if (!products++) scores = &g->tensors[o->z];
    if (!is_half(g->tensors[o->y].type)) return -1;
  }
  if (products == 2) return has_logarithm(g) ? 256 : -1;
  if (products != 5) return -1;
  return scores->extents[0] * scores->extents[1] * in_tiles(scores->extents[2]) * in_tiles(scores->extents[3]) * 2 +
         of_heads + 256;
}

double standin_cudnn_graph_ns(const graph *g, const engine *e) {
  double flops = 0;
  for (int i = 0; i < g->n_operations; i++)
    if (g->operations[i].type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      flops +=
          2 * (double)count_of(&g->tensors[g->operations[i].z]) * (double)g->tensors[g->operations[i].x].extents[3];
  return e->slowness * (3e3 + flops / 400e3);
}
