// Kernels of convolution and pooling by oneDNN. See windowed.h.
#include "backends/cpu/onednn/windowed.h"

#include <string.h>

#include "backends/cpu/onednn/isa.h"

enum { RESULT = -1, ABSENT = -2 };

// The operand number of x and w for each operator, or RESULT or ABSENT.
static const struct {
  int x, w;
} operands_of[] = {
    [DP_PRIMITIVE_CONV] = {0, 1},
    [DP_PRIMITIVE_CONV_GRAD_INPUT] = {RESULT, 0},
    [DP_PRIMITIVE_CONV_GRAD_WEIGHT] = {0, RESULT},
    [DP_PRIMITIVE_AVERAGE_POOL] = {0, ABSENT},
    [DP_PRIMITIVE_AVERAGE_POOL_PADDED] = {0, ABSENT},
    [DP_PRIMITIVE_GLOBAL_AVERAGE_POOL] = {0, ABSENT},
};

static const dp_local *local_at(const dp_kernel_spec *spec, int operand) {
  return operand == ABSENT ? NULL : operand == RESULT ? &spec->outputs[0].local : &spec->inputs[operand].local;
}

// The blocks of channels that the operand lies in; 0: it is plain.
static int64_t block_at(const dp_kernel_spec *spec, int operand) {
  if (operand == ABSENT) return 0;
  return dp_layout_block(operand == RESULT ? spec->outputs[0].layout : spec->inputs[operand].layout);
}

static int64_t whole_count(const dp_local *local) {
  int64_t count = 1;
  for (int d = 0; d < local->rank; d++) count *= local->whole[d];
  return count;
}

static uint64_t max_bytes(uint64_t a, uint64_t b) { return a > b ? a : b; }

// Elements of one sample of x and y together, for the given numbers of channels.
static int64_t plane_sum(const dp_geometry *window, int64_t x_channels, int64_t y_channels) {
  for (int i = 0; i < window->rank; i++) {
    x_channels *= window->x[i];
    y_channels *= window->y[i];
  }
  return x_channels + y_channels;
}

// One window that covers the whole plane.
static dp_geometry whole_plane(const dp_local *x) {
  dp_geometry g = {.rank = x->rank - 2};
  for (int i = 0; i < g.rank; i++) {
    g.x[i] = g.kernel[i] = x->extents[2 + i];
    g.y[i] = g.stride[i] = g.dilation[i] = 1;
  }
  return g;
}

static dp_status spec_of(const dp_kernel_spec *spec, dp_primitive_kind kind, dp_primitive_spec *primitive,
                         bool *empty) {
  const dp_local *x = local_at(spec, operands_of[kind].x), *w = local_at(spec, operands_of[kind].w);
  *empty = dp_local_count(x) == 0 || (w && dp_local_count(w) == 0);
  if (*empty) return DP_OK;
  dp_primitive_spec p = {.kind = kind, .samples = x->extents[0], .x_channels = x->extents[1], .threads = spec->threads};
  p.groups = w ? dp_geometry_groups(dp_node_int(spec->node, "group", 1), x->extents[1], w->extents[1]) : 1;
  p.y_channels = w ? w->extents[0] : x->extents[1];
  p.bf16 = spec->inputs[0].dtype == DP_BFLOAT16;
  p.packed = spec->packed;
  p.x_block = block_at(spec, operands_of[kind].x);
  p.y_block = w ? block_at(spec, RESULT) : p.x_block;
  p.bias = kind == DP_PRIMITIVE_CONV && spec->n_inputs > 2 && spec->inputs[2].present;
  p.window = whole_plane(x);
  if (kind != DP_PRIMITIVE_GLOBAL_AVERAGE_POOL)
    DP_TRY(dp_geometry_make(spec->node, x->rank - 2, x->extents + 2, w ? w->extents + 2 : NULL, &p.window));
  p.whole_sample = plane_sum(&p.window, x->whole[1], w ? w->whole[0] : x->whole[1]);
  p.whole_weights = w ? whole_count(w) : 0;
  *primitive = p;
  return DP_OK;
}

