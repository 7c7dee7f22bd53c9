// The in-memory graph: operators on tensors in SSA form, and the model that holds graphs, variables and mesh.
//
// Nodes are always in topological order. Values and nodes have dense ids (their index), so side tables are arrays.
// Nodes, values and their names' tables live as long as their graph, everything else in the model's arena, names
// among it. A pass makes a new graph or appends to one and never leaves a dangling pointer: dp_graph_verify holds
// between passes.
//
// A source model has one graph, "main". The pass `programs` makes "init", "train" and "eval" from it. Placement turns
// each into device form: nodes and values point to the logical ones that they stand for, and communication nodes stand
// between values of one logical value. The logical graph is kept beside it for the plan.
#ifndef DP_IR_GRAPH_GRAPH_H
#define DP_IR_GRAPH_GRAPH_H

#include "ir/graph/placement.h"
#include "ir/graph/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_op dp_op;
typedef struct dp_node dp_node;
typedef struct dp_value dp_value;
typedef struct dp_graph dp_graph;
typedef struct dp_model dp_model;

// ---- attributes -----------------------------------------------------------------------------------------------------

typedef enum {
  DP_ATTR_INT = 1,
  DP_ATTR_FLOAT,  // a double
  DP_ATTR_STRING,
  DP_ATTR_INTS,
  DP_ATTR_FLOATS,
  DP_ATTR_STRINGS,
  DP_ATTR_DIMS,  // extents, possibly symbolic: [N,3]
  DP_ATTR_TENSOR,
} dp_attr_kind;

typedef struct {
  const char *name;
  dp_attr_kind kind;
  size_t count;  // elements of a list
  union {
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    const dp_dim *dims;
    const dp_tensor *tensor;
  };
} dp_attr;

// ---- values ---------------------------------------------------------------------------------------------------------

typedef enum {
  DP_VALUE_RESULT = 0,  // of a node
  DP_VALUE_INPUT,       // fed from the host: samples, labels
  DP_VALUE_SCALAR,      // written by the runtime before each step; the names are fixed, see DP_SCALAR_* below
  DP_VALUE_CONSTANT,    // data known to the compiler
  DP_VALUE_VARIABLE,    // the value of a parameter, buffer, optimizer state or stored constant when the program starts
} dp_value_kind;

// Per-step scalars: rank 0, in memory, so that a captured step can be replayed.
#define DP_SCALAR_STEP "dp.step"  // int64, from 0
#define DP_SCALAR_N "dp.n"        // int64, samples present
#define DP_SCALAR_LR "dp.lr"      // float64
#define DP_SCALAR_SEED "dp.seed"  // int64 (the bits of the unsigned seed)

// Memory of a device-form value.
typedef enum {
  DP_SPACE_NONE = 0,
  DP_SPACE_PERSISTENT = 1,  // device: parameters, buffers, state, constants
  DP_SPACE_TRANSIENT = 2,   // device: activations, gradients, scratch
  DP_SPACE_HOST_INPUT = 3,  // host: one step's inputs and scalars (two copies, so that the next step can be prefetched)
  DP_SPACE_HOST_OUTPUT = 4,   // host: losses, counts, predictions
  DP_SPACE_DEVICE_INPUT = 5,  // device: one step's inputs, uploaded beside the step before (two copies)
  DP_SPACE_OFFLOAD = 6,       // host, one for each device: what is kept there between two uses
} dp_space;

struct dp_value {
  int32_t id;
  dp_value_kind kind;
  const char *name;     // unique in its graph
  const dp_type *type;  // whole (logical) type, in device form too; equal ones are shared (dp_model_type)
  dp_node *producer;    // of a RESULT
  const dp_tensor *constant;
  int result;        // which of its producer's outputs
  int32_t variable;  // index into the model's table, of a PERSISTENT; else -1
  // Device form only.
  dp_value *logical;
  const dp_placement *placements;  // (DP_MAX_MESH) set by dp_value_place; those placed alike share it
  // The micro-batches it belongs to: [micro_first, micro_first + micro_count); none when it is Replicate on the
  // sequential axis. Shard: the micro-batch it holds, or, when several have been concatenated in the whole tensor's
  // extents, those so far. Partial: those that it is the partial result of.
  int micro_first, micro_count;
  dp_space space;
  dp_layout layout;        // of a value on a device
  uint64_t offset, bytes;  // in its space; the size of the largest shard
};

