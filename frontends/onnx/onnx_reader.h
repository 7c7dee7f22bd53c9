// The parts of the ONNX reader (private to frontends/onnx), and what a name of the file stands for.
//
// onnx.c reads the file and walks the graph; onnx_input.c types its inputs; onnx_tensor.c and onnx_external.c read
// tensors; onnx_scope.c keeps names; onnx_fold.c (with onnx_arithmetic.c, onnx_move.c) computes what is known already;
// onnx_node.c (with onnx_attr.c, onnx_opset.c, onnx_special.c) makes nodes of the rest; onnx_function.c inlines
// functions; onnx_devices_read.c and onnx_metadata.c read what is said about the graph, onnx_needs.c says which inputs
// must be known beforehand, onnx_control.c unrolls, onnx_signal.c computes windows, onnx_flex_attention.c is one
// operator.
#ifndef DP_FRONTENDS_ONNX_ONNX_READER_H
#define DP_FRONTENDS_ONNX_ONNX_READER_H

#include "frontends/onnx/onnx.h"
#include "frontends/onnx/onnx.pb-c.h"
#include "ir/base/names.h"
#include "ir/graph/builder.h"

enum {
  DP_ONNX_MIN_OPSET = 6,
  DP_ONNX_MAX_OPSET = 28,
  DP_ONNX_MAX_CALLS = 32,       // nested functions
  DP_ONNX_MAX_KNOWN = 1 << 16,  // elements of a tensor that is tracked element by element
  DP_ONNX_ALL_KNOWN = 4 << 20,  // all such elements together, including those examined for them
  // The limit on nodes, operands, results, attributes and copied elements, including those of functions and bodies at
  // each call: a constant, and an amount for each byte of the file.
  DP_ONNX_BASE_WORK = 1 << 16,
  DP_ONNX_BYTE_WORK = 16,
  DP_ONNX_ROUND_WORK = 16,  // of a body, each time it runs
  DP_ONNX_MAX_PATH_BYTES = 4096,
};

// One known element: an integer or bool, possibly symbolic in the batch, or a float. A float that was cast from an
// integer of the batch has that integer in i, and no f.
typedef struct {
  dp_dim i;
  double f;
} dp_onnx_number;

// A tensor whose elements are known at import. dtype: int64, int32, bool, float32 or float64.
typedef struct {
  dp_dtype dtype;
  int rank;
  int64_t extents[DP_MAX_RANK];
  int64_t count;
  dp_onnx_number *numbers;
} dp_onnx_known;

// What a float initializer is. What an operator itself updates becomes a buffer in any case.
typedef enum { DP_ONNX_TRAINED = 0, DP_ONNX_KEPT, DP_ONNX_FIXED } dp_onnx_role;  // parameter, buffer, constant

typedef struct dp_onnx_sequence dp_onnx_sequence;  // private to onnx_sequence.c

// start, start + step, ... of rank 1; the count depends on the batch.
typedef struct {
  dp_dtype dtype;  // an integer type
  dp_dim start;
  int64_t step;
  dp_dim count;
} dp_onnx_progression;

// What a name stands for: a sequence, or a tensor, which starts as one of value, tensor, known, progression, source;
// the other forms are made on demand.
typedef struct dp_onnx_binding {
  const char *name;  // unique in the graph
  dp_value *value;
  const dp_tensor *tensor;
  const dp_onnx_known *known;
  const dp_onnx_progression *progression;
  const dp_onnx_sequence *sequence;
  bool initializer;  // a float one is a parameter, buffer or constant, by its role
  dp_onnx_role role;
  struct dp_onnx_binding *source;  // the parameter that it is a transposed or reshaped form of; NULL: none
  bool transposed;
} dp_onnx_binding;

// The names of the graph, of one call of a function, or of one round of a body, which sees the names around it.
typedef struct dp_onnx_scope dp_onnx_scope;
struct dp_onnx_scope {
  dp_names *names;
  const dp_onnx_scope *outer;  // NULL: none
  int32_t count;
  dp_onnx_binding **bindings;
  const char *prefix;  // of names in a function, "call/"; ""
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
  int64_t work, max_work;  // so far, and the maximum
  int64_t n_known;         // known elements kept so far
  int calls;               // nested calls at present
} dp_onnx_reader;

