// See batch.h.
#include "backends/cuda/kernels/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/vectors.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/region_batch.h"
#include "backends/cuda/kernels/types.h"

// Blocks of all channels together that keep a GPU busy, without being so many that joining takes time; elements that
// are worth one.
enum { SUMS_BLOCKS = 2048, APPLY_BLOCKS = 4096, SHARE = 2048 };
// The same in NHWC, where a block has a part of the sums of up to DP_BATCH_THREADS channels.
enum { NHWC_SUMS_BLOCKS = 1024, NHWC_APPLY_BLOCKS = 4096, NHWC_SHARE = 8192 };

// Neighbours whose bits are one byte: as many as 16 bytes hold in 16 bits.
enum { MARKED_VECTOR = 8 };

typedef struct {
  const dp_cuda_function *sums, *join, *apply;
  int vector;
} functions;

typedef struct {
  functions vectors, elements;
  uint64_t vector_bytes;
  const dp_cuda_function *fill;
} batch_state;

// ---- scratch --------------------------------------------------------------------------------------------------------

// Of the sums of shares, of which plain tensors have SUMS_BLOCKS, or one for each channel. In NHWC a share of a tile
// has NHWC_SHARE elements or more, unless it is the only one, and parts of DP_BATCH_THREADS channels at most.
static uint64_t partial_bytes(const dp_kernel_spec *spec) {
  const int64_t channels = dp_channels_of(&spec->inputs[0].local).channels;
  const int64_t elements = dp_local_count(&spec->inputs[0].local);
  const int64_t most = (int64_t)NHWC_SUMS_BLOCKS * DP_BATCH_THREADS, parts = elements / (NHWC_SHARE / DP_BATCH_THREADS);
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  return (uint64_t)dp_max_i64(channels, nhwc ? dp_min_i64(most, parts) : SUMS_BLOCKS) * 3 * sizeof(double);
}

static uint64_t lines_bytes(const dp_kernel_spec *spec) {
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  return nhwc ? (uint64_t)dp_channels_of(&spec->inputs[0].local).channels * sizeof(dp_batch_line) : 0;
}

static uint64_t totals_bytes(const dp_kernel_spec *spec) {
  return (uint64_t)dp_channels_of(&spec->inputs[0].local).channels * 2 * sizeof(double);
}

// Whether the gradient makes Relu's result again. Its operands are others than those of a region's launches.
static bool makes_again(const dp_kernel_spec *spec) { return !strcmp(spec->op->name, "BatchNormalizationReluGrad"); }

// Whether the gradient of Relu before that of the normalization leaves bits, where neighbours make bytes of them.
static bool leaves_marks(const dp_kernel_spec *spec) {
  return !makes_again(spec) && dp_has_in(spec, DP_CUDA_BATCH_Z) && !dp_has_out(spec, DP_CUDA_BATCH_GIVEN) &&
         dp_has_out(spec, 0) && dp_type_bytes(spec->inputs[0].dtype) == DP_VECTOR_BYTES / MARKED_VECTOR;
}

// Also where no bytes are made of them: a shard must not need more than a larger one.
static uint64_t marks_bytes(const dp_kernel_spec *spec) {
  return leaves_marks(spec) ? (uint64_t)dp_local_count(&spec->inputs[0].local) / MARKED_VECTOR : 0;
}

// Lines, which must be aligned, then sums of shares, then totals, then marks.
uint64_t dp_cuda_batch_scratch_bytes(const dp_kernel_spec *spec) {
  return lines_bytes(spec) + partial_bytes(spec) + totals_bytes(spec) + marks_bytes(spec);
}

// ---- functions ------------------------------------------------------------------------------------------------------

// What a function does of what stands around: DP_BATCH_* of backends/cuda/device/batch_normalization.h.
typedef struct {
  int adds, relu, leaves;
} around;

