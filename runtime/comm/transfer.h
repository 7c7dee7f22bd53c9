// Communication of one instruction: what is copied or added where, made at load and run in parts.
//
// Reductions go in rank order whatever the parts, so results do not depend on workers. Every conversion of placement is a
// list of regions that a target shard and a source shard share; all-reduce, the one that matters most, is flat: each part
// reads a range of every member's memory directly and writes it to all. Several tensors that are reduced at once are divided
// into parts as if they were one. Flat too are sums of two operands on one device, and copies of all that one device has.
#ifndef DP_RUNTIME_COMM_TRANSFER_H
#define DP_RUNTIME_COMM_TRANSFER_H

#include "runtime/comm/region.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  char *data;
  dp_local local;
} dp_shard_view;

typedef struct {
  dp_region region;
  dp_region_action action;
  char *target;
  const char *source;  // for host input: of copy 0
} dp_copy;

typedef struct {
  dp_dtype dtype;
  int n_parts;
  ptrdiff_t host_copy_distance;  // from host input: bytes from its copy 0 to copy 1; else 0
  // Flat, one tensor after the other: each target gets the reduction of all sources.
  int n_sources, n_targets;  // 0: a list of copies
  char **from, **to;         // (tensors, n_sources), (tensors, n_targets)
  int64_t count;             // elements of all tensors
  int64_t *begin;            // (tensors + 1) elements before each tensor's; count
  dp_region_action action;
  // Others: part p does copies [first[p], first[p + 1]).
  int *first;  // (n_parts + 1)
  dp_copy *copies;
} dp_transfer;

// Reduces tensors: from is (n_tensors, n_sources), to (n_tensors, n_targets). A tensor's operands and results all have the
// same local extents. With as many targets as sources, target i may be source i's bytes; one target may be source 0's.
dp_transfer *dp_transfer_reduce(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_tensors, int n_sources,
                                const dp_shard_view *from, int n_targets, const dp_shard_view *to);
// Copies from (or with an action other than COPY, reduces over) every source what it shares with each target: a part a
// target, of one pair several.
dp_transfer *dp_transfer_shards(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_from,
                                const dp_shard_view *from, int n_to, const dp_shard_view *to);
// Puts side by side in one target what it shares with each source. wide[i]: source i's bytes are laid out as the target's,
// and `from` says which part of it is there.
dp_transfer *dp_transfer_concatenate(dp_arena *arena, dp_dtype dtype, int n_from, const dp_shard_view *from,
                                     const bool *wide, const dp_shard_view *to);
void dp_transfer_run(const dp_transfer *transfer, int slot, int part);

#ifdef __cplusplus
}
#endif
#endif
