// Deadlock across stages: one graph of the steps of all roles, in which a Send and its Recv are one step, since neither is
// over before the other has begun.
//
// One role stands for all its devices, as in flow.c: a collective is over when all of its devices have come to it, and a
// Send from the device at a coordinate goes to the one at the same coordinate. When the graph has no cycle, then of the
// steps that are not yet done on some device the earliest has all before it done on every device; whoever takes part in it
// can come to it, and it ends. Linear in steps and waits.
#include <stdio.h>
#include <string.h>

#include "ir/verify/checker.h"

typedef struct {
  dp_checker *c;
  uint32_t n_steps, n_events, n_order;
  uint32_t *first_step, *first_event;  // (roles + 1)
  dp_checker_place *places;            // (steps) role after role, stream after stream
  uint32_t *transfer;                  // (steps) in shared.transfers, plus 1; 0: none
  uint32_t *at;                        // (transfers) the step
  uint32_t *signaller;                 // (events) the step
  uint32_t *first_waiter, *waiters;    // (events + 2), (waits) the steps
  uint32_t *open;                      // (steps) how many it waits for; of a pair, at its Send, of both
  bool *done;                          // (steps) likewise
} graph;

static const Dp__Instruction *claim(const graph *g, uint32_t step) {
  return dp_checker_instruction(g->c, g->places[step]);
}

// The other step of the pair; the step itself when there is none.
static uint32_t partner(const graph *g, uint32_t step) {
  const dp_checker_transfer *all = g->c->shared.transfers;
  return g->transfer[step] ? g->at[all[g->transfer[step] - 1].partner] : step;
}

// The one by which a pair is counted.
static uint32_t head(const graph *g, uint32_t step) {
  return g->transfer[step] && !g->c->shared.transfers[g->transfer[step] - 1].sends ? partner(g, step) : step;
}

// ---- making it ------------------------------------------------------------------------------------------------------

static void make_steps(graph *g) {
  dp_checker *c = g->c;
  dp_arena *arena = c->shared.arena;
  const size_t roles = c->plan->n_roles;
  g->first_step = dp_alloc_n(arena, roles + 1, sizeof *g->first_step);
  g->first_event = dp_alloc_n(arena, roles + 1, sizeof *g->first_event);
  for (uint32_t r = 0; r < roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    g->first_step[r] = g->n_steps;
    g->first_event[r] = g->n_events;
    for (size_t s = 0; s < p->n_streams; s++) g->n_steps += (uint32_t)p->streams[s]->n_instructions;
    g->n_events += p->events;
  }
  g->places = dp_alloc_n(arena, g->n_steps, sizeof *g->places);
  uint32_t step = 0;
  for (uint32_t r = 0; r < roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (uint32_t s = 0; s < p->n_streams; s++)
      for (uint32_t i = 0; i < p->streams[s]->n_instructions; i++) g->places[step++] = (dp_checker_place){r, s, i};
  }
}

static uint32_t step_at(const graph *g, dp_checker_place p) {
  const Dp__Program *program = dp_checker_program(g->c, p.role);
  uint32_t step = g->first_step[p.role] + p.instruction;
  for (uint32_t s = 0; s < p.stream; s++) step += (uint32_t)program->streams[s]->n_instructions;
  return step;
}

static void make_transfers(graph *g) {
  const dp_checker_shared *shared = &g->c->shared;
  g->transfer = dp_alloc_n(shared->arena, g->n_steps, sizeof *g->transfer);
  g->at = dp_alloc_n(shared->arena, shared->n_transfers, sizeof *g->at);
  for (uint32_t t = 0; t < shared->n_transfers; t++) {
    g->at[t] = step_at(g, shared->transfers[t].place);
    g->transfer[g->at[t]] = t + 1;
  }
}

static void make_waits(graph *g) {
  dp_arena *arena = g->c->shared.arena;
  uint32_t total = 0;
  g->signaller = dp_alloc_n(arena, g->n_events, sizeof *g->signaller);
  g->first_waiter = dp_alloc_n(arena, (size_t)g->n_events + 2, sizeof *g->first_waiter);
  g->open = dp_alloc_n(arena, g->n_steps, sizeof *g->open);
  for (uint32_t i = 0; i < g->n_steps; i++) {
    const Dp__Instruction *in = claim(g, i);
    const uint32_t events = g->first_event[g->places[i].role];
    if (in->signal) g->signaller[events + in->signal - 1] = i;
    for (size_t w = 0; w < in->n_waits; w++) g->first_waiter[events + in->waits[w] + 2]++;
    g->open[head(g, i)] += (uint32_t)in->n_waits + (g->places[i].instruction > 0);
    total += (uint32_t)in->n_waits;
  }
  for (uint32_t e = 0; e < g->n_events; e++) g->first_waiter[e + 2] += g->first_waiter[e + 1];
  g->waiters = dp_alloc_n(arena, total, sizeof *g->waiters);
  for (uint32_t i = 0; i < g->n_steps; i++) {
    const Dp__Instruction *in = claim(g, i);
    const uint32_t events = g->first_event[g->places[i].role];
    for (size_t w = 0; w < in->n_waits; w++) g->waiters[g->first_waiter[events + in->waits[w] + 1]++] = i;
  }
}

