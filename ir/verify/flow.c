// Happens-before: the order that streams (first in, first out) and events impose, as a vector clock for each
// instruction.
//
// One program stands for every device. That one instruction comes before another means that each device executes them
// in that order. It says nothing about two devices: one of them may execute the second before the other executes the
// first, unless a collective of both, or a transfer between them, lies in between. When this order has no cycle nothing
// deadlocks: of the instructions not yet done anywhere, the earliest can go on. What a role waits for in other roles is
// left out here. That makes the check stricter, since less is known to be ordered; deadlock.c looks at all roles
// together.
#include <string.h>

#include "ir/verify/checker.h"

typedef struct {
  dp_checker *c;
  uint32_t *first_waiter;  // (events + 1) into waiters
  uint32_t *waiters;       // instructions, grouped by the event that they wait for
  uint32_t *open;          // (instructions) how many others each still waits for
  uint32_t n_order;
} flow;

static void make_instructions(dp_checker *c) {
  const Dp__Program *p = c->program;
  c->n_streams = (uint32_t)p->n_streams;
  c->first = dp_alloc_n(c->arena, p->n_streams, sizeof *c->first);
  for (uint32_t s = 0; s < c->n_streams; s++) {
    c->first[s] = c->n_instructions;
    c->n_instructions += (uint32_t)p->streams[s]->n_instructions;
  }
  c->instructions = dp_alloc_n(c->arena, c->n_instructions, sizeof *c->instructions);
  for (uint32_t s = 0; s < c->n_streams; s++)
    for (uint32_t i = 0; i < p->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = p->streams[s]->instructions[i];
      c->instructions[c->first[s] + i] =
          (dp_checker_instruction){.claim = in, .op = dp_op_find(in->domain, in->op), .stream = s, .position = i + 1};
    }
}

// ---- events ---------------------------------------------------------------------------------------------------------

// The first instruction that waits for the event; the program when none does.
static dp_checker_location find_waiter(const dp_checker *c, uint32_t event) {
  for (uint32_t i = 0; i < c->n_instructions; i++)
    for (size_t w = 0; w < c->instructions[i].claim->n_waits; w++)
      if (c->instructions[i].claim->waits[w] == event) return dp_checker_at_instruction(c, i);
  return dp_checker_at_whole(c);
}

static dp_status find_signallers(dp_checker *c) {
  uint32_t events = c->program->events;
  c->signaller = dp_alloc_n(c->arena, events, sizeof *c->signaller);
  memset(c->signaller, 0xff, events * sizeof *c->signaller);
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    uint32_t signal = c->instructions[i].claim->signal;
    char text[512];
    if (!signal) continue;
    if (c->signaller[signal - 1] != UINT32_MAX)
      return dp_checker_fail(c, dp_checker_at_instruction(c, i), DP_RULE_ORDER_EVENT, "it signals event %u, as does %s",
                             signal - 1, dp_checker_instruction_print(c, c->signaller[signal - 1], text, sizeof text));
    c->signaller[signal - 1] = i;
  }
  for (uint32_t e = 0; e < events; e++)
    if (c->signaller[e] == UINT32_MAX)
      return dp_checker_fail(c, find_waiter(c, e), DP_RULE_ORDER_EVENT, "no instruction signals event %u", e);
  return DP_OK;
}

static dp_status find_waiters(flow *f) {
  dp_checker *c = f->c;
  uint32_t events = c->program->events, *seen = dp_alloc_n(c->arena, events, sizeof *seen), total = 0;
  f->first_waiter = dp_alloc_n(c->arena, (size_t)events + 2, sizeof *f->first_waiter);
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    const Dp__Instruction *in = c->instructions[i].claim;
    for (size_t w = 0; w < in->n_waits; w++) {
      if (seen[in->waits[w]] == i + 1)
        return dp_checker_fail(c, dp_checker_at_instruction(c, i), DP_RULE_ORDER_WAIT, "it waits for event %u twice",
                               in->waits[w]);
      seen[in->waits[w]] = i + 1;
      f->first_waiter[in->waits[w] + 2]++;
      total++;
    }
  }
  for (uint32_t e = 0; e < events; e++) f->first_waiter[e + 2] += f->first_waiter[e + 1];
  f->waiters = dp_alloc_n(c->arena, total, sizeof *f->waiters);
  for (uint32_t i = 0; i < c->n_instructions; i++)
    for (size_t w = 0; w < c->instructions[i].claim->n_waits; w++)
      f->waiters[f->first_waiter[c->instructions[i].claim->waits[w] + 1]++] = i;
  return DP_OK;
}

