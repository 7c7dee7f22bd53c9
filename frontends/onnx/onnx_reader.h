// Parts of the ONNX reader (private to frontends/onnx): what a name of the file stands for, and who does what.
//
// onnx.c reads the file and walks the graph; onnx_input.c types its inputs; onnx_tensor.c and onnx_external.c read
// tensors; onnx_scope.c keeps names; onnx_fold.c (with onnx_arithmetic.c, onnx_move.c) computes what is known already;
// onnx_node.c (with onnx_attr.c, onnx_opset.c, onnx_special.c) makes nodes of the rest; onnx_function.c inlines functions;
// onnx_devices_read.c and onnx_metadata.c read what is said about the graph, onnx_needs.c says which inputs must be known
// beforehand, onnx_control.c unrolls, onnx_signal.c computes windows, onnx_flex_attention.c is one operator.
#ifndef DP_FRONTENDS_ONNX_ONNX_READER_H
#define DP_FRONTENDS_ONNX_ONNX_READER_H

#include "frontends/onnx/onnx.h"
#include "frontends/onnx/onnx.pb-c.h"
#include "ir/base/names.h"
#include "ir/graph/builder.h"

enum {
  DP_ONNX_MIN_OPSET = 6,
  DP_ONNX_MAX_OPSET = 28,
  DP_ONNX_MAX_CALLS = 32,       // functions inside one another
  DP_ONNX_MAX_KNOWN = 1 << 16,  // elements of a tensor that is followed element by element
  DP_ONNX_ALL_KNOWN = 4 << 20,  // of all of them together, and of what was looked at for them
  // Nodes, operands, results, attributes and elements that are copied, those of functions and bodies at each call: so many, and so many more a byte of the file.
  DP_ONNX_BASE_WORK = 1 << 16,
  DP_ONNX_BYTE_WORK = 16,
  DP_ONNX_ROUND_WORK = 16,  // a body, each time that it runs
  DP_ONNX_MAX_PATH_BYTES = 4096,
};

// One element that is known: an integer or bool, possibly symbolic in the batch, or a float. A float that is an integer of
// the batch, cast, has that in i and no f.
typedef struct {
  dp_dim i;
  double f;
} dp_onnx_number;

// A tensor whose elements are known while the model is read. dtype: int64, int32, bool, float32 or float64.
typedef struct {
  dp_dtype dtype;
  int rank;
  int64_t extents[DP_MAX_RANK];
  int64_t count;
  dp_onnx_number *numbers;
} dp_onnx_known;

// What a float initializer is; what an operator itself keeps up to date becomes a buffer in any case.
typedef enum { DP_ONNX_TRAINED = 0, DP_ONNX_KEPT, DP_ONNX_FIXED } dp_onnx_role;  // parameter, buffer, constant

typedef struct dp_onnx_sequence dp_onnx_sequence;  // private to onnx_sequence.c

// start, start + step, ... of rank 1; the count depends on the batch.
typedef struct {
  dp_dtype dtype;  // of integers
  dp_dim start;
  int64_t step;
  dp_dim count;
} dp_onnx_progression;

// What a name stands for: a sequence, or a tensor: at first one of value, tensor, known, progression, source; the others
// follow when they are asked for.
typedef struct dp_onnx_binding {
  const char *name;  // unique in the graph
  dp_value *value;
  const dp_tensor *tensor;
  const dp_onnx_known *known;
  const dp_onnx_progression *progression;
  const dp_onnx_sequence *sequence;
  bool initializer;  // a float one is a parameter, buffer or constant, as its role says
  dp_onnx_role role;
  struct dp_onnx_binding
      *source;  // the parameter that it is another form of: its transpose, or it reshaped; NULL: none
  bool transposed;
} dp_onnx_binding;

// The names of the graph, of one call of a function, or of one round of a body, which sees those around it.
typedef struct dp_onnx_scope dp_onnx_scope;
struct dp_onnx_scope {
  dp_names *names;
  const dp_onnx_scope *outer;  // NULL: none
  int32_t count;
  dp_onnx_binding **bindings;
  const char *prefix;  // of names in a function: "call/"; ""
  int64_t opset;       // of ONNX's domain
};

typedef struct dp_onnx_files dp_onnx_files;
typedef struct dp_onnx_node dp_onnx_node;

typedef struct {
  dp_arena *arena;
  const char *path;
  const Dp__Onnx__Model *message;
  const dp_onnx_options *options;  // NULL: none
  dp_model *model;
  dp_graph *graph;
  dp_onnx_files *files;    // external ones
  int64_t work, max_work;  // so far, and the most
  int64_t n_known;         // elements kept as known so far
  int calls;               // that are open
} dp_onnx_reader;

