// What each device holds of a tensor. See placement.h.
#include "ir/graph/placement.h"

#include <stdio.h>
#include <string.h>

bool dp_placement_equal(dp_placement a, dp_placement b) {
  if (a.kind != b.kind) return false;
  if (a.kind == DP_SHARD) return a.dim == b.dim && a.outer == b.outer && a.unit == b.unit;
  return a.kind != DP_PARTIAL || a.reduction == b.reduction;
}

char *dp_placement_print(dp_placement p, char *text, size_t bytes) {
  if (p.kind == DP_REPLICATE)
    snprintf(text, bytes, "R");
  else if (p.kind == DP_PARTIAL)
    snprintf(text, bytes, "P(%s)", p.reduction == DP_MAX ? "max" : "sum");
  else if (p.outer == 1 && p.unit == 1)
    snprintf(text, bytes, "S(%d)", p.dim);
  else
    snprintf(text, bytes, "S(%d,%lld,%lld)", p.dim, (long long)p.outer, (long long)p.unit);
  return text;
}

bool dp_placement_parse(const char *text, dp_placement *placement) {
  int dim, end = 0;
  long long outer, unit;
  if (!strcmp(text, "R"))
    *placement = dp_replicate();
  else if (!strcmp(text, "P(sum)"))
    *placement = dp_partial(DP_SUM);
  else if (!strcmp(text, "P(max)"))
    *placement = dp_partial(DP_MAX);
  else if (sscanf(text, "S(%3d)%n", &dim, &end) == 1 && end && !text[end] && dim >= 0)
    *placement = dp_shard(dim);
  else if (sscanf(text, "S(%3d,%18lld,%18lld)%n", &dim, &outer, &unit, &end) == 3 && end && !text[end] && dim >= 0 &&
           outer > 0 && unit > 0)
    *placement = dp_shard_in(dim, outer, unit);
  else
    return false;
  return true;
}

dp_local dp_shard_range(const dp_shape *shape, const dp_placement *placements, const dp_mesh *mesh,
                        const int64_t coordinate[DP_MAX_MESH], int64_t n) {
  dp_local local = {.rank = shape->rank};
  dp_shape_at(shape, n, local.whole);
  for (int d = 0; d < shape->rank; d++) {
    local.outer[d] = local.unit[d] = local.shards[d] = 1;
    local.hi[d] = local.k[d] = local.whole[d];
    if (dp_dim_is_symbolic(shape->dims[d])) local.symbolic |= 1u << d;
  }
  for (int a = 0; a < mesh->n_axes; a++) {
    dp_placement p = placements[a];
    if (p.kind != DP_SHARD) continue;
    int d = p.dim;
    if (local.outer[d] != p.outer || local.unit[d] != p.unit) {  // the first axis that shards this dim
      local.outer[d] = p.outer;
      local.unit[d] = p.unit;
      local.k[d] = local.whole[d] / (p.outer * p.unit);
      local.lo[d] = 0;
      local.hi[d] = local.k[d];
    }
    int64_t lo = local.lo[d], k = local.hi[d] - lo, size = mesh->axes[a].size, i = coordinate[a];
    local.lo[d] = lo + i * k / size;
    local.hi[d] = lo + (i + 1) * k / size;
    local.shards[d] *= size;
  }
  for (int d = 0; d < shape->rank; d++) local.extents[d] = local.outer[d] * (local.hi[d] - local.lo[d]) * local.unit[d];
  return local;
}

void dp_local_take_dim(dp_local *to, int at, const dp_local *from, int dim) {
  to->symbolic = (to->symbolic & ~(1u << at)) | (from->symbolic >> dim & 1) << at;
  to->whole[at] = from->whole[dim];
  to->extents[at] = from->extents[dim];
  to->outer[at] = from->outer[dim];
  to->unit[at] = from->unit[dim];
  to->k[at] = from->k[dim];
  to->lo[at] = from->lo[dim];
  to->hi[at] = from->hi[dim];
  to->shards[at] = from->shards[dim];
}

bool dp_local_in_blocks(const dp_local *image, int64_t block, dp_local *plain) {
  enum { CHANNELS = 1, RANK = 4 };
  const int64_t shards = image->shards[CHANNELS], k = image->k[CHANNELS], unit = image->unit[CHANNELS];
  if (!block || image->rank != RANK || image->symbolic >> CHANNELS & 1 || image->outer[CHANNELS] != 1 || k % shards ||
      k / shards * unit % block)
    return false;
  *plain = *image;
  plain->rank = RANK + 1;
  plain->whole[CHANNELS] /= block;
  plain->extents[CHANNELS] /= block;
  plain->k[CHANNELS] = k * unit / block;
  plain->lo[CHANNELS] = image->lo[CHANNELS] * unit / block;
  plain->hi[CHANNELS] = image->hi[CHANNELS] * unit / block;
  plain->unit[CHANNELS] = 1;
  plain->whole[RANK] = plain->extents[RANK] = plain->k[RANK] = plain->hi[RANK] = block;
  plain->outer[RANK] = plain->unit[RANK] = plain->shards[RANK] = 1;
  plain->lo[RANK] = 0;
  return true;
}

dp_status dp_placement_check(const dp_shape *shape, const dp_placement *placements, const dp_mesh *mesh) {
  char text[64], shape_text[256];
  const dp_placement *view[DP_MAX_RANK] = {0};
  for (int a = 0; a < mesh->n_axes; a++) {
    const dp_placement *p = &placements[a];
    if (p->kind != DP_SHARD) continue;
    dp_placement_print(*p, text, sizeof text);
    if (p->dim < 0 || p->dim >= shape->rank)
      return dp_fail(EX_DATAERR, "placement %s on axis '%s' names a dim that shape %s does not have", text,
                     mesh->axes[a].name, dp_shape_print(shape, shape_text, sizeof shape_text));
    dp_dim dim = shape->dims[p->dim];
    int64_t block;
    if (p->outer < 1 || p->unit < 1 || __builtin_mul_overflow(p->outer, p->unit, &block) || dim.scale % block ||
        dim.offset % block)
      return dp_fail(EX_DATAERR, "placement %s on axis '%s' does not divide dim %d of shape %s", text,
                     mesh->axes[a].name, p->dim, dp_shape_print(shape, shape_text, sizeof shape_text));
    if (view[p->dim] && (view[p->dim]->outer != p->outer || view[p->dim]->unit != p->unit))
      return dp_fail(EX_DATAERR, "placement %s on axis '%s' sees dim %d differently from an earlier axis", text,
                     mesh->axes[a].name, p->dim);
    view[p->dim] = p;
  }
  return DP_OK;
}

int64_t dp_local_count(const dp_local *local) {
  int64_t count = 1;
  for (int d = 0; d < local->rank; d++) count *= local->extents[d];
  return count;
}

int64_t dp_local_max_count(const dp_shape *shape, const dp_placement *placements, const dp_mesh *mesh, int64_t batch) {
  // A part has at most ceil(k / p) of k, and at the largest n the last device of each axis has exactly that.
  int64_t last[DP_MAX_MESH];
  for (int a = 0; a < mesh->n_axes; a++) last[a] = mesh->axes[a].size - 1;
  dp_local local = dp_shard_range(shape, placements, mesh, last, batch);
  return dp_local_count(&local);
}
