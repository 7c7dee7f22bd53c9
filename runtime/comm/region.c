// See region.h.
#include "runtime/comm/region.h"

#include <string.h>

#include "ir/base/tsan.h"

// The segments of one dim: the intersections of both sides' blocks, in order of whole indices.
static int intersect(dp_arena *arena, const dp_local *t, const dp_local *s, int d, dp_segment **segments) {
  int64_t t_mine = (t->hi[d] - t->lo[d]) * t->unit[d], s_mine = (s->hi[d] - s->lo[d]) * s->unit[d];
  int64_t t_block = t->k[d] * t->unit[d], s_block = s->k[d] * s->unit[d];
  int count = 0;
  dp_segment *list = NULL;
  if (!t_mine || !s_mine) return 0;
  for (int64_t i = 0, j = 0; i < t->outer[d] && j < s->outer[d];) {
    int64_t t_lo = i * t_block + t->lo[d] * t->unit[d], s_lo = j * s_block + s->lo[d] * s->unit[d];
    int64_t lo = dp_max_i64(t_lo, s_lo), hi = dp_min_i64(t_lo + t_mine, s_lo + s_mine);
    if (lo < hi) {
      dp_segment segment = {i * t_mine + lo - t_lo, j * s_mine + lo - s_lo, hi - lo};
      dp_segment *last = count ? &list[count - 1] : NULL;
      if (last && last->target + last->length == segment.target && last->source + last->length == segment.source)
        last->length += segment.length;
      else
        DP_PUSH(arena, list, count, segment);
    }
    if (t_lo + t_mine <= s_lo + s_mine)
      i++;
    else
      j++;
  }
  *segments = list;
  return count;
}

dp_region dp_region_make(dp_arena *arena, const dp_local *target, const dp_local *source) {
  dp_region region = {.rank = target->rank};
  int64_t t_stride = 1, s_stride = 1;
  for (int d = target->rank - 1; d >= 0; d--) {
    region.n_segments[d] = intersect(arena, target, source, d, &region.segments[d]);
    region.target_stride[d] = t_stride;
    region.source_stride[d] = s_stride;
    t_stride *= target->extents[d];
    s_stride *= source->extents[d];
  }
  // Merge trailing dims that both sides hold whole into the dim before them, so that runs are long.
  while (region.rank > 1) {
    int d = region.rank - 1;
    bool whole = region.n_segments[d] == 1 && region.segments[d][0].length == target->extents[d] &&
                 target->extents[d] == source->extents[d];
    if (!whole) break;
    int64_t length = region.segments[d][0].length;
    for (int i = 0; i < region.n_segments[d - 1]; i++) {
      dp_segment *s = &region.segments[d - 1][i];
      *s = (dp_segment){s->target * length, s->source * length, s->length * length};
    }
    region.target_stride[d - 1] = region.source_stride[d - 1] = 1;
    region.rank--;
  }
  return region;
}

dp_region dp_region_share(dp_arena *arena, const dp_region *region, int part, int parts) {
  dp_region share = *region;
  int64_t total = 0, at = 0;
  if (!region->rank) return share;
  for (int i = 0; i < region->n_segments[0]; i++) total += region->segments[0][i].length;
  int64_t lo = part * total / parts, hi = (part + 1) * total / parts;
  share.n_segments[0] = 0;
  share.segments[0] = NULL;
  for (int i = 0; i < region->n_segments[0]; i++) {
    dp_segment s = region->segments[0][i];
    int64_t skipped = dp_max_i64(0, lo - at), end = dp_min_i64(s.length, hi - at);
    at += s.length;
    if (skipped >= end) continue;
    s = (dp_segment){s.target + skipped, s.source + skipped, end - skipped};
    DP_PUSH(arena, share.segments[0], share.n_segments[0], s);
  }
  return share;
}

