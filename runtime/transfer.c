// See transfer.h.
#include "runtime/transfer.h"

#include <string.h>

enum { PART_ELEMENTS = 1 << 14, MAX_PARTS = 256, BLOCK_BYTES = 8192 };

dp_transfer *dp_transfer_all_reduce(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_tensors,
                                    int n_members, const dp_shard_view *from, const dp_shard_view *to) {
  dp_transfer *t = dp_alloc(arena, sizeof *t);
  size_t views = (size_t)n_tensors * (size_t)n_members;
  t->dtype = dtype;
  t->action = action;
  t->n_members = n_members;
  t->from = dp_alloc_n(arena, views, sizeof *t->from);
  t->to = dp_alloc_n(arena, views, sizeof *t->to);
  t->begin = dp_alloc_n(arena, (size_t)n_tensors + 1, sizeof *t->begin);
  for (size_t v = 0; v < views; v++) {
    t->from[v] = from[v].data;
    t->to[v] = to[v].data;
  }
  for (int k = 0; k < n_tensors; k++) t->begin[k + 1] = t->begin[k] + dp_local_count(&to[k * n_members].local);
  int64_t parts = (t->begin[n_tensors] + PART_ELEMENTS - 1) / PART_ELEMENTS;
  t->count = t->begin[n_tensors];
  t->n_parts = (int)dp_max_i64(1, dp_min_i64(parts, MAX_PARTS));
  return t;
}

dp_transfer *dp_transfer_shards(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_from,
                                const dp_shard_view *from, int n_to, const dp_shard_view *to) {
  dp_transfer *t = dp_alloc(arena, sizeof *t);
  t->dtype = dtype;
  t->n_parts = n_to;
  t->first = dp_alloc_n(arena, (size_t)n_to + 1, sizeof *t->first);
  t->copies = dp_alloc_n(arena, (size_t)n_from * (size_t)n_to, sizeof *t->copies);
  int count = 0;
  for (int j = 0; j < n_to; j++) {
    t->first[j] = count;
    for (int i = 0; i < n_from; i++) {
      dp_copy *copy = &t->copies[count++];
      copy->region = dp_region_make(arena, &to[j].local, &from[i].local);
      copy->action = i ? action : DP_REGION_COPY;
      copy->target = to[j].data;
      copy->source = from[i].data;
    }
  }
  t->first[n_to] = count;
  return t;
}

// Elements [at, end) of one tensor; from, to: the members'.
static void reduce_range(const dp_transfer *t, char *const *from, char *const *to, int64_t at, int64_t end) {
  _Alignas(64) char block[BLOCK_BYTES];
  size_t bytes = dp_type_bytes(t->dtype);
  int64_t room = (int64_t)(BLOCK_BYTES / bytes);
  for (; at < end; at += room) {
    int64_t length = dp_min_i64(room, end - at);
    memcpy(block, from[0] + (size_t)at * bytes, (size_t)length * bytes);
    for (int m = 1; m < t->n_members; m++)
      dp_region_run(t->action, t->dtype, block, from[m] + (size_t)at * bytes, length);
    for (int m = 0; m < t->n_members; m++) memcpy(to[m] + (size_t)at * bytes, block, (size_t)length * bytes);
  }
}

static void all_reduce(const dp_transfer *t, int part) {
  int64_t at = part * t->count / t->n_parts, end = (part + 1) * t->count / t->n_parts;
  for (int k = 0; at < end; k++) {
    int64_t stop = dp_min_i64(end, t->begin[k + 1]);
    if (at >= stop) continue;
    int view = k * t->n_members;
    reduce_range(t, &t->from[view], &t->to[view], at - t->begin[k], stop - t->begin[k]);
    at = stop;
  }
}

void dp_transfer_run(const dp_transfer *t, int slot, int part) {
  if (t->n_members) {
    all_reduce(t, part);
    return;
  }
  for (int i = t->first[part]; i < t->first[part + 1]; i++) {
    const dp_copy *copy = &t->copies[i];
    const char *source = copy->source + slot * t->host_copy_distance;
    dp_region_apply(&copy->region, copy->action, t->dtype, copy->target, source);
  }
}
