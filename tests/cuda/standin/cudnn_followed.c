// Convolutions that something follows in their graph: what is read of the descriptors, and what is computed of the
// sums, in float32, before they are rounded and stored. Everything comes from the graph. Engines know one pattern: the
// sum with a tensor like the result, if there is one, that with a bias, and Relu, if there is one (measured with cuDNN
// 9.19, whose engines without a bias are few).
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/cudnn_private.h"
#include "tests/cuda/standin/half.h"

static bool flag(const descriptor *d, int name) {
  const bool *value = standin_cudnn_values(d, name);
  return value && *value;
}

static int64_t id_of(const descriptor *d) {
  return *(const int64_t *)standin_cudnn_values(d, CUDNN_ATTR_TENSOR_UNIQUE_ID);
}

static int64_t rank_of(const descriptor *d) {
  for (const attribute *a = d->attributes; a; a = a->next)
    if (a->name == CUDNN_ATTR_TENSOR_DIMENSIONS) return a->count;
  return 0;
}

// ---- reading --------------------------------------------------------------------------------------------------------

cudnnStatus_t standin_cudnn_read_following(const descriptor *operation, following *f) {
  const descriptor *how = standin_cudnn_part(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const descriptor *y = standin_cudnn_part(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const int *nan = standin_cudnn_values(how, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION);
  *f = (following){.mode = *(const int *)standin_cudnn_values(how, CUDNN_ATTR_POINTWISE_MODE),
                   .has_operand = y != NULL,
                   .keeps_nan = nan && *nan == CUDNN_PROPAGATE_NAN};
  if (*(const int *)standin_cudnn_values(how, CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (f->mode != (y ? CUDNN_POINTWISE_ADD : CUDNN_POINTWISE_RELU_FWD)) return CUDNN_STATUS_NOT_SUPPORTED;
  return y ? standin_cudnn_read_tensor(y, rank_of(y) - 2, &f->operand) : CUDNN_STATUS_SUCCESS;
}

static bool same_extents(const tensor *a, const tensor *b) {
  return !memcmp(a->extents, b->extents, sizeof a->extents);
}

static bool is_for_channels(const tensor *t, const tensor *y) {
  return t->extents[0] == 1 && t->extents[1] == y->extents[1] && t->extents[2] * t->extents[3] * t->extents[4] == 1;
}

static bool is_known(const convolution *c) {
  int operands = 0;
  while (operands < c->n_following && c->following[operands].has_operand) operands++;
  if (operands < 1 || operands > 2 || c->n_following - operands > 1) return false;
  const bool sum = operands < 2 || same_extents(&c->following[0].operand, &c->y);
  return sum && is_for_channels(&c->following[operands - 1].operand, &c->y);
}

// Takes the operation that follows along, whose operand is `*made`, which no memory holds; *made: its result.
static cudnnStatus_t follow(const descriptor *operation, convolution *c, const descriptor **made) {
  const descriptor *x = standin_cudnn_part(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  if (c->n_following == STANDIN_MOST_FOLLOWING) return CUDNN_STATUS_NOT_SUPPORTED;
  following *f = &c->following[c->n_following++];
  const cudnnStatus_t status = standin_cudnn_read_following(operation, f);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const int type = *(const int *)standin_cudnn_values(*made, CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (id_of(x) != id_of(*made) || !flag(*made, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) return CUDNN_STATUS_BAD_PARAM;
  if (type != CUDNN_DATA_FLOAT || (f->has_operand && f->operand.type != c->x.type)) return CUDNN_STATUS_NOT_SUPPORTED;
  *made = standin_cudnn_part(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  tensor next;
  const cudnnStatus_t read = standin_cudnn_read_tensor(*made, rank_of(*made) - 2, &next);
  if (read == CUDNN_STATUS_SUCCESS && !same_extents(&next, &c->y)) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  c->y = next;
  return read;
}

cudnnStatus_t standin_cudnn_read_followed(const descriptor *graph, convolution *c) {
  const attribute *operations = graph->attributes;
  while (operations->name != CUDNN_ATTR_OPERATIONGRAPH_OPS) operations = operations->next;
  const descriptor *const *list = operations->values;
  cudnnStatus_t status = standin_cudnn_read(list[0], c);
  if (status != CUDNN_STATUS_SUCCESS || operations->count == 1) return status;
  if (list[0]->type != CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) return CUDNN_STATUS_NOT_SUPPORTED;
  const descriptor *made = standin_cudnn_part(list[0], CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  for (int64_t i = 1; i < operations->count && status == CUDNN_STATUS_SUCCESS; i++) {
    if (list[i]->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return CUDNN_STATUS_NOT_SUPPORTED;
    status = follow(list[i], c, &made);
  }
  if (status == CUDNN_STATUS_SUCCESS && c->y.type != c->x.type) status = CUDNN_STATUS_NOT_SUPPORTED;
  return status;
}

// The setting DP_STANDIN_CUDNN_FOLLOWED is a GPU for which there are engines for so many operations at most.
bool standin_cudnn_takes_following(const convolution *c) {
  const char *setting = getenv("DP_STANDIN_CUDNN_FOLLOWED");
  return !c->n_following || (is_known(c) && (!setting || c->n_following <= atoi(setting)));
}

// ---- computing ------------------------------------------------------------------------------------------------------

static float apply(const following *f, float x, float y) {
  if (f->mode == CUDNN_POINTWISE_ADD) return x + y;
  if (x != x) return f->keeps_nan ? x : 0;
  return x > 0 ? fminf(x, FLT_MAX) : 0;  // cuDNN's upper clip, unless it is told another
}

// The element of the operand, which is broadcast, at element number i of y.
static float operand_at(const tensor *t, const tensor *y, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int d = 4; d >= 0; d--) {
    if (t->extents[d] > 1) at += i % y->extents[d] * stride;
    stride *= t->extents[d];
    i /= y->extents[d];
  }
  return standin_cudnn_number(t, at);
}

void standin_cudnn_follow(const convolution *c, const float *sums) {
  int64_t count = 1;
  for (int d = 0; d < 5; d++) count *= c->y.extents[d];
  for (int64_t i = 0; i < count; i++) {
    float x = sums[i];
    for (int k = 0; k < c->n_following; k++) {
      const following *f = &c->following[k];
      x = apply(f, x, f->has_operand ? operand_at(&f->operand, &c->y, i) : 0);
    }
    standin_cudnn_set_number(&c->y, i, x);
  }
}
