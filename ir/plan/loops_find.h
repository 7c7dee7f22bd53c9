// Items of a plan's list as they are compared, and the runs of them that repeat. Private to what folds lists.
#ifndef DP_IR_PLAN_LOOPS_FIND_H
#define DP_IR_PLAN_LOOPS_FIND_H

#include <protobuf-c/protobuf-c.h>

#include "ir/base/base.h"

typedef struct {
  uint64_t is;
  bool is_offset;  // in memory
} dp_loops_number;

// An item is its numbers and a hash of all else: items of equal hashes are taken to differ in numbers alone.
typedef struct {
  dp_arena *scratch;
  size_t n_items;
  size_t *first;   // (n_items + 1) of each item's numbers
  uint64_t *rest;  // (n_items) the hash
  size_t n_numbers, number_room;
  dp_loops_number *numbers;
  size_t n_text, text_room;
  char *text;  // what the hash is of
} dp_loops_items;

// `count` iterations of `length` items from `first` on.
typedef struct {
  size_t first, length, count;
} dp_loops_repeat;

dp_loops_items dp_loops_look_at(dp_arena *scratch, size_t n_items, ProtobufCMessage *const *items);
// Runs of three iterations and more, apart, in order. Returns how many.
size_t dp_loops_find(const dp_loops_items *items, dp_loops_repeat **repeats);

#endif
