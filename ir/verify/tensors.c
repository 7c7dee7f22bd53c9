// A program's tensors: what each claims agrees with the logical value that it stands for.
#include <string.h>

#include "ir/file/proto.h"
#include "ir/plan/layout.h"
#include "ir/verify/checker.h"

// What the host gives and gets is plain. How variables lie in their storage, ends.c looks at.
static dp_status check_image(dp_checker *c, size_t i, const dp_checker_tensor *t) {
  const Dp__DeviceTensor *m = t->claim;
  const bool host = dp_checker_is_on_host(m->space) || m->space == DP__SPACE__DEVICE_INPUT;
  if (t->value->type->shape.rank == 4 && !host) return DP_OK;
  return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_LAYOUT,
                         "tensor %zu ('%s') has %d dims in %s memory, and is not plain: only what has four dims, and "
                         "neither comes from the host nor goes to it, may lie otherwise",
                         i, t->value->name, t->value->type->shape.rank, dp_plan_form_space(m->space));
}

static dp_status check_form(dp_checker *c, size_t i, const dp_checker_tensor *t) {
  const Dp__DeviceTensor *m = t->claim;
  if (m->dtype != (int32_t)t->value->type->dtype)
    return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_TYPE, "tensor %zu is %s, its value '%s' is %s",
                           i, dp_type_name((dp_dtype)m->dtype), t->value->name, dp_type_name(t->value->type->dtype));
  if (m->stage != c->role_index)
    return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_LAYOUT,
                           "tensor %zu ('%s') has stage %u, and this is stage %u", i, t->value->name, m->stage,
                           c->role_index);
  return m->layout == DP__LAYOUT__PLAIN ? DP_OK : check_image(c, i, t);
}

// An array of these placements: the tensor's before, where that is placed alike.
static const dp_placement *keep(dp_checker *c, size_t i, const dp_placement at[DP_MAX_MESH]) {
  if (i && dp_checker_placed_alike(c, c->tensors[i - 1].at, at)) return c->tensors[i - 1].at;
  return dp_memdup(c->arena, at, DP_MAX_MESH * sizeof *at);
}

static dp_status check_placements(dp_checker *c, size_t i, dp_checker_tensor *t) {
  const Dp__DeviceTensor *m = t->claim;
  dp_placement at[DP_MAX_MESH] = {0};
  dp_status status =
      dp_proto_to_placements(m->n_placements, m->placements, &t->value->type->shape, &c->model->mesh, at);
  if (status)
    return dp_checker_wrap(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_PLACEMENT,
                           dp_status_context(status, "tensor %zu ('%s')", i, t->value->name));
  t->at = keep(c, i, at);
  if (c->pipe >= 0 && t->at[c->pipe].kind != DP_REPLICATE)
    return dp_checker_fail(
        c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_PLACEMENT,
        "tensor %zu ('%s') is not Replicate on axis '%s': a stage has all of a tensor or nothing of it", i,
        t->value->name, c->model->mesh.axes[c->pipe].name);
  const dp_placement *partial = NULL;
  for (int a = 0; a < c->model->mesh.n_axes; a++) {
    if (t->at[a].kind != DP_PARTIAL) continue;
    // A sum of maxima is not a maximum of sums, and nothing says which of them it is.
    if (partial && partial->reduction != t->at[a].reduction)
      return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_PLACEMENT,
                             "tensor %zu ('%s') is a partial sum on one axis and a partial maximum on another", i,
                             t->value->name);
    partial = &t->at[a];
  }
  return DP_OK;
}

static dp_status check_weight(dp_checker *c, size_t i, const dp_checker_tensor *t) {
  if (dp_checker_in_weight_blocks(c, t->value->type, t->at)) return DP_OK;
  return dp_checker_fail(
      c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_LAYOUT,
      "tensor %zu ('%s') is said to lie in blocks of weights: only what has whole blocks can, and is "
      "whole on each device",
      i, t->value->name);
}

// Of several micro-batches each has whole blocks, and so have all of them.
static dp_status check_blocks(dp_checker *c, size_t i, const dp_checker_tensor *t) {
  if (t->claim->layout == DP__LAYOUT__OIHW16I32O) return check_weight(c, i, t);
  const int64_t block = dp_layout_block(dp_plan_to_layout(t->claim->layout)), first[DP_MAX_MESH] = {0};
  if (!block) return DP_OK;
  dp_local in_blocks, local = dp_shard_range(&t->value->type->shape, t->at, &c->model->mesh, first, c->model->batch);
  if (dp_local_in_blocks(&local, block, &in_blocks)) return DP_OK;
  char text[256];
  return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_LAYOUT,
                         "tensor %zu ('%s', placed %s) is said to lie in blocks of %lld channels; some device has no "
                         "whole blocks",
                         i, t->value->name, dp_checker_tensor_print(c, t, text, sizeof text), (long long)block);
}

// The parts of several micro-batches lie in the extents of the whole tensor.
static dp_status check_bytes(dp_checker *c, size_t i, dp_checker_tensor *t) {
  char text[256];
  dp_placement at[DP_MAX_MESH];
  memcpy(at, t->at, sizeof at);
  if (t->count > 1) at[c->micro] = dp_replicate();
  if (!dp_checker_bytes(c, t->value->type, at, &t->needed))
    return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_FORM_LIMIT,
                           "tensor %zu ('%s') is too large to be split over the mesh", i, t->value->name);
  if (t->claim->bytes < t->needed && t->claim->space != DP__SPACE__INSIDE)
    return dp_checker_fail(c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_BYTES,
                           "tensor %zu ('%s', placed %s) has %llu bytes; its largest shard takes %llu", i,
                           t->value->name, dp_checker_tensor_print(c, t, text, sizeof text),
                           (unsigned long long)t->claim->bytes, (unsigned long long)t->needed);
  return DP_OK;
}

dp_status dp_checker_tensors(dp_checker *c) {
  c->n_tensors = (uint32_t)c->program->n_tensors;
  c->tensors = dp_alloc_n(c->arena, c->n_tensors, sizeof *c->tensors);
  for (size_t i = 0; i < c->n_tensors; i++) {
    dp_checker_tensor *t = &c->tensors[i];
    t->claim = c->program->tensors[i];
    t->value = c->graph->values[t->claim->value];
    t->exit = -1;
    DP_TRY(check_form(c, i, t));
    DP_TRY(check_placements(c, i, t));
    DP_TRY(check_blocks(c, i, t));
    DP_TRY(dp_checker_micro_tensor(c, i));
    DP_TRY(check_bytes(c, i, t));
  }
  return DP_OK;
}
