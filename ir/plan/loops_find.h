// Items of a plan's list as they are compared, and the runs of them that repeat. Private to what folds lists.
#ifndef DP_IR_PLAN_LOOPS_FIND_H
#define DP_IR_PLAN_LOOPS_FIND_H

#include <protobuf-c/protobuf-c.h>

#include "ir/base/base.h"

// An item is its numbers and a hash of all else: items of equal hashes are taken to differ in numbers alone.
typedef struct {
  uint64_t rest;  // the hash
  size_t n_numbers;
  const uint64_t *numbers;
  const bool *is_offset;  // which of them are offsets in memory
} dp_loops_item;

typedef struct {
  dp_arena *scratch;
  size_t n_items;
  dp_loops_item *items;
} dp_loops_items;

// `count` iterations of `length` items from `first` on.
typedef struct {
  size_t first, length, count;
} dp_loops_repeat;

dp_loops_items dp_loops_look_at(dp_arena *scratch, size_t n_items, ProtobufCMessage *const *items);
// Runs of three iterations and more, apart, in order. Returns how many.
size_t dp_loops_find(const dp_loops_items *items, dp_loops_repeat **repeats);

#endif
