// Computes graphs of several operations, operation by operation, in float32; what a tensor holds is rounded to its
// type; places and truth values are numbers too.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/cudnn_graph.h"
#include "tests/cuda/standin/half.h"

static int runs;  // counts executions, for engines whose order is not the same in every run

static int64_t count_of(const graph_tensor *t) { return t->extents[0] * t->extents[1] * t->extents[2] * t->extents[3]; }

static float rounded(int type, float x) {
  if (type == CUDNN_DATA_HALF) return standin_get_float16(standin_put_float16(x));
  return type == CUDNN_DATA_BFLOAT16 ? standin_get_bfloat16(standin_put_bfloat16(x)) : x;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

bool standin_cudnn_graph_prepare(graph *g) {
  bool made = true;
  for (int i = 0; i < g->n_tensors && made; i++) {
    graph_tensor *t = &g->tensors[i];
    t->numbers = malloc(((size_t)count_of(t) + 1) * sizeof *t->numbers);
    made = t->numbers != NULL;
    if (!made || !t->by_value) continue;  // read at once, as the library does
    t->number = t->type == CUDNN_DATA_INT32 ? (float)*(const int32_t *)t->data : *(const float *)t->data;
  }
  return made;
}

void standin_cudnn_graph_free(void *made) {
  graph *g = made;
  for (int i = 0; i < g->n_tensors; i++) free(g->tensors[i].numbers);
  free(g);
}

// The offset of element number i in memory.
static int64_t offset_of(const graph_tensor *t, int64_t i) {
  int64_t at = 0;
  for (int d = 3; d >= 0; d--) {
    at += i % t->extents[d] * t->strides[d];
    i /= t->extents[d];
  }
  return at;
}

static void load(graph_tensor *t) {
  if (t->by_value) {
    t->numbers[0] = t->number;
    return;
  }
  for (int64_t i = 0; i < count_of(t); i++) {
    const int64_t at = offset_of(t, i);
    if (t->type == CUDNN_DATA_FLOAT)
      t->numbers[i] = ((const float *)t->data)[at];
    else if (t->type == CUDNN_DATA_HALF)
      t->numbers[i] = standin_get_float16(((const uint16_t *)t->data)[at]);
    else
      t->numbers[i] = standin_get_bfloat16(((const uint16_t *)t->data)[at]);
  }
}

static void store(const graph_tensor *t) {
  for (int64_t i = 0; i < count_of(t); i++) {
    const int64_t at = offset_of(t, i);
    if (t->type == CUDNN_DATA_FLOAT)
      ((float *)t->data)[at] = t->numbers[i];
    else if (t->type == CUDNN_DATA_HALF)
      ((uint16_t *)t->data)[at] = standin_put_float16(t->numbers[i]);
    else
      ((uint16_t *)t->data)[at] = standin_put_bfloat16(t->numbers[i]);
  }
}

// ---- operations -----------------------------------------------------------------------------------------------------

// The place in t of element number i of `of`, where t is broadcast.
static int64_t place_in(const graph_tensor *t, const graph_tensor *of, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int d = 3; d >= 0; d--) {
    if (t->extents[d] > 1) at += i % of->extents[d] * stride;
    stride *= t->extents[d];
    i /= of->extents[d];
  }
  return at;
}

// x is rounded to y's type, in which tensor cores multiply. An engine that is not deterministic begins its sums
// elsewhere in every run.
static void multiply(const graph *g, const graph_tensor *x, const graph_tensor *y, graph_tensor *z) {
  const int64_t m = z->extents[2], n = z->extents[3], depth = x->extents[3], each = x->extents[1] / y->extents[1];
  const int64_t shift = g->engine == STANDIN_CUDNN_UNORDERED ? runs : 0;
  for (int64_t b = 0; b < z->extents[0]; b++)
    for (int64_t h = 0; h < z->extents[1]; h++) {
      const int64_t head = b * z->extents[1] + h;
      const float *of_x = x->numbers + head * m * depth;
      const float *of_y = y->numbers + (b * y->extents[1] + h / each) * depth * n;
      float *to = z->numbers + head * m * n;
      memset(to, 0, (size_t)(m * n) * sizeof *to);
      for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < depth; k++) {
          const int64_t at = (k + shift) % depth;
          const float factor = rounded(y->type, of_x[i * depth + at]);
          for (int64_t j = 0; j < n; j++) to[i * n + j] += factor * of_y[at * n + j];
        }
    }
}