// ---- nodes ----------------------------------------------------------------------------------------------------------

// A sharding constraint: where the user wants a variable, or the first result of a node, on one named mesh axis.
typedef struct {
  const char *axis;
  dp_placement placement;
} dp_constraint;

struct dp_node {
  int32_t id;
  int n_attrs;
  dp_graph *graph;
  const dp_op *op;
  const char *name;  // unique in its graph
  int n_inputs, n_outputs;
  dp_value **inputs;   // NULL: an optional input left out
  dp_value **outputs;  // NULL: an optional output not requested
  dp_attr *attrs;
  int device, stage;  // the user's annotations, -1 when absent
  dp_constraint *constraints;
  int n_constraints;
  // Device form only.
  int signal;        // event, -1: none
  dp_node *logical;  // NULL for communication and for a region
  // Of a dp.Region: its members, as a graph that is none of the model's. Input i of the body stands for operand i,
  // output k for result k.
  dp_graph *body;
  const char *kernel;
  int stream, threads;
  uint64_t scratch_offset, scratch_bytes;  // in DP_SPACE_TRANSIENT
  uint64_t packed_offset, packed_bytes;    // in DP_SPACE_PERSISTENT: its kernel's form of an operand; 0 bytes: none
  int *waits;                              // events
  int n_waits;
};

typedef struct {
  const char *name;
  dp_value *value;
} dp_output;

// The value that the variable has when the program ends.
typedef struct {
  int32_t variable;
  dp_value *value;
} dp_update;

struct dp_graph {
  dp_model *model;
  dp_arena *arena;   // the model's: for attributes, names and whatever may outlive the graph
  const char *name;  // "main", "init", "train", "eval"
  int32_t n_values, n_nodes;
  dp_value **values;
  dp_node **nodes;
  int n_outputs, n_updates;
  dp_output *outputs;
  dp_update *updates;
  // Device form only.
  dp_graph *logical;  // what it was made from
  int n_streams, n_events;
  int stage;             // the pipeline stage that runs it; -1: all devices run it
  const char **streams;  // names: "compute", "comm", "copy"
  // Set by a pass that leaves the graph's nodes, operands and results as they were: it is not verified again.
  bool unchanged;
  dp_arena *own;                              // private to graph.c: nodes, values and what finds them
  dp_arena *tables;                           // private to graph.c: of the names
  struct dp_names *value_names, *node_names;  // private to graph.c; NULL: the graph is finished
};

// ---- model ----------------------------------------------------------------------------------------------------------

typedef enum { DP_PARAMETER = 0, DP_BUFFER = 1, DP_STATE = 2, DP_STORED_CONSTANT = 3 } dp_variable_kind;

typedef enum { DP_INIT_TENSOR = 0, DP_INIT_FILL, DP_INIT_UNIFORM, DP_INIT_NORMAL } dp_init_kind;

typedef struct {
  dp_init_kind kind;
  const dp_tensor *tensor;  // TENSOR
  double a, b;              // FILL: value; UNIFORM: [a, b); NORMAL: mean a, standard deviation b
} dp_init;

typedef struct {
  const char *name;
  dp_variable_kind kind;
  const dp_type *type;  // shared as those of values are
  dp_init init;
  int n_constraints;
  dp_constraint *constraints;
  bool frozen;                     // gets no gradient and no update
  const dp_placement *placements;  // (DP_MAX_MESH) device form: its storage; made by dp_model_placements
  int n_stages;                    // pipeline stages that have it, in rising order; 0 of them: all
  int *stages;
  bool offloaded;          // device form: in DP_SPACE_OFFLOAD, else in DP_SPACE_PERSISTENT
  dp_layout layout;        // device form: of its storage, in all programs and on all devices
  uint64_t offset, bytes;  // device form: there
} dp_variable;

