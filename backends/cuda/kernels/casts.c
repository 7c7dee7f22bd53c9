// A region of Casts of floats, as those of parameters to 16 bits at the beginning of a step. All from one type to
// another are one launch, which finds its tensors in a table in the GPU's memory.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/casts.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"
#include "ir/kernel/member.h"

// From an operand of the region to a result of it.
static bool takes(const dp_kernel_spec *spec, const dp_kernel_member *member) {
  if (!dp_member_is_cast(member)) return false;
  const int32_t from = member->inputs[0], to = member->outputs[0];
  if (from < 0 || from >= spec->n_inputs || to < spec->n_inputs || to >= spec->n_inputs + spec->n_outputs) return false;
  const dp_kernel_operand *x = &spec->region->values[from], *y = &spec->region->values[to];
  return (DP_BIT(x->dtype) & DP_CUDA_FLOATS) && (DP_BIT(y->dtype) & DP_CUDA_FLOATS) && x->layout == y->layout;
}

static bool match(const dp_kernel_spec *spec) {
  for (int m = 0; spec->region && m < spec->region->n_members; m++)
    if (!takes(spec, &spec->region->members[m])) return false;
  return spec->region;
}

// Members of one launch.
typedef struct {
  dp_dtype from, to;
  const dp_cuda_function *function;
  int64_t n_tensors, blocks;
  const dp_casts_tensor *tensors;  // in the table
} launch_group;

typedef struct {
  int n_groups;
  launch_group *groups;
  int *group_of;           // (members)
  const dp_cuda_gpu *gpu;  // that has `table`: the tensors of each group, group after group
  void *table;
} casts_state;

static void release(void *state) {
  casts_state *s = state;
  if (!s) return;
  if (s->table) dp_cuda_gpu_release(s->gpu, s->table);
  free(s->groups);
  free(s->group_of);
  free(s);
}

static dp_status add_member(const dp_kernel_region *r, int m, casts_state *s) {
  const dp_dtype from = r->values[r->members[m].inputs[0]].dtype, to = r->values[r->members[m].outputs[0]].dtype;
  int g = 0;
  while (g < s->n_groups && (s->groups[g].from != from || s->groups[g].to != to)) g++;
  s->group_of[m] = g;
  if (g < s->n_groups) return DP_OK;
  s->groups[s->n_groups++] = (launch_group){.from = from, .to = to};
  const bool rounds = from == DP_FLOAT64 && dp_type_bytes(to) == 2;
  char defines[512];
  snprintf(defines, sizeof defines, "%s%s#define BY_FLOAT(x) %s(x)\n", dp_cuda_type_of(to)->defines,
           dp_cuda_type_of(from)->second, rounds ? "dp_round_to_odd" : "");
  return dp_cuda_function_add("Casts", defines, dp_cuda_source_casts, &s->groups[g].function);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_region *r = spec->region;
  casts_state *s = calloc(1, sizeof *s);
  if (s) s->groups = calloc((size_t)r->n_members, sizeof *s->groups);
  if (s) s->group_of = calloc((size_t)r->n_members, sizeof *s->group_of);
  dp_status status = DP_OK;
  if (!s || !s->groups || !s->group_of)
    status = dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  for (int m = 0; m < r->n_members && !status; m++) status = add_member(r, m, s);
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

// Writes the tensors of group g, but those without elements; returns how many.
static int64_t list_tensors(const dp_kernel_spec *spec, const casts_state *s, int g, const void *const *in,
                            void *const *out, dp_casts_tensor *tensors) {
  launch_group *group = &s->groups[g];
  for (int m = 0; m < spec->region->n_members; m++) {
    const dp_kernel_member *member = &spec->region->members[m];
    const int64_t count = dp_local_count(&spec->region->values[member->inputs[0]].local);
    if (s->group_of[m] != g || !count) continue;
    tensors[group->n_tensors++] = (dp_casts_tensor){.count = count,
                                                    .first_block = group->blocks,
                                                    .from = in[member->inputs[0]],
                                                    .to = out[member->outputs[0] - spec->n_inputs]};
    group->blocks += (count + DP_CASTS_THREADS * DP_CASTS_EACH - 1) / (DP_CASTS_THREADS * DP_CASTS_EACH);
  }
  return group->n_tensors;
}

// Where an operand or a result lies.
typedef struct {
  uintptr_t begin, end;
  bool result;
} place;

static int compare_places(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Blocks of all members run at once: no result may lie where an operand does.
static dp_status check_places(const dp_kernel_spec *spec, const void *const *in, void *const *out) {
  const int count = spec->n_inputs + spec->n_outputs;
  place *places = calloc((size_t)count, sizeof *places);
  if (!places) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  for (int i = 0; i < count; i++) {
    const bool result = i >= spec->n_inputs;
    const dp_kernel_operand *x = &spec->region->values[i];
    const uintptr_t begin = (uintptr_t)(result ? out[i - spec->n_inputs] : in[i]);
    places[i] = (place){begin, begin + (uintptr_t)dp_local_count(&x->local) * dp_type_bytes(x->dtype), result};
  }
  qsort(places, (size_t)count, sizeof *places, compare_places);
  uintptr_t end[2] = {0};  // of the operands, of the results so far
  bool meets = false;
  for (int i = 0; i < count; i++) {
    if (places[i].begin == places[i].end) continue;
    meets |= places[i].begin < end[!places[i].result];
    uintptr_t *own = &end[places[i].result];
    if (*own < places[i].end) *own = places[i].end;
  }
  free(places);
  return meets ? dp_fail(EX_DATAERR, "a result of a region of Casts lies where an operand does") : DP_OK;
}

static dp_status settle(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out) {
  casts_state *s = state;
  DP_TRY(check_places(spec, in, out));
  const size_t bytes = (size_t)spec->region->n_members * sizeof(dp_casts_tensor);
  s->gpu = dp_cuda_gpu_current();
  DP_TRY(dp_cuda_gpu_allocate(s->gpu, bytes, &s->table));
  dp_casts_tensor *tensors = calloc(1, bytes);
  if (!tensors) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  int64_t count = 0;
  for (int g = 0; g < s->n_groups; g++) {
    s->groups[g].tensors = (const dp_casts_tensor *)s->table + count;
    count += list_tensors(spec, s, g, in, out, tensors + count);
  }
  dp_status status = dp_cuda_gpu_upload(s->gpu, s->table, tensors, bytes);
  free(tensors);
  return status;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)in, (void)out, (void)scratch;
  const casts_state *s = state;
  for (int g = 0; g < s->n_groups; g++) {
    const launch_group *group = &s->groups[g];
    const dp_casts_arguments a = {.n_tensors = group->n_tensors, .tensors = group->tensors};
    DP_TRY(dp_cuda_launch(queue, group->function, group->blocks, DP_CASTS_THREADS, &a, sizeof a));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_casts_Region = {
    .name = "cuda.casts.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 2,
    .match = match,
    .prepare = prepare,
    .settle = settle,
    .release = release,
    .enqueue = enqueue,
};
