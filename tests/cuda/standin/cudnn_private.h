// Inside the stand-in of cuDNN: descriptors as they are stored, and convolutions as they are read from them.
#ifndef DP_TESTS_CUDA_STANDIN_CUDNN_PRIVATE_H
#define DP_TESTS_CUDA_STANDIN_CUDNN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/api/cudnn.h"

// An attribute as it was set: a copy of its values.
typedef struct attribute {
  struct attribute *next;
  int name, type;
  int64_t count;
  void *values;
} attribute;

// Descriptors hold references to those that are their attributes.
typedef struct {
  int type, references;
  bool finalized;
  attribute *attributes;
} descriptor;

// The values of an attribute; NULL if it is not set.
const void *standin_cudnn_values(const descriptor *d, int name);
// The descriptor that is the value of an attribute.
const descriptor *standin_cudnn_part(const descriptor *d, int name);
// Stores an attribute, unchecked. False: no memory.
bool standin_cudnn_store(descriptor *d, int name, int type, int64_t count, const void *values);
// What finalisation checks beyond the presence of attributes.
cudnnStatus_t standin_cudnn_check(const descriptor *d);

// A tensor with three spatial dims; leading ones are 1 where there are two.
typedef struct {
  int64_t extents[5], strides[5], id, alignment;
  int type;  // CUDNN_DATA_...
  char *data;
} tensor;

// What follows a convolution in its graph: the sum with an operand, or Relu.
typedef struct {
  int mode;
  bool has_operand, keeps_nan;
  tensor operand;
} following;
enum { STANDIN_MOST_FOLLOWING = 3 };

typedef struct {
  int operation, type;  // CUDNN_BACKEND_OPERATION_..., CUDNN_DATA_...: of sums
  tensor x, w, y;
  int64_t pad[3], pad_end[3], stride[3], dilation[3], groups;
  double alpha, beta;
  int engine;
  void *workspace, *own;  // own: room for one plane of sums, in the host's memory
  int n_following;
  following following[STANDIN_MOST_FOLLOWING];  // y is then what the last of them makes
} convolution;

// Reads a tensor with so many spatial dims.
cudnnStatus_t standin_cudnn_read_tensor(const descriptor *d, int64_t spatial, tensor *t);
// Reads an operation. CUDNN_STATUS_BAD_PARAM...: its parts do not fit.
cudnnStatus_t standin_cudnn_read(const descriptor *operation, convolution *c);
// cudnn_followed.c: reads a graph of a convolution, or a gradient, and what follows it; an operation that may follow.
cudnnStatus_t standin_cudnn_read_followed(const descriptor *graph, convolution *c);
cudnnStatus_t standin_cudnn_read_following(const descriptor *operation, following *f);
// Whether there are engines for what follows.
bool standin_cudnn_takes_following(const convolution *c);
// Computes it from the convolution's dense sums, and stores what comes out.
void standin_cudnn_follow(const convolution *c, const float *sums);
// Element number i of a tensor of float32 or 16 bits, in order of the dims.
float standin_cudnn_number(const tensor *t, int64_t i);
void standin_cudnn_set_number(const tensor *t, int64_t i, float x);
// How many bytes a tensor's elements take.
int64_t standin_cudnn_bytes(const tensor *t);

// Engines that round operands before they compute, and the one that sums in the reverse order.
enum { STANDIN_CUDNN_CONVERTS = 32, STANDIN_CUDNN_TENSOR_CORES = 67, STANDIN_CUDNN_WINOGRAD = 5 };
// An engine: what it says of itself.
typedef struct {
  int number, note;  // note: -1: none
  bool whole_workspace;
  double slowness;  // how much longer than the fastest it takes
} engine;
// The engines that a mode's heuristics name for an operation, in order.
int standin_cudnn_engines(int mode, const engine **engines);
const engine *standin_cudnn_engine(int number);
// The workspace of an engine; -1: it does not take this.
int64_t standin_cudnn_workspace(const engine *e, const convolution *c);
// Computes; argument: a convolution whose addresses are set.
void standin_cudnn_convolve(void *argument);

#endif
