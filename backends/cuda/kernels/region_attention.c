// See region_attention.h.
#include "backends/cuda/kernels/region_attention.h"

#include <string.h>

#include "backends/cuda/kernels/region_sum.h"
#include "ir/kernel/extents.h"

enum { PARTS = DP_CUDA_ATTENTION_PARTS, HEADS = 2 };  // HEADS: the dim of Q, K, V from which on they are rows

// ---- one part -------------------------------------------------------------------------------------------------------

static int maker_of(const dp_kernel_region *r, int32_t value) {
  for (int m = 0; m < r->n_members; m++)
    for (int k = 0; k < r->members[m].n_outputs; k++)
      if (r->members[m].outputs[k] == value) return m;
  return -1;
}

static bool is_view(const dp_kernel_member *member) { return dp_op_is(member->op, DP_OP_VIEW); }

static bool add_view(dp_cuda_attention_part *p, int member, int32_t value) {
  if (p->n_views == DP_PROJECTION_VIEWS) return false;
  p->views[p->n_views++] = member;
  p->values[p->n_views] = value;
  return true;
}

// From what `user` takes back to the Split that makes it; -1: there is none, or something else takes it too.
static int find_split(const dp_kernel_spec *region, int32_t value, int user, dp_cuda_attention_part *p) {
  const dp_kernel_region *r = region->region;
  *p = (dp_cuda_attention_part){.values = {value}};
  for (;;) {
    const int maker = dp_cuda_region_user(region, value) == user ? maker_of(r, value) : -1;
    if (maker < 0 || !is_view(&r->members[maker])) return maker;
    value = r->members[maker].inputs[0];
    user = maker;
    if (!add_view(p, maker, value)) return -1;
  }
}

// From what the attention makes on to the Concat that takes it; -1: there is none.
static int find_concat(const dp_kernel_spec *region, int32_t value, dp_cuda_attention_part *p) {
  const dp_kernel_region *r = region->region;
  *p = (dp_cuda_attention_part){.values = {value}};
  for (;;) {
    const int user = dp_cuda_region_user(region, value);
    if (user < 0 || !is_view(&r->members[user])) return user;
    value = r->members[user].outputs[0];
    if (!add_view(p, user, value)) return -1;
  }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

// The elements of a row, which are dims from this one on; -1: they depend on the number of samples.
static int64_t row_of(const dp_local *x, int from) {
  if (x->symbolic >> from) return -1;
  return dp_product(x->extents, from, x->rank);
}

// Where each part begins, if rows of the parts are what the attention takes, and they are all that the whole has.
static bool find_starts(const dp_kernel_region *r, const int32_t *joined, int count, dp_cuda_attention_whole *w) {
  const dp_local *whole = &r->values[w->whole].local;
  const int axis = dp_axis(dp_node_int(r->members[w->member].node, "axis", 0), whole->rank);
  int64_t start = 0;
  if (count != PARTS) return false;
  for (int i = 0; i < PARTS; i++) {
    int found = 0;
    for (int p = 0; p < PARTS; p++) {
      dp_cuda_attention_part *part = &w->parts[p];
      if (part->values[part->n_views] != joined[i]) continue;
      const int64_t row = row_of(&r->values[joined[i]].local, axis);
      if (row < 0 || row != row_of(&r->values[part->values[0]].local, HEADS)) return false;
      part->start = start;
      start += row;
      found++;
    }
    if (found != 1) return false;
  }
  w->pitch = row_of(whole, axis);
  return w->pitch == start;
}

static bool find_operands(const dp_kernel_spec *region, int m, int first, dp_cuda_attention_whole *w) {
  const dp_kernel_region *r = region->region;
  for (int i = 0; i < PARTS; i++) {
    const int split = find_split(region, r->members[m].inputs[first + i], m, &w->parts[i]);
    if (split < 0 || (i && split != w->member)) return false;
    w->member = split;
  }
  const dp_kernel_member *split = &r->members[w->member];
  if (!dp_member_is_named(split, "Split")) return false;
  w->whole = split->inputs[0];
  return w->whole < region->n_inputs && find_starts(r, split->outputs, split->n_outputs, w);
}

static bool find_gradients(const dp_kernel_spec *region, int m, dp_cuda_attention_whole *w) {
  const dp_kernel_region *r = region->region;
  for (int i = 0; i < PARTS; i++) {
    const int concat = find_concat(region, r->members[m].outputs[i], &w->parts[i]);
    if (concat < 0 || (i && concat != w->member)) return false;
    w->member = concat;
  }
  const dp_kernel_member *concat = &r->members[w->member];
  if (!dp_member_is_named(concat, "Concat")) return false;
  w->whole = concat->outputs[0];
  return w->whole < region->n_inputs + region->n_outputs && find_starts(r, concat->inputs, concat->n_inputs, w);
}

bool dp_cuda_region_attention_of(const dp_kernel_spec *region, int m, dp_cuda_region_attention *a) {
  const dp_kernel_member *member = &region->region->members[m];
  const bool gradient = !strcmp(member->op->name, "ScaledDotProductAttentionGrad");
  const int first = gradient;
  if (strcmp(member->op->domain, "dp") || (!gradient && strcmp(member->op->name, "ScaledDotProductAttention")))
    return false;
  *a = (dp_cuda_region_attention){.operands.member = -1, .gradients.member = -1};
  if (!find_operands(region, m, first, &a->operands)) a->operands.member = -1;
  if (!gradient || !find_gradients(region, m, &a->gradients)) a->gradients.member = -1;
  for (int i = 0; i < PARTS; i++) {
    if (a->operands.member >= 0) a->pitches[first + i] = a->operands.pitch;
    if (a->gradients.member >= 0) a->pitches[member->n_inputs + i] = a->gradients.pitch;
  }
  return a->operands.member >= 0 || a->gradients.member >= 0;
}
