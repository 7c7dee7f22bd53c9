// Copies or reduces the intersection of two devices' shards of one tensor, run by contiguous run.
#ifndef DP_RUNTIME_COMM_REGION_H
#define DP_RUNTIME_COMM_REGION_H

#include "ir/graph/placement.h"

#ifdef __cplusplus
extern "C" {
#endif

// The intersection of a source shard and a target shard: along each dim, segments of equal whole indices. Made at load.
typedef struct {
  int64_t target, source, length;  // local indices along the dim
} dp_segment;

typedef struct {
  int rank;
  int n_segments[DP_MAX_RANK];
  dp_segment *segments[DP_MAX_RANK];
  int64_t target_stride[DP_MAX_RANK], source_stride[DP_MAX_RANK];  // elements
} dp_region;

// The result lives in `arena`. An empty region has a dim without segments.
dp_region dp_region_make(dp_arena *arena, const dp_local *target, const dp_local *source);

// Part number `part` of `parts` of a region, divided along the first dim.
dp_region dp_region_share(dp_arena *arena, const dp_region *region, int part, int parts);

// How an element of the source is combined with the target's.
typedef enum { DP_REGION_COPY, DP_REGION_SUM, DP_REGION_MAX } dp_region_action;
void dp_region_apply(const dp_region *region, dp_region_action action, dp_dtype dtype, void *target,
                     const void *source);
// The same for `count` contiguous elements.
void dp_region_run(dp_region_action action, dp_dtype dtype, void *target, const void *source, int64_t count);
// Calls visit with each contiguous run of elements of the target that the region covers.
typedef void dp_region_visit(void *context, int64_t first, int64_t count);
void dp_region_each_run(const dp_region *region, dp_region_visit *visit, void *context);
bool dp_region_can(dp_region_action action, dp_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
