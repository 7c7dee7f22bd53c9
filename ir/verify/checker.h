// What the parts of the checker share. Private to ir/verify.
//
// The parts run in this order, each relying on those before: model.c (logical graphs, homes), tensors.c, flow.c
// (happens-before), ends.c (what a program finds, gets, gives and leaves), node.c and conversion.c (each instruction by
// itself), order.c (races), meaning.c (what the bytes hold).
#ifndef DP_IR_VERIFY_CHECKER_H
#define DP_IR_VERIFY_CHECKER_H

#include "ir/op.h"
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
  int32_t left;  // the persistent value that the program leaves as this tensor; -1
} dp_checker_tensor;

typedef struct {
  const Dp__Instruction *claim;
  const dp_op *op;
  uint32_t stream, place;  // place in the stream, from 1
} dp_checker_step;

typedef struct {
  dp_verify_report *report;
  const Dp__Plan *plan;
  const Dp__Role *role;
  dp_arena *plan_arena;
  dp_model *model;    // persistent values, mesh, batch
  dp_graph **graphs;  // as in the plan
  // One program.
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
  int32_t *found, *left;       // (persistents) tensor of the program; -1: none
  uint32_t *writes;            // (persistents) how often its home was written
  dp_spans *spans[DP_CHECKER_SPACES];
} dp_checker;

// A breach at the step, or, with DP_CHECKER_PROGRAM, of the program as a whole.
enum { DP_CHECKER_PROGRAM = UINT32_MAX };
dp_status dp_checker_fail(dp_checker *c, uint32_t step, dp_rule rule, const char *format, ...)
    DP_PRINTF(4, 5) DP_MUST_USE;
dp_fault *dp_checker_at(dp_checker *c, uint32_t step);
// Of a tensor: at the first step that has it.
dp_status dp_checker_fail_tensor(dp_checker *c, size_t tensor, dp_rule rule, const char *format, ...)
    DP_PRINTF(4, 5) DP_MUST_USE;
dp_fault *dp_checker_at_tensor(dp_checker *c, size_t tensor);

// "stream comm, instruction 3 (dp.AllReduce)". Returns `text`.
char *dp_checker_step_print(const dp_checker *c, uint32_t step, char *text, size_t bytes);
const char *dp_checker_space(Dp__Space space);  // "transient"
// "[S(0),R]". Returns `text`.
char *dp_checker_placements_print(const dp_checker *c, const dp_placement *at, char *text, size_t bytes);

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
dp_status dp_checker_tensors(dp_checker *c) DP_MUST_USE;  // from here on: a program
dp_status dp_checker_ends(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_flow(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_steps(dp_checker *c) DP_MUST_USE;  // node.c and conversion.c on every step
dp_status dp_checker_order(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_meaning(dp_checker *c) DP_MUST_USE;
dp_status dp_checker_node(dp_checker *c, dp_arena *rows, uint32_t step) DP_MUST_USE;
dp_status dp_checker_conversion(dp_checker *c, uint32_t step) DP_MUST_USE;

// Room for the shape's largest shard; false: its extents cannot be computed with.
bool dp_checker_bytes(const dp_checker *c, const dp_type *type, const dp_placement *at, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