// ---- onnx.c ---------------------------------------------------------------------------------------------------------

dp_status dp_onnx_walk(dp_onnx_reader *reader, dp_onnx_scope *scope, size_t count,
                       Dp__Onnx__Node *const *nodes) DP_MUST_USE;
// The node's name with the scope's prefix; if it has none, its first result's, or its operator's.
const char *dp_onnx_name(dp_onnx_reader *reader, const dp_onnx_scope *scope, const Dp__Onnx__Node *node);
// The version of ONNX's own domain in a list of imports; 0: it is missing.
dp_status dp_onnx_opset(size_t count, Dp__Onnx__OperatorSetId *const *ids, int64_t *opset) DP_MUST_USE;

// ---- onnx_devices_read.c, onnx_metadata.c ---------------------------------------------------------------------------

// Reads the first device configuration as the model's mesh, and its annotations of initializers as constraints, after
// the graph was read.
dp_status dp_onnx_devices_read(dp_onnx_reader *reader) DP_MUST_USE;
// Sets the device and stage of the graph's nodes from `first` on, which came from this message.
void dp_onnx_devices_mark(const dp_onnx_reader *reader, const Dp__Onnx__Node *message, int32_t first);
// Restores what our writer left for the model and its initializers: SPECs, kinds, frozen tensors, constraints. After
// the graph was read.
dp_status dp_onnx_metadata_read(dp_onnx_reader *reader) DP_MUST_USE;
// The same for a node: attributes that ONNX does not know.
dp_status dp_onnx_metadata_node(dp_onnx_node *node) DP_MUST_USE;
// Sets the placement of its first result, at the node that gives it, among the graph's nodes from `first` on.
dp_status dp_onnx_metadata_constraint(const dp_onnx_reader *reader, const Dp__Onnx__Node *message,
                                      int32_t first) DP_MUST_USE;

// ---- onnx_parameters.c (with onnx_signature.c, onnx_undo.c, onnx_mode.c, onnx_guess.c) ------------------------------

// Decides which of the graph's initializers are trained: by what the file says, or else by shape and use. Undoes what
// PyTorch's exporter merged or folded if that is certain; if not, or if the network was not exported in training mode,
// the model gets a caveat. Call it before the nodes are read, since it changes some.
dp_status dp_onnx_parameters_decide(dp_onnx_reader *reader, dp_onnx_scope *scope) DP_MUST_USE;

// ---- onnx_input.c ---------------------------------------------------------------------------------------------------

// Adds the graph's inputs that are not initializers.
dp_status dp_onnx_input_add(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Graph *graph) DP_MUST_USE;

// ---- onnx_tensor.c, onnx_external.c ---------------------------------------------------------------------------------

dp_status dp_onnx_tensor_read(dp_onnx_reader *reader, const Dp__Onnx__Tensor *message,
                              const dp_tensor **tensor) DP_MUST_USE;
// The element type with this ONNX number; `what` names its owner in messages.
dp_status dp_onnx_tensor_dtype(int32_t number, const char *what, dp_dtype *dtype) DP_MUST_USE;
// Reads the `bytes` bytes that the message's external_data names.
dp_status dp_onnx_external_read(dp_onnx_reader *reader, const Dp__Onnx__Tensor *message, size_t bytes,
                                const void **data) DP_MUST_USE;

// ---- onnx_scope.c ---------------------------------------------------------------------------------------------------

dp_onnx_scope *dp_onnx_scope_create(dp_onnx_reader *reader, const char *prefix, int64_t opset);
// Enters a binding under `name`, which must be new.
dp_status dp_onnx_scope_bind(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name,
                             dp_onnx_binding binding) DP_MUST_USE;
// Finds what operand `name` stands for; NULL for "" (absent). Unknown names are refused.
dp_status dp_onnx_scope_find(const dp_onnx_scope *scope, const char *name, dp_onnx_binding **binding) DP_MUST_USE;
// The same for a tensor: sequences are refused.
dp_status dp_onnx_scope_find_tensor(const dp_onnx_scope *scope, const char *name,
                                    dp_onnx_binding **binding) DP_MUST_USE;
