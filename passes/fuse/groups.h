// What becomes one region, while `fuse` looks for it.
#ifndef DP_PASSES_FUSE_GROUPS_H
#define DP_PASSES_FUSE_GROUPS_H

#include "passes/schedule/issue_order.h"

enum { DP_FUSE_MEMBERS = 32, DP_FUSE_OPERANDS = 64 };  // at most, of a region

// What the members of a region have in common: the extents of their largest values, how these are placed, and the first
// dim of a row.
typedef struct {
  dp_shape shape;
  int row, micro_first, micro_count;
  bool channels;  // some member works on them: all others are pointwise
  const dp_placement *placements[DP_MAX_MESH];
} dp_fuse_frame;

// A node by itself, or a region.
typedef struct {
  int32_t merged_into;  // another group; -1: none
  int32_t depth;
  int32_t n_members, n_operands;
  bool open;  // nodes may join
  dp_fuse_frame frame;
  int32_t segment;
  int32_t seen_by;  // the last node that asked to join it
} dp_fuse_group;

typedef struct {
  dp_graph *graph;
  dp_arena *scratch;
  bool producers;            // dp_target.producers
  double channel_bytes;      // dp_target.channel_bytes
  dp_node **gradient_casts;  // (nodes) dp_gradient_casts: left to the pass `updates`; NULL: none is
  dp_issue_order_edges before, after;
  int32_t *segment;   // (nodes) the number of transfers between stages before it
  int32_t *group_of;  // (nodes)
  int32_t n_groups;
  dp_fuse_group *groups;
} dp_fuse_work;

// The group of a node.
static inline int32_t dp_fuse_find(dp_fuse_work *w, int32_t node) {
  int32_t *g = &w->group_of[node];
  while (w->groups[*g].merged_into >= 0) *g = w->groups[*g].merged_into;
  return *g;
}

// Whether a single node uses the node's results. One that only overwrites a variable after the node uses none.
static inline bool dp_fuse_has_one_user(const dp_fuse_work *w, const dp_node *node) {
  int users = 0;
  for (int32_t e = w->after.first[node->id]; e < w->after.first[node->id + 1]; e++) {
    const dp_node *user = w->graph->nodes[w->after.before[e]];
    bool uses = false;
    for (int k = 0; k < user->n_inputs; k++) uses |= user->inputs[k] && user->inputs[k]->producer == node;
    users += uses;
  }
  return users == 1;
}

// Makes the frame cover another one. Where only one of them has extent 1, rows begin there at the latest. False: they
// do not fit, and f is undefined.
bool dp_fuse_cover(const dp_graph *graph, dp_fuse_frame *f, const dp_fuse_frame *other);
// Whether there are rows, and they are short enough for the cache, or all is pointwise but what works on channels.
bool dp_fuse_is_good(const dp_fuse_frame *f);
// Whether the node computes, in the device's memory, in types that kernels of regions compute in.
bool dp_fuse_is_plain(const dp_node *node);
// Whether there is a node, of this operator.
bool dp_fuse_is_named(const dp_node *node, const char *domain, const char *name);
// Whether the node may be a member that works on rows or channels; its frame.
bool dp_fuse_can(const dp_fuse_work *w, const dp_node *node, dp_fuse_frame *f);

// Reductions over other dims than those of rows join the region that computes what they reduce.
void dp_fuse_reductions(dp_fuse_work *w);
// Pointwise results of the forward pass are made again in regions of the backward pass that have what it takes. Changes
// the graph and `group_of`; all else is as it was before, and no more to be used.
void dp_fuse_repeats(dp_fuse_work *w);

#endif