static float apply(int mode, float x, float y) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + y;
    case CUDNN_POINTWISE_SUB:
      return x - y;
    case CUDNN_POINTWISE_MUL:
      return x * y;
    case CUDNN_POINTWISE_DIV:
      return x / y;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= y;
    case CUDNN_POINTWISE_EXP:
      return expf(x);
    default:
      return logf(x);
  }
}

// The place in z of element number i of x, where z has the sums over neighbours.
static int64_t group_of(const graph_tensor *x, const graph_tensor *z, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int d = 3; d >= 0; d--) {
    at += i % x->extents[d] / (x->extents[d] / z->extents[d]) * stride;
    stride *= z->extents[d];
    i /= x->extents[d];
  }
  return at;
}

static void reduce(int mode, const graph_tensor *x, graph_tensor *z) {
  const bool most = mode == CUDNN_REDUCE_TENSOR_MAX;
  for (int64_t i = 0; i < count_of(z); i++) z->numbers[i] = most ? -INFINITY : 0;
  for (int64_t i = 0; i < count_of(x); i++) {
    float *to = &z->numbers[group_of(x, z, i)];
    *to = most ? fmaxf(*to, x->numbers[i]) : *to + x->numbers[i];
  }
}

static void exchange(const graph_tensor *x, graph_tensor *z) {
  const int64_t m = x->extents[2], n = x->extents[3];
  for (int64_t i = 0; i < count_of(x); i++) z->numbers[i / (m * n) * m * n + i % n * m + i / n % m] = x->numbers[i];
}

// The place of element number i along a dim.
static float place_along(const graph_tensor *t, int axis, int64_t i) {
  for (int d = 3; d > axis; d--) i /= t->extents[d];
  return (float)(i % t->extents[axis]);
}

static float element(const graph_operation *o, const graph_tensor *tensors, int64_t i) {
  const graph_tensor *x = &tensors[o->x], *y = o->y < 0 ? NULL : &tensors[o->y], *z = &tensors[o->z];
  const float of_x = x->numbers[place_in(x, z, i)], of_y = y ? y->numbers[place_in(y, z, i)] : 0;
  if (o->mode == CUDNN_POINTWISE_GEN_INDEX) return place_along(z, o->axis, i);
  if (o->mode == CUDNN_POINTWISE_BINARY_SELECT)
    return tensors[o->t].numbers[place_in(&tensors[o->t], z, i)] != 0 ? of_x : of_y;
  return apply(o->mode, of_x, of_y);
}

static void operate(const graph *g, const graph_operation *o, graph_tensor *tensors) {
  const graph_tensor *x = &tensors[o->x], *y = o->y < 0 ? NULL : &tensors[o->y];
  graph_tensor *z = &tensors[o->z];
  if (o->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
    multiply(g, x, y, z);
  else if (o->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
    reduce(o->mode, x, z);
  else if (o->type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
    exchange(x, z);
  else
    for (int64_t i = 0; i < count_of(z); i++) z->numbers[i] = element(o, tensors, i);
  for (int64_t i = 0; i < count_of(z); i++) z->numbers[i] = rounded(z->type, z->numbers[i]);
}

// All of the workspace is written, with what makes no number.
void standin_cudnn_graph_run(void *argument) {
  graph *g = argument;
  runs++;
  if (g->workspace_bytes > 0) memset(g->workspace, 0xff, (size_t)g->workspace_bytes);
  for (int i = 0; i < g->n_tensors; i++)
    if (!g->tensors[i].made) load(&g->tensors[i]);
  for (int i = 0; i < g->n_operations; i++) operate(g, &g->operations[i], g->tensors);
  for (int i = 0; i < g->n_tensors; i++)
    if (g->tensors[i].made && !g->tensors[i].is_virtual) store(&g->tensors[i]);
}
