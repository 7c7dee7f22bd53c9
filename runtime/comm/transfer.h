// What one instruction's communication copies or reduces. Made at load, run in parts.
//
// Reductions go in rank order however the work is divided into parts, so results do not depend on the workers. A
// conversion of placement is a list of copies, each of the region that a target shard and a source shard share.
// All-reduce matters most and is flat instead: each part reads a range of every member's memory and writes the result
// to all of them. Tensors that are reduced together are divided into parts as if they were one. Sums of two operands on
// one device, and copies of everything a device holds, are flat too.
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
  const char *source;  // host input: in copy 0
} dp_copy;

typedef struct dp_transfer {
  dp_dtype dtype;
  int n_parts;
  // Whoever binds the transfer says whose it is:
  const char *what;    // "AllReduce of 'x' (program train, ...)", for people
  bool in_rank_order;  // sums are taken in rank order, wherever the devices are
  // Of a transfer that serves both slots: bytes from copy 0 to copy 1 of host input, where it reads. Else 0.
  ptrdiff_t host_copy_distance;
  bool by_copies;  // between host and device, so that what is in one piece is best copied by neither's cores
  // Flat: one tensor after the other, each target gets the reduction of all sources.
  int n_sources, n_targets;  // n_targets 0: a list of copies
  char **from, **to;         // (tensors, n_sources), (tensors, n_targets)
  int64_t count;             // elements of all tensors
  int64_t *begin;            // (tensors + 1) the number of elements before each tensor; then `count`
  dp_region_action action;
  bool accumulates;  // the only target is not read as source 1 or later, so it takes the sum as it grows
  // A list: part p does copies [first[p], first[p + 1]).
  int *first;  // (n_parts + 1)
  dp_copy *copies;
} dp_transfer;

// Reduces tensors: `from` is (n_tensors, n_sources), `to` is (n_tensors, n_targets). All operands and results of a
// tensor have the same local extents. Targets may alias sources.
dp_transfer *dp_transfer_reduce(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_tensors, int n_sources,
                                const dp_shard_view *from, int n_targets, const dp_shard_view *to);
// Copies to each target what it shares with every source, or reduces it if the action is not COPY. There is one part
// for each target, or several when there is one source and one target.
dp_transfer *dp_transfer_shards(dp_arena *arena, dp_dtype dtype, dp_region_action action, int n_from,
                                const dp_shard_view *from, int n_to, const dp_shard_view *to);
// Copies to the target what it shares with each source. wide[i]: source i is laid out like the target, and from[i] says
// which part of it is filled.
dp_transfer *dp_transfer_concatenate(dp_arena *arena, dp_dtype dtype, int n_from, const dp_shard_view *from,
                                     const bool *wide, const dp_shard_view *to);
// Bytes that it reads and writes in all, on every device.
double dp_transfer_bytes(const dp_transfer *transfer);
void dp_transfer_run(const dp_transfer *transfer, int slot, int part);

#ifdef __cplusplus
}
#endif
#endif