// ---- onnx.c ---------------------------------------------------------------------------------------------------------

dp_status dp_onnx_walk(dp_onnx_reader *reader, dp_onnx_scope *scope, size_t count,
                       Dp__Onnx__Node *const *nodes) DP_MUST_USE;
// The node's name with the scope's prefix, or, when it has none, its first result's, or its operator's.
const char *dp_onnx_name(dp_onnx_reader *reader, const dp_onnx_scope *scope, const Dp__Onnx__Node *node);
// The version of ONNX's own domain in a list of imports; 0 when it is not there.
dp_status dp_onnx_opset(size_t count, Dp__Onnx__OperatorSetId *const *ids, int64_t *opset) DP_MUST_USE;

// ---- onnx_devices_read.c, onnx_metadata.c ---------------------------------------------------------------------------

// The first device configuration as the model's mesh, and what it says of initializers as constraints. The graph is read.
dp_status dp_onnx_devices_read(dp_onnx_reader *reader) DP_MUST_USE;
// Device and stage of the graph's nodes from `first` on, which the message became.
void dp_onnx_devices_mark(const dp_onnx_reader *reader, const Dp__Onnx__Node *message, int32_t first);
// What our writer left beside the model and its initializers: SPECs, kinds, frozen tensors, constraints. The graph is read.
dp_status dp_onnx_metadata_read(dp_onnx_reader *reader) DP_MUST_USE;
// The same of a node: attributes that ONNX does not know.
dp_status dp_onnx_metadata_node(dp_onnx_node *node) DP_MUST_USE;
// And where its first result is, at that of the graph's nodes from `first` on that gives it.
dp_status dp_onnx_metadata_constraint(const dp_onnx_reader *reader, const Dp__Onnx__Node *message,
                                      int32_t first) DP_MUST_USE;

// ---- onnx_parameters.c (with onnx_signature.c, onnx_undo.c, onnx_mode.c, onnx_guess.c) --------------------------------

// Which of the graph's initializers are trained, by what the file says or, where it says nothing, by shape and use. What
// PyTorch's exporter merged or folded is taken apart again where that is certain; where it is not, and where the network was
// not exported as it trains, the model gets a caveat. Before the nodes are read, some of which it changes.
dp_status dp_onnx_parameters_decide(dp_onnx_reader *reader, dp_onnx_scope *scope) DP_MUST_USE;

// ---- onnx_input.c ---------------------------------------------------------------------------------------------------

// Adds the graph's inputs, other than initializers, as inputs.
dp_status dp_onnx_input_add(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Graph *graph) DP_MUST_USE;

// ---- onnx_tensor.c, onnx_external.c ---------------------------------------------------------------------------------

dp_status dp_onnx_tensor_read(dp_onnx_reader *reader, const Dp__Onnx__Tensor *message,
                              const dp_tensor **tensor) DP_MUST_USE;
// The element type by ONNX's number; `what` names whose it is.
dp_status dp_onnx_tensor_dtype(int32_t number, const char *what, dp_dtype *dtype) DP_MUST_USE;
// `bytes` bytes of the file that the message's external_data name.
dp_status dp_onnx_external_read(dp_onnx_reader *reader, const Dp__Onnx__Tensor *message, size_t bytes,
                                const void **data) DP_MUST_USE;

// ---- onnx_scope.c ---------------------------------------------------------------------------------------------------

dp_onnx_scope *dp_onnx_scope_create(dp_onnx_reader *reader, const char *prefix, int64_t opset);
// Enters a binding under `name`; a second one of that name is refused.
dp_status dp_onnx_scope_bind(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name,
                             dp_onnx_binding binding) DP_MUST_USE;
// What operand `name` stands for; NULL for "" (left out). Unknown names are refused.
dp_status dp_onnx_scope_find(const dp_onnx_scope *scope, const char *name, dp_onnx_binding **binding) DP_MUST_USE;
// The same where a tensor is expected: sequences are refused.
dp_status dp_onnx_scope_find_tensor(const dp_onnx_scope *scope, const char *name,
                                    dp_onnx_binding **binding) DP_MUST_USE;
// Makes the name point to another's binding.
dp_status dp_onnx_scope_alias(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name,
                              dp_onnx_binding *binding) DP_MUST_USE;