// The numbers of channels that shards can have. x's differ when channels are split by groups (y's with them) or within
// each group (w's dim 1 with them), y's when they are split within each group (ir/ops/conv_rules.c).
typedef struct {
  bool by_groups;
  int of_x, of_y;  // 1: all shards have equally many; 2: some have fewer
} channel_counts;

static channel_counts counts_of(const dp_kernel_spec *spec, dp_primitive_kind kind) {
  const dp_local *x = local_at(spec, operands_of[kind].x), *w = local_at(spec, operands_of[kind].w);
  channel_counts c = {.of_x = x->k[1] % x->shards[1] ? 2 : 1, .of_y = 1};
  c.by_groups = w && x->shards[1] > 1 && w->shards[1] == 1;
  if (w && !c.by_groups && w->k[0] % w->shards[0]) c.of_y = 2;
  return c;
}

static int64_t extent_of(const dp_local *local, int d, bool least) {
  return least ? dp_local_least(local, d) : dp_local_most(local, d);
}

// Makes the primitive for one of these combinations; false: such a shard has no channels.
static bool set_channels(const dp_kernel_spec *spec, dp_primitive_kind kind, const channel_counts *counts, int which,
                         dp_primitive_spec *p) {
  const dp_local *x = local_at(spec, operands_of[kind].x), *w = local_at(spec, operands_of[kind].w);
  const bool least_x = which % counts->of_x != 0, least_y = which / counts->of_x != 0;
  p->x_channels = p->y_channels = extent_of(x, 1, least_x);
  if (!w) return p->x_channels;
  const int64_t in_group = extent_of(w, 1, least_x);
  p->y_channels = extent_of(w, 0, counts->by_groups ? least_x : least_y);
  p->groups = dp_geometry_groups(dp_node_int(spec->node, "group", 1), p->x_channels, in_group);
  return in_group && p->x_channels && p->y_channels;
}

// In bfloat16 and three spatial dims, oneDNN 2.6 gives some wrong gradients of weights.
static bool is_computed(const dp_kernel_spec *spec, const dp_local *x) {
  if (spec->inputs[0].dtype == DP_BFLOAT16) return x->rank <= 2 + 2 && dp_isa_allows_bf16(spec->isa);
  return spec->inputs[0].dtype == DP_FLOAT32;
}

// Weights are plain. What is pooled lies as the result does; planes of one element lie in blocks as they do plain.
static bool lies_well(const dp_kernel_spec *spec, dp_primitive_kind kind) {
  const dp_kernel_operand *x = &spec->inputs[0], *y = &spec->outputs[0];
  const int w = operands_of[kind].w;
  if (w != ABSENT) return w == RESULT || spec->inputs[w].layout == DP_LAYOUT_PLAIN;
  if (x->layout == y->layout) return true;
  return y->layout == DP_LAYOUT_PLAIN && y->local.extents[2] == 1 && y->local.extents[3] == 1;
}

// Whether the scratch for every n is known.
static bool is_known(const dp_local *x) {
  if (x->rank < 3 || x->rank > 2 + DP_MAX_SPATIAL || x->symbolic & ~1u) return false;
  for (int d = 2; d < x->rank; d++)
    if (x->shards[d] > 1) return false;
  return true;
}

bool dp_windowed_match(const dp_kernel_spec *spec, dp_primitive_kind kind) {
  const dp_local *x = local_at(spec, operands_of[kind].x);
  if (!is_computed(spec, x) || !is_known(x) || !lies_well(spec, kind)) return false;
  dp_primitive_spec p;
  bool empty;
  dp_status status = spec_of(spec, kind, &p, &empty);
  bool found = !status;
  if (found && !empty) {
    const channel_counts counts = counts_of(spec, kind);
    for (int i = 0; found && i < counts.of_x * counts.of_y; i++)
      if (set_channels(spec, kind, &counts, i, &p)) found = dp_parts_exist(&p);
  }
  dp_status_free(status);
  return found;
}

