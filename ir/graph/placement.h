// Where a tensor is: for each mesh axis Replicate, Shard or Partial (DTensor's terms).
//
// Shard(dim, outer, unit) views the dim's extent as outer x k x unit and splits k: part i over p devices is
// [floor(i*k/p), floor((i+1)*k/p)). Several axes that shard one dim split it in mesh order, each splitting what the
// axis before it left. Concrete extents are derived with dp_shard_range, never stored.
#ifndef DP_IR_GRAPH_PLACEMENT_H
#define DP_IR_GRAPH_PLACEMENT_H

#include "ir/graph/mesh.h"
#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DP_REPLICATE = 0, DP_SHARD = 1, DP_PARTIAL = 2 } dp_placement_kind;
typedef enum { DP_SUM = 0, DP_MAX = 1 } dp_reduction;

// On one mesh axis. Unused fields are zero, so that placements compare field by field.
typedef struct {
  dp_placement_kind kind;
  int dim;                 // Shard
  dp_reduction reduction;  // Partial
  int64_t outer, unit;     // Shard: both at least 1
} dp_placement;

static inline dp_placement dp_replicate(void) { return (dp_placement){DP_REPLICATE, 0, DP_SUM, 0, 0}; }
static inline dp_placement dp_shard(int dim) { return (dp_placement){DP_SHARD, dim, DP_SUM, 1, 1}; }
static inline dp_placement dp_shard_in(int dim, int64_t outer, int64_t unit) {
  return (dp_placement){DP_SHARD, dim, DP_SUM, outer, unit};
}
static inline dp_placement dp_partial(dp_reduction reduction) { return (dp_placement){DP_PARTIAL, 0, reduction, 0, 0}; }
bool dp_placement_equal(dp_placement a, dp_placement b);
// "R", "S(1)", "S(1,outer,unit)", "P(sum)". Returns `text`.
char *dp_placement_print(dp_placement placement, char *text, size_t bytes);
bool dp_placement_parse(const char *text, dp_placement *placement);

// The shard of a tensor on one device: along each dim, `outer` blocks (of full_k * unit elements in the whole tensor),
// of which it has k in [lo, hi), each `unit` elements long. Local extent of the dim: outer * (hi - lo) * unit.
//
// All axes together split k into `shards`: each has k / shards of it, rounded down or up, and the last one has the
// most.
typedef struct {
  int rank;
  uint32_t symbolic;             // bit d: the extent of dim d depends on n
  int64_t whole[DP_MAX_RANK];    // extents of the whole tensor at n
  int64_t extents[DP_MAX_RANK];  // local extents
  int64_t outer[DP_MAX_RANK], unit[DP_MAX_RANK], k[DP_MAX_RANK], lo[DP_MAX_RANK], hi[DP_MAX_RANK];
  int64_t shards[DP_MAX_RANK];
} dp_local;

// The shard of `shape` on the device at `coordinate`, at n. placements: one per axis. An unsharded dim has outer = unit
// = shards = 1, k = extent, lo = 0, hi = k. dp_placement_check must have accepted the placements: it refuses extents
// that outer * unit does not divide.
dp_local dp_shard_range(const dp_shape *shape, const dp_placement *placements, const dp_mesh *mesh,
                        const int64_t coordinate[DP_MAX_MESH], int64_t n);
// dim in range, outer and unit at least 1 and dividing the extent for every n, and at most one (outer, unit) view a
// dim. EX_DATAERR.
dp_status dp_placement_check(const dp_shape *shape, const dp_placement *placements, const dp_mesh *mesh) DP_MUST_USE;
int64_t dp_local_count(const dp_local *local);
// The most elements that any device has at any n <= batch: buffers are sized for it.
int64_t dp_local_max_count(const dp_shape *shape, const dp_placement *placements, const dp_mesh *mesh, int64_t batch);
// Local extent of dim d in the largest shard, or in the smallest; the same whichever shard `local` is.
static inline int64_t dp_local_most(const dp_local *local, int d) {
  return local->outer[d] * ((local->k[d] + local->shards[d] - 1) / local->shards[d]) * local->unit[d];
}
static inline int64_t dp_local_least(const dp_local *local, int d) {
  return local->outer[d] * (local->k[d] / local->shards[d]) * local->unit[d];
}
// Makes dim `at` of *to what dim `dim` of *from is.
void dp_local_take_dim(dp_local *to, int at, const dp_local *from, int dim);
// An image whose channels lie in blocks, as the plain tensor of rank 5 that has its bytes: block by block, those of a
// block last. False: `block` is 0, the tensor is no image, or some device has no whole blocks.
bool dp_local_in_blocks(const dp_local *image, int64_t block, dp_local *plain);
// Index along `dim` in the whole tensor of local index i.
static inline int64_t dp_local_to_whole(const dp_local *local, int dim, int64_t i) {
  int64_t unit = local->unit[dim], mine = local->hi[dim] - local->lo[dim];
  int64_t u = i % unit, kk = (i / unit) % mine, o = i / unit / mine;
  return (o * local->k[dim] + local->lo[dim] + kk) * unit + u;
}

#ifdef __cplusplus
}
#endif
#endif