// Makes the name an alias of another's binding.
dp_status dp_onnx_scope_alias(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name,
                              dp_onnx_binding *binding) DP_MUST_USE;
// Binds a tensor.
dp_type dp_onnx_scope_type(const dp_onnx_binding *binding);
// Its elements; NULL: they are not known.
const dp_onnx_known *dp_onnx_scope_known(dp_onnx_reader *reader, dp_onnx_binding *binding);
// Its data as a constant; NULL: it is computed, or symbolic.
const dp_tensor *dp_onnx_scope_tensor(dp_onnx_reader *reader, dp_onnx_binding *binding);
// Its value in the graph: a parameter (for a float initializer), else a constant, or computed from the number of
// samples.
dp_status dp_onnx_scope_value(dp_onnx_reader *reader, dp_onnx_binding *binding, dp_value **value) DP_MUST_USE;

// ---- onnx_fold.c, onnx_arithmetic.c, onnx_move.c --------------------------------------------------------------------

// Binds the node's results if they can be known at import; *folded tells whether.
dp_status dp_onnx_fold(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                       bool *folded) DP_MUST_USE;

// An evaluation: what an operator gets and gives. A function that leaves `results` NULL could not know them.
typedef struct {
  dp_onnx_reader *reader;
  const Dp__Onnx__Node *node;
  int64_t opset;
  int n_inputs, n_results;
  bool from_rounded;                   // a node computes one of the operands
  const dp_onnx_known *const *inputs;  // (n_inputs) NULL: absent
  const dp_onnx_known **results;       // (n_results)
} dp_onnx_evaluation;

typedef dp_status (*dp_onnx_evaluate)(dp_onnx_evaluation *evaluation);
// A new tensor to fill in; NULL: too many elements.
dp_onnx_known *dp_onnx_fold_make(dp_onnx_reader *reader, dp_dtype dtype, int rank, const int64_t *extents);
// Operand i as plain integers; NULL: absent, symbolic or not integers (*count is then 0).
const int64_t *dp_onnx_fold_ints(const dp_onnx_evaluation *e, int i, int64_t *count);
// The same, or attribute `name` in older opsets.
const int64_t *dp_onnx_fold_list(const dp_onnx_evaluation *e, int i, const char *name, int64_t *count);
// NULL: there is no such function.
dp_onnx_evaluate dp_onnx_arithmetic_find(const char *op);
// Whether the operator computes, so that its float results are rounded to their type.
bool dp_onnx_arithmetic_rounds(const char *op);
dp_onnx_evaluate dp_onnx_move_find(const char *op);
// Converts x to another type; NULL: that cannot be known.
const dp_onnx_known *dp_onnx_arithmetic_cast(dp_onnx_reader *reader, const dp_onnx_known *x, int64_t to);

// ---- onnx_affine.c --------------------------------------------------------------------------------------------------

// A Range or a Tile whose length depends on the batch; *done: the results are bound.
dp_status dp_onnx_affine_range(dp_onnx_node *node, bool *done) DP_MUST_USE;
dp_status dp_onnx_affine_tile(dp_onnx_node *node, bool *done) DP_MUST_USE;
// A Slice from or to positions that depend on the batch.
dp_status dp_onnx_affine_slice(dp_onnx_node *node, bool *done) DP_MUST_USE;

// ---- onnx_sequence.c ------------------------------------------------------------------------------------------------

bool dp_onnx_sequence_knows(const char *op);
// Binds the results of an operator on sequences; *done: it is one.
dp_status dp_onnx_sequence_read(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message,
                                bool *done) DP_MUST_USE;

// Binds a name to the sequence of this one tensor.
dp_status dp_onnx_sequence_bind_one(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name,
                                    dp_value *value) DP_MUST_USE;

// ---- onnx_bags.c ----------------------------------------------------------------------------------------------------

// Binds the results of a Loop over the bags of an EmbeddingBag; *done: it is one.
dp_status dp_onnx_bags_loop(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message,
                            const Dp__Onnx__Graph *body, bool *done) DP_MUST_USE;

