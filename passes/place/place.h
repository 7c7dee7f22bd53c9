// Placement: shared by the files of passes/place/. See place.c.
//
// While a program is placed, two graphs grow side by side: the logical one, in which nodes without a fitting row are
// replaced by their decomposition, and the device form. A logical value has one or more copies in the device form, each
// with its own placement; they are made on demand and reused.
#ifndef DP_PASSES_PLACE_PLACE_H
#define DP_PASSES_PLACE_PLACE_H

#include "ir/graph/op.h"
#include "passes/base/strategy.h"

// A value of the device graph, and the next copy of the same logical value.
typedef struct dp_place_copy {
  dp_value *value;
  struct dp_place_copy *next;
} dp_place_copy;

typedef struct {
  dp_place_copy *copies;  // the oldest first
  int uses;               // by operands, outputs and updates
} dp_place_value;

typedef struct {
  dp_model *model;
  const dp_options *options;
  bool splits_samples;  // of inputs that --split does not name
  dp_shares shares;     // on the strategy's axis
  dp_graph *logical, *device;
  int data_axis;           // the mesh axis on which samples are split; -1: none
  int micro_axis;          // the axis of micro-batches; -1: there is one micro-batch
  int32_t n_values;        // in the table
  dp_place_value *values;  // by id of the logical value
  dp_arena *scratch;       // reset now and then, between nodes
  dp_arena *tables;        // lasts until the program is placed
  int32_t *starts;         // by node of the program: nodes of the device graph before it; NULL: not wanted
  bool guarded;            // updates take what decompositions refuse (skip.c)
} dp_place;

// A graph whose nodes are being placed: the original program, or a node's decomposition. Tables by value id.
typedef struct {
  const dp_graph *graph;
  dp_value **map;   // what stands for the value in the logical graph; NULL: nothing yet
  int *uses;        // by operands, outputs and updates
  int32_t *update;  // the variable whose new value this is; -1: none
  int32_t *serves;  // see dp_place_serving; NULL: none do
} dp_place_source;

// ---- place.c: programs ----------------------------------------------------------------------------------------------

// By value: the variable that is updated with it element by element, as with its gradient; -1: none.
int32_t *dp_place_serving(dp_arena *arena, const dp_graph *program);
// The storage of variables, by their annotations.
dp_status dp_place_storages(dp_model *model) DP_MUST_USE;
// The device form of a program, for compile->model, whose variables must have their storage. starts: see dp_place.
dp_status dp_place_program(const dp_compile *compile, const dp_graph *program, int32_t *starts,
                           dp_graph **placed) DP_MUST_USE;

// ---- copy.c: values and their copies --------------------------------------------------------------------------

dp_place_value *dp_place_copy_of(dp_place *place, const dp_value *logical);  // its entry; valid until a value is added
// Adds a value of the device graph as a copy of `logical`.
void dp_place_copy_add(dp_place *place, dp_value *logical, dp_value *device);
// The bytes of the whole tensor at the largest n.
double dp_place_copy_bytes(const dp_place *place, const dp_type *type);
// Bytes to be moved on one axis to get the value with placement `to`, from the cheapest copy; infinite when impossible.
// *from: that copy's placement.
double dp_place_copy_cost(dp_place *place, const dp_value *logical, int axis, dp_placement to, dp_placement *from);
// The same from a copy with placement `from`, whole on all other axes.
double dp_place_copy_price(const dp_place *place, const dp_type *type, int axis, dp_placement from, dp_placement to);
// The copy with placement `to`; communication nodes make it when there is none. It must not be Partial on an axis where
// no copy is.
dp_value *dp_place_copy_convert(dp_place *place, dp_value *logical, const dp_placement *to);
// Whether each micro-batch's gradient is scattered on the axis of samples before it is accumulated.
bool dp_place_copy_scatters_each(const dp_place *place);
// The logical value of an input, per-step scalar or variable, and its first copy.
void dp_place_copy_source(dp_place *place, dp_value *logical);

// ---- rules.c: choosing rows ---------------------------------------------------------------------------------

// The node being placed, and the rows chosen on the axes so far.
typedef struct {
  dp_place *place;
  dp_place_source *source;
  const dp_node *node;
  dp_value *in[DP_MAX_OPERANDS];                 // logical
  const dp_placement *storage[DP_MAX_OPERANDS];  // of results that are new values of variables; else NULL
  const dp_sharding_rule *rules[DP_MAX_MESH];
  bool decompose;  // the row would undo a split that no row of its operator can keep, or give no result as requested
  const dp_constraint *unmet;  // an annotation of the node that no row satisfies; NULL: none
} dp_place_choice;

// Sets rows[axis]; the rows of earlier axes are already set.
dp_status dp_place_rows_choose(dp_place_choice *choice, int axis) DP_MUST_USE;
// EX_CONFIG: names the unsatisfied annotation, and what the operator supports.
dp_status dp_place_rows_unmet(const dp_place_choice *choice) DP_MUST_USE;

// ---- node.c: nodes --------------------------------------------------------------------------------------------

dp_status dp_place_node_walk(dp_place *place, dp_place_source *source) DP_MUST_USE;
// What stands for a value without producer; it is added to the logical graph on first use.
dp_value *dp_place_node_operand(dp_place *place, dp_place_source *source, const dp_value *value);
// The same value with the same placement, as the first copy of a new logical value, made on a stage.
dp_value *dp_place_node_identity(dp_place *place, dp_value *device, int stage);

// ---- skip.c: refused data ---------------------------------------------------------------------------------------

// Before the first update is placed: its operand `skip`, which is that of all updates, also counts what nodes of
// decompositions refuse.
dp_status dp_place_skip(dp_place *place, dp_place_source *source, const dp_node *update) DP_MUST_USE;

// ---- counts.c: refused data is counted early --------------------------------------------------------------------

// Moves counts of refused data, and what is computed from counts alone, to right behind what they need.
void dp_place_counts_first(dp_graph *graph);

// ---- whole.c: what needs the whole batch ----------------------------------------------------------------------

// The first node of the program where a micro-batch cannot be computed before another one; NULL: none, or there are no
// micro-batches.
const dp_node *dp_place_whole_find(const dp_graph *program, const int32_t *starts, const dp_graph *placed);

#endif
