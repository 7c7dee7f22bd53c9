// Placement, the parts of passes/place*.c. See place.c.
//
// While a program is placed two graphs grow side by side: the logical one, in which nodes that have no fitting row are
// replaced by their lowering, and the device form. A logical value has one or more copies in the device form, each
// placed in its own way; they are made when first asked for and used again.
#ifndef DP_PASSES_PLACE_PLACE_H
#define DP_PASSES_PLACE_PLACE_H

#include "ir/graph/op.h"
#include "passes/base/strategy.h"

// A value of the device graph, and the next one that stands for the same logical value.
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
  dp_shares shares;     // on the axis of the strategy
  dp_graph *logical, *device;
  int data_axis;           // the mesh axis on which samples are split; -1: none
  int micro_axis;          // that of micro-batches; -1: there is one
  int32_t n_values;        // of the table
  dp_place_value *values;  // by id of the logical value
  dp_arena *scratch;       // emptied now and then, between nodes
  int32_t *starts;         // by node of the program: nodes of the device graph before it; NULL: nobody asks
} dp_place;

// A graph whose nodes are being placed: the program as it was, or a node's lowering. Tables by value id.
typedef struct {
  const dp_graph *graph;
  dp_value **map;   // what stands for the value in the logical graph; NULL: nothing yet
  int *uses;        // by operands, outputs and updates
  int32_t *update;  // the variable that ends the program as this value; -1: none
  int32_t *serves;  // see dp_place_serving; NULL: none do
} dp_place_source;

// ---- place.c: programs ----------------------------------------------------------------------------------------------

// By value: the variable that is updated with it element by element, as with its gradient; -1: none.
int32_t *dp_place_serving(const dp_graph *program);
// The storage of variables, as they are annotated.
dp_status dp_place_storages(dp_model *model) DP_MUST_USE;
// The device form of a program; the model that it is for is compile->model, whose storage are set. starts: see
// dp_place.
dp_status dp_place_program(const dp_compile *compile, const dp_graph *program, int32_t *starts,
                           dp_graph **placed) DP_MUST_USE;

// ---- copy.c: values and their copies --------------------------------------------------------------------------

dp_place_value *dp_place_copy_of(dp_place *place, const dp_value *logical);  // its entry; valid until a value is added
// Enters a value of the device graph as a copy of `logical`, which it stands for from now on.
void dp_place_copy_add(dp_place *place, dp_value *logical, dp_value *device);
// The bytes that a tensor takes as a whole, at the largest n.
double dp_place_copy_bytes(const dp_place *place, const dp_type *type);
// Bytes to be moved on one axis to have the value placed as `to`, from the copy that is best for it; infinite when it
// cannot be had. *from: that copy's placement.
double dp_place_copy_cost(dp_place *place, const dp_value *logical, int axis, dp_placement to, dp_placement *from);
// The same from a copy placed as `from` that is whole on all other axes.
double dp_place_copy_price(const dp_place *place, const dp_type *type, int axis, dp_placement from, dp_placement to);
// The copy placed as `to`, made with communication nodes when there is none. It must not be Partial on an axis where no
// copy is.
dp_value *dp_place_copy_convert(dp_place *place, dp_value *logical, const dp_placement *to);
// Whether the gradient of a micro-batch is scattered on the axis of samples before it is added to the others'.
bool dp_place_copy_scatters_each(const dp_place *place);
// The logical value of an input, per-step scalar or variable, and its first copy.
void dp_place_copy_source(dp_place *place, dp_value *logical);

// ---- rules.c: choosing rows ---------------------------------------------------------------------------------

// A node that is being placed, and what was chosen for it on the axes so far.
typedef struct {
  dp_place *place;
  dp_place_source *source;
  const dp_node *node;
  dp_value *in[DP_MAX_OPERANDS];                 // logical
  const dp_placement *storage[DP_MAX_OPERANDS];  // of results that a variable ends as; else NULL
  const dp_sharding_rule *rules[DP_MAX_MESH];
  bool decompose;  // it would undo a split that no row of its operator can keep, or give no result as asked for
  const dp_constraint *unmet;  // an annotation of the node that no row fulfils; NULL: none
} dp_place_choice;

// Sets rows[axis]; those of earlier axes are set.
dp_status dp_place_rows_choose(dp_place_choice *choice, int axis) DP_MUST_USE;
// EX_CONFIG: says of the annotation that is not met what the operator can do.
dp_status dp_place_rows_unmet(const dp_place_choice *choice) DP_MUST_USE;

// ---- node.c: nodes --------------------------------------------------------------------------------------------

dp_status dp_place_node_walk(dp_place *place, dp_place_source *source) DP_MUST_USE;
// What stands for a value without producer, which enters the logical graph now unless it did before.
dp_value *dp_place_node_operand(dp_place *place, dp_place_source *source, const dp_value *value);
// The same value, placed likewise, as the first copy of a logical value of its own, made on a stage.
dp_value *dp_place_node_identity(dp_place *place, dp_value *device, int stage);

// ---- whole.c: what needs the whole batch ----------------------------------------------------------------------

// The first node of the program of which a micro-batch cannot be computed before another one; NULL: none, or there are
// no micro-batches.
const dp_node *dp_place_whole_find(const dp_graph *program, const int32_t *starts, const dp_graph *placed);

#endif
