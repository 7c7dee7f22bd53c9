// What an operator is: one const struct in one file of ir/ops/, found by the build.
//
// A file of ir/ops/ holds `const dp_op dp_op_<Name> = {...}`; the build lists them all in dp_op_table. ONNX's operators
// have domain "" and ONNX's semantics; training and communication operators have domain "dp".
//
// Semantics over shards. An operator is defined on whole tensors. A sharding rule says: if the operands have these
// placements on one mesh axis, the kernel on each device's parts gives results with those placements. Kernels know the
// whole extents too, so a mean over a sharded dim divides by the whole count and yields Partial(sum).
#ifndef DP_IR_GRAPH_OP_H
#define DP_IR_GRAPH_OP_H

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_builder dp_builder;

// ---- schema ---------------------------------------------------------------------------------------------------------

typedef struct {
  const char *name;
  dp_attr_kind kind;
  bool required;
  double number;       // default of an INT or FLOAT
  const char *string;  // default of a STRING, NULL: none
  bool has_default;
} dp_attr_schema;

typedef struct {
  const char *name;
  uint32_t types;  // set of DP_BIT
  char same;       // operands and results with the same letter share one element type; 0: independent
  bool optional;
  const char *attribute;  // the operand is a constant that the compiler turns into this attribute (Reshape's shape)
} dp_operand_schema;

// DP_MAX_REPEATED: operands or results of an operator with a variable number of them.
enum { DP_MAX_OPERANDS = 9, DP_MAX_REPEATED = 8, DP_MAX_ATTRS = 12 };

// A hint that exporters leave on a node that overwrote its operand. Any node may have it; dp_op_infer drops it.
#define DP_ATTR_INPLACE "inplace"
// Of an operator that holds its operand to bounds: whether the gradient passes where the operand is a bound (1) or is 0
// there. `dpc compile --clip-grad-at-bound` decides for nodes that do not say it.
#define DP_ATTR_GRAD_AT_BOUND "grad_at_bound"
// Of Gather: the index that passes no gradient on, as nn.Embedding's padding_idx. Absent: each does.
#define DP_ATTR_PADDING "padding_idx"
// Of Identity: no gradient passes it, as in torch.Tensor.detach.
#define DP_ATTR_DETACH "detach"

typedef enum {
  DP_OP_RANDOM = 1,  // uses the counter-based generator: identified by its "key", never merged by CSE
  // Result i replaces operand i (a variable): must run in place. The last operand of its schema is `skip`, optional: an
  // int64 of rank 0. Unless it is 0, results are operands, bit for bit.
  DP_OP_UPDATE = 2,
  DP_OP_ELEMENTWISE = 4,    // result element j depends on operand elements j only (after broadcasting)
  DP_OP_COMMUNICATION = 8,  // a conversion of placement: value and type of result i are operand i's
  DP_OP_SHAPE_ONLY_0 = 16,  // only the shape of operand 0 matters
  // Of an elementwise operator: which element of an operand goes into a result's, or what becomes of it, depends on
  // where it stands (Reshape, Trilu), so that a part cut out of operands and results alike would be something else.
  DP_OP_POSITIONAL = 32,
  // Counts data that other nodes refuse (ir/graph/refusal.h). It is never folded: the checker looks for it.
  DP_OP_COUNTS = 64,
  // Its result has the operand's elements in the same order: only the shape is another.
  DP_OP_VIEW = 128,
  // Sums up products of its operands' elements: far more work than reading them and writing its result, on which cheap
  // nodes can follow before it is stored.
  DP_OP_PRODUCT = 256,
  // Works on channels, dim 1 of operand 0: at each index there, results depend only on what operands hold there. The
  // channels of operands and results with as many dims are dim 1 too; those of others are their last dim.
  DP_OP_CHANNELS = 512,
  // As DP_OP_PRODUCT, of images: dim 1 of its result has channels.
  DP_OP_CONVOLUTION = 1024,
} dp_op_flags;

// What an operator computes in under --precision=bf16 or fp16 (passes/model/mixed.c), as PyTorch's autocast has it.
typedef enum {
  DP_PRECISION_OPERANDS = 0,  // the widest type of its operands; parameters, constants and single numbers follow these
  DP_PRECISION_HALF,          // 16 bits: products, which take the time
  DP_PRECISION_FULL,          // float32: losses, sums, normalizations, and functions that grow fast
  DP_PRECISION_WITHIN,        // float32, but result 0 has operand 0's type
  // The widest type of operand 0 and those that share its letter; float32 for the others, which are parameters and
  // statistics of what these hold.
  DP_PRECISION_FIRST,
} dp_op_precision;

// ---- placements -----------------------------------------------------------------------------------------------------

typedef struct {
  dp_placement *in, *out;  // (n_inputs), (n_outputs); absent operands are Replicate
  const char *axis;        // the one mesh axis that the row holds on, whose size divides `groups`; NULL: any
  int64_t groups;
} dp_sharding_rule;

bool dp_sharding_rule_holds_on(const dp_sharding_rule *rule, const dp_mesh_axis *axis);

// `views` are the (outer, unit) pairs of Shard that rows are listed for; the plain (1, 1) comes first.
typedef struct {
  dp_arena *arena;
  const dp_node *node;
  int count;
  dp_sharding_rule *rules;
  int n_views;
  dp_placement *views;  // Shards; their dim is ignored
} dp_sharding_rules;