// Of a tensor.
dp_type dp_onnx_scope_type(const dp_onnx_binding *binding);
// Its elements; NULL when they are not known.
const dp_onnx_known *dp_onnx_scope_known(dp_onnx_reader *reader, dp_onnx_binding *binding);
// Its data as a constant; NULL when it is computed, or symbolic.
const dp_tensor *dp_onnx_scope_tensor(dp_onnx_reader *reader, dp_onnx_binding *binding);
// The value in the graph: a parameter of a float initializer, else a constant, or computed from the samples present.
dp_status dp_onnx_scope_value(dp_onnx_reader *reader, dp_onnx_binding *binding, dp_value **value) DP_MUST_USE;

// ---- onnx_fold.c, onnx_arithmetic.c, onnx_move.c --------------------------------------------------------------------

// Binds the node's results when they can be known now; *folded says whether.
dp_status dp_onnx_fold(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                       bool *folded) DP_MUST_USE;

// An evaluation: what an operator finds and gives. A function that leaves `results` NULL could not know them.
typedef struct {
  dp_onnx_reader *reader;
  const Dp__Onnx__Node *node;
  int64_t opset;
  int n_inputs, n_results;
  const dp_onnx_known *const *inputs;  // (n_inputs) NULL: left out
  const dp_onnx_known **results;       // (n_results)
} dp_onnx_evaluation;

typedef dp_status (*dp_onnx_evaluate)(dp_onnx_evaluation *evaluation);
// A tensor to be filled in; NULL when there are too many elements.
dp_onnx_known *dp_onnx_fold_make(dp_onnx_reader *reader, dp_dtype dtype, int rank, const int64_t *extents);
// Operand i as plain integers; NULL when left out, symbolic or no integers (*count is then 0).
const int64_t *dp_onnx_fold_ints(const dp_onnx_evaluation *e, int i, int64_t *count);
// The same, or attribute `name` where older opsets have it.
const int64_t *dp_onnx_fold_list(const dp_onnx_evaluation *e, int i, const char *name, int64_t *count);
// NULL when the operator is none of theirs.
dp_onnx_evaluate dp_onnx_arithmetic_find(const char *op);
// Whether the operator computes: its float results are rounded to their type.
bool dp_onnx_arithmetic_rounds(const char *op);
dp_onnx_evaluate dp_onnx_move_find(const char *op);
// x as another type; NULL when that cannot be known.
const dp_onnx_known *dp_onnx_arithmetic_cast(dp_onnx_reader *reader, const dp_onnx_known *x, int64_t to);

// ---- onnx_affine.c --------------------------------------------------------------------------------------------------

// A Range and a Tile that the batch makes longer; *done says whether the results are bound.
dp_status dp_onnx_affine_range(dp_onnx_node *node, bool *done) DP_MUST_USE;
dp_status dp_onnx_affine_tile(dp_onnx_node *node, bool *done) DP_MUST_USE;

// ---- onnx_sequence.c ------------------------------------------------------------------------------------------------

bool dp_onnx_sequence_knows(const char *op);
// Binds the results of an operator on sequences; *done: it is one.
dp_status dp_onnx_sequence_read(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message,
                                bool *done) DP_MUST_USE;

// ---- onnx_progression.c, onnx_rounds.c ------------------------------------------------------------------------------

const dp_onnx_progression *dp_onnx_progression_make(dp_onnx_reader *reader, dp_dtype dtype, dp_dim start, int64_t step,
                                                    dp_dim count);
// Binds the result of a Concat or a Slice of such numbers when it is of that kind again.
dp_status dp_onnx_progression_fold(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                                   bool *folded) DP_MUST_USE;
dp_type dp_onnx_progression_type(const dp_onnx_progression *progression);
// Computes them in the graph; name: of the nodes.
dp_status dp_onnx_progression_value(dp_onnx_reader *reader, const char *name, const dp_onnx_progression *progression,
                                    dp_value **value) DP_MUST_USE;
// A Loop of `count` rounds, a multiple of the samples present, all at once: binds its results.
dp_status dp_onnx_rounds_run(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message,
                             const Dp__Onnx__Graph *body, dp_dim count) DP_MUST_USE;

// ---- onnx_needs.c ---------------------------------------------------------------------------------------------------

// needed: a flag for each of the graph's inputs, all false.
dp_status dp_onnx_needs_find(dp_onnx_reader *reader, bool *needed) DP_MUST_USE;

// ---- onnx_attr.c ----------------------------------------------------------------------------------------------------

