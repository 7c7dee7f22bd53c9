// Reductions over axes: ReduceSum and its kin. A result is reduced by a warp or by a block, or neighbouring results by
// the warps of a block; where that makes few blocks, several share the elements, and a second launch joins their parts.
// The order follows from the extents alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/reduce.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/reduce_dims.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

// As backends/cuda/device/reduce.cu uses them. LEAST and MOST are T's smallest and largest values; U is the type in
// which A wraps.
typedef struct {
  const char *op, *none, *step, *join, *finish;
} reduction;

#define ADD "(U)acc + (U)v"

static const reduction reductions[] = {
    {"ReduceSum", "0", ADD, "(U)acc + (U)other", "acc"},
    {"ReduceMean", "0", ADD, "(U)acc + (U)other", "acc / (A)a.divisor"},
    {"ReduceMax", "LEAST", "v > acc || v != v ? v : acc", "other > acc || other != other ? other : acc", "acc"},
    {"ReduceMin", "MOST", "v < acc || v != v ? v : acc", "other < acc || other != other ? other : acc", "acc"},
    {"ReduceProd", "1", "(U)acc * (U)v", "(U)acc * (U)other", "acc"},
    {"ReduceL1", "0", "v <= 0 ? (U)acc - (U)v : (U)acc + (U)v", "(U)acc + (U)other", "acc"},
    {"ReduceL2", "0", "(U)acc + (U)v * (U)v", "(U)acc + (U)other", "sqrt((double)acc)"},
    {"ReduceSumSquare", "0", "(U)acc + (U)v * (U)v", "(U)acc + (U)other", "acc"},
    {"ReduceLogSum", "0", ADD, "(U)acc + (U)other", "log((double)acc)"},
};

static const struct {
  const char *least, *most;
} bounds[DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = {"-DP_INFINITY", "DP_INFINITY"},
    [DP_FLOAT64] = {"-DP_INFINITY", "DP_INFINITY"},
    [DP_FLOAT16] = {"-DP_INFINITY", "DP_INFINITY"},
    [DP_BFLOAT16] = {"-DP_INFINITY", "DP_INFINITY"},
    [DP_INT8] = {"-128", "127"},
    [DP_UINT8] = {"0", "255"},
    [DP_INT16] = {"-32768", "32767"},
    [DP_UINT16] = {"0", "65535"},
    [DP_INT32] = {"-2147483647ll - 1", "2147483647ll"},
    [DP_UINT32] = {"0", "4294967295ll"},
    [DP_INT64] = {"-9223372036854775807ll - 1", "9223372036854775807ll"},
    [DP_UINT64] = {"0", "18446744073709551615ull"},
    [DP_BOOL] = {"0", "1"},
};

static const reduction *reduction_of(const dp_kernel_spec *spec) {
  for (size_t i = 0; i < DP_COUNT(reductions) && !*spec->op->domain; i++)
    if (!strcmp(spec->op->name, reductions[i].op)) return &reductions[i];
  return NULL;
}

// Results are made in the order of the operand's dims as they lie: of an operand in NHWC that is the plain order too,
// unless channels and planes both are left.
static bool takes_layouts(const dp_kernel_spec *spec) {
  bool reduced[DP_MAX_RANK];
  if (spec->inputs[0].layout == DP_LAYOUT_PLAIN) return spec->outputs[0].layout == DP_LAYOUT_PLAIN;
  dp_status status = dp_reduce_axes(spec->node, spec->inputs[0].local.rank, reduced);
  const bool takes = !status && (reduced[1] || (reduced[2] && reduced[3]));
  dp_status_free(status);
  return takes;
}

static bool match(const dp_kernel_spec *spec) { return !spec->region && reduction_of(spec) && takes_layouts(spec); }

// ---- how it is divided ----------------------------------------------------------------------------------------------

// ENOUGH_BLOCKS keep a GPU busy: four on each multiprocessor of an H200, where registers let four be. LEAST_SHARE:
// elements of a result that are worth a block; LEAST_ROWS: rows of columns. MOST_OF_WARP: elements of a result that a
// warp reads fast enough.
enum { ENOUGH_BLOCKS = 528, LEAST_SHARE = 2048, LEAST_ROWS = 64, MOST_OF_WARP = 1024, MAX_VECTOR = 8 };

