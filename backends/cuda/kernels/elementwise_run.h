// What elementwise.c finds out of a run of elementwise members, from which elementwise_text.c writes its function.
#ifndef DP_BACKENDS_CUDA_KERNELS_ELEMENTWISE_RUN_H
#define DP_BACKENDS_CUDA_KERNELS_ELEMENTWISE_RUN_H

#include <stdio.h>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/expressions.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DP_CUDA_DENSE, DP_CUDA_SINGLE, DP_CUDA_STRIDED } dp_cuda_port_form;

// An operand or a result in memory.
typedef struct {
  int32_t value;
  dp_cuda_port_form form;
  int64_t strides[DP_MAX_RANK];  // by the merged dims
} dp_cuda_port;

struct dp_cuda_elementwise {
  const dp_cuda_function *function;
  int64_t count;
  int rank;  // merged dims; 0 where no operand is strided
  int64_t extents[DP_MAX_RANK];
  int vector;  // elements that a thread takes at once; 1: no more than one
  bool steps;  // vectors lie across the ends of rows: operands that are strided are stepped through
  bool moves;  // no member computes: elements keep their bits, whatever their type
  bool pairs;  // a vector is gone through by two elements, since there are floats of 16 bits
  int n_ports;
  dp_cuda_port ports[DP_CUDA_MAX_ELEMENTWISE];
};

// The place of a value among operands and results; -1: it is none.
static inline int dp_cuda_run_port(const dp_cuda_elementwise *e, int32_t value) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].value == value) return p;
  return -1;
}

// Whether one of the members makes the value.
static inline bool dp_cuda_run_makes(const dp_kernel_region *r, int first, int end, int32_t value) {
  for (int m = first; m < end; m++)
    if (r->members[m].outputs[0] == value) return true;
  return false;
}

// Whether the operand or result is read or written by vectors.
static inline bool dp_cuda_run_in_vectors(const dp_cuda_elementwise *e, int p) {
  return e->ports[p].form == DP_CUDA_DENSE ||
         (e->ports[p].form == DP_CUDA_STRIDED && !e->steps && e->ports[p].strides[e->rank - 1]);
}

// Whether the operand is stepped through.
static inline bool dp_cuda_run_steps(const dp_cuda_elementwise *e, int p) {
  return e->steps && e->ports[p].form == DP_CUDA_STRIDED;
}

// Whether the operand's elements differ within a vector.
static inline bool dp_cuda_run_varies(const dp_cuda_elementwise *e, int p) {
  return dp_cuda_run_in_vectors(e, p) || dp_cuda_run_steps(e, p);
}

// Whether the member computes with floats.
static inline bool dp_cuda_run_is_floating(const dp_cuda_expression *x, dp_dtype from) {
  return dp_type_is_float(from) && x->floating;
}

// The type that the function has for elements of that one.
static inline const dp_cuda_type *dp_cuda_run_type(const dp_cuda_elementwise *e, dp_dtype dtype) {
  return e->moves ? dp_cuda_type_moved(dtype) : dp_cuda_type_of(dtype);
}

// A float of 16 bits, whose functions are named after it.
static inline bool dp_cuda_run_is_half(const dp_cuda_type *type) {
  return type == dp_cuda_type_of(DP_FLOAT16) || type == dp_cuda_type_of(DP_BFLOAT16);
}

// Writes the function of members first .. end - 1.
void dp_cuda_run_write(FILE *to, const dp_cuda_elementwise *run, const dp_kernel_region *region, int first, int end);

#ifdef __cplusplus
}
#endif
#endif
