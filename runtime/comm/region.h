// Copying (or adding) the part that two devices' shards of one tensor have in common, by contiguous runs.
#ifndef DP_RUNTIME_COMM_REGION_H
#define DP_RUNTIME_COMM_REGION_H

#include "ir/graph/placement.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a source shard and a target shard have in common: along each dim, segments of equal whole indices. Made at load.
typedef struct {
  int64_t target, source, length;  // local indices along the dim
} dp_segment;

typedef struct {
  int rank;
  int n_segments[DP_MAX_RANK];
  dp_segment *segments[DP_MAX_RANK];
  int64_t target_stride[DP_MAX_RANK], source_stride[DP_MAX_RANK];  // elements
} dp_region;

// Lives in `arena`. Empty regions have a dim without segments.
dp_region dp_region_make(dp_arena *arena, const dp_local *target, const dp_local *source);

// Share `part` of `parts` of it, divided along the first dim.
dp_region dp_region_share(dp_arena *arena, const dp_region *region, int part, int parts);

// What to do with an element of the source.
typedef enum { DP_REGION_COPY, DP_REGION_SUM, DP_REGION_MAX } dp_region_action;
void dp_region_apply(const dp_region *region, dp_region_action action, dp_dtype dtype, void *target,
                     const void *source);
// The same on `count` elements in a row.
void dp_region_run(dp_region_action action, dp_dtype dtype, void *target, const void *source, int64_t count);
// Calls visit with each run of elements of the target that it covers.
typedef void dp_region_visit(void *context, int64_t first, int64_t count);
void dp_region_each_run(const dp_region *region, dp_region_visit *visit, void *context);
bool dp_region_can(dp_region_action action, dp_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
