// Each step by itself: it computes a logical node (node.c) or converts a placement (conversion.c).
#include "ir/file/proto.h"
#include "ir/verify/checker.h"

// Sharding rules are made anew for each step; their memory goes back after so many.
enum { STEPS_AN_ARENA = 1024 };

typedef struct {
  dp_checker *c;
  dp_arena *arena;
  uint32_t first, end;
} stretch;

// What its attributes say beside the values that are looked at is nothing.
static dp_status check_communication(const stretch *s, uint32_t step) {
  const Dp__Instruction *in = s->c->steps[step].claim;
  int n_attrs;
  dp_attr *attrs;
  DP_TRY(dp_rule_wrap(dp_checker_at(s->c, step), DP_RULE_MEANING_CONVERSION,
                      dp_proto_to_attrs(s->arena, in->n_attributes, in->attributes, &n_attrs, &attrs)));
  return dp_checker_conversion(s->c, step);
}

static dp_status check_stretch(void *arg) {
  const stretch *s = arg;
  for (uint32_t i = s->first; i < s->end; i++)
    DP_TRY(dp_op_is(s->c->steps[i].op, DP_OP_COMMUNICATION) ? check_communication(s, i)
                                                            : dp_checker_node(s->c, s->arena, i));
  return DP_OK;
}

dp_status dp_checker_steps(dp_checker *c) {
  for (uint32_t i = 0; i < c->n_steps; i += STEPS_AN_ARENA) {
    uint32_t end = c->n_steps - i < STEPS_AN_ARENA ? c->n_steps : i + STEPS_AN_ARENA;
    stretch s = {c, dp_arena_create(0), i, end};
    if (!s.arena) return dp_fail(DP_EX_MEMORY, "no memory to check program %s", c->program->name);
    dp_status status = dp_arena_run(s.arena, check_stretch, &s);
    dp_arena_destroy(s.arena);
    if (status) return status;
  }
  return DP_OK;
}
