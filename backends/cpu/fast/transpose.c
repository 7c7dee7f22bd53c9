// Transpose of elements of four bytes: whole rows where the last dim stays last, else squares by vectors.
#include "backends/cpu/vector/transpose.h"

#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/reference.h"

static const dp_vector_transpose avx2 = dp_vector_transpose_avx2, avx512 = dp_vector_transpose_avx512;

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_isa_table(spec, &avx2, &avx512, state); }

static bool match(const dp_kernel_spec *spec) { return dp_type_bytes(spec->inputs[0].dtype) == sizeof(float); }

// A dim of the result: its extent, and the distances of its elements in operand and result.
typedef struct {
  int64_t extent, from, to;
} dim;

// Fewest dims, in the result's order: none of extent 1, and two that follow each other in both tensors are one.
static int dims_of(const dp_kernel_spec *spec, dim dims[DP_MAX_RANK]) {
  size_t count;
  const int rank = dp_in_rank(spec, 0);
  const int64_t *extents = dp_in_extents(spec, 0), *perm = dp_node_ints(spec->node, "perm", &count);
  int64_t strides[DP_MAX_RANK], stride = 1, to = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= extents[d];
  }
  int n = 0;  // dims from the end of the array on
  for (int d = rank - 1; d >= 0; d--) {
    const int of = perm ? (int)perm[d] : rank - 1 - d;
    dim *next = &dims[DP_MAX_RANK - n];
    if (extents[of] == 1) continue;
    if (n && strides[of] == next->from * next->extent)
      next->extent *= extents[of];
    else
      dims[DP_MAX_RANK - ++n] = (dim){extents[of], strides[of], to};
    to *= extents[of];
  }
  for (int i = 0; i < n; i++) dims[i] = dims[DP_MAX_RANK - n + i];
  return n;
}

enum { COLUMNS = 64 };  // of squares side by side that a part takes at a time

// The last two dims that change: `rows` of the operand become columns of the result. outer: the dims around them.
typedef struct {
  dim rows, columns, outer[DP_MAX_RANK];
  int n_outer;
  int64_t bands, units;  // bands of columns; units of work
} work;

static work divide(const dim *dims, int n) {
  static const dim one = {1, 0, 0};
  work w = {.rows = n ? dims[n - 1] : one, .columns = one};
  int other = n - 2;  // where the last dim stays last, the one before it; else the one that was last
  for (int i = 0; i < n && w.rows.from != 1; i++)
    if (dims[i].from == 1) other = i;
  if (other >= 0) w.columns = dims[other];
  w.units = w.bands = (w.columns.extent + COLUMNS - 1) / COLUMNS;
  for (int i = 0; i < n - 1; i++) {
    if (i == other) continue;
    w.outer[w.n_outer++] = dims[i];
    w.units *= dims[i].extent;
  }
  return w;
}

static void move(const work *w, int64_t unit, dp_vector_transpose transpose, const float *x, float *y) {
  const int64_t first = unit % w->bands * COLUMNS, count = dp_min_i64(COLUMNS, w->columns.extent - first);
  int64_t from = first * w->columns.from, to = first * w->columns.to, at = unit / w->bands;
  for (int i = w->n_outer - 1; i >= 0; i--) {
    from += at % w->outer[i].extent * w->outer[i].from;
    to += at % w->outer[i].extent * w->outer[i].to;
    at /= w->outer[i].extent;
  }
  if (w->rows.from != 1) {
    transpose(w->rows.extent, count, x + from, w->rows.from, y + to, w->columns.to);
    return;
  }
  for (int64_t c = 0; c < count; c++)
    memcpy(y + to + c * w->columns.to, x + from + c * w->columns.from, (size_t)w->rows.extent * sizeof *x);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  if (!dp_out_count(spec, 0)) return DP_OK;
  dim dims[DP_MAX_RANK];
  const work w = divide(dims, dims_of(spec, dims));
  int64_t lo, hi;
  dp_part_range(w.units, part, parts, &lo, &hi);
  for (int64_t unit = lo; unit < hi; unit++) move(&w, unit, *(const dp_vector_transpose *)state, in[0], out[0]);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_Transpose = {
    .name = "cpu.fast.Transpose",
    .op = "Transpose",
    .domain = "",
    .types = DP_STORED,
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .run = run,
};