// ---- following it ---------------------------------------------------------------------------------------------------

static void release(graph *g, uint32_t step, uint32_t *order) {
  step = head(g, step);
  if (!--g->open[step]) order[g->n_order++] = step;
}

// Lets go whatever waits for this step alone, one of a pair or not.
static void complete(graph *g, uint32_t step, uint32_t *order) {
  const Dp__Instruction *in = claim(g, step);
  const dp_checker_place p = g->places[step];
  g->done[step] = true;
  if (p.instruction + 1 < dp_checker_program(g->c, p.role)->streams[p.stream]->n_instructions)
    release(g, step + 1, order);
  if (!in->signal) return;
  const uint32_t e = g->first_event[p.role] + in->signal - 1;
  for (uint32_t w = g->first_waiter[e]; w < g->first_waiter[e + 1]; w++) release(g, g->waiters[w], order);
}

// ---- a cycle --------------------------------------------------------------------------------------------------------

// Why a step does not begin: an event, the step before it in its stream, or that its other side does not.
typedef enum { EVENT, STREAM, SIDE } reason;

static uint32_t awaited(const graph *g, uint32_t step, reason *why) {
  const Dp__Instruction *in = claim(g, step);
  const uint32_t events = g->first_event[g->places[step].role];
  *why = EVENT;
  for (size_t w = 0; w < in->n_waits; w++)
    if (!g->done[g->signaller[events + in->waits[w]]]) return g->signaller[events + in->waits[w]];
  *why = STREAM;
  if (g->places[step].instruction && !g->done[step - 1]) return step - 1;
  *why = SIDE;
  return partner(g, step);
}

// The steps that it waits for through others, until itself again. Of steps one after the other in a stream the last is
// named.
static void print_cycle(const graph *g, uint32_t start, char *text, size_t bytes) {
  static const char *const words[] = {", which waits for ", ", which comes after ", ", whose other side is "};
  size_t used = 0;
  uint32_t step = start;
  bool first = true;
  do {
    char one[512], channel[32] = "";
    reason why, next_why;
    step = awaited(g, step, &why);
    if (why == STREAM && step != start && (awaited(g, step, &next_why), next_why == STREAM)) continue;
    if (g->transfer[step])
      snprintf(channel, sizeof channel, " on channel %u", g->c->shared.transfers[g->transfer[step] - 1].channel);
    used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", first ? words[why] + strlen(", which ") : words[why],
                             dp_checker_place_print(g->c, g->places[step], one, sizeof one), channel);
    first = false;
  } while (step != start && used + 1 < bytes);
}

// Goes back from a step that never begins until one comes up again.
static dp_status fail_cycle(const graph *g) {
  bool *seen = dp_alloc_n(g->c->shared.arena, g->n_steps, sizeof *seen);
  char text[900];
  uint32_t at = 0;
  reason why;
  while (g->done[at]) at++;
  for (; !seen[at]; at = awaited(g, at, &why)) seen[at] = true;
  do at = awaited(g, at, &why);
  while (why != SIDE);  // each stage by itself has none (flow.c)
  print_cycle(g, at, text, sizeof text);
  return dp_checker_fail_place(g->c, g->places[at], DP_RULE_ORDER_CYCLE,
                               "it %s: no stage can go on, the pipeline deadlocks", text);
}

dp_status dp_checker_deadlock(dp_checker *c) {
  graph g = {.c = c};
  if (c->plan->n_roles == 1) return DP_OK;
  make_steps(&g);
  make_transfers(&g);
  make_waits(&g);
  g.done = dp_alloc_n(c->shared.arena, g.n_steps, sizeof *g.done);
  uint32_t *order = dp_alloc_n(c->shared.arena, g.n_steps, sizeof *order);
  for (uint32_t i = 0; i < g.n_steps; i++)
    if (head(&g, i) == i && !g.open[i]) order[g.n_order++] = i;
  uint32_t pairs = c->shared.n_transfers / 2;
  for (uint32_t i = 0; i < g.n_order; i++) {
    complete(&g, order[i], order);
    if (partner(&g, order[i]) != order[i]) complete(&g, partner(&g, order[i]), order);
  }
  return g.n_order < g.n_steps - pairs ? fail_cycle(&g) : DP_OK;
}
