// The gradients of LayerNormalization and RMSNormalization. There are two kernels. One holds rows in registers, short
// ones by a warp and longer ones by a block, and goes through memory once: a block has neighbouring rows, and leaves
// one part of the sums over rows. The other takes rows of any length, and goes through memory several times. In both a
// last launch adds the parts, in order; how many there are follows from extents alone.
//
// In a region the first also does what stands around it: more operands and results say so (region_gradient.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/normalization_grad.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/region_gradient.h"
#include "backends/cuda/kernels/types.h"
#include "ir/base/base.h"
#include "ir/kernel/extents.h"

// ENOUGH_BLOCKS keep a GPU busy. HELD_BYTES: of a row's elements, as they are computed with, in a thread's registers,
// beside which are twice as many of sums. LEAST_ROWS: that are worth a part of long rows' sums.
enum { ENOUGH_BLOCKS = 256, HELD_BYTES = 96, LEAST_ROWS = 8 };

// How the launches are divided, from extents and type alone.
typedef struct {
  dp_normalization_grad_arguments arguments;  // but for the addresses
  bool about_mean;
  bool doubles;                  // are what elements are computed with, rather than floats
  int n_sums;                    // results that are sums over rows: 0, dscale, or dscale and dbias
  int sharers, vectors, vector;  // of a row that is held; sharers 0: it is too long
} division;

static bool about_mean(const dp_kernel_spec *spec) { return !strcmp(spec->op->name, "LayerNormalizationGrad"); }

static bool match(const dp_kernel_spec *spec) {
  return !spec->region && !strcmp(spec->op->domain, "dp") &&
         (about_mean(spec) || !strcmp(spec->op->name, "RMSNormalizationGrad"));
}

// Whether it is told of more than the operator.
static bool has_around(const dp_kernel_spec *spec) { return spec->n_inputs == DP_CUDA_GRADIENT_INPUTS; }

static bool takes_narrow(const dp_kernel_spec *spec) { return spec->inputs[2].dtype != spec->inputs[0].dtype; }

// The type of 16 bits that rows are read or stored in besides their own; else their own. A function knows one.
static dp_dtype narrow_type(const dp_kernel_spec *spec) {
  return dp_has_out(spec, DP_CUDA_GRADIENT_NARROW) ? spec->outputs[DP_CUDA_GRADIENT_NARROW].dtype
                                                   : spec->inputs[2].dtype;
}

static int64_t computed_bytes(const division *d) { return d->doubles ? sizeof(double) : sizeof(float); }

static int64_t up(int64_t count, int64_t each) { return (count + each - 1) / each; }

static void hold(division *d, dp_dtype dtype) {
  const int64_t length = d->arguments.length, most = HELD_BYTES / computed_bytes(d);
  d->vector = DP_VECTOR_BYTES / (int)dp_type_bytes(dtype);
  if (length % d->vector) d->vector = 1;
  for (int sharers = DP_WARP; sharers <= DP_NORMALIZATION_THREADS; sharers *= DP_NORMALIZATION_THREADS / DP_WARP) {
    const int64_t vectors = dp_max_i64(1, up(length, (int64_t)sharers * d->vector));
    if (vectors * d->vector > most) continue;
    d->sharers = sharers;
    d->vectors = (int)vectors;
    return;
  }
}

static division divide(const dp_kernel_spec *spec, bool held) {
  const dp_local *x = &spec->inputs[0].local;
  const int axis = dp_axis(dp_node_int(spec->node, "axis", -1), x->rank);
  division d = {.about_mean = about_mean(spec), .n_sums = dp_has_out(spec, 2) ? 2 : dp_has_out(spec, 1)};
  dp_normalization_grad_arguments *a = &d.arguments;
  a->rows = dp_product(x->extents, 0, axis);
  a->length = dp_product(x->extents, axis, x->rank);
  a->epsilon = dp_node_float(spec->node, "epsilon", 1e-5);
  a->share = a->length ? 1 / (double)a->length : 0;
  // The gradient of few elements may vanish but for what floats round, and 16 bits show what does at any element.
  d.doubles = spec->inputs[0].dtype != DP_FLOAT32 || a->length <= DP_WARP;
  if (held) hold(&d, spec->inputs[0].dtype);
  const int64_t blocks = dp_max_i64(1, up(a->length, DP_CUDA_THREADS));  // of a part
  if (d.sharers)
    a->sums = dp_min_i64(ENOUGH_BLOCKS, up(a->rows, DP_NORMALIZATION_THREADS / d.sharers));
  else
    a->sums = dp_min_i64(dp_max_i64(1, ENOUGH_BLOCKS / blocks), up(a->rows, LEAST_ROWS));
  return d;
}

