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

// Devices exchange elements by their places in the plain layout.
static dp_status check_plain(dp_checker *c, uint32_t instruction, size_t count, const uint32_t *tensors) {
  for (size_t k = 0; k < count; k++)
    if (tensors[k] && c->tensors[tensors[k] - 1].claim->layout != DP__LAYOUT__PLAIN)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_LAYOUT,
                             "it moves '%s', which is not plain", c->tensors[tensors[k] - 1].value->name);
  return DP_OK;
}

// Its attributes must be well-formed; those that matter are looked at with the conversion.
static dp_status check_communication(const stretch *s, uint32_t instruction) {
  const Dp__Instruction *in = s->c->instructions[instruction].claim;
  int n_attrs;
  dp_attr *attrs;
  DP_TRY(dp_checker_wrap(s->c, dp_checker_at_instruction(s->c, instruction), DP_RULE_MEANING_CONVERSION,
                         dp_proto_to_attrs(s->arena, in->n_attributes, in->attributes, &n_attrs, &attrs)));
  DP_TRY(check_plain(s->c, instruction, in->n_inputs, in->inputs));
  DP_TRY(check_plain(s->c, instruction, in->n_outputs, in->outputs));
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
