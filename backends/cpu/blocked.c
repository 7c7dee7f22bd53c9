// Images in blocks of channels (DP_LAYOUT_NCHW8C, DP_LAYOUT_NCHW16C), for kernels that know nothing of them: such an
// image is a plain tensor of rank 5, whose last dim is the block (dp_local_in_blocks). What is broadcast to it is one
// too, with extents of 1. So pointwise nodes, and regions of them, have the kernels of plain tensors, and Concat has as
// well, as images that lie one after another along the batch or the channels do so in blocks.
#include <stdlib.h>

#include "backends/cpu/target.h"
#include "ir/kernel/extents.h"
#include "ir/kernel/member.h"

enum { MOST_VALUES = 64 };  // of a region

// ---- the same on plain tensors --------------------------------------------------------------------------------------

typedef struct {
  dp_kernel_spec spec;
  dp_kernel_region region;
  dp_kernel_operand values[MOST_VALUES];  // operands, results, what stays inside
} flat;

// Its dims as the last ones of an image, the others having extent 1.
static dp_local as_image(const dp_local *local) {
  enum { RANK = 4 };
  const int missing = RANK - local->rank;
  dp_local image = {.rank = RANK};
  for (int d = 0; d < RANK; d++) {
    image.whole[d] = image.extents[d] = image.k[d] = image.hi[d] = 1;
    image.outer[d] = image.unit[d] = image.shards[d] = 1;
    if (d >= missing) dp_local_take_dim(&image, d, local, d - missing);
  }
  return image;
}

// A plain value beside images in blocks: one channel, which has no blocks, or planes of one element, which lie in
// blocks as they do plain.
static bool flatten_plain(dp_kernel_operand *v, int64_t block) {
  if (v->local.rank > 4) return false;
  const dp_local image = as_image(&v->local);
  if (image.extents[1] != 1)
    return image.extents[2] == 1 && image.extents[3] == 1 && dp_local_in_blocks(&image, block, &v->local);
  return dp_local_in_blocks(&image, 1, &v->local);
}

static bool flatten(dp_kernel_operand *v, dp_layout layout) {
  const int64_t block = dp_layout_block(layout);
  const dp_local image = v->local;
  if (!v->present) return true;
  if (v->layout != DP_LAYOUT_PLAIN && v->layout != layout) return false;
  const bool plain = v->layout == DP_LAYOUT_PLAIN;
  v->layout = DP_LAYOUT_PLAIN;
  return plain ? flatten_plain(v, block) : dp_local_in_blocks(&image, block, &v->local);
}

// The layout of the first value that is not plain; DP_LAYOUT_PLAIN: all are.
static dp_layout layout_of(const dp_kernel_spec *spec) {
  dp_layout layout = DP_LAYOUT_PLAIN;
  for (int i = 0; i < spec->n_inputs && !layout; i++)
    if (spec->inputs[i].present) layout = spec->inputs[i].layout;
  for (int k = 0; k < spec->n_outputs && !layout; k++)
    if (spec->outputs[k].present) layout = spec->outputs[k].layout;
  return layout;
}

static bool make_flat(const dp_kernel_spec *spec, flat *f) {
  const dp_layout layout = layout_of(spec);
  const int n_ends = spec->n_inputs + spec->n_outputs, n = spec->region ? spec->region->n_values : n_ends;
  if (!dp_layout_block(layout) || n > MOST_VALUES) return false;
  for (int v = 0; v < n; v++) {
    f->values[v] = spec->region         ? spec->region->values[v]
                   : v < spec->n_inputs ? spec->inputs[v]
                                        : spec->outputs[v - spec->n_inputs];
    if (!flatten(&f->values[v], layout)) return false;
  }
  f->spec = *spec;
  f->spec.inputs = f->values;
  f->spec.outputs = f->values + spec->n_inputs;
  if (spec->region) {
    f->region = *spec->region;
    f->region.values = f->values;
    f->spec.region = &f->region;
  }
  return true;
}

// ---- which ----------------------------------------------------------------------------------------------------------

static bool is_pointwise(const dp_kernel_spec *spec) {
  for (int m = 0; spec->region && m < spec->region->n_members; m++)
    if (!dp_op_is_pointwise(spec->region->members[m].op)) return false;
  return spec->region || dp_op_is_pointwise(spec->op);
}

// NULL: none whose parts several threads can compute.
static const dp_kernel *kernel_of(const flat *f, bool in_place) {
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &f->spec, false);
  return kernel && kernel->parts && (kernel->in_place || !in_place) ? kernel : NULL;
}

static bool match(const dp_kernel_spec *spec) {
  flat f;
  return is_pointwise(spec) && make_flat(spec, &f) && kernel_of(&f, true);
}

// Whether all lie in the blocks of the result: what has one channel, and is broadcast by others, does not.
static bool are_in_blocks(const flat *f) {
  enum { WITHIN = 4 };  // the dim of a block's channels
  for (int i = 0; i < f->spec.n_inputs; i++)
    if (f->spec.inputs[i].local.extents[WITHIN] != f->spec.outputs[0].local.extents[WITHIN]) return false;
  return true;
}

// An axis that counts from the end would be another one of rank 5.
static bool match_concat(const dp_kernel_spec *spec) {
  flat f;
  const int64_t axis = dp_node_int(spec->node, "axis", 0);
  return (axis == 0 || axis == 1) && make_flat(spec, &f) && are_in_blocks(&f) && kernel_of(&f, false);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  flat f;
  if (!make_flat(spec, &f)) return 0;
  const dp_kernel *kernel = kernel_of(&f, false);
  return kernel->scratch_bytes ? kernel->scratch_bytes(&f.spec) : 0;
}

// ---- load and run ---------------------------------------------------------------------------------------------------

typedef struct {
  const dp_kernel *kernel;
  void *state;
  flat flat;
} blocked_state;

static void release(void *state) {
  blocked_state *s = state;
  if (s && s->kernel->release) s->kernel->release(s->state);
  free(s);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  blocked_state *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  s->state = NULL;
  s->kernel = make_flat(spec, &s->flat) ? kernel_of(&s->flat, false) : NULL;
  dp_status status = !s->kernel           ? dp_fail(EX_SOFTWARE, "no kernel for %s in blocks", spec->op->name)
                     : s->kernel->prepare ? s->kernel->prepare(&s->flat.spec, &s->state)
                                          : DP_OK;
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)spec;
  const blocked_state *s = state;
  return s->kernel->run(&s->flat.spec, s->state, in, out, scratch, part, parts);
}

const dp_kernel dp_kernel_blocked = {
    .name = "cpu.blocked",
    .types = DP_STORED,
    .priority = 10,
    .library = true,
    .blocked = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .isa = true,
    .in_place = true,
    .prepare = prepare,
    .release = release,
    .run = run,
};

const dp_kernel dp_kernel_blocked_copy_Concat = {
    .name = "cpu.blocked_copy.Concat",
    .op = "Concat",
    .domain = "",
    .types = DP_STORED,
    .priority = 10,
    .library = true,
    .blocked = true,
    .match = match_concat,
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .isa = true,
    .prepare = prepare,
    .release = release,
    .run = run,
};
