// See transfer.h.
#include "runtime/comm/transfer.h"

#include <string.h>

enum { PART_ELEMENTS = 1 << 14, MAX_PARTS = 256, BLOCK_BYTES = 8192 };

static int parts_of(int64_t elements) {
  int64_t parts = (elements + PART_ELEMENTS - 1) / PART_ELEMENTS;
  return (int)dp_max_i64(1, dp_min_i64(parts, MAX_PARTS));
}

static char **data_of(dp_arena *arena, int count, const dp_shard_view *views) {
  char **data = dp_alloc_n(arena, (size_t)count, sizeof *data);
  for (int v = 0; v < count; v++) data[v] = views[v].data;
  return data;
}

dp_transfer *dp_transfer_reduce(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_tensors, int n_sources,
                                const dp_shard_view *from, int n_targets, const dp_shard_view *to) {
  dp_transfer *t = dp_alloc(arena, sizeof *t);
  t->dtype = dtype;
  t->action = action;
  t->n_sources = n_sources;
  t->n_targets = n_targets;
  t->from = data_of(arena, n_tensors * n_sources, from);
  t->to = data_of(arena, n_tensors * n_targets, to);
  t->begin = dp_alloc_n(arena, (size_t)n_tensors + 1, sizeof *t->begin);
  for (int k = 0; k < n_tensors; k++) t->begin[k + 1] = t->begin[k] + dp_local_count(&to[k * n_targets].local);
  t->count = t->begin[n_tensors];
  t->n_parts = parts_of(t->count);
  t->accumulates = n_targets == 1;
  for (int i = 0; i < n_tensors * n_sources; i++)
    if (i % n_sources && t->from[i] == t->to[i / n_sources * n_targets]) t->accumulates = false;
  return t;
}

static dp_transfer *list_of(dp_arena *arena, dp_dtype dtype, int n_copies, int n_parts) {
  dp_transfer *t = dp_alloc(arena, sizeof *t);
  t->dtype = dtype;
  t->n_parts = n_parts;
  t->first = dp_alloc_n(arena, (size_t)n_parts + 1, sizeof *t->first);
  t->copies = dp_alloc_n(arena, (size_t)n_copies, sizeof *t->copies);
  return t;
}

dp_transfer *dp_transfer_shards(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_from,
                                const dp_shard_view *from, int n_to, const dp_shard_view *to) {
  const bool narrow = false;
  if (n_from == 1 && n_to == 1) return dp_transfer_concatenate(arena, dtype, 1, from, &narrow, to);
  dp_transfer *t = list_of(arena, dtype, n_from * n_to, n_to);
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

// Gives the source the layout of the target.
static void widen(dp_region *region) {
  for (int d = 0; d < region->rank; d++) {
    region->source_stride[d] = region->target_stride[d];
    for (int i = 0; i < region->n_segments[d]; i++) region->segments[d][i].source = region->segments[d][i].target;
  }
}

// Every part does its share of each copy.
dp_transfer *dp_transfer_concatenate(dp_arena *arena, dp_dtype dtype, int n_from, const dp_shard_view *from,
                                     const bool *wide, const dp_shard_view *to) {
  int64_t elements = 0;
  for (int i = 0; i < n_from; i++) elements += dp_local_count(&from[i].local);
  int parts = parts_of(dp_min_i64(elements, dp_local_count(&to->local)));
  dp_transfer *t = list_of(arena, dtype, n_from * parts, parts);
  for (int i = 0; i < n_from; i++) {
    dp_region region = dp_region_make(arena, &to->local, &from[i].local);
    if (wide[i]) widen(&region);
    for (int p = 0; p < parts; p++)
      t->copies[p * n_from + i] =
          (dp_copy){dp_region_share(arena, &region, p, parts), DP_REGION_COPY, to->data, from[i].data};
  }
  for (int p = 0; p <= parts; p++) t->first[p] = p * n_from;
  return t;
}

static void count_run(void *context, int64_t first, int64_t count) {
  (void)first;
  *(int64_t *)context += count;
}

double dp_transfer_bytes(const dp_transfer *t) {
  int64_t elements = (t->n_sources + t->n_targets) * t->count;
  for (int i = 0; !t->n_targets && i < t->first[t->n_parts]; i++) {
    int64_t copied = 0;
    dp_region_each_run(&t->copies[i].region, count_run, &copied);
    elements += (t->copies[i].action == DP_REGION_COPY ? 2 : 3) * copied;
  }
  return (double)elements * (double)dp_type_bytes(t->dtype);
}

// Reduces elements [at, end) of one tensor; from and to are its members' bytes.
static void reduce_range(const dp_transfer *t, char *const *from, char *const *to, int64_t at, int64_t end) {
  _Alignas(64) char block[BLOCK_BYTES];
  size_t bytes = dp_type_bytes(t->dtype);
  int64_t room = (int64_t)(BLOCK_BYTES / bytes);
  for (; at < end; at += room) {
    int64_t length = dp_min_i64(room, end - at);
    size_t skipped = (size_t)at * bytes, size = (size_t)length * bytes;
    char *sum = t->accumulates ? to[0] + skipped : block;
    if (sum != from[0] + skipped) memcpy(sum, from[0] + skipped, size);
    for (int m = 1; m < t->n_sources; m++) dp_region_run(t->action, t->dtype, sum, from[m] + skipped, length);
    for (int m = 0; m < t->n_targets && sum == block; m++) memcpy(to[m] + skipped, block, size);
  }
}

static void reduce(const dp_transfer *t, int part) {
  int64_t at = part * t->count / t->n_parts, end = (part + 1) * t->count / t->n_parts;
  for (int k = 0; at < end; k++) {
    int64_t stop = dp_min_i64(end, t->begin[k + 1]);
    if (at >= stop) continue;
    reduce_range(t, &t->from[k * t->n_sources], &t->to[k * t->n_targets], at - t->begin[k], stop - t->begin[k]);
    at = stop;
  }
}

void dp_transfer_run(const dp_transfer *t, int slot, int part) {
  if (t->n_targets) {
    reduce(t, part);
    return;
  }
  for (int i = t->first[part]; i < t->first[part + 1]; i++) {
    const dp_copy *copy = &t->copies[i];
    const char *source = copy->source + slot * t->host_copy_distance;
    dp_region_apply(&copy->region, copy->action, t->dtype, copy->target, source);
  }
}
