// What the parts of the checker share. Private to ir/verify.
//
// The parts run in this order, each relying on those before: model.c (logical graphs, storage); then of each program, role
// by role, tensors.c, flow.c (happens-before), ends.c (what a program finds, gets, gives and leaves), node.c, conversion.c,
// micro.c and transfers.c (each instruction by itself), order.c (races), meaning.c (what the bytes hold); then, of its
// roles together, transfers.c (Sends and their Recvs), host.c (the host's memory) and deadlock.c; last of the plan as a
// whole, claims.c (what it says of itself).
#ifndef DP_IR_VERIFY_CHECKER_H
#define DP_IR_VERIFY_CHECKER_H

#include "ir/graph/op.h"
#include "ir/verify/spans.h"
#include "ir/verify/verify.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CHECKER_SPACES = DP__SPACE__OFFLOAD + 1 };

// A tensor of the program, its claims read.
typedef struct {
  const Dp__DeviceTensor *claim;
  const dp_value *value;
  dp_placement at[DP_MAX_MESH];
  uint32_t first, count;  // micro-batches; none where it is Replicate on the sequential axis
  uint64_t needed;        // bytes of the largest shard
  int32_t exit;           // the variable that the program leaves as this tensor; -1
} dp_checker_tensor;

typedef struct {
  const Dp__Instruction *claim;
  const dp_op *op;
  uint32_t stream, place;  // place in the stream, from 1
} dp_checker_step;

// A step by its numbers.
typedef struct {
  uint32_t role, stream, instruction;
} dp_checker_place;

// A Send or a Recv, and what it says it carries.
typedef struct {
  dp_checker_place place;
  bool sends;
  uint32_t channel, peer;  // peer: the other's role
  const Dp__DeviceTensor *claim;
  dp_placement at[DP_MAX_MESH];
  uint32_t first, count;
  uint32_t partner;  // in the table, the other of its channel
} dp_checker_transfer;

// By which row of its operator, on the sequential axis, a node gives partial results.
typedef struct {
  dp_checker_place place;
  dp_placement at[2 * DP_MAX_OPERANDS];  // operands, then results
} dp_checker_partial;

// What the roles of a program have together.
typedef struct {
  dp_arena *arena;
  uint32_t n_transfers;
  dp_checker_transfer *transfers;  // as they come; after dp_checker_transfers by channel
  dp_checker_partial **partials;   // (nodes) NULL: not seen yet
  uint32_t *given;                 // (outputs of the graph) the role that gives it, plus 1; 0: none yet
} dp_checker_shared;

typedef struct {
  dp_verify_report *report;
  const Dp__Plan *plan;
  dp_arena *plan_arena;
  dp_model *model;    // variables, mesh, batch
  dp_graph **graphs;  // as in the plan
  int micro, pipe;    // the sequential and the staged axis; -1: none
  struct {
    int32_t count, *variables;
  } * storages;           // (roles) what each has storage of
  int32_t *entry, *exit;  // (variables) tensor of the program; -1: none
  uint32_t *writes;       // (variables) how often its storage was written
  // One program of all roles.
  uint32_t n_program;  // in each role's list
  dp_checker_shared shared;
  // One program of one role.
  uint32_t n_role;  // and stage
  const Dp__Role *role;
  dp_arena *arena;
  const Dp__Program *program;
  const dp_graph *graph;
  uint32_t n_tensors, n_steps, n_streams;
  dp_checker_tensor *tensors;  // (n_tensors)
  dp_checker_step *steps;      // (n_steps), stream after stream
  uint32_t *first;             // (n_streams) first step of each stream
  uint32_t *order;             // (n_steps) steps such that each comes after all that happen before it
  uint32_t *clock;             // (n_steps, n_streams) how many of each stream happen before it, itself counted
  uint32_t *signaller;         // (events) the step
  dp_spans *spans[DP_CHECKER_SPACES];
} dp_checker;

// Homes of the role: for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c); p++).
static inline const int32_t *dp_checker_storages(const dp_checker *c) { return c->storages[c->n_role].variables; }
static inline const int32_t *dp_checker_storages_end(const dp_checker *c) {
  return c->storages[c->n_role].variables + c->storages[c->n_role].count;
}
static inline const Dp__Program *dp_checker_program(const dp_checker *c, uint32_t role) {
  return c->plan->roles[role]->programs[c->n_program];
}
static inline const Dp__Instruction *dp_checker_instruction(const dp_checker *c, dp_checker_place p) {
  return dp_checker_program(c, p.role)->streams[p.stream]->instructions[p.instruction];
}

// A breach at the step, or, with DP_CHECKER_PROGRAM, of the program as a whole.
enum { DP_CHECKER_PROGRAM = UINT32_MAX };
dp_status dp_checker_fail(dp_checker *c, uint32_t step, dp_rule rule, const char *format, ...)
    DP_PRINTF(4, 5) DP_MUST_USE;
dp_fault *dp_checker_at(dp_checker *c, uint32_t step);
// Of a tensor: at the first step that has it.
dp_status dp_checker_fail_tensor(dp_checker *c, size_t tensor, dp_rule rule, const char *format, ...)
    DP_PRINTF(4, 5) DP_MUST_USE;
dp_fault *dp_checker_at_tensor(dp_checker *c, size_t tensor);