struct dp_model {
  dp_arena *arena;
  const char *name;
  int64_t opset;                 // of the ONNX domain
  const char *symbol;            // how the batch extent is written: "N"
  const char *loss, *optimizer;  // SPECs, NULL when absent
  // Why training this model would differ from training the network it was exported from, and how to export that
  // network; NULL: no known reason.
  const char *caveat;
  int n_notes;  // what the reader noticed that matters for training; not saved in files
  const char **notes;
  int32_t n_variables;
  dp_variable *variables;
  dp_types *types;                  // of values and variables
  const dp_placement **placements;  // private to graph.c: arrays that values and variables share
  struct dp_names *variable_names;  // private to graph.c
  dp_arena *tables;                 // private to graph.c: of `strings`
  struct dp_names *strings;         // private to graph.c: names of values and nodes, each once
  int n_graphs;
  dp_graph **graphs;
  // Set by the compiler.
  dp_mesh mesh;
  int64_t batch;  // B, the largest n; 0: not known yet
};

dp_model *dp_model_create(dp_arena *arena, const char *name);
// The model's own copy of a type, which never changes. Types are equal where these pointers are.
const dp_type *dp_model_type(dp_model *model, const dp_type *type);
dp_graph *dp_model_find_graph(const dp_model *model, const char *name);   // NULL when there is none
int32_t dp_model_find_variable(const dp_model *model, const char *name);  // -1 when there is none
// The model's own copy of an array of placements, which never changes. Equal arrays are mostly one.
const dp_placement *dp_model_placements(dp_model *model, const dp_placement placements[DP_MAX_MESH]);
// The index. The type need not be the model's. Placements may be NULL: Replicate on every axis.
int32_t dp_model_add_variable(dp_model *model, const dp_variable *variable);
// Its stages are in range for a mesh of n_stages stages and rise. EX_DATAERR.
dp_status dp_variable_check_stages(const dp_variable *variable, int64_t n_stages) DP_MUST_USE;
// Weights can be saved under its name: safetensors does not reserve it, and a parameter or buffer does not begin with
// "dp.", which is reserved for the compiler. EX_DATAERR.
dp_status dp_variable_check_name(const dp_variable *variable) DP_MUST_USE;
void dp_model_keep_variables(dp_model *model, int32_t count);  // removes all variables after the first `count`

dp_graph *dp_graph_create(dp_model *model, const char *name);  // not yet one of the model's graphs
// One that lasts as long as `outer`: a body, or what is soon copied into it.
dp_graph *dp_graph_create_within(const dp_graph *outer, const char *name);
// Gives back what finds values and nodes by name: nothing is added to the graph any more.
void dp_graph_finish(dp_graph *graph);
// Frees the nodes and values of a graph that nothing refers to any more, and of those within it. It is empty then.
void dp_graph_free(dp_graph *graph);
// Gives back what finds values and nodes by name in all graphs of the model: nothing is added any more to them, nor to
// others that are there already.
void dp_model_finish(dp_model *model);
// Frees the model's graphs and their logical graphs; it has none then.
void dp_model_free_graphs(dp_model *model);
void dp_model_add_graph(dp_model *model, dp_graph *graph);  // replaces the graph of that name

// Names are made unique by appending ".1", ".2" ... when taken.
dp_value *dp_graph_add_value(dp_graph *graph, dp_value_kind kind, const char *name, dp_type type);
// The same with a name that lasts as long as the model, and is not copied.
dp_value *dp_graph_add_value_named(dp_graph *graph, dp_value_kind kind, const char *name, const dp_type *type);
dp_value *dp_graph_add_constant(dp_graph *graph, const char *name, const dp_tensor *tensor);
dp_value *dp_graph_variable(dp_graph *graph, int32_t variable);  // the one value for it, added on first use
dp_value *dp_graph_scalar(dp_graph *graph, const char *name);    // likewise, for DP_SCALAR_*
bool dp_graph_is_scalar(const char *name);                       // whether it is one of DP_SCALAR_*
dp_value *dp_graph_find_value(const dp_graph *graph, const char *name);
// Adds a node whose outputs are new values without type (types are set by dp_op_infer). output_names may be NULL.
dp_node *dp_graph_add_node(dp_graph *graph, const dp_op *op, const char *name, int n_inputs, dp_value *const *inputs,
                           int n_outputs, const char *const *output_names, int n_attrs, const dp_attr *attrs);