typedef struct {
  dp_reduce_dims kept, reduced;
  double divisor;
  bool columns, alike;     // alike: smaller shards are divided in the same way
  int sharers, vector;     // threads of a result; elements that a thread reads at once
  int64_t blocks, splits;  // of the results; of each
} division;

// The most neighbours that can be read at once, where dim `last` of `along` is dense.
static int vector_of(const dp_reduce_dims *along, const dp_reduce_dims *across, size_t bytes) {
  int vector = along->strides[along->rank - 1] == 1 ? (int)dp_min_i64(MAX_VECTOR, DP_VECTOR_BYTES / (int64_t)bytes) : 1;
  for (; vector > 1; vector /= 2) {
    bool whole = along->extents[along->rank - 1] % vector == 0;
    for (int64_t d = 0; d < along->rank - 1; d++) whole &= along->strides[d] % vector == 0;
    for (int64_t d = 0; d < across->rank; d++) whole &= across->strides[d] % vector == 0;
    if (whole) break;
  }
  return vector;
}

static int64_t up(int64_t count, int64_t each) { return (count + each - 1) / each; }

static void share(division *d, size_t bytes) {
  d->columns = d->kept.strides[d->kept.rank - 1] == 1 && d->kept.extents[d->kept.rank - 1] > 1;
  d->vector = d->columns ? vector_of(&d->kept, &d->reduced, bytes) : vector_of(&d->reduced, &d->kept, bytes);
  if (d->columns)
    d->sharers = DP_REDUCE_THREADS / DP_REDUCE_COLUMNS;
  else
    d->sharers = d->reduced.count <= MOST_OF_WARP ? DP_WARP : DP_REDUCE_THREADS;
  d->blocks = up(d->kept.count, DP_REDUCE_THREADS / d->sharers * (d->columns ? d->vector : 1));
  d->splits = 1;
  if (d->blocks && d->blocks < ENOUGH_BLOCKS)
    d->splits = dp_max_i64(
        1, dp_min_i64(ENOUGH_BLOCKS / d->blocks, d->reduced.count / (d->columns ? LEAST_ROWS : LEAST_SHARE)));
}

// Puts dims in the order in which they lie.
static void put_in_nhwc(dp_local *x, bool *reduced) {
  static const int order[] = {0, 2, 3, 1};
  const dp_local plain = *x;
  bool of_plain[DP_COUNT(order)];
  memcpy(of_plain, reduced, sizeof of_plain);
  x->symbolic = 0;
  for (int i = 0; i < (int)DP_COUNT(order); i++) {
    x->extents[i] = plain.extents[order[i]];
    x->whole[i] = plain.whole[order[i]];
    x->symbolic |= (plain.symbolic >> order[i] & 1) << i;
    reduced[i] = of_plain[order[i]];
  }
}

// Whether every smaller shard, and every smaller number of samples, divides alike but in fewer shares: where only the
// outermost dim may have fewer elements, and is reduced. With fewer results there may be more shares of each; and a dim
// of one element goes, so that other elements are neighbours.
static bool is_divided_alike(const dp_local *x, const bool *reduced) {
  for (int i = 0; i < x->rank; i++) {
    const bool varies = x->extents[i] > 1 && ((x->symbolic >> i & 1) || x->extents[i] != x->whole[i]);
    if (varies && (i > 0 || !reduced[i])) return false;
  }
  return true;
}

static dp_status divide(const dp_kernel_spec *spec, division *made) {
  dp_local x = spec->inputs[0].local;
  division d = {.divisor = 1};
  bool reduced[DP_MAX_RANK];
  DP_TRY(dp_reduce_axes(spec->node, x.rank, reduced));
  if (spec->inputs[0].layout == DP_LAYOUT_NHWC) put_in_nhwc(&x, reduced);
  d.alike = is_divided_alike(&x, reduced);
  dp_cuda_reduce_dims(&x, reduced, &d.kept, &d.reduced);
  for (int i = 0; i < x.rank; i++)
    if (reduced[i]) d.divisor *= (double)x.whole[i];
  if (d.divisor == 0) d.divisor = 1;
  share(&d, dp_type_bytes(spec->inputs[0].dtype));
  *made = d;
  return DP_OK;
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// The parts of what is split: never those of more than ENOUGH_BLOCKS blocks.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  enum { MOST_RESULTS = DP_REDUCE_COLUMNS * MAX_VECTOR };  // of a block; at least those of its warps
  division d;
  dp_status status = divide(spec, &d);
  const bool failed = status;
  dp_status_free(status);
  if (failed || d.reduced.count < 2 * LEAST_ROWS) return 0;
  int64_t parts = ENOUGH_BLOCKS * MOST_RESULTS;
  if (d.alike) parts = d.splits > 1 ? d.splits * d.kept.count : 0;
  return (uint64_t)parts * sizeof(double);
}