#define NUMBER_TYPES(CASE)  \
  CASE(DP_FLOAT32, float)   \
  CASE(DP_FLOAT64, double)  \
  CASE(DP_INT64, int64_t)   \
  CASE(DP_INT32, int32_t)   \
  CASE(DP_INT16, int16_t)   \
  CASE(DP_INT8, int8_t)     \
  CASE(DP_UINT64, uint64_t) \
  CASE(DP_UINT32, uint32_t) \
  CASE(DP_UINT16, uint16_t) \
  CASE(DP_UINT8, uint8_t)

bool dp_region_can(dp_region_action action, dp_dtype dtype) {
  if (action == DP_REGION_COPY) return dp_type_bytes(dtype) > 0;
#define CAN(NUMBER, TYPE) \
  if (dtype == NUMBER) return true;
  NUMBER_TYPES(CAN)
#undef CAN
  return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16;
}

// Rounds after each addition, as the other types do.
static void run_half(dp_region_action action, dp_dtype dtype, uint16_t *target, const uint16_t *source, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double t = dp_element_decode(dtype, target[i]), s = dp_element_decode(dtype, source[i]);
    double result = action == DP_REGION_SUM ? t + s : s > t || s != s ? s : t;
    target[i] = dp_element_encode(dtype, result, false);
  }
}

static void copy(void *target, const void *source, size_t bytes) {
  dp_tsan_read(source, bytes);
  dp_tsan_write(target, bytes);
  memcpy(target, source, bytes);
}

void dp_region_run(dp_region_action action, dp_dtype dtype, void *target, const void *source, int64_t count) {
  if (action == DP_REGION_COPY) {
    copy(target, source, (size_t)count * dp_type_bytes(dtype));
    return;
  }
#define RUN(NUMBER, TYPE)                                                                   \
  if (dtype == NUMBER) {                                                                    \
    TYPE *restrict t = target;                                                              \
    const TYPE *restrict s = source;                                                        \
    if (action == DP_REGION_SUM)                                                            \
      for (int64_t i = 0; i < count; i++) t[i] = (TYPE)(t[i] + s[i]);                       \
    else                                                                                    \
      for (int64_t i = 0; i < count; i++) t[i] = s[i] > t[i] || s[i] != s[i] ? s[i] : t[i]; \
  }
  NUMBER_TYPES(RUN)
#undef RUN
  if (dtype == DP_FLOAT16 || dtype == DP_BFLOAT16) run_half(action, dtype, target, source, count);
}

static void apply(const dp_region *r, int d, dp_region_action action, dp_dtype dtype, char *target,
                  const char *source) {
  size_t bytes = dp_type_bytes(dtype);
  for (int i = 0; i < r->n_segments[d]; i++) {
    const dp_segment *s = &r->segments[d][i];
    if (d == r->rank - 1) {
      dp_region_run(action, dtype, target + (size_t)s->target * bytes, source + (size_t)s->source * bytes, s->length);
      continue;
    }
    for (int64_t k = 0; k < s->length; k++)
      apply(r, d + 1, action, dtype, target + (size_t)((s->target + k) * r->target_stride[d]) * bytes,
            source + (size_t)((s->source + k) * r->source_stride[d]) * bytes);
  }
}

void dp_region_apply(const dp_region *region, dp_region_action action, dp_dtype dtype, void *target,
                     const void *source) {
  if (!region->rank)
    dp_region_run(action, dtype, target, source, 1);
  else
    apply(region, 0, action, dtype, target, source);
}

static void each_run(const dp_region *r, int d, int64_t at, dp_region_visit *visit, void *context) {
  for (int i = 0; i < r->n_segments[d]; i++) {
    const dp_segment *s = &r->segments[d][i];
    if (d == r->rank - 1) {
      visit(context, at + s->target, s->length);
      continue;
    }
    for (int64_t k = 0; k < s->length; k++)
      each_run(r, d + 1, at + (s->target + k) * r->target_stride[d], visit, context);
  }
}

void dp_region_each_run(const dp_region *region, dp_region_visit *visit, void *context) {
  if (!region->rank)
    visit(context, 0, 1);
  else
    each_run(region, 0, 0, visit, context);
}