// A node without results, with a name and attributes that last as long as the model and are not copied.
dp_node *dp_graph_add_node_named(dp_graph *graph, const dp_op *op, const char *name, int n_inputs,
                                 dp_value *const *inputs, int n_attrs, dp_attr *attrs);
// A new value is Replicate on every axis.
void dp_value_place(dp_graph *graph, dp_value *value, const dp_placement placements[DP_MAX_MESH]);
void dp_graph_add_output(dp_graph *graph, const char *name, dp_value *value);
void dp_graph_add_update(dp_graph *graph, int32_t variable, dp_value *value);     // a second one replaces the first
void dp_graph_append_update(dp_graph *graph, int32_t variable, dp_value *value);  // faster: there must be no first one
// Makes values of the node's graph its results, in place of those it has.
void dp_node_set_results(dp_node *node, int n_results, dp_value *const *results);
// Copies a node into dst, its inputs taken from map[value id], and enters its outputs there. Values that have no
// producer and are not in the map yet are copied on the way.
dp_node *dp_graph_copy_node(dp_graph *dst, const dp_node *node, dp_value **map);
// The same with `suffix` after the names of node and results.
dp_node *dp_graph_copy_node_as(dp_graph *dst, const dp_node *node, const char *suffix, dp_value **map);
dp_value *dp_graph_copy_value(dp_graph *dst, dp_value *value, dp_value **map);  // input, scalar, constant, variable
// The same of any value: a result becomes an input.
dp_value *dp_graph_copy_as_input(dp_graph *dst, dp_value *value, dp_value **map);
// Moves a node to `dst`, which was created within its graph. Operands that have not moved are taken from map[value id].
// Results that stay (by id) are copied, and the map has the copies; others move along. dp_graph_prune must remove what
// has moved, by the ids that it had, before anything else is done with the old graph.
void dp_graph_move_node(dp_graph *dst, dp_node *node, const bool *stays, dp_value **map);
// Removes the nodes and values whose flag (by id) is false, and renumbers the others. What is kept must not use what is
// removed; a removed result of a kept node becomes one that was not requested.
void dp_graph_prune(dp_graph *graph, const bool *keep_node, const bool *keep_value);
// The same nodes in another order, which must be topological.
void dp_graph_reorder(dp_graph *graph, dp_node *const *nodes);
// Checks the structure's invariants: order, ids, links, unique names, types equal to what dp_op_infer gives.
// EX_DATAERR.
dp_status dp_graph_verify(const dp_graph *graph) DP_MUST_USE;
// The same of a graph whose nodes have no bodies, and whose types are known to be what dp_op_infer gives.
dp_status dp_graph_verify_links(const dp_graph *graph) DP_MUST_USE;

// ---- attribute access -----------------------------------------------------------------------------------------------

const dp_attr *dp_node_attr(const dp_node *node, const char *name);  // NULL when absent
// The value, or the default in the operator's schema, or `otherwise`.
int64_t dp_node_int(const dp_node *node, const char *name, int64_t otherwise);
double dp_node_float(const dp_node *node, const char *name, double otherwise);
const char *dp_node_string(const dp_node *node, const char *name, const char *otherwise);
const int64_t *dp_node_ints(const dp_node *node, const char *name, size_t *count);  // NULL and 0 when absent
bool dp_attr_equal(const dp_attr *a, const dp_attr *b);

dp_attr dp_attr_int(const char *name, int64_t i);
dp_attr dp_attr_float(const char *name, double f);
dp_attr dp_attr_string(const char *name, const char *s);
dp_attr dp_attr_ints(dp_arena *arena, const char *name, const int64_t *ints, size_t count);
dp_attr dp_attr_dims(dp_arena *arena, const char *name, const dp_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
