// Each instruction by itself: it computes a logical node (node.c) or converts a placement (conversion.c).
#include "ir/file/proto.h"
#include "ir/verify/checker.h"

// Sharding rules are built for each instruction; their memory is freed after this many.
enum { INSTRUCTIONS_AN_ARENA = 1024 };

typedef struct {
  dp_checker *c;
  dp_arena *arena;
  uint32_t first, end;
} stretch;

// What is moved keeps its layout. A Send's operand and its Recv's result are looked at together.
static dp_status check_layouts(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  for (size_t k = 0; k < in->n_inputs && in->n_outputs; k++) {
    const dp_checker_tensor *from = dp_checker_input(c, in, k);
    const dp_checker_tensor *to = dp_checker_output(c, in, k < in->n_outputs ? k : 0);
    if (from && to && from->claim->layout != to->claim->layout)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_LAYOUT,
                             "it moves '%s' from one layout to another", from->value->name);
  }
  return DP_OK;
}

// Its attributes must be well-formed; those that matter are looked at with the conversion.
static dp_status check_communication(const stretch *s, uint32_t instruction) {
  const Dp__Instruction *in = s->c->instructions[instruction].claim;
  int n_attrs;
  dp_attr *attrs;
  DP_TRY(dp_checker_wrap(s->c, dp_checker_at_instruction(s->c, instruction), DP_RULE_MEANING_CONVERSION,
                         dp_proto_to_attrs(s->arena, in->n_attributes, in->attributes, &n_attrs, &attrs)));
  DP_TRY(check_layouts(s->c, instruction));
  return dp_checker_conversion(s->c, instruction);
}

static dp_status check_one(const stretch *s, uint32_t instruction) {
  const dp_checker_instruction *i = &s->c->instructions[instruction];
  if (dp_op_is(i->op, DP_OP_COMMUNICATION)) return check_communication(s, instruction);
  return i->op->variadic_results ? dp_checker_region(s->c, s->arena, instruction)
                                 : dp_checker_node(s->c, s->arena, instruction);
}

static dp_status check_stretch(void *arg) {
  const stretch *s = arg;
  for (uint32_t i = s->first; i < s->end; i++) DP_TRY(check_one(s, i));
  return DP_OK;
}

dp_status dp_checker_instructions(dp_checker *c) {
  c->region_of = dp_alloc_n(c->arena, c->n_tensors, sizeof *c->region_of);
  c->standing = dp_alloc_n(c->arena, c->n_tensors, sizeof *c->standing);
  c->maker = dp_alloc_n(c->arena, c->n_tensors, sizeof *c->maker);
  for (uint32_t i = 0; i < c->n_instructions; i += INSTRUCTIONS_AN_ARENA) {
    uint32_t end = c->n_instructions - i < INSTRUCTIONS_AN_ARENA ? c->n_instructions : i + INSTRUCTIONS_AN_ARENA;
    stretch s = {c, dp_arena_create(0), i, end};
    if (!s.arena) return dp_fail(DP_EX_MEMORY, "no memory to check program %s", c->program->name);
    dp_status status = dp_arena_run(s.arena, check_stretch, &s);
    dp_arena_destroy(s.arena);
    if (status) return status;
  }
  return DP_OK;
}
