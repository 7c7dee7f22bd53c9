// The extents of one device's part of attention. See attention_extents.h.
#include "backends/base/attention_extents.h"

#include <math.h>
#include <string.h>

static void find_mask(const dp_kernel_spec *spec, int mask, dp_attention *a) {
  if (mask >= spec->n_inputs || !spec->inputs[mask].present) return;
  const dp_local *m = &spec->inputs[mask].local;
  int64_t stride = 1;
  a->mask = spec->inputs[mask].dtype;
  for (int d = m->rank - 1, at = 3; d >= 0; d--, at--) {
    a->mask_stride[at] = m->whole[d] == 1 ? 0 : stride;
    stride *= m->extents[d];
  }
}

static int64_t pitch_of(const dp_kernel_spec *spec, int operand, int64_t dense) {
  return spec->pitches && spec->pitches[operand] ? spec->pitches[operand] : dense;
}

static void find_rows(const dp_kernel_spec *spec, int first, dp_attention *a) {
  const bool gradient = first > 0;  // whose first operand is dY
  const int64_t dense[] = {a->heads * a->size, a->groups * a->size, a->groups * a->v_size};
  for (int i = 0; i < DP_ATTENTION_PARTS; i++) {
    a->rows[i] = pitch_of(spec, first + i, dense[i]);
    a->gradient_rows[i] = gradient ? pitch_of(spec, spec->n_inputs + i, dense[i]) : dense[i];
  }
}

dp_attention dp_attention_of(const dp_kernel_spec *spec, int first, int mask) {
  const dp_local *q = &spec->inputs[first].local, *k = &spec->inputs[first + 1].local;
  dp_attention a = {
      .batch = q->extents[0],
      .length = q->extents[1],
      .heads = q->extents[2],
      .size = q->extents[3],
      .keys = k->extents[1],
      .groups = k->extents[2],
      .v_size = spec->inputs[first + 2].local.extents[3],
      .scale = dp_node_float(spec->node, "scale", 1),
      .masked = dp_node_float(spec->node, "masked", -INFINITY),
      .zero_rows = strcmp(dp_node_string(spec->node, "masked_rows", "nan"), "nan") != 0,
      .zero_nan = !strcmp(dp_node_string(spec->node, "masked_rows", "nan"), "zero_if_nan"),
      .causal = dp_node_int(spec->node, "is_causal", 0) != 0,
      .first = q->lo[1] * q->unit[1],
      .ratio = dp_node_float(spec->node, "ratio", 0),
      .scores = {.rank = 4},
  };
  a.each = a.groups ? a.heads / a.groups : 0;
  dp_local_take_dim(&a.scores, 0, q, 0);
  dp_local_take_dim(&a.scores, 1, q, 2);
  dp_local_take_dim(&a.scores, 2, q, 1);
  dp_local_take_dim(&a.scores, 3, k, 1);
  find_mask(spec, mask, &a);
  find_rows(spec, first, &a);
  return a;
}
