// Deadlock across stages: one graph of the instructions of all roles. A Send and its Recv are one instruction in it,
// since neither is over before the other has begun.
//
// One role stands for all its devices, as in flow.c: a collective is over when all of its devices have come to it, and
// a Send from the device at a coordinate goes to the one at the same coordinate. If the graph has no cycle, take the
// earliest instruction that is not yet done on some device. All before it is done on every device, so each device that
// takes part can come to it, and it ends. Time is linear in instructions and waits.
#include <stdio.h>
#include <string.h>

#include "ir/verify/checker.h"

typedef struct {
  dp_checker *c;
  uint32_t n_instructions, n_events, n_order;
  uint32_t *first_instruction, *first_event;  // (roles + 1)
  dp_checker_location *locations;             // (instructions) role after role, stream after stream
  uint32_t *transfer;                         // (instructions) index in shared.transfers, plus 1; 0: none
  uint32_t *at;                               // (transfers) the instruction
  uint32_t *signaller;                        // (events) the instruction
  uint32_t *first_waiter, *waiters;           // (events + 2), (waits) the instructions
  uint32_t *open;  // (instructions) how many each waits for; for a pair, at its Send, those of both
  bool *done;      // (instructions) likewise
} graph;

static const Dp__Instruction *claim_of(const graph *g, uint32_t instruction) {
  return dp_checker_claim_at(g->c, g->locations[instruction]);
}

// The other instruction of the pair; the instruction itself when it is in none.
static uint32_t partner(const graph *g, uint32_t instruction) {
  const dp_checker_transfer *all = g->c->shared.transfers;
  return g->transfer[instruction] ? g->at[all[g->transfer[instruction] - 1].partner] : instruction;
}

// The instruction that stands for the pair.
static uint32_t head(const graph *g, uint32_t instruction) {
  return g->transfer[instruction] && !g->c->shared.transfers[g->transfer[instruction] - 1].sends
             ? partner(g, instruction)
             : instruction;
}

// ---- making it ------------------------------------------------------------------------------------------------------

static void make_instructions(graph *g) {
  dp_checker *c = g->c;
  dp_arena *arena = c->shared.arena;
  const size_t roles = c->plan->n_roles;
  g->first_instruction = dp_alloc_n(arena, roles + 1, sizeof *g->first_instruction);
  g->first_event = dp_alloc_n(arena, roles + 1, sizeof *g->first_event);
  for (uint32_t r = 0; r < roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    g->first_instruction[r] = g->n_instructions;
    g->first_event[r] = g->n_events;
    for (size_t s = 0; s < p->n_streams; s++) g->n_instructions += (uint32_t)p->streams[s]->n_instructions;
    g->n_events += p->events;
  }
  g->locations = dp_alloc_n(arena, g->n_instructions, sizeof *g->locations);
  uint32_t instruction = 0;
  for (uint32_t r = 0; r < roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (uint32_t s = 0; s < p->n_streams; s++)
      for (uint32_t i = 0; i < p->streams[s]->n_instructions; i++)
        g->locations[instruction++] = (dp_checker_location){r, s, i};
  }
}

static uint32_t instruction_at(const graph *g, dp_checker_location p) {
  const Dp__Program *program = dp_checker_program(g->c, p.role);
  uint32_t instruction = g->first_instruction[p.role] + p.instruction;
  for (uint32_t s = 0; s < p.stream; s++) instruction += (uint32_t)program->streams[s]->n_instructions;
  return instruction;
}

static void make_transfers(graph *g) {
  const dp_checker_shared *shared = &g->c->shared;
  g->transfer = dp_alloc_n(shared->arena, g->n_instructions, sizeof *g->transfer);
  g->at = dp_alloc_n(shared->arena, shared->n_transfers, sizeof *g->at);
  for (uint32_t t = 0; t < shared->n_transfers; t++) {
    g->at[t] = instruction_at(g, shared->transfers[t].location);
    g->transfer[g->at[t]] = t + 1;
  }
}

static void make_waits(graph *g) {
  dp_arena *arena = g->c->shared.arena;
  uint32_t total = 0;
  g->signaller = dp_alloc_n(arena, g->n_events, sizeof *g->signaller);
  g->first_waiter = dp_alloc_n(arena, (size_t)g->n_events + 2, sizeof *g->first_waiter);
  g->open = dp_alloc_n(arena, g->n_instructions, sizeof *g->open);
  for (uint32_t i = 0; i < g->n_instructions; i++) {
    const Dp__Instruction *in = claim_of(g, i);
    const uint32_t events = g->first_event[g->locations[i].role];
    if (in->signal) g->signaller[events + in->signal - 1] = i;
    for (size_t w = 0; w < in->n_waits; w++) g->first_waiter[events + in->waits[w] + 2]++;
    g->open[head(g, i)] += (uint32_t)in->n_waits + (g->locations[i].instruction > 0);
    total += (uint32_t)in->n_waits;
  }
  for (uint32_t e = 0; e < g->n_events; e++) g->first_waiter[e + 2] += g->first_waiter[e + 1];
  g->waiters = dp_alloc_n(arena, total, sizeof *g->waiters);
  for (uint32_t i = 0; i < g->n_instructions; i++) {
    const Dp__Instruction *in = claim_of(g, i);
    const uint32_t events = g->first_event[g->locations[i].role];
    for (size_t w = 0; w < in->n_waits; w++) g->waiters[g->first_waiter[events + in->waits[w] + 1]++] = i;
  }
}

