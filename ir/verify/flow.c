// Happens-before: what streams (first in, first out) and events order, as a vector clock a step.
//
// One program stands for every device: that a step is before another means that each device does the one before the other.
// It does not mean that some device does it before another device does the other; only a collective of which both are
// members, or a transfer between them, puts that in order. Nothing deadlocks when this order has no cycle: of the steps not
// yet done anywhere, the earliest can go on. What a role waits for in others is left out here: to know less of what is
// ordered is to be stricter, and deadlock.c looks at all roles together.
#include <string.h>

#include "ir/verify/checker.h"

typedef struct {
  dp_checker *c;
  uint32_t *first_waiter;  // (events + 1) into waiters
  uint32_t *waiters;       // steps, by the event that they wait for
  uint32_t *open;          // (steps) what they still wait for
  uint32_t n_order;
} flow;

static void make_steps(dp_checker *c) {
  const Dp__Program *p = c->program;
  c->n_streams = (uint32_t)p->n_streams;
  c->first = dp_alloc_n(c->arena, p->n_streams, sizeof *c->first);
  for (uint32_t s = 0; s < c->n_streams; s++) {
    c->first[s] = c->n_steps;
    c->n_steps += (uint32_t)p->streams[s]->n_instructions;
  }
  c->steps = dp_alloc_n(c->arena, c->n_steps, sizeof *c->steps);
  for (uint32_t s = 0; s < c->n_streams; s++)
    for (uint32_t i = 0; i < p->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = p->streams[s]->instructions[i];
      c->steps[c->first[s] + i] = (dp_checker_step){in, dp_op_find(in->domain, in->op), s, i + 1};
    }
}

// ---- events ---------------------------------------------------------------------------------------------------------

// The first step that waits for the event; DP_CHECKER_PROGRAM: none does.
static uint32_t find_waiter(const dp_checker *c, uint32_t event) {
  for (uint32_t i = 0; i < c->n_steps; i++)
    for (size_t w = 0; w < c->steps[i].claim->n_waits; w++)
      if (c->steps[i].claim->waits[w] == event) return i;
  return DP_CHECKER_PROGRAM;
}

static dp_status find_signallers(dp_checker *c) {
  uint32_t events = c->program->events;
  c->signaller = dp_alloc_n(c->arena, events, sizeof *c->signaller);
  memset(c->signaller, 0xff, events * sizeof *c->signaller);
  for (uint32_t i = 0; i < c->n_steps; i++) {
    uint32_t signal = c->steps[i].claim->signal;
    char text[512];
    if (!signal) continue;
    if (c->signaller[signal - 1] != UINT32_MAX)
      return dp_checker_fail(c, i, DP_RULE_ORDER_EVENT, "it signals event %u, as does %s", signal - 1,
                             dp_checker_step_print(c, c->signaller[signal - 1], text, sizeof text));
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
  for (uint32_t i = 0; i < c->n_steps; i++) {
    const Dp__Instruction *in = c->steps[i].claim;
    for (size_t w = 0; w < in->n_waits; w++) {
      if (seen[in->waits[w]] == i + 1)
        return dp_checker_fail(c, i, DP_RULE_ORDER_WAIT, "it waits for event %u twice", in->waits[w]);
      seen[in->waits[w]] = i + 1;
      f->first_waiter[in->waits[w] + 2]++;
      total++;
    }
  }
  for (uint32_t e = 0; e < events; e++) f->first_waiter[e + 2] += f->first_waiter[e + 1];
  f->waiters = dp_alloc_n(c->arena, total, sizeof *f->waiters);
  for (uint32_t i = 0; i < c->n_steps; i++)
    for (size_t w = 0; w < c->steps[i].claim->n_waits; w++)
      f->waiters[f->first_waiter[c->steps[i].claim->waits[w] + 1]++] = i;
  return DP_OK;
}

// ---- order ----------------------------------------------------------------------------------------------------------

static void follow(flow *f, uint32_t before, uint32_t after) {
  dp_checker *c = f->c;
  const uint32_t *from = &c->clock[(size_t)before * c->n_streams];
  uint32_t *to = &c->clock[(size_t)after * c->n_streams];
  for (uint32_t s = 0; s < c->n_streams; s++)
    if (from[s] > to[s]) to[s] = from[s];
  if (!--f->open[after]) c->order[f->n_order++] = after;
}

static void complete(flow *f, uint32_t i) {
  dp_checker *c = f->c;
  const dp_checker_step *step = &c->steps[i];
  c->clock[(size_t)i * c->n_streams + step->stream] = step->place;
  if (step->place < c->program->streams[step->stream]->n_instructions) follow(f, i, i + 1);
  if (!step->claim->signal) return;
  uint32_t e = step->claim->signal - 1;
  for (uint32_t w = f->first_waiter[e]; w < f->first_waiter[e + 1]; w++) follow(f, i, f->waiters[w]);
}

// What stands still: from a step that never begins to one that it waits for, until one comes up again.
static dp_status fail_cycle(const flow *f) {
  dp_checker *c = f->c;
  bool *done = dp_alloc_n(c->arena, c->n_steps, sizeof *done), *seen = dp_alloc_n(c->arena, c->n_steps, sizeof *seen);
  for (uint32_t i = 0; i < f->n_order; i++) done[c->order[i]] = true;
  uint32_t at = 0, next = 0;
  while (done[at]) at++;
  for (;; at = next) {
    const dp_checker_step *step = &c->steps[at];
    char text[512];
    bool waits = false;
    for (size_t w = 0; w < step->claim->n_waits && !waits; w++) {
      next = c->signaller[step->claim->waits[w]];
      waits = !done[next];
    }
    if (!waits) next = at - 1;
    if (seen[at] && waits)
      return dp_checker_fail(c, at, DP_RULE_ORDER_CYCLE,
                             "it waits for %s, which cannot begin before this one is done: the program deadlocks",
                             dp_checker_step_print(c, next, text, sizeof text));
    seen[at] = true;
  }
}

dp_status dp_checker_flow(dp_checker *c) {
  c->n_steps = 0;
  make_steps(c);
  DP_TRY(find_signallers(c));
  flow f = {.c = c};
  DP_TRY(find_waiters(&f));
  f.open = dp_alloc_n(c->arena, c->n_steps, sizeof *f.open);
  c->order = dp_alloc_n(c->arena, c->n_steps, sizeof *c->order);
  c->clock = dp_alloc_n(c->arena, (size_t)c->n_steps * c->n_streams, sizeof *c->clock);
  for (uint32_t i = 0; i < c->n_steps; i++) {
    f.open[i] = (uint32_t)c->steps[i].claim->n_waits + (c->steps[i].place > 1);
    if (!f.open[i]) c->order[f.n_order++] = i;
  }
  for (uint32_t i = 0; i < f.n_order; i++) complete(&f, c->order[i]);
  if (f.n_order < c->n_steps) return fail_cycle(&f);
  c->report->instructions += c->n_steps;
  c->report->events += c->program->events;
  return DP_OK;
}