static bool match_held(const dp_kernel_spec *spec) {
  if (!match(spec) || (takes_narrow(spec) && spec->inputs[2].dtype != narrow_type(spec))) return false;
  return divide(spec, true).sharers > 0;
}

static bool match_long(const dp_kernel_spec *spec) { return match(spec) && !has_around(spec); }

// ---- scratch --------------------------------------------------------------------------------------------------------

static uint64_t parts_bytes(const division *d, int64_t columns) {
  return (uint64_t)(columns * d->n_sums * computed_bytes(d));
}

// With fewer samples rows may be shorter, and have sums of doubles.
static uint64_t scratch_bytes_held(const dp_kernel_spec *spec) {
  const division d = divide(spec, true);
  const int64_t columns = d.arguments.sums * d.arguments.length, shortest = 2 * ENOUGH_BLOCKS * DP_WARP;
  return parts_bytes(&d, spec->inputs[1].local.symbolic ? dp_max_i64(columns, shortest) : columns);
}

static uint64_t statistics_bytes(int64_t rows) {
  return dp_align_up((uint64_t)rows * sizeof(dp_normalization_row), DP_CUDA_ALIGNMENT);
}

// The statistics, then the parts. With fewer samples rows may be shorter, and have more parts.
static uint64_t scratch_bytes_long(const dp_kernel_spec *spec) {
  const division d = divide(spec, false);
  const dp_normalization_grad_arguments *a = &d.arguments;
  const int64_t most = dp_max_i64(a->length, ENOUGH_BLOCKS * DP_CUDA_THREADS);
  return statistics_bytes(a->rows) + parts_bytes(&d, spec->inputs[1].local.symbolic ? most : a->sums * a->length);
}

// ---- prepare, enqueue -----------------------------------------------------------------------------------------------

typedef struct {
  division division;
  const dp_cuda_function *held, *rows, *columns, *join;  // held, or rows and columns
} gradient_state;

// more: definitions besides those of all functions.
static dp_status add(const dp_kernel_spec *spec, const division *d, const char *part, const char *more,
                     const char *source, const dp_cuda_function **function) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  char defines[1024], name[64];
  snprintf(name, sizeof name, "%s%s", spec->op->name, part);
  snprintf(defines, sizeof defines,
           "%s%s#define C %s\n#define ABOUT_MEAN %d\n#define SUMS %d\n#define SHARERS %d\n#define VECTORS %d\n"
           "#define VECTOR %d\n",
           dp_cuda_type_of(dtype)->defines, more, d->doubles ? "double" : "float", d->about_mean, d->n_sums, d->sharers,
           d->vectors, d->vector);
  return dp_cuda_function_add(name, defines, source, function);
}

static dp_status add_held(const dp_kernel_spec *spec, const division *d, const dp_cuda_function **function) {
  char around[512];
  snprintf(around, sizeof around, "%s#define TAKES_U %d\n#define ADDS %d\n#define STORES %d\n#define STORES_U %d\n",
           dp_cuda_type_of(narrow_type(spec))->second, takes_narrow(spec), dp_has_in(spec, DP_CUDA_GRADIENT_OTHER),
           dp_has_out(spec, 0), dp_has_out(spec, DP_CUDA_GRADIENT_NARROW));
  const char *part = has_around(spec) ? "_around" : "";
  return add(spec, d, part, around, dp_cuda_source_normalization_grad, function);
}