// Adds a row with everything Replicate, to be filled in.
dp_sharding_rule *dp_sharding_add(dp_sharding_rules *rules);
// Every row of the node. The all-Replicate rule, which every operator has, comes first.
void dp_op_sharding_rules(dp_arena *arena, const dp_node *node, dp_sharding_rules *rules);
// The same, with rows also for the views of the Shards among `given`: placements that operands have or results should
// have. Rows with plain placements, or placements that follow from plain ones, are already listed by
// dp_op_sharding_rules.
void dp_op_sharding_rules_at(dp_arena *arena, const dp_node *node, int n_given, const dp_placement *given,
                             dp_sharding_rules *rules);

// ---- refusals -------------------------------------------------------------------------------------------------------

// Which elements of an integer operand a node does not take: those outside a range, or those that are 0.
typedef struct {
  int operand;
  bool bounded;    // false: 0 is refused, all else is taken
  dp_dim limit;    // 0 .. limit - 1 are taken,
  bool negative;   // and -limit .. -1 too,
  bool has_other;  // and this one
  int64_t other;
  bool once;  // only the run at hand skips its updates; else those after it do too, until the host knows
} dp_refusal;

// ---- cost, samples --------------------------------------------------------------------------------------------------

typedef struct {
  double flops, bytes;  // of the whole node at n
} dp_cost;

// A case that tests are derived from: forward against the reference, gradient by differences, split equals whole.
typedef struct {
  const char *inputs;  // types in .dpt syntax, a comma between: "float32[N,3], float32[3]"; "" for an absent one
  const char *attrs;   // attributes in .dpt syntax: "axis=1, keepdims=0"
  int64_t n;           // N
  double low, high;    // range of the random operand values; low == high: -1 .. 1
  bool no_gradient;    // kinks or ties: no finite differences
} dp_sample;

// ---- the operator ---------------------------------------------------------------------------------------------------

struct dp_op {
  const char *name, *domain;
  int n_inputs, n_outputs;  // lengths of the lists below
  bool variadic;            // the last operand may be repeated (Concat)
  bool variadic_results;    // the last result may be repeated, without limit
  dp_operand_schema inputs[DP_MAX_OPERANDS], outputs[DP_MAX_OPERANDS];
  dp_attr_schema attrs[DP_MAX_ATTRS];  // ends with name NULL
  uint32_t flags;
  dp_op_precision precision;
  // Sets outputs[i]->type from inputs' types and attributes. The schema was checked before. Required.
  dp_status (*infer)(dp_node *node);
  // Given dy[i], the gradient of result i (NULL: none reaches it), builds nodes and sets dx[i], the gradient of operand
  // i; leaves NULL where there is none. Required for a differentiable operator.
  void (*gradient)(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx);
  // Adds the rows beyond all-Replicate, whatever the mesh. NULL: none.
  void (*sharding)(dp_sharding_rules *rules);
  // Builds the equivalent graph of simpler operators from in[] and sets out[]. NULL: none. Used when no row lets the
  // node keep its operands' shards. out[0] stays NULL when this particular node has no simpler form.
  void (*decompose)(dp_builder *builder, const dp_node *node, dp_value *const *in, dp_value **out);
  // Specializes the node for a program, training or not. Builds its replacement from in[] and sets out[]. NULL: the
  // node stays as it is. (Dropout is the identity in eval; BatchNormalization in training updates its running buffers.)
  void (*specialize)(dp_builder *builder, const dp_node *node, dp_value *const *in, bool training, dp_value **out);
  // The same for training with --batchnorm=local: statistics of the whole batch are computed instead for each of the
  // `groups` parts into which mesh axis `axis` splits its samples. NULL: the node has none, so `specialize` applies.
  void (*specialize_local)(dp_builder *builder, const dp_node *node, dp_value *const *in, int64_t groups,
                           const char *axis, dp_value **out);
  // Of an operator whose kernels refuse data (EX_DATAERR, at run time): which. False: this node takes all data. NULL:
  // the operator does. See ir/graph/refusal.h.
  bool (*refuses)(const dp_node *node, dp_refusal *refusal);
  // The first dim of a *row*, when operand 0 has `rank` dims; reads attributes alone. Results have operand 0's dims,
  // with extent 1 where it was reduced. At each index of the dims before the row they depend only on the operands'
  // elements at that index, after broadcasting. 0: they may depend on everything. NULL: see dp_op_row.
  int (*row)(const dp_node *node, int rank);
  // The same of result 0 alone, where all other results are sums over rows, as of a gradient: these need rows whole.
  // NULL: the operator is none of these.
  int (*row_beside_sums)(const dp_node *node, int rank);
  // NULL: 0 flops, and every operand and result moved once.
  dp_cost (*cost)(const dp_node *node, int64_t n);
  const dp_sample *samples;  // ends with inputs NULL
};

extern const dp_op *const dp_op_table[];                        // ends with NULL; made by the build
const dp_op *dp_op_find(const char *domain, const char *name);  // NULL when unknown
// Turns constant operands into attributes where the schema says so (the operand becomes NULL), checks the schema
// (operand count, types, attributes) and sets the results' types. The message names node and operator.
dp_status dp_op_infer(dp_node *node) DP_MUST_USE;
dp_cost dp_op_cost(const dp_node *node, int64_t n);
// Whether each element of the results depends only on the operands' elements at the same position after broadcasting,
// and not on the position.
bool dp_op_is_pointwise(const dp_op *op);
// The first dim of the node's rows (dp_op.row): `rank`, that of its results, for a pointwise operator, whose rows are
// single elements; 0 for an operator without rows.
int dp_op_row(const dp_node *node, int rank);
// 1: the node is a Cast from a float to a wider one, which has all numbers of the narrower; -1: to a narrower one; 0:
// it is neither, or NULL.
int dp_op_widening(const dp_node *node);
static inline bool dp_op_is(const dp_op *op, dp_op_flags flag) { return (op->flags & (uint32_t)flag) != 0; }

#ifdef __cplusplus
}
#endif
#endif