// ---- onnx_progression.c, onnx_rounds.c ------------------------------------------------------------------------------

const dp_onnx_progression *dp_onnx_progression_make(dp_onnx_reader *reader, dp_dtype dtype, dp_dim start, int64_t step,
                                                    dp_dim count);
// Binds the result of a Concat or a Slice of such numbers if it is such numbers again.
dp_status dp_onnx_progression_fold(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                                   bool *folded) DP_MUST_USE;
dp_type dp_onnx_progression_type(const dp_onnx_progression *progression);
// Computes them in the graph; name: for the nodes.
dp_status dp_onnx_progression_value(dp_onnx_reader *reader, const char *name, const dp_onnx_progression *progression,
                                    dp_value **value) DP_MUST_USE;
// Runs all rounds of a Loop at once and binds its results; `count`, the number of rounds, is a multiple of the number
// of samples.
dp_status dp_onnx_rounds_run(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message,
                             const Dp__Onnx__Graph *body, dp_dim count) DP_MUST_USE;

// ---- onnx_needs.c ---------------------------------------------------------------------------------------------------

// needed: a flag for each of the graph's inputs, all false.
dp_status dp_onnx_needs_find(dp_onnx_reader *reader, bool *needed) DP_MUST_USE;

// ---- onnx_attr.c ----------------------------------------------------------------------------------------------------

const Dp__Onnx__Attribute *dp_onnx_attr_find(const Dp__Onnx__Node *node, const char *name);  // NULL when absent
// Gives a node of the message another attribute.
void dp_onnx_attr_add_int(dp_onnx_reader *reader, Dp__Onnx__Node *node, const char *name, int64_t i);
int64_t dp_onnx_attr_int(const Dp__Onnx__Node *node, const char *name, int64_t otherwise);
// The kind by the message's type, or, in old files, by its content; 0: not one of ours.
dp_attr_kind dp_onnx_attr_kind(const Dp__Onnx__Attribute *message);
// Refuses more work, or more copied elements, than the file's size allows: bodies are read in every round.
dp_status dp_onnx_count_work(dp_onnx_reader *reader, size_t work) DP_MUST_USE;
dp_status dp_onnx_attr_read(dp_onnx_reader *reader, const Dp__Onnx__Attribute *message, dp_attr *attr) DP_MUST_USE;
// The number that people wrote: the shortest decimal that rounds to the float.
double dp_onnx_attr_widen(float number);

// ---- onnx_opset.c ---------------------------------------------------------------------------------------------------

// The operator's present name.
const char *dp_onnx_opset_name(const char *op, int64_t opset);
// The operand that an attribute of this opset became; -1: none.
int dp_onnx_opset_operand(const char *op, int64_t opset, const char *attribute);
// Whether an attribute that our schema lacks asks for the default, or is handled by dp_onnx_special.
bool dp_onnx_opset_ignores(const char *op, int64_t opset, const dp_attr *attr);
// Whether operand i is running state that the operator itself updates.
bool dp_onnx_opset_is_state(const char *op, int i);
// The operator that combines any number of operands a few at a time, from the first on; NULL: it cannot be split like
// that.
const char *dp_onnx_opset_chain(const char *op);

// ---- onnx_node.c, onnx_special.c, onnx_function.c -------------------------------------------------------------------

// A node before it enters the graph; adapted to its opset.
struct dp_onnx_node {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope;
  const Dp__Onnx__Node *message;
  const char *name;
  const dp_op *op;
  int n_inputs, n_outputs, n_attrs;
  dp_onnx_binding **inputs;  // NULL: absent
  const char **outputs;      // names in the scope; NULL: not wanted
  dp_attr *attrs;
};

dp_status dp_onnx_node_add(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message) DP_MUST_USE;
void dp_onnx_node_set(dp_onnx_node *node, dp_attr attr);                      // replaces an attribute of that name
const dp_attr *dp_onnx_node_get(const dp_onnx_node *node, const char *name);  // NULL: absent
// Adds it unchanged and binds its results.
dp_status dp_onnx_node_emit(dp_onnx_node *node) DP_MUST_USE;
// Handles what an operator needs beyond tables; *done: nothing is left to emit.
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