uint64_t dp_windowed_scratch_bytes(const dp_kernel_spec *spec, dp_primitive_kind kind) {
  dp_primitive_spec p;
  bool empty;
  uint64_t most = 0;
  dp_status status = spec_of(spec, kind, &p, &empty);
  if (!status && !empty) {
    const channel_counts counts = counts_of(spec, kind);
    for (int i = 0; i < counts.of_x * counts.of_y; i++)
      if (set_channels(spec, kind, &counts, i, &p)) most = max_bytes(most, dp_parts_scratch_bytes(&p));
  }
  dp_status_free(status);
  return most;
}

// Shards with fewer channels may want another layout, but each packs its own. All must gain by it, or none.
uint64_t dp_windowed_packed_bytes(const dp_kernel_spec *spec) {
  dp_primitive_spec p;
  bool empty, all = true;
  uint64_t most = 0;
  dp_status status = spec_of(spec, DP_PRIMITIVE_CONV, &p, &empty);
  if (!status && !empty) {
    const channel_counts counts = counts_of(spec, DP_PRIMITIVE_CONV);
    for (int i = 0; all && i < counts.of_x * counts.of_y; i++) {
      if (!set_channels(spec, DP_PRIMITIVE_CONV, &counts, i, &p)) continue;
      const uint64_t bytes = dp_parts_packed_bytes(&p);
      all = bytes > 0;
      most = max_bytes(most, bytes);
    }
  }
  dp_status_free(status);
  return all ? most : 0;
}

dp_status dp_windowed_pack(const dp_kernel_spec *spec, void *state, const void *plain, void *packed, void *scratch) {
  (void)spec;
  return state ? dp_parts_pack(state, plain, packed, scratch) : DP_OK;
}

dp_status dp_windowed_prepare(const dp_kernel_spec *spec, dp_primitive_kind kind, void **state) {
  dp_primitive_spec p;
  bool empty;
  dp_parts *made = NULL;
  DP_TRY(spec_of(spec, kind, &p, &empty));
  if (!empty) DP_TRY(dp_parts_create(&p, &made));
  *state = made;
  return DP_OK;
}

void dp_windowed_release(void *state) { dp_parts_destroy(state); }

dp_status dp_windowed_run(const dp_kernel_spec *spec, void *state, const dp_primitive_data *data, void *result,
                          void *scratch, int part, int parts) {
  if (state) return dp_parts_run(state, data, scratch, part, parts);
  if (part) return DP_OK;
  const int64_t bytes = dp_local_count(&spec->outputs[0].local) * (int64_t)dp_type_bytes(spec->outputs[0].dtype);
  if (bytes) memset(result, 0, (size_t)bytes);
  return DP_OK;
}

// ---- runs of kernels ------------------------------------------------------------------------------------------------

// bias: NULL for zeros. Plain channels are blocks of one.
static void fill_with_bias(const dp_kernel_operand *y, const char *bias, char *to) {
  const int64_t channels = y->local.extents[1], count = dp_local_count(&y->local);
  const int64_t block = dp_max_i64(1, dp_layout_block(y->layout));
  const int64_t plane = count ? count / y->local.extents[0] / channels * block : 0;
  const size_t bytes = dp_type_bytes(y->dtype);
  for (int64_t i = 0; i < count; i++, to += bytes)
    if (bias)
      memcpy(to, bias + (size_t)(i / plane * block % channels + i % block) * bytes, bytes);
    else
      memset(to, 0, bytes);
}

dp_status dp_windowed_run_conv(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out,
                               void *scratch, int part, int parts) {
  const void *bias = spec->n_inputs > 2 ? in[2] : NULL;
  if (state) return dp_parts_run(state, &(dp_primitive_data){in[0], in[1], bias, out[0]}, scratch, part, parts);
  if (!part) fill_with_bias(&spec->outputs[0], bias, out[0]);
  return DP_OK;
}

dp_status dp_windowed_run_conv_grad_input(const dp_kernel_spec *spec, void *state, const void *const *in,
                                          void *const *out, void *scratch, int part, int parts) {
  return dp_windowed_run(spec, state, &(dp_primitive_data){out[0], in[0], NULL, in[1]}, out[0], scratch, part, parts);
}

dp_status dp_windowed_run_pool(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out,
                               void *scratch, int part, int parts) {
  return dp_windowed_run(spec, state, &(dp_primitive_data){in[0], NULL, NULL, out[0]}, out[0], scratch, part, parts);
}
