// See reduce.h.
#include "backends/cpu/fast/reduce.h"

#include "ir/ops/reduce.h"

#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/reduce.h"
#include "backends/cpu/vector/sums.h"

static const dp_vector_sums avx2 = dp_vector_sums_avx2, avx512 = dp_vector_sums_avx512;

dp_status dp_fast_reduce_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &avx2, &avx512, state);
}

// Marks the reduced dims. The kept ones are [*first, *end); false: they do not lie side by side.
static bool find_dims(const dp_kernel_spec *spec, bool reduced[DP_MAX_RANK], int *first, int *end) {
  const int rank = dp_in_rank(spec, 0);
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

bool dp_fast_reduce_match(const dp_kernel_spec *spec) {
  bool reduced[DP_MAX_RANK];
  int first, end;
  return spec->inputs[0].dtype == DP_FLOAT32 && find_dims(spec, reduced, &first, &end);
}

dp_status dp_fast_reduce_run(const dp_kernel_spec *spec, void *state, const float *x, float *y, int part, int parts,
                             bool mean) {
  bool reduced[DP_MAX_RANK];
  int first = 0, end = 0;
  if (!find_dims(spec, reduced, &first, &end)) return dp_fail(EX_SOFTWARE, "dims that do not lie side by side");
  const int64_t *extents = dp_in_extents(spec, 0), outer = dp_product(extents, 0, first),
                kept = dp_product(extents, first, end), inner = dp_product(extents, end, dp_in_rank(spec, 0));
  int64_t lo, hi;
  dp_part_range(kept, part, parts, &lo, &hi);
  if (lo == hi) return DP_OK;
  const dp_vector_sums sums = *(const dp_vector_sums *)state;
  sums(outer, hi - lo, inner, kept * inner, x + lo * inner, y + lo);
  const float divisor = mean ? (float)dp_reduce_divisor(&spec->inputs[0].local, reduced) : 1;
  for (int64_t k = lo; k < hi && mean; k++) y[k] /= divisor;
  return DP_OK;
}
