// LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization: they differ in what a row is. A warp
// for each short row whose elements have a scale each, and a block for each row of channels, keep it in registers; a
// block has each other; few long rows are shared by blocks, whose first launch finds means and squares. What warps have
// may be a sum, of what comes in 16 bits, and be stored in these: more operands and results say so, and types that
// differ (region_normalization.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/normalization.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/region_normalization.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static const struct {
  const char *name;
  bool of_channels, about_mean;  // of_channels: a row is a group of channels; else the dims from `axis` on
} kinds[] = {{"LayerNormalization", false, true},
             {"RMSNormalization", false, false},
             {"GroupNormalization", true, true},
             {"InstanceNormalization", true, true}};

static int kind_of(const dp_kernel_spec *spec) {
  for (int k = 0; k < (int)DP_COUNT(kinds) && !*spec->op->domain; k++)
    if (!strcmp(spec->op->name, kinds[k].name)) return k;
  return -1;
}

static bool adds(const dp_kernel_spec *spec) { return dp_has_in(spec, DP_CUDA_NORMALIZATION_OTHER); }

// The type of rows: what is added to a sum may be narrower.
static dp_dtype type_of(const dp_kernel_spec *spec) {
  return spec->inputs[adds(spec) ? DP_CUDA_NORMALIZATION_OTHER : 0].dtype;
}

static bool takes_narrow(const dp_kernel_spec *spec) { return spec->inputs[0].dtype != type_of(spec); }

// The type of 16 bits that rows are read or stored in besides their own; else their own. A function knows one.
static dp_dtype narrow_type(const dp_kernel_spec *spec) {
  return takes_narrow(spec) ? spec->inputs[0].dtype : spec->outputs[0].dtype;
}

// Sets the extents of rows; returns the number of rows. A device has whole groups of channels.
static int64_t set_rows(const dp_kernel_spec *spec, bool of_channels, dp_normalization_arguments *a) {
  const dp_local *x = &spec->inputs[0].local;
  if (!of_channels) {
    const int axis = dp_axis(dp_node_int(spec->node, "axis", -1), x->rank);
    a->length = a->per = dp_product(x->extents, axis, x->rank);
    a->groups = a->inner = 1;
    return dp_product(x->extents, 0, axis);
  }
  const bool grouped = dp_node_attr(spec->node, "num_groups") != NULL;
  const int64_t size = grouped ? x->whole[1] / dp_node_int(spec->node, "num_groups", 1) : 1;
  a->inner = dp_product(x->extents, 2, x->rank);
  a->groups = size ? x->extents[1] / size : 0;
  a->per = size;
  a->length = size * a->inner;
  return x->extents[0] * a->groups;
}

typedef struct {
  dp_normalization_arguments arguments;  // but for the addresses
  int width;    // elements that a thread reads at once, where a row is kept in registers; 0: it is not
  int threads;  // that have a row of channels in registers; 0: a row has a warp
  const dp_cuda_function *parts, *apply;  // parts: NULL where no row is shared
} normalization_state;

// The bytes of the longest row, as it is computed with, that a warp keeps in its registers.
enum { MOST_OF_WARP = 8192 };

// The longest row of channels that a block keeps in its registers.
enum { MOST_OF_BLOCK = 16384 };

static void hold_channels(dp_dtype dtype, normalization_state *s) {
  const dp_normalization_arguments *a = &s->arguments;
  if (dtype == DP_FLOAT64 || a->shares > 1 || a->length > MOST_OF_BLOCK || !a->length) return;
  s->width = (int)(DP_VECTOR_BYTES / dp_type_bytes(dtype));
  while (a->inner % s->width) s->width /= 2;
  s->threads = dp_cuda_row_threads(a->length / s->width);
}

static normalization_state divide(const dp_kernel_spec *spec) {
  const int kind = kind_of(spec);
  normalization_state s = {
      .arguments = {.about_mean = kinds[kind].about_mean, .epsilon = dp_node_float(spec->node, "epsilon", 1e-5)}};
  dp_normalization_arguments *a = &s.arguments;
  a->rows = set_rows(spec, kinds[kind].of_channels, a);
  a->shares = dp_cuda_row_shares(a->rows, a->length);
  if (kinds[kind].of_channels) {
    hold_channels(type_of(spec), &s);
    return s;
  }
  const dp_dtype type = type_of(spec);
  const int64_t bytes = type == DP_FLOAT64 ? sizeof(double) : sizeof(float);
  if (a->length > MOST_OF_WARP / bytes || !a->length) return s;
  s.width = (int)(DP_VECTOR_BYTES / dp_type_bytes(type));
  while (a->length % s.width) s.width /= 2;
  return s;
}

static bool is_half(dp_dtype dtype) { return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16; }

// Whether rows have what stands around a normalization in a region.
static bool has_around(const dp_kernel_spec *spec) {
  return adds(spec) || spec->outputs[0].dtype != spec->inputs[0].dtype;
}