static void find_around(const dp_kernel_spec *spec, int vector, around *sums, around *apply) {
  if (makes_again(spec)) {
    *sums = *apply = (around){0, DP_BATCH_AGAIN, DP_BATCH_LEAVES_NOTHING};
    return;
  }
  const int adds = dp_has_in(spec, DP_CUDA_BATCH_OTHER);
  *sums = (around){0};
  *apply = (around){adds, spec->then ? DP_BATCH_RELU : DP_BATCH_NO_RELU, DP_BATCH_LEAVES_NOTHING};
  if (!dp_has_in(spec, DP_CUDA_BATCH_Z)) return;
  const bool keeps = dp_has_out(spec, DP_CUDA_BATCH_GIVEN), marks = leaves_marks(spec) && vector == MARKED_VECTOR;
  const int leaves = marks ? DP_BATCH_LEAVES_MARKS : DP_BATCH_LEAVES_NOTHING;
  *sums = (around){adds, DP_BATCH_RELU, keeps ? DP_BATCH_LEAVES_GIVEN : leaves};
  *apply = keeps ? (around){0} : (around){adds, marks ? DP_BATCH_MARKED : DP_BATCH_RELU, DP_BATCH_LEAVES_NOTHING};
}

static dp_status add_function(const dp_kernel_spec *spec, int vector, const char *what, const around *does,
                              const char *source, const dp_cuda_function **made) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  const bool wide = !nhwc || dp_type_bytes(dtype) > 2 || spec->inputs[1].dtype == DP_FLOAT64;
  const char *real = wide ? "double" : "float";
  char name[64], defines[512];
  snprintf(name, sizeof name, "%s%s", spec->op->name, what);
  snprintf(defines, sizeof defines,
           "%s%s#define VECTOR %d\n#define REAL %s\n#define ADDS %d\n#define RELU %d\n#define LEAVES %d\n",
           dp_cuda_type_of(dtype)->defines, dp_cuda_type_of(spec->inputs[1].dtype)->second, vector, real, does->adds,
           does->relu, does->leaves);
  return dp_cuda_function_add(name, defines, source, made);
}

static dp_status add_functions(const dp_kernel_spec *spec, int vector, const dp_cuda_batch_sources *sources,
                               functions *made) {
  around sums, apply;
  const around nothing = {0};
  find_around(spec, vector, &sums, &apply);
  *made = (functions){.vector = vector};
  DP_TRY(add_function(spec, vector, "_sums", &sums, sources->sums, &made->sums));
  if (sources->join) DP_TRY(add_function(spec, vector, "_join", &nothing, sources->join, &made->join));
  return add_function(spec, vector, "", &apply, sources->apply, &made->apply);
}

// The neighbours that one instruction moves, of which planes, or channels, have a multiple.
static int vector_of(const dp_kernel_spec *spec) {
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  const int64_t neighbours = spec->inputs[0].layout == DP_LAYOUT_NHWC ? e.channels : e.inner;
  int vector = DP_VECTOR_BYTES / (int)dp_type_bytes(spec->inputs[0].dtype);
  while (dp_max_i64(1, neighbours) % vector) vector /= 2;
  return vector;
}

