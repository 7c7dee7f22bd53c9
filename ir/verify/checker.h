// What the checks share. Private to ir/verify.
//
// The checks run in this order, and each relies on those before it:
//
//   the plan                        model.c (logical graphs, storage), skip.c (data that nodes refuse)
//   each program, role by role      tensors.c, flow.c (happens-before), ends.c (what comes in and what goes out),
//                                   instructions.c (each by itself: node.c, conversion.c, micro.c, transfers.c),
//                                   packed.c (what kernels keep between runs), ahead.c (what runs beside another
//                                   run), order.c (races), meaning.c (what the bytes hold)
//   each program, roles together    transfers.c (Sends and their Recvs), host.c (the host's memory), deadlock.c,
//                                   skip.c (nodes that nobody uses)
//   the plan                        claims.c (what it says of itself)
//
// A role is a stage of a pipeline; a plan without one has one role.
#ifndef DP_IR_VERIFY_CHECKER_H
#define DP_IR_VERIFY_CHECKER_H

#include "ir/graph/op.h"
#include "ir/plan/form.h"
#include "ir/verify/report.h"
#include "ir/verify/spans.h"
#include "ir/verify/verify.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CHECKER_SPACES = DP__SPACE__DEVICE_INPUT + 1 };

// A tensor of the program, its claims read.
typedef struct {
  const Dp__DeviceTensor *claim;
  const dp_value *value;
  const dp_placement *at;  // (DP_MAX_MESH)
  uint32_t first, count;   // micro-batches; none where it is Replicate on the sequential axis
  uint64_t needed;         // bytes of the largest shard
  int32_t exit;            // the variable that the program leaves as this tensor; -1
} dp_checker_tensor;

typedef struct {
  const Dp__Instruction *claim;
  const dp_op *op;
  uint32_t stream, position;  // in the stream, from 1
  bool by_parts;              // a region whose members all work on rows, channels or single elements
  const uint32_t *makers;     // (results) of a region: the member that makes it
} dp_checker_instruction;

// A Send or a Recv, and what it says it carries.
typedef struct {
  dp_checker_location location;
  bool sends;
  uint32_t channel, peer;  // peer: the other's role
  const Dp__DeviceTensor *claim;
  dp_placement at[DP_MAX_MESH];
  uint32_t first, count;
  uint32_t partner;  // in the table, the other of its channel
} dp_checker_transfer;

// The sharding rule by which a node gives partial results on the sequential axis.
typedef struct {
  dp_checker_location location;          // of the first instruction that does
  dp_placement at[2 * DP_MAX_OPERANDS];  // operands, then results
} dp_checker_partial;

// What the roles of a program have together.
typedef struct {
  dp_arena *arena;
  uint32_t n_transfers;
  dp_checker_transfer *transfers;  // as they come; after dp_checker_transfers by channel
  dp_checker_partial **partials;   // (nodes) NULL: not seen yet
  bool *computed;                  // (nodes) by an instruction of some role
  uint32_t *given;                 // (outputs of the graph) the role that gives it, plus 1; 0: none yet
} dp_checker_shared;

struct dp_checker {
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
  dp_spans **owned;       // (roles) persistent bytes that are a variable's or packed; NULL: nothing is packed
  // One program of all roles.
  uint32_t program_index;  // in the list of each role
  dp_checker_shared shared;
  // One program of one role.
  uint32_t role_index;
  const Dp__Role *role;
  dp_arena *arena;
  const Dp__Program *program;
  const dp_graph *graph;
  uint32_t n_tensors, n_instructions, n_streams;
  dp_checker_tensor *tensors;            // (n_tensors)
  dp_checker_instruction *instructions;  // (n_instructions), stream after stream
  uint32_t *first;                       // (n_streams) first instruction of each stream
  uint32_t *order;      // (n_instructions) instructions such that each comes after all that happen before it
  uint32_t *clock;      // (n_instructions, n_streams) how many of each stream happen before it, itself counted
  uint32_t *signaller;  // (events) the instruction
  uint32_t *region_of;  // (n_tensors) the last region that has it, plus 1; 0: none
  uint8_t *standing;    // (n_tensors) what it is there (region.c)
  uint32_t *maker;      // (n_tensors) the member of that region that makes it
  uint32_t *also;       // (n_tensors) what is there too where it was written; 0: nothing (meaning.c)
  dp_spans *spans[DP_CHECKER_SPACES];
};

// The variables that the role stores: for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c);
// p++).
static inline const int32_t *dp_checker_storages(const dp_checker *c) { return c->storages[c->role_index].variables; }
static inline const int32_t *dp_checker_storages_end(const dp_checker *c) {
  return c->storages[c->role_index].variables + c->storages[c->role_index].count;
}
static inline const Dp__Program *dp_checker_program(const dp_checker *c, uint32_t role) {
  return c->plan->roles[role]->programs[c->program_index];
}
static inline const Dp__Instruction *dp_checker_claim_at(const dp_checker *c, dp_checker_location at) {
  return dp_checker_program(c, at.role)->streams[at.stream]->instructions[at.instruction];
}

