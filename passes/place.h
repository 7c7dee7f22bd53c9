// Placement, the one mechanism behind every strategy; private to place*.c.
//
// A program is walked once, in order. Its logical graph (with lowered nodes in the place of those that had to be) and its
// device form grow side by side. Each logical value is known in one or more placements; an operand that is wanted in another
// one is converted, and the conversion is the communication. A conversion once made is used again.
#ifndef DP_PASSES_PLACE_H
#define DP_PASSES_PLACE_H

#include "ir/builder.h"
#include "passes/passes.h"

typedef struct {
  int count;
  dp_value **values;  // of the device form, each in other placements
} dp_versions;

typedef struct {
  dp_arena *arena;
  dp_model *model;
  const dp_mesh *mesh;
  dp_graph *logical, *device;
  int32_t n_versions;  // by id of a logical value
  dp_versions *versions;
  int32_t n_homes;  // by id of a logical value: the persistent value that it is to become, -1
  int32_t *homes;
} dp_place;

// ---- place_convert.c ------------------------------------------------------------------------------------------------

// Seconds are not known here: bytes that a device of the axis moves, per byte of the whole value, times a weight for what
// cannot be done (infinite).
double dp_place_convert_cost(dp_placement from, dp_placement to, int64_t devices);
// The logical value in the placements wanted, converted from the cheapest version of it.
dp_status dp_place_get(dp_place *place, dp_value *logical, const dp_placement wanted[DP_MAX_MESH], dp_value **value);
double dp_place_bytes(const dp_place *place, const dp_value *value);  // of the whole value, at the largest n
void dp_place_add_version(dp_place *place, dp_value *logical, dp_value *value);
const dp_versions *dp_place_versions(const dp_place *place, const dp_value *logical);
// The placement on one axis that the least costly version has, for choosing rows.
double dp_place_operand_cost(const dp_place *place, const dp_value *logical, int axis, dp_placement wanted);

// ---- place_rows.c ---------------------------------------------------------------------------------------------------

typedef struct {
  const dp_row *row[DP_MAX_MESH];  // one a mesh axis
  bool loses_shard;                // an operand that is split on some axis would have to be gathered there
} dp_choice;

// The cheapest legal row on each axis.
dp_choice dp_place_choose(dp_place *place, dp_node *logical);

#endif
