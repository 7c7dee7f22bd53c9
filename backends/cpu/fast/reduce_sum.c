// ReduceSum of float32 by vectors, where the dims that are kept lie side by side: gradients of biases, sums of rows.
#include "ir/ops/reduce.h"

#include "backends/cpu/fast/table.h"
#include "backends/cpu/reference/reference.h"
#include "backends/cpu/vector/sums.h"

static const dp_vector_sums avx2 = dp_vector_sums_avx2, avx512 = dp_vector_sums_avx512;

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_fast_table(spec, &avx2, &avx512, state);
}

// The kept dims are [*first, *end), of `rank`; false: they do not lie side by side.
static bool kept_dims(const dp_kernel_spec *spec, int *first, int *end) {
  const int rank = dp_in_rank(spec, 0);
  bool reduced[DP_MAX_RANK];
  dp_status status = dp_reduce_axes(spec->node, rank, reduced);
  const bool known = !status;
  dp_status_free(status);
  if (!known) return false;
  for (*first = 0; *first < rank && reduced[*first];) ++*first;
  for (*end = *first; *end < rank && !reduced[*end];) ++*end;
  for (int d = *end; d < rank; d++)
    if (!reduced[d]) return false;
  return true;
}

static bool match(const dp_kernel_spec *spec) {
  int first, end;
  return spec->inputs[0].dtype == DP_FLOAT32 && kept_dims(spec, &first, &end);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  int first = 0, end = 0;
  if (!kept_dims(spec, &first, &end)) return dp_fail(EX_SOFTWARE, "dims that do not lie side by side");
  const int64_t *extents = dp_in_extents(spec, 0), outer = dp_product(extents, 0, first),
                kept = dp_product(extents, first, end), inner = dp_product(extents, end, dp_in_rank(spec, 0));
  int64_t lo, hi;
  dp_part_range(kept, part, parts, &lo, &hi);
  if (lo == hi) return DP_OK;
  const dp_vector_sums sums = *(const dp_vector_sums *)state;
  sums(outer, hi - lo, inner, kept * inner, (const float *)in[0] + lo * inner, (float *)out[0] + lo);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_ReduceSum = {
    .name = "cpu.fast.ReduceSum",
    .op = "ReduceSum",
    .domain = "",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .run = run,
};