// ---- order ----------------------------------------------------------------------------------------------------------

static void put_before(flow *f, uint32_t before, uint32_t after) {
  dp_checker *c = f->c;
  const uint32_t *from = &c->clock[(size_t)before * c->n_streams];
  uint32_t *to = &c->clock[(size_t)after * c->n_streams];
  for (uint32_t s = 0; s < c->n_streams; s++)
    if (from[s] > to[s]) to[s] = from[s];
  if (!--f->open[after]) c->order[f->n_order++] = after;
}

static void complete(flow *f, uint32_t i) {
  dp_checker *c = f->c;
  const dp_checker_instruction *instruction = &c->instructions[i];
  c->clock[(size_t)i * c->n_streams + instruction->stream] = instruction->position;
  if (instruction->position < c->program->streams[instruction->stream]->n_instructions) put_before(f, i, i + 1);
  if (!instruction->claim->signal) return;
  uint32_t e = instruction->claim->signal - 1;
  for (uint32_t w = f->first_waiter[e]; w < f->first_waiter[e + 1]; w++) put_before(f, i, f->waiters[w]);
}

// Goes from an instruction that never begins to one that it waits for, and so on, until one comes up again.
static dp_status fail_cycle(const flow *f) {
  dp_checker *c = f->c;
  bool *done = dp_alloc_n(c->arena, c->n_instructions, sizeof *done),
       *seen = dp_alloc_n(c->arena, c->n_instructions, sizeof *seen);
  for (uint32_t i = 0; i < f->n_order; i++) done[c->order[i]] = true;
  uint32_t at = 0, next = 0;
  while (done[at]) at++;
  for (;; at = next) {
    const dp_checker_instruction *instruction = &c->instructions[at];
    char text[512];
    bool waits = false;
    for (size_t w = 0; w < instruction->claim->n_waits && !waits; w++) {
      next = c->signaller[instruction->claim->waits[w]];
      waits = !done[next];
    }
    if (!waits) next = at - 1;
    if (seen[at] && waits)
      return dp_checker_fail(c, dp_checker_at_instruction(c, at), DP_RULE_ORDER_CYCLE,
                             "it waits for %s, which cannot begin before this one is done: the program deadlocks",
                             dp_checker_instruction_print(c, next, text, sizeof text));
    seen[at] = true;
  }
}

dp_status dp_checker_flow(dp_checker *c) {
  c->n_instructions = 0;
  make_instructions(c);
  DP_TRY(find_signallers(c));
  flow f = {.c = c};
  DP_TRY(find_waiters(&f));
  f.open = dp_alloc_n(c->arena, c->n_instructions, sizeof *f.open);
  c->order = dp_alloc_n(c->arena, c->n_instructions, sizeof *c->order);
  c->clock = dp_alloc_n(c->arena, (size_t)c->n_instructions * c->n_streams, sizeof *c->clock);
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    f.open[i] = (uint32_t)c->instructions[i].claim->n_waits + (c->instructions[i].position > 1);
    if (!f.open[i]) c->order[f.n_order++] = i;
  }
  for (uint32_t i = 0; i < f.n_order; i++) complete(&f, c->order[i]);
  if (f.n_order < c->n_instructions) return fail_cycle(&f);
  c->report->instructions += c->n_instructions;
  c->report->events += c->program->events;
  return DP_OK;
}
