// A region of Casts of floats, as those of parameters to 16 bits at the beginning of a step. All from one type to
// another are one launch (table.h).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/casts.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/table.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

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

static dp_status describe(const dp_kernel_region *region, int m, void *launch) {
  const dp_kernel_member *member = &region->members[m];
  const dp_dtype from = region->values[member->inputs[0]].dtype, to = region->values[member->outputs[0]].dtype;
  const bool rounds = from == DP_FLOAT64 && dp_type_bytes(to) == 2;
  char defines[512];
  snprintf(defines, sizeof defines, "%s%s#define BY_FLOAT(x) %s(x)\n", dp_cuda_type_of(to)->defines,
           dp_cuda_type_of(from)->second, rounds ? "dp_round_to_odd" : "");
  return dp_cuda_function_add("Casts", defines, dp_cuda_source_casts, &((dp_cuda_table_launch *)launch)->function);
}

static int64_t list(const dp_kernel_spec *spec, int m, const void *const *in, void *const *out, int64_t first_block,
                    void *tensor) {
  const dp_kernel_member *member = &spec->region->members[m];
  const int64_t count = dp_local_count(&spec->region->values[member->inputs[0]].local);
  *(dp_casts_tensor *)tensor = (dp_casts_tensor){.count = count,
                                                 .first_block = first_block,
                                                 .from = in[member->inputs[0]],
                                                 .to = out[member->outputs[0] - spec->n_inputs]};
  return (count + DP_CASTS_THREADS * DP_CASTS_EACH - 1) / (DP_CASTS_THREADS * DP_CASTS_EACH);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  static const dp_cuda_table_kind casts = {sizeof(dp_cuda_table_launch), sizeof(dp_casts_tensor), describe, NULL, list};
  return dp_cuda_table_prepare(spec, &casts, state);
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
  DP_TRY(check_places(spec, in, out));
  return dp_cuda_table_settle(spec, state, in, out);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)in, (void)out, (void)scratch;
  const dp_cuda_table *table = state;
  for (int l = 0; l < table->n_launches; l++) {
    const dp_cuda_table_launch *launch = dp_cuda_table_at(table, l);
    const dp_casts_arguments a = {.n_tensors = launch->n_tensors, .tensors = launch->tensors};
    DP_TRY(dp_cuda_launch(queue, launch->function, launch->blocks, DP_CASTS_THREADS, &a, sizeof a));
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
    .release = dp_cuda_table_release,
    .enqueue = enqueue,
};