// ---- ordering it ----------------------------------------------------------------------------------------------------

static void release(graph *g, uint32_t instruction, uint32_t *order) {
  instruction = head(g, instruction);
  if (!--g->open[instruction]) order[g->n_order++] = instruction;
}

// Releases whatever waits for this instruction, be it one of a pair or not.
static void complete(graph *g, uint32_t instruction, uint32_t *order) {
  const Dp__Instruction *in = claim_of(g, instruction);
  const dp_checker_location p = g->locations[instruction];
  g->done[instruction] = true;
  if (p.instruction + 1 < dp_checker_program(g->c, p.role)->streams[p.stream]->n_instructions)
    release(g, instruction + 1, order);
  if (!in->signal) return;
  const uint32_t e = g->first_event[p.role] + in->signal - 1;
  for (uint32_t w = g->first_waiter[e]; w < g->first_waiter[e + 1]; w++) release(g, g->waiters[w], order);
}

// ---- a cycle --------------------------------------------------------------------------------------------------------

// Why an instruction does not begin: an event, the instruction before it in its stream, or the other side of its
// transfer.
typedef enum { EVENT, STREAM, SIDE } reason;

static uint32_t awaited(const graph *g, uint32_t instruction, reason *why) {
  const Dp__Instruction *in = claim_of(g, instruction);
  const uint32_t events = g->first_event[g->locations[instruction].role];
  *why = EVENT;
  for (size_t w = 0; w < in->n_waits; w++)
    if (!g->done[g->signaller[events + in->waits[w]]]) return g->signaller[events + in->waits[w]];
  *why = STREAM;
  if (g->locations[instruction].instruction && !g->done[instruction - 1]) return instruction - 1;
  *why = SIDE;
  return partner(g, instruction);
}

// What it waits for, what that waits for, and so on until itself again. Of several instructions in a row in one stream
// the last is named.
static void print_cycle(const graph *g, uint32_t start, char *text, size_t bytes) {
  static const char *const words[] = {", which waits for ", ", which comes after ", ", whose other side is "};
  size_t used = 0;
  uint32_t instruction = start;
  bool first = true;
  do {
    char one[512], channel[32] = "";
    reason why, next_why;
    instruction = awaited(g, instruction, &why);
    if (why == STREAM && instruction != start && (awaited(g, instruction, &next_why), next_why == STREAM)) continue;
    if (g->transfer[instruction])
      snprintf(channel, sizeof channel, " on channel %u", g->c->shared.transfers[g->transfer[instruction] - 1].channel);
    used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", first ? words[why] + strlen(", which ") : words[why],
                             dp_checker_location_print(g->c, g->locations[instruction], one, sizeof one), channel);
    first = false;
  } while (instruction != start && used + 1 < bytes);
}

// Goes from an instruction that never begins to what it waits for, until one comes up again.
static dp_status fail_cycle(const graph *g) {
  bool *seen = dp_alloc_n(g->c->shared.arena, g->n_instructions, sizeof *seen);
  char text[900];
  uint32_t at = 0;
  reason why;
  while (g->done[at]) at++;
  for (; !seen[at]; at = awaited(g, at, &why)) seen[at] = true;
  do at = awaited(g, at, &why);
  while (why != SIDE);  // each stage by itself has none (flow.c)
  print_cycle(g, at, text, sizeof text);
  return dp_checker_fail(g->c, g->locations[at], DP_RULE_ORDER_CYCLE,
                         "it %s: no stage can go on, the pipeline deadlocks", text);
}

dp_status dp_checker_deadlock(dp_checker *c) {
  graph g = {.c = c};
  if (c->plan->n_roles == 1) return DP_OK;
  make_instructions(&g);
  make_transfers(&g);
  make_waits(&g);
  g.done = dp_alloc_n(c->shared.arena, g.n_instructions, sizeof *g.done);
  uint32_t *order = dp_alloc_n(c->shared.arena, g.n_instructions, sizeof *order);
  for (uint32_t i = 0; i < g.n_instructions; i++)
    if (head(&g, i) == i && !g.open[i]) order[g.n_order++] = i;
  uint32_t pairs = c->shared.n_transfers / 2;
  for (uint32_t i = 0; i < g.n_order; i++) {
    complete(&g, order[i], order);
    if (partner(&g, order[i]) != order[i]) complete(&g, partner(&g, order[i]), order);
  }
  return g.n_order < g.n_instructions - pairs ? fail_cycle(&g) : DP_OK;
}