// Of a step of any role.
dp_status dp_checker_fail_place(dp_checker *c, dp_checker_place place, dp_rule rule, const char *format, ...)
    DP_PRINTF(4, 5) DP_MUST_USE;
// "role stage1, stream comm, instruction 3 (dp.AllReduce)", the role where there are several. Returns `text`.
char *dp_checker_place_print(const dp_checker *c, dp_checker_place place, char *text, size_t bytes);
dp_checker_place dp_checker_place_of(const dp_checker *c, uint32_t step);

// "stream comm, instruction 3 (dp.AllReduce)". Returns `text`.
char *dp_checker_step_print(const dp_checker *c, uint32_t step, char *text, size_t bytes);
const char *dp_checker_space(Dp__Space space);  // "transient"
// "[S(0),R]". Returns `text`.
char *dp_checker_placements_print(const dp_checker *c, const dp_placement *at, char *text, size_t bytes);
// The same with " of micro-batches [2,3)" behind it, where there are some.
char *dp_checker_part_print(const dp_checker *c, const dp_checker_tensor *t, char *text, size_t bytes);

static inline bool dp_checker_before(const dp_checker *c, uint32_t a, uint32_t b) {
  return a == b || c->clock[(size_t)b * c->n_streams + c->steps[a].stream] >= c->steps[a].place;
}
// Operand or result k of a step; NULL: left out.
static inline dp_checker_tensor *dp_checker_input(const dp_checker *c, const Dp__Instruction *in, size_t k) {
  return in->inputs[k] ? &c->tensors[in->inputs[k] - 1] : NULL;
}
static inline dp_checker_tensor *dp_checker_output(const dp_checker *c, const Dp__Instruction *in, size_t k) {
  return in->outputs[k] ? &c->tensors[in->outputs[k] - 1] : NULL;
}
static inline bool dp_checker_placed_alike(const dp_checker *c, const dp_placement *a, const dp_placement *b) {
  for (int i = 0; i < c->model->mesh.n_axes; i++)
    if (!dp_placement_equal(a[i], b[i])) return false;
  return true;
}
static inline bool dp_checker_is_on_device(const dp_checker_tensor *t) {
  return t->claim->space == DP__SPACE__PERSISTENT || t->claim->space == DP__SPACE__TRANSIENT;
}
static inline bool dp_checker_is_on_host(Dp__Space space) {
  return space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT;
}
static inline bool dp_checker_is_whole(const dp_checker *c, const dp_placement *at) {
  for (int i = 0; i < c->model->mesh.n_axes; i++)
    if (at[i].kind != DP_REPLICATE) return false;
  return true;
}

// What a step does to memory.
typedef struct {
  Dp__Space space;
  uint64_t begin, end;
  int32_t operand, result;  // which of them; -1 both: scratch
} dp_checker_access;
enum { DP_CHECKER_ACCESSES = 2 * DP_MAX_OPERANDS + 1 };
// Those that are not empty: operands, then scratch, then results. Returns how many.
int dp_checker_accesses(const dp_checker *c, uint32_t step, dp_checker_access accesses[DP_CHECKER_ACCESSES]);

// ---- the parts ------------------------------------------------------------------------------------------------------

dp_status dp_checker_model(dp_checker *c) DP_MUST_USE;    // the plan
dp_status dp_checker_init(dp_checker *c) DP_MUST_USE;     // the plan: which program defines what
dp_status dp_checker_tensors(dp_checker *c) DP_MUST_USE;  // from here on: a program of a role
dp_status dp_checker_ends(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_flow(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_steps(dp_checker *c) DP_MUST_USE;  // the four below, on every step
dp_status dp_checker_order(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_meaning(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_transfers(dp_checker *c) DP_MUST_USE;  // from here on: a program of all roles
dp_status dp_checker_host(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_deadlock(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_claims(dp_checker *c) DP_MUST_USE;  // the plan, when all its programs have been checked

dp_status dp_checker_node(dp_checker *c, dp_arena *rows, uint32_t step) DP_MUST_USE;
dp_status dp_checker_conversion(dp_checker *c, uint32_t step) DP_MUST_USE;
dp_status dp_checker_accumulate(dp_checker *c, uint32_t step) DP_MUST_USE;
dp_status dp_checker_transfer_step(dp_checker *c, uint32_t step) DP_MUST_USE;  // Send, Recv

// micro.c. A tensor's micro-batches are those that its placement has; a step with a kernel is of one of them.
dp_status dp_checker_micro_tensor(dp_checker *c, size_t tensor) DP_MUST_USE;
dp_status dp_checker_micro_node(dp_checker *c, uint32_t step) DP_MUST_USE;
// Whether the tensor is parts of several micro-batches side by side, which Accumulate alone makes and takes.
static inline bool dp_checker_is_concatenated(const dp_checker *c, const dp_checker_tensor *t) {
  return t->count > 1 && t->at[c->micro].kind == DP_SHARD;
}
// The mesh axis of a conversion, named by attribute and communication alike.
dp_status dp_checker_axis(dp_checker *c, uint32_t step, int *axis) DP_MUST_USE;
// Splits of one dim nest in mesh order: a split or join on an axis is right when no later axis splits the dim too.
bool dp_checker_is_innermost(const dp_checker *c, const dp_placement *at, int axis);

// Room for the shape's largest shard; false: its extents cannot be computed with.
bool dp_checker_bytes(const dp_checker *c, const dp_type *type, const dp_placement *at, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