// "[S(0),R] of micro-batches [2,3)". Returns `text`.
char *dp_checker_tensor_print(const dp_checker *c, const dp_checker_tensor *t, char *text, size_t bytes);

static inline bool dp_checker_before(const dp_checker *c, uint32_t a, uint32_t b) {
  return a == b || c->clock[(size_t)b * c->n_streams + c->instructions[a].stream] >= c->instructions[a].position;
}
// Operand or result k of an instruction; NULL: left out.
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
  return t->claim->space == DP__SPACE__PERSISTENT || t->claim->space == DP__SPACE__TRANSIENT ||
         t->claim->space == DP__SPACE__DEVICE_INPUT;
}
// Where a variable is stored.
static inline Dp__Space dp_checker_storage_space(const dp_variable *p) {
  return p->offloaded ? DP__SPACE__OFFLOAD : DP__SPACE__PERSISTENT;
}
static inline bool dp_checker_is_on_host(Dp__Space space) {
  return space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT;
}
static inline bool dp_checker_is_whole(const dp_checker *c, const dp_placement *at) {
  for (int i = 0; i < c->model->mesh.n_axes; i++)
    if (at[i].kind != DP_REPLICATE) return false;
  return true;
}

// Bytes that an instruction reads or writes.
typedef struct {
  Dp__Space space;
  uint64_t begin, end;
  int32_t operand, result;  // whose they are; both -1: scratch
} dp_checker_access;
// Operands, then scratch, then results; without those that are empty. Returns how many.
int dp_checker_accesses(const dp_checker *c, uint32_t instruction, dp_checker_access *accesses);

// ---- the checks -----------------------------------------------------------------------------------------------------

dp_status dp_checker_model(dp_checker *c) DP_MUST_USE;    // the plan
dp_status dp_checker_init(dp_checker *c) DP_MUST_USE;     // the plan: what each program defines and gives
dp_status dp_checker_skip(dp_checker *c) DP_MUST_USE;     // the plan: updates and data that nodes refuse
dp_status dp_checker_tensors(dp_checker *c) DP_MUST_USE;  // from here on: a program of a role
dp_status dp_checker_ends(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_flow(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_instructions(dp_checker *c) DP_MUST_USE;  // each by itself, by the four below
dp_status dp_checker_packed(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_ahead(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_order(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_meaning(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_transfers(dp_checker *c) DP_MUST_USE;  // from here on: a program of all roles
dp_status dp_checker_host(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_deadlock(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_unused(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_claims(dp_checker *c) DP_MUST_USE;  // the plan, once all its programs have been checked

// An instruction with a kernel, or a member of a region in the region's place; and a region.
dp_status dp_checker_node(dp_checker *c, dp_arena *arena, uint32_t instruction) DP_MUST_USE;
dp_status dp_checker_region(dp_checker *c, dp_arena *rules, uint32_t instruction) DP_MUST_USE;
// The kernel that is named is one for the instruction's operator.
dp_status dp_checker_kernel(dp_checker *c, uint32_t instruction) DP_MUST_USE;
// Whether a region's result r may lie exactly where its operand o lies.
bool dp_checker_region_replaces(const dp_checker *c, uint32_t instruction, int32_t r, int32_t o);
dp_status dp_checker_conversion(dp_checker *c, uint32_t instruction) DP_MUST_USE;
dp_status dp_checker_accumulate(dp_checker *c, uint32_t instruction) DP_MUST_USE;
dp_status dp_checker_send_or_recv(dp_checker *c, uint32_t instruction) DP_MUST_USE;  // Send, Recv

// micro.c: a tensor's micro-batches go with its placement, and an instruction with a kernel works on one of them.
dp_status dp_checker_micro_tensor(dp_checker *c, size_t tensor) DP_MUST_USE;
dp_status dp_checker_micro_node(dp_checker *c, uint32_t instruction) DP_MUST_USE;
// Whether the tensor is the parts of several micro-batches side by side. Accumulate alone makes and takes such tensors.
static inline bool dp_checker_is_concatenated(const dp_checker *c, const dp_checker_tensor *t) {
  return t->count > 1 && t->at[c->micro].kind == DP_SHARD;
}
// The mesh axis of a conversion, which its attribute and its communication both name.
dp_status dp_checker_axis(dp_checker *c, uint32_t instruction, int *axis) DP_MUST_USE;
// Whether a tensor may be split or joined on the axis: splits of one dim nest in mesh order, so no later axis may split
// it.
bool dp_checker_is_innermost(const dp_checker *c, const dp_placement *at, int axis);

// Bytes of the shape's largest shard; false: its extents are too large to compute with.
bool dp_checker_bytes(const dp_checker *c, const dp_type *type, const dp_placement *at, uint64_t *bytes);
// Whether it may lie in blocks of weights, placed like this.
bool dp_checker_in_weight_blocks(const dp_checker *c, const dp_type *type, const dp_placement *at);

#ifdef __cplusplus
}
#endif
#endif