const Dp__Onnx__Attribute *dp_onnx_attr_find(const Dp__Onnx__Node *node, const char *name);  // NULL when absent
int64_t dp_onnx_attr_int(const Dp__Onnx__Node *node, const char *name, int64_t otherwise);
// The kind by the message's type, or, in old files, by what is there; 0 when it is none of ours.
dp_attr_kind dp_onnx_attr_kind(const Dp__Onnx__Attribute *message);
// Refuses what would take more work, or copy more elements, than the file's size allows: bodies are read at every round.
dp_status dp_onnx_count_work(dp_onnx_reader *reader, size_t work) DP_MUST_USE;
dp_status dp_onnx_attr_read(dp_onnx_reader *reader, const Dp__Onnx__Attribute *message, dp_attr *attr) DP_MUST_USE;
// The number that people wrote: the shortest decimal that rounds to the float.
double dp_onnx_attr_widen(float number);

// ---- onnx_opset.c ---------------------------------------------------------------------------------------------------

// The operator's name today.
const char *dp_onnx_opset_name(const char *op, int64_t opset);
// Where an attribute of this opset became an operand later; -1: nowhere.
int dp_onnx_opset_operand(const char *op, int64_t opset, const char *attribute);
// Whether an attribute that our schema lacks says what goes without saying, or is looked at by dp_onnx_special.
bool dp_onnx_opset_ignores(const char *op, int64_t opset, const dp_attr *attr);
// Whether operand i is running state that the operator itself keeps up to date.
bool dp_onnx_opset_is_state(const char *op, int i);
// The operator that takes any number of operands a few at a time, from the first on; NULL: not one that can be so taken.
const char *dp_onnx_opset_chain(const char *op);

// ---- onnx_node.c, onnx_special.c, onnx_function.c -----------------------------------------------------------------------------------

// A node on its way into the graph: what it says, changed as its opset asks for.
struct dp_onnx_node {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope;
  const Dp__Onnx__Node *message;
  const char *name;
  const dp_op *op;
  int n_inputs, n_outputs, n_attrs;
  dp_onnx_binding **inputs;  // NULL: left out
  const char **outputs;      // names in the scope; NULL: not asked for
  dp_attr *attrs;
};

dp_status dp_onnx_node_add(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message) DP_MUST_USE;
void dp_onnx_node_set(dp_onnx_node *node, dp_attr attr);                      // replaces the attribute of that name
const dp_attr *dp_onnx_node_get(const dp_onnx_node *node, const char *name);  // NULL when absent
// Adds it as it is and binds its results.
dp_status dp_onnx_node_emit(dp_onnx_node *node) DP_MUST_USE;
// What an operator needs beyond tables, in its own way; *done: nothing is left to emit.
dp_status dp_onnx_special(dp_onnx_node *node, bool *done) DP_MUST_USE;
// The same for one that has no operator of ours. domain: "" for ONNX's own.
dp_status dp_onnx_special_missing(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *domain,
                                  const Dp__Onnx__Node *message, bool *done) DP_MUST_USE;
// Whether it makes something of an operator of that name.
bool dp_onnx_special_knows(const char *domain, const char *op);

// The graph that is the node's attribute of that name.
dp_status dp_onnx_control_graph(const Dp__Onnx__Node *m, const char *name, const Dp__Onnx__Graph **body) DP_MUST_USE;
// Puts it in once. part: of the names of its nodes. results: (body->n_output)
dp_status dp_onnx_control_run(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                              const Dp__Onnx__Graph *body, const char *part, size_t n_inputs,
                              dp_onnx_binding *const *inputs, dp_onnx_binding **results) DP_MUST_USE;
// If, Loop and Scan.
dp_status dp_onnx_control_if(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                             bool *done) DP_MUST_USE;
dp_status dp_onnx_control_loop(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                               bool *done) DP_MUST_USE;
dp_status dp_onnx_control_scan(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                               bool *done) DP_MUST_USE;

// HannWindow and its kin, MelWeightMatrix (onnx_signal.c).
dp_status dp_onnx_signal_window(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                                bool *done) DP_MUST_USE;
dp_status dp_onnx_signal_mel(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                             bool *done) DP_MUST_USE;

dp_status dp_onnx_flex_attention(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                                 bool *done) DP_MUST_USE;

// The model's own function that the node calls; NULL when it is none.
const Dp__Onnx__Function *dp_onnx_function_find(const dp_onnx_reader *reader, const Dp__Onnx__Node *node);
dp_status dp_onnx_function_inline(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                                  const Dp__Onnx__Function *function) DP_MUST_USE;

#endif