// Whether rows are held by warps, which alone take what stands around them, and types are those that they know.
static bool takes_around(const dp_kernel_spec *spec) {
  const dp_dtype rows = type_of(spec), made = spec->outputs[0].dtype, narrow = narrow_type(spec);
  const bool known = narrow == rows || (rows == DP_FLOAT32 && is_half(narrow));
  const normalization_state s = divide(spec);
  return known && (made == rows || made == narrow) && s.width && !s.threads;
}

static bool match(const dp_kernel_spec *spec) {
  return !spec->region && kind_of(spec) >= 0 && (!has_around(spec) || takes_around(spec));
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return dp_cuda_row_parts(divide(spec).arguments.length, sizeof(dp_moments));
}

static dp_status add_rows(const dp_kernel_spec *spec, const normalization_state *s, const dp_cuda_function **function) {
  const int64_t each = (s->threads ? s->threads : DP_WARP) * s->width,
                vectors = (s->arguments.length + each - 1) / each;
  char defines[1024];
  const int length = snprintf(defines, sizeof defines, "%s#define WIDTH %d\n#define VECTORS %d\n#define THREADS %d\n",
                              dp_cuda_type_of(type_of(spec))->defines, s->width, (int)vectors, s->threads);
  if (s->threads)
    return dp_cuda_function_add("normalization_planes", defines, dp_cuda_source_normalization_planes, function);
  snprintf(defines + length, sizeof defines - (size_t)length,
           "%s#define TAKES_U %d\n#define ADDS %d\n#define ADDS_ROW %d\n#define STORES_SUM %d\n#define STORES_U %d\n",
           dp_cuda_type_of(narrow_type(spec))->second, takes_narrow(spec), adds(spec),
           dp_has_in(spec, DP_CUDA_NORMALIZATION_ROW), dp_has_out(spec, DP_CUDA_NORMALIZATION_SUM),
           spec->outputs[0].dtype != type_of(spec));
  return dp_cuda_function_add("normalization_rows", defines, dp_cuda_source_normalization_rows, function);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  normalization_state s = divide(spec);
  const char *defines = dp_cuda_type_of(type_of(spec))->defines;
  if (s.width)
    DP_TRY(add_rows(spec, &s, &s.apply));
  else
    DP_TRY(dp_cuda_function_add("normalization", defines, dp_cuda_source_normalization, &s.apply));
  if (s.arguments.shares > 1)
    DP_TRY(dp_cuda_function_add("normalization_parts", defines, dp_cuda_source_normalization_parts, &s.parts));
  normalization_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue_rows(const normalization_state *s, const dp_kernel_spec *spec, dp_queue *queue,
                              dp_normalization_arguments *a) {
  const uintptr_t bytes = (uintptr_t)s->width * dp_type_bytes(type_of(spec));
  const uintptr_t moved =
      (uintptr_t)a->x | (uintptr_t)a->y | (uintptr_t)a->other | (uintptr_t)a->row | (uintptr_t)a->sum;
  const uintptr_t all = s->threads ? moved : moved | (uintptr_t)a->scale | (uintptr_t)a->bias;
  a->aligned = all % bytes == 0;
  if (s->threads) return dp_cuda_launch(queue, s->apply, a->rows, s->threads, a, sizeof *a);
  const int64_t each = DP_CUDA_THREADS / DP_WARP;
  return dp_cuda_launch(queue, s->apply, (a->rows + each - 1) / each, DP_CUDA_THREADS, a, sizeof *a);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const normalization_state *s = state;
  dp_normalization_arguments a = s->arguments;
  a.parts = s->parts ? scratch : NULL;
  a.x = in[0];
  a.scale = in[1];
  a.bias = dp_has_in(spec, 2) ? in[2] : NULL;
  a.other = adds(spec) ? in[DP_CUDA_NORMALIZATION_OTHER] : NULL;
  a.row = dp_has_in(spec, DP_CUDA_NORMALIZATION_ROW) ? in[DP_CUDA_NORMALIZATION_ROW] : NULL;
  a.y = out[0];
  a.sum = dp_has_out(spec, DP_CUDA_NORMALIZATION_SUM) ? out[DP_CUDA_NORMALIZATION_SUM] : NULL;
  a.mean = dp_has_out(spec, 1) ? out[1] : NULL;
  a.invstd = dp_has_out(spec, 2) ? out[2] : NULL;
  if (s->width) return enqueue_rows(s, spec, queue, &a);
  const int threads = dp_cuda_row_threads(a.length);
  if (s->parts) DP_TRY(dp_cuda_launch(queue, s->parts, a.rows * a.shares, threads, &a, sizeof a));
  return dp_cuda_launch(queue, s->apply, a.rows * a.shares, threads, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_normalization = {
    .name = "cuda.normalization",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
