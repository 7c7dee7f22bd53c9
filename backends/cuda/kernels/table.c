// See table.h.
#include "backends/cuda/kernels/table.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/memory.h"

void dp_cuda_table_release(void *state) {
  dp_cuda_table *t = state;
  if (!t) return;
  if (t->tensors) dp_cuda_gpu_release(t->gpu, t->tensors);
  free(t->launches);
  free(t->launch_of);
  free(t);
}

static bool is_same(const dp_cuda_table_kind *kind, const dp_cuda_table_launch *a, const dp_cuda_table_launch *b) {
  return a->function == b->function && (!kind->is_same || kind->is_same(a, b));
}

static dp_status add_member(const dp_kernel_region *region, int m, dp_cuda_table *t) {
  dp_cuda_table_launch *launch = dp_cuda_table_at(t, t->n_launches);
  t->launch_of[m] = -1;
  memset(launch, 0, t->kind->launch_bytes);
  DP_TRY(t->kind->describe(region, m, launch));
  if (!launch->function) return DP_OK;
  int l = 0;
  while (!is_same(t->kind, dp_cuda_table_at(t, l), launch)) l++;
  t->launch_of[m] = l;
  t->n_launches += l == t->n_launches;
  return DP_OK;
}

dp_status dp_cuda_table_prepare(const dp_kernel_spec *spec, const dp_cuda_table_kind *kind, void **state) {
  const dp_kernel_region *r = spec->region;
  dp_cuda_table *t = calloc(1, sizeof *t);
  if (t) *t = (dp_cuda_table){.kind = kind};
  if (t) t->launches = calloc((size_t)r->n_members, kind->launch_bytes);
  if (t) t->launch_of = calloc((size_t)r->n_members, sizeof *t->launch_of);
  dp_status status = DP_OK;
  if (!t || !t->launches || !t->launch_of)
    status = dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  for (int m = 0; m < r->n_members && !status; m++) status = add_member(r, m, t);
  if (status)
    dp_cuda_table_release(t);
  else
    *state = t;
  return status;
}

// Writes the tensors of a launch; returns what follows them.
static char *list_tensors(const dp_kernel_spec *spec, const dp_cuda_table *t, int l, const void *const *in,
                          void *const *out, char *tensor) {
  dp_cuda_table_launch *launch = dp_cuda_table_at(t, l);
  for (int m = 0; m < spec->region->n_members; m++) {
    if (t->launch_of[m] != l) continue;
    const int64_t blocks = t->kind->list(spec, m, in, out, launch->blocks, tensor);
    if (!blocks) continue;
    launch->blocks += blocks;
    launch->n_tensors++;
    tensor += t->kind->tensor_bytes;
  }
  return tensor;
}

dp_status dp_cuda_table_settle(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out) {
  dp_cuda_table *t = state;
  const size_t bytes = (size_t)spec->region->n_members * t->kind->tensor_bytes;
  t->gpu = dp_cuda_gpu_current();
  DP_TRY(dp_cuda_gpu_allocate(t->gpu, bytes, &t->tensors));
  char *tensors = calloc(1, bytes), *end = tensors;
  if (!tensors) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  for (int l = 0; l < t->n_launches; l++) {
    ((dp_cuda_table_launch *)dp_cuda_table_at(t, l))->tensors = (char *)t->tensors + (end - tensors);
    end = list_tensors(spec, t, l, in, out, end);
  }
  dp_status status = dp_cuda_gpu_upload(t->gpu, t->tensors, tensors, bytes);
  free(tensors);
  return status;
}