static dp_status add_functions(const dp_kernel_spec *spec, bool held, gradient_state *s) {
  division plain = s->division;  // for functions that do not depend on how rows are held
  plain.sharers = plain.vectors = plain.vector = 0;
  if (held) DP_TRY(add_held(spec, &s->division, &s->held));
  if (!held) DP_TRY(add(spec, &plain, "_rows", "", dp_cuda_source_normalization_grad_rows, &s->rows));
  if (!plain.n_sums) return DP_OK;
  if (!held) DP_TRY(add(spec, &plain, "_columns", "", dp_cuda_source_normalization_grad_columns, &s->columns));
  return add(spec, &plain, "_join", "", dp_cuda_source_normalization_grad_join, &s->join);
}

static dp_status prepare_as(const dp_kernel_spec *spec, bool held, void **state) {
  gradient_state *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  s->division = divide(spec, held);
  dp_status status = add_functions(spec, held, s);
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

static dp_status prepare_held(const dp_kernel_spec *spec, void **state) { return prepare_as(spec, true, state); }
static dp_status prepare_long(const dp_kernel_spec *spec, void **state) { return prepare_as(spec, false, state); }

static dp_normalization_grad_arguments arguments_of(const dp_kernel_spec *spec, const gradient_state *s,
                                                    const void *const *in, void *const *out) {
  dp_normalization_grad_arguments a = s->division.arguments;
  a.x = in[0];
  a.scale = in[1];
  a.dy = in[2];
  a.dx = out[0];
  a.other = has_around(spec) ? in[DP_CUDA_GRADIENT_OTHER] : NULL;
  a.narrow = has_around(spec) ? out[DP_CUDA_GRADIENT_NARROW] : NULL;
  a.dscale = dp_has_out(spec, 1) ? out[1] : NULL;
  a.dbias = dp_has_out(spec, 2) ? out[2] : NULL;
  const uintptr_t all = (uintptr_t)a.x | (uintptr_t)a.scale | (uintptr_t)a.dy | (uintptr_t)a.dx;
  a.aligned = (all | (uintptr_t)a.other | (uintptr_t)a.narrow) % DP_VECTOR_BYTES == 0;
  return a;
}

static dp_status join(const gradient_state *s, dp_queue *queue, const dp_normalization_grad_arguments *a) {
  if (!s->join) return DP_OK;
  const int64_t side = DP_NORMALIZATION_THREADS / DP_NORMALIZATION_JOINING;
  return dp_cuda_launch(queue, s->join, up(s->division.n_sums * a->length, side), DP_NORMALIZATION_THREADS, a,
                        sizeof *a);
}

static dp_status enqueue_held(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                              void *const *out, void *scratch) {
  const gradient_state *s = state;
  dp_normalization_grad_arguments a = arguments_of(spec, s, in, out);
  a.parts = scratch;
  if (a.length) DP_TRY(dp_cuda_launch(queue, s->held, a.sums, DP_NORMALIZATION_THREADS, &a, sizeof a));
  return join(s, queue, &a);
}

static dp_status enqueue_long(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                              void *const *out, void *scratch) {
  const gradient_state *s = state;
  dp_normalization_grad_arguments a = arguments_of(spec, s, in, out);
  a.statistics = scratch;
  a.parts = (char *)scratch + statistics_bytes(a.rows);
  DP_TRY(dp_cuda_launch(queue, s->rows, a.rows, dp_cuda_row_threads(a.length), &a, sizeof a));
  if (s->columns)
    DP_TRY(dp_cuda_launch(queue, s->columns, up(a.length, DP_CUDA_THREADS) * a.sums, DP_CUDA_THREADS, &a, sizeof a));
  return join(s, queue, &a);
}

const dp_kernel dp_kernel_cuda_normalization_grad = {
    .name = "cuda.normalization_grad",
    .priority = 1,
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .in_place = true,
    .match = match_held,
    .scratch_bytes = scratch_bytes_held,
    .prepare = prepare_held,
    .release = free,
    .enqueue = enqueue_held,
};

const dp_kernel dp_kernel_cuda_normalization_grad_long = {
    .name = "cuda.normalization_grad_long",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .match = match_long,
    .scratch_bytes = scratch_bytes_long,
    .prepare = prepare_long,
    .release = free,
    .enqueue = enqueue_long,
};