// ---- prepare, enqueue -----------------------------------------------------------------------------------------------

typedef struct {
  division division;
  const dp_cuda_function *first, *second;  // second: NULL where nothing is split
} reduce_state;

// second: the function that joins parts.
static dp_status add_function(const dp_kernel_spec *spec, const division *d, bool second,
                              const dp_cuda_function **function) {
  const reduction *r = reduction_of(spec);
  const dp_dtype dtype = spec->inputs[0].dtype;
  const bool is_float = dp_type_is_float(dtype), is_unsigned = dtype == DP_UINT64;
  const char *acc = is_float ? "double" : is_unsigned ? "dp_u64" : "dp_i64";
  const dp_cuda_type *type = dp_cuda_type_of(dtype);
  char defines[1024];
  snprintf(defines, sizeof defines,
           "%s%s#define A %s\n#define U %s\n#define R %s\n#define LEAST (%s)\n#define MOST (%s)\n"
           "#define NONE %s\n#define STEP(acc, v) %s\n#define JOIN(acc, other) %s\n#define FINISH(acc) %s\n"
           "#define KEPT_RANK %d\n#define REDUCED_RANK %d\n#define COLUMNS %d\n#define SHARERS %d\n#define VECTOR "
           "%d\n#define LAST %d\n#define SHORT %d\n",
           type->defines, second ? "#undef T\n#undef GET\n#define T A\n#define GET(x) (x)\n" : "", acc,
           is_float ? "double" : "dp_u64", type->stored, bounds[dtype].least, bounds[dtype].most, r->none,
           second ? "JOIN(acc, v)" : r->step, r->join, r->finish, second ? 1 : (int)d->kept.rank,
           second ? 1 : (int)d->reduced.rank, second || d->columns,
           second ? DP_REDUCE_THREADS / DP_REDUCE_JOINED : d->sharers, second ? 1 : d->vector, second || d->splits == 1,
           !second && !strcmp(r->step, ADD) && is_float && dp_type_bytes(dtype) == 2);
  return dp_cuda_function_add(r->op, defines, dp_cuda_source_reduce, function);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  reduce_state *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  dp_status status = divide(spec, &s->division);
  const bool whole = s->division.splits == 1;
  if (!status) status = add_function(spec, &s->division, false, &s->first);
  if (!status && !whole) status = add_function(spec, &s->division, true, &s->second);
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const reduce_state *s = state;
  const division *d = &s->division;
  const size_t vector_bytes = (size_t)d->vector * dp_type_bytes(spec->inputs[0].dtype);
  const dp_reduce_arguments first = {.kept = d->kept,
                                     .reduced = d->reduced,
                                     .splits = d->splits,
                                     .aligned = (uintptr_t)in[0] % vector_bytes == 0,
                                     .divisor = d->divisor,
                                     .x = in[0],
                                     .y = s->second ? scratch : out[0]};
  DP_TRY(dp_cuda_launch(queue, s->first, d->blocks * d->splits, DP_REDUCE_THREADS, &first, sizeof first));
  if (!s->second) return DP_OK;
  // (splits, results) to (results)
  const dp_reduce_arguments second = {
      .kept = {.rank = 1, .count = d->kept.count, .extents = {d->kept.count}, .strides = {1}},
      .reduced = {.rank = 1, .count = d->splits, .extents = {d->splits}, .strides = {d->kept.count}},
      .splits = 1,
      .aligned = 1,
      .divisor = d->divisor,
      .x = scratch,
      .y = out[0]};
  return dp_cuda_launch(queue, s->second, up(d->kept.count, DP_REDUCE_JOINED), DP_REDUCE_THREADS, &second,
                        sizeof second);
}

const dp_kernel dp_kernel_cuda_reduce = {
    .name = "cuda.reduce",
    .types = DP_CUDA_COMPUTED,
    .channels_last = true,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