dp_status dp_cuda_batch_prepare(const dp_kernel_spec *spec, const dp_cuda_batch_sources *plain,
                                const dp_cuda_batch_sources *nhwc, void **state) {
  const dp_cuda_batch_sources *sources = spec->inputs[0].layout == DP_LAYOUT_NHWC ? nhwc : plain;
  const int vector = vector_of(spec);
  batch_state s = {.vector_bytes = (uint64_t)vector * dp_type_bytes(spec->inputs[0].dtype)};
  DP_TRY(add_functions(spec, vector, sources, &s.vectors));
  s.elements = s.vectors;
  if (vector > 1) DP_TRY(add_functions(spec, 1, sources, &s.elements));
  DP_TRY(dp_cuda_fill_add(spec->inputs[1].dtype, &s.fill));
  batch_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

// ---- launches -------------------------------------------------------------------------------------------------------

dp_batch_arguments dp_cuda_batch_arguments(const dp_kernel_spec *spec, int64_t samples, void *scratch) {
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  char *partial = (char *)scratch + lines_bytes(spec);
  return (dp_batch_arguments){.samples = e.inner ? samples : 0,
                              .channels = e.channels,
                              .inner = dp_max_i64(1, e.inner),
                              .lines = scratch,
                              .partial = (double *)(void *)partial,
                              .totals = (double *)(void *)(partial + partial_bytes(spec)),
                              .marks = (unsigned char *)partial + partial_bytes(spec) + totals_bytes(spec),
                              .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
                              .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0};
}

// How many shares `each` elements get, of what is one of `count`, so that there are `all` blocks.
static int64_t shares_of(int64_t all, int64_t count, int64_t each, int64_t share) {
  return dp_max_i64(1, dp_min_i64(all / dp_max_i64(1, count), each / share));
}

static const functions *functions_for(const batch_state *s, const dp_batch_arguments *a) {
  const uintptr_t all = (uintptr_t)a->x | (uintptr_t)a->y | (uintptr_t)a->dy | (uintptr_t)a->dx | (uintptr_t)a->other |
                        (uintptr_t)a->z | (uintptr_t)a->given;
  return all % s->vector_bytes ? &s->elements : &s->vectors;
}

// A block has no more threads than elements.
static dp_status launch(const dp_cuda_function *function, dp_queue *queue, int64_t shares,
                        const dp_batch_arguments *a) {
  const int threads = dp_cuda_row_threads(a->samples * a->inner / shares);
  return dp_cuda_launch(queue, function, a->channels * shares, threads, a, sizeof *a);
}

// The sums have stored what the gradient is given.
static void take_given(dp_batch_arguments *a) {
  if (a->given) a->dy = a->given;
}

static dp_status launch_plain(const functions *f, dp_queue *queue, dp_batch_arguments *a, bool sums) {
  const int64_t each = a->samples * a->inner;
  a->splits = shares_of(SUMS_BLOCKS, a->channels, each, SHARE);
  a->parts = a->y || a->dx ? shares_of(APPLY_BLOCKS, a->channels, each, SHARE) : 1;
  if (sums) DP_TRY(launch(f->sums, queue, a->splits, a));
  take_given(a);
  return launch(f->apply, queue, a->parts, a);
}

static dp_status launch_nhwc(const functions *f, dp_queue *queue, dp_batch_arguments *a, bool sums) {
  const int64_t width = a->channels / f->vector;
  a->tiles = (width + DP_BATCH_COLUMNS - 1) / DP_BATCH_COLUMNS;
  a->columns = a->tiles ? (width + a->tiles - 1) / a->tiles : 1;
  const int64_t each = a->samples * a->inner * a->columns * f->vector;
  a->splits = shares_of(NHWC_SUMS_BLOCKS, a->tiles, each, NHWC_SHARE);
  a->parts = shares_of(NHWC_APPLY_BLOCKS, a->tiles, each, NHWC_SHARE);
  if (sums) DP_TRY(dp_cuda_launch(queue, f->sums, a->tiles * a->splits, DP_BATCH_THREADS, a, sizeof *a));
  DP_TRY(dp_cuda_launch(queue, f->join, a->channels, dp_cuda_row_threads(a->splits), a, sizeof *a));
  if (!a->y && !a->dx) return DP_OK;
  take_given(a);
  return dp_cuda_launch(queue, f->apply, a->tiles * a->parts, DP_BATCH_THREADS, a, sizeof *a);
}

dp_status dp_cuda_batch_launch(const void *state, dp_queue *queue, dp_batch_arguments *a, bool sums) {
  const functions *f = functions_for(state, a);
  return f->join ? launch_nhwc(f, queue, a, sums) : launch_plain(f, queue, a, sums);
}

dp_status dp_cuda_batch_clear(const void *state, dp_queue *queue, void *to, int64_t channels) {
  return dp_cuda_fill(queue, ((const batch_state *)state)->fill, to, channels, 0);
}
